// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into a program, makes one of its calls fail: the n-th that asks for memory, or the n-th that
 * asks for something of a file. Calls are counted from the program's start, in all its threads and
 * forks; what is written to standard error is left alone, because a failure has to be told.
 *
 *   JBPF_FAIL=memory:N   malloc, calloc, realloc, reallocarray, posix_memalign, aligned_alloc
 *   JBPF_FAIL=EIO:N      open, read, write, sync, rename, link, truncate, allocate, stat of a descriptor
 *   JBPF_FAIL=ENOSPC:N   those of them that write
 *   JBPF_FAIL=short:N    reads and writes: half of what was asked for, which is no failure at all
 *
 * N is followed by ":FD": how many calls there were, and whether one was made to fail, is written there at
 * the end: "COUNT HIT\n". With N = 0 nothing fails, and behind that stands for each call which one it is: equal
 * numbers have the same callers. The environment is taken once and is not inherited.
 *
 *   JBPF_FAIL=armed:PATH  a file that holds a struct arm: whoever maps it says while the program runs which
 *                         call of which of its processes fails, and reads which one it was. Forks share it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EARLY_BYTES 65536 /* for dlsym(), which allocates before the real functions are known */
#define EARLY_ALIGN 16
#define ARMED	    "armed:"
#define NAME_BYTES  16 /* of a process, as prctl() has it */
#define CALLERS_MAX 6
#define FRAME_BYTES 65536 /* a larger step is no frame */
#define PLACE_BYTES 4096  /* of a return address this much stays: files lie at pages */
#define PLACES_MAX  7000  /* a pipe holds as many */
#define EXPORT	    __attribute__((visibility("default")))

enum mode {
	MODE_NONE = 0,
	MODE_MEMORY = 1,
	MODE_EIO = 2,
	MODE_ENOSPC = 3,
	MODE_SHORT = 4,
};

/* What a call does, to which modes it counts. */
enum kind {
	KIND_MEMORY = 0,
	KIND_LOOK = 1,	/* opens, asks, messages, syncs, renames, forks: EIO */
	KIND_STORE = 2, /* takes room: EIO, ENOSPC */
	KIND_READ = 3,	/* EIO, short */
	KIND_WRITE = 4, /* EIO, ENOSPC, short */
};

/* As tests/failures/daemon.py writes it. */
struct arm {
	atomic_uint mode;   /* last to be written; MODE_NONE = nothing fails */
	atomic_uint is_hit; /* `callers` are what they are */
	char process
		[NAME_BYTES]; /* its name; with "+" behind it: its other threads than the first */
	uint64_t fail_at;     /* 0: only counts */
	atomic_ulong count;
	uint64_t callers[CALLERS_MAX]; /* innermost first; 0 = no more */
};

static enum mode mode;
static struct arm *arm;
static char process_name[NAME_BYTES];
static __thread __attribute__((tls_model("initial-exec"))) bool is_first_thread;
static unsigned long fail_at;
static int report_fd = -1;
/* Of the program and what it forks, which is as much its work: they share it. */
static struct total {
	atomic_ulong count;
	atomic_bool hit;
	uint32_t places[PLACES_MAX]; /* of the calls, in their order */
} * total;
static bool is_on;
static uintptr_t stack_end; /* of the first thread: main()'s arguments lie there */

static char early[EARLY_BYTES] __attribute__((aligned(EARLY_ALIGN)));
static size_t early_used;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static DIR *(*real_fdopendir)(int);
static pid_t (*real_fork)(void);

static enum mode mode_now(void)
{
	return arm ? (enum mode)atomic_load(&arm->mode) : mode;
}

static bool counts(enum kind kind)
{
	switch (mode_now()) {
	case MODE_MEMORY:
		return kind == KIND_MEMORY;
	case MODE_EIO:
		return kind != KIND_MEMORY;
	case MODE_ENOSPC:
		return kind == KIND_STORE || kind == KIND_WRITE;
	case MODE_SHORT:
		return kind == KIND_READ || kind == KIND_WRITE;
	default:
		return false;
	}
}

/* Of functions that keep a frame pointer; where one does not, the chain ends or leaves some out. */
static void note_callers(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);

	for (int i = 0; i < CALLERS_MAX; i++) {
		uintptr_t next = frame[0];

		arm->callers[i] = frame[1];
		if (next <= (uintptr_t)frame || next - (uintptr_t)frame > FRAME_BYTES || next % 8)
			break;
		frame = (const uintptr_t *)next;
	}
}

/* From which place of the program a call comes, all its callers taken together (FNV-1a). Threads but the first end
 * theirs where the chain of frame pointers is no more to be trusted: at once. */
static uint32_t place_of_call(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	uint32_t place = 2166136261u;

	for (;;) {
		uintptr_t next = frame[0];

		place = (place ^ (uint32_t)(frame[1] % PLACE_BYTES)) * 16777619u;
		if (!is_first_thread || next <= (uintptr_t)frame || next >= stack_end || next % 8)
			return place;
		frame = (const uintptr_t *)next;
	}
}

static bool is_armed_process(void)
{
	size_t len = strnlen(process_name, sizeof(process_name));

	if (strncmp(arm->process, process_name, len) != 0)
		return false;
	return strcmp(arm->process + len, is_first_thread ? "" : "+") == 0;
}

static bool is_armed_call(void)
{
	if (!is_armed_process() || atomic_fetch_add(&arm->count, 1) + 1 != arm->fail_at)
		return false;
	note_callers();
	atomic_store(&arm->is_hit, 1);
	return true;
}

/* Is it this call? */
static bool is_it(enum kind kind)
{
	unsigned long number;

	if (!is_on || !counts(kind))
		return false;
	if (arm)
		return is_armed_call();
	number = atomic_fetch_add(&total->count, 1);
	if (!fail_at && number < PLACES_MAX)
		total->places[number] = place_of_call();
	if (number + 1 != fail_at)
		return false;
	atomic_store(&total->hit, true);
	return true;
}

static bool fails(enum kind kind, int fd)
{
	if (fd == STDERR_FILENO || fd == report_fd || !is_it(kind))
		return false;
	if (mode_now() == MODE_SHORT)
		return true;
	errno = mode_now() == MODE_ENOSPC ? ENOSPC : EIO;
	return true;
}

/* ---- memory ---- */

static void *early_take(size_t bytes)
{
	size_t start = (early_used + EARLY_ALIGN - 1) / EARLY_ALIGN * EARLY_ALIGN;

	if (bytes > EARLY_BYTES - start)
		return NULL;
	early_used = start + bytes;
	return early + start;
}

static bool is_early(const void *at)
{
	return (const char *)at >= early && (const char *)at < early + EARLY_BYTES;
}

static void resolve(void)
{
	static bool is_resolving;

	if (real_free || is_resolving)
		return;
	is_resolving = true;
	*(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&real_fdopendir = dlsym(RTLD_NEXT, "fdopendir");
	*(void **)&real_fork = dlsym(RTLD_NEXT, "fork");
	*(void **)&real_free = dlsym(RTLD_NEXT, "free");
	is_resolving = false;
}

static bool no_memory(void)
{
	if (!is_it(KIND_MEMORY))
		return false;
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t bytes)
{
	resolve();
	if (!real_free)
		return early_take(bytes);
	return no_memory() ? NULL : real_malloc(bytes);
}

EXPORT void *calloc(size_t cnt, size_t bytes)
{
	resolve();
	if (!real_free)
		return early_take(cnt * bytes); /* zero, and never given back */
	return no_memory() ? NULL : real_calloc(cnt, bytes);
}

EXPORT void *realloc(void *at, size_t bytes)
{
	resolve();
	if (is_early(at)) {
		void *copy = real_malloc(bytes);

		if (copy)
			memcpy(copy, at, bytes);
		return copy;
	}
	return no_memory() ? NULL : real_realloc(at, bytes);
}

EXPORT void *reallocarray(void *at, size_t cnt, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(cnt, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(at, all);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	resolve();
	return no_memory() ? ENOMEM : real_posix_memalign(out, alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	resolve();
	return no_memory() ? NULL : real_aligned_alloc(alignment, bytes);
}

EXPORT void free(void *at)
{
	resolve();
	if (at && !is_early(at) && real_free)
		real_free(at);
}

/* ---- files: the system calls themselves, the library's functions are what is replaced ---- */

static int open_at(int dir_fd, const char *path, int flags, mode_t create_mode)
{
	if (fails(flags & O_CREAT ? KIND_STORE : KIND_LOOK, dir_fd))
		return -1;
	return (int)syscall(SYS_openat, dir_fd, path, flags, create_mode);
}

/* O_TMPFILE has the bit of O_DIRECTORY, with which alone there is no mode. */
static mode_t mode_of(int flags, va_list arguments)
{
	bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;

	return creates ? va_arg(arguments, mode_t) : 0;
}

#define OPEN_FUNCTION(name)                                         \
	EXPORT int name(const char *path, int flags, ...)           \
	{                                                           \
		va_list arguments;                                  \
		mode_t create_mode;                                 \
                                                                    \
		va_start(arguments, flags);                         \
		create_mode = mode_of(flags, arguments);            \
		va_end(arguments);                                  \
		return open_at(AT_FDCWD, path, flags, create_mode); \
	}

#define OPENAT_FUNCTION(name)                                         \
	EXPORT int name(int dir_fd, const char *path, int flags, ...) \
	{                                                             \
		va_list arguments;                                    \
		mode_t create_mode;                                   \
                                                                      \
		va_start(arguments, flags);                           \
		create_mode = mode_of(flags, arguments);              \
		va_end(arguments);                                    \
		return open_at(dir_fd, path, flags, create_mode);     \
	}

OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)
OPENAT_FUNCTION(openat)
OPENAT_FUNCTION(openat64)

/* Half of it, so that a second call is needed; a call for one byte gets it. */
static size_t shortened(size_t len)
{
	return len > 1 ? len / 2 : len;
}

static ssize_t read_at(int fd, void *bytes, size_t len, off_t offset, bool has_offset)
{
	if (fails(KIND_READ, fd)) {
		if (mode_now() != MODE_SHORT)
			return -1;
		len = shortened(len);
	}
	return has_offset ? syscall(SYS_pread64, fd, bytes, len, offset) :
			    syscall(SYS_read, fd, bytes, len);
}

static ssize_t write_at(int fd, const void *bytes, size_t len, off_t offset, bool has_offset)
{
	if (fails(KIND_WRITE, fd)) {
		if (mode_now() != MODE_SHORT)
			return -1;
		len = shortened(len);
	}
	return has_offset ? syscall(SYS_pwrite64, fd, bytes, len, offset) :
			    syscall(SYS_write, fd, bytes, len);
}

EXPORT ssize_t read(int fd, void *bytes, size_t len)
{
	return read_at(fd, bytes, len, 0, false);
}

EXPORT ssize_t pread(int fd, void *bytes, size_t len, off_t offset)
{
	return read_at(fd, bytes, len, offset, true);
}

EXPORT ssize_t pread64(int fd, void *bytes, size_t len, off64_t offset)
{
	return read_at(fd, bytes, len, offset, true);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t len)
{
	return write_at(fd, bytes, len, 0, false);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	return write_at(fd, bytes, len, offset, true);
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t offset)
{
	return write_at(fd, bytes, len, offset, true);
}

EXPORT int fsync(int fd)
{
	return fails(KIND_STORE, fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

EXPORT int fdatasync(int fd)
{
	return fails(KIND_STORE, fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

EXPORT int ftruncate(int fd, off_t bytes)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

EXPORT int ftruncate64(int fd, off64_t bytes)
{
	return ftruncate(fd, bytes);
}

EXPORT int fallocate(int fd, int how, off_t offset, off_t bytes)
{
	return fails(KIND_STORE, fd) ? -1 : (int)syscall(SYS_fallocate, fd, how, offset, bytes);
}

EXPORT int fallocate64(int fd, int how, off64_t offset, off64_t bytes)
{
	return fallocate(fd, how, offset, bytes);
}

EXPORT int fstat(int fd, struct stat *st)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

EXPORT int fstatat(int fd, const char *path, struct stat *st, int flags)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

EXPORT int fstat64(int fd, struct stat64 *st)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

EXPORT int fstatat64(int fd, const char *path, struct stat64 *st, int flags)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

EXPORT int stat64(const char *path, struct stat64 *st)
{
	return fstatat64(AT_FDCWD, path, st, 0);
}

EXPORT int lstat64(const char *path, struct stat64 *st)
{
	return fstatat64(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT ssize_t readlinkat(int fd, const char *path, char *bytes, size_t size)
{
	return fails(KIND_LOOK, fd) ? -1 : syscall(SYS_readlinkat, fd, path, bytes, size);
}

EXPORT ssize_t readlink(const char *path, char *bytes, size_t size)
{
	return readlinkat(AT_FDCWD, path, bytes, size);
}

EXPORT int flock(int fd, int how)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_flock, fd, how);
}

EXPORT DIR *fdopendir(int fd)
{
	return fails(KIND_LOOK, fd) ? NULL : real_fdopendir(fd);
}

EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return fails(KIND_STORE, to_fd) ? -1 :
					  (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

EXPORT int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

EXPORT int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	return fails(KIND_STORE, to_fd) ? -1 :
					  (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

EXPORT int unlinkat(int fd, const char *path, int flags)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_unlinkat, fd, path, flags);
}

EXPORT int mkdirat(int fd, const char *path, mode_t dir_mode)
{
	return fails(KIND_STORE, fd) ? -1 : (int)syscall(SYS_mkdirat, fd, path, dir_mode);
}

EXPORT int mkdir(const char *path, mode_t dir_mode)
{
	return mkdirat(AT_FDCWD, path, dir_mode);
}

/* ---- other processes ---- */

/* Half of a message would be another message: only streams have short ones. */
EXPORT ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
	if (fails(KIND_READ, fd)) {
		if (mode_now() != MODE_SHORT)
			return -1;
		len = shortened(len);
	}
	return syscall(SYS_recvfrom, fd, bytes, len, flags, NULL, NULL);
}

EXPORT ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	if (fails(KIND_WRITE, fd)) {
		if (mode_now() != MODE_SHORT)
			return -1;
		len = shortened(len);
	}
	return syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return fails(KIND_LOOK, fd) ? -1 : syscall(SYS_recvmsg, fd, message, flags);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return fails(KIND_LOOK, fd) ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}

EXPORT int socketpair(int domain, int type, int protocol, int fds[2])
{
	return fails(KIND_LOOK, -1) ? -1 :
				      (int)syscall(SYS_socketpair, domain, type, protocol, fds);
}

EXPORT int epoll_ctl(int epoll_fd, int how, int fd, struct epoll_event *event)
{
	return fails(KIND_LOOK, fd) ? -1 : (int)syscall(SYS_epoll_ctl, epoll_fd, how, fd, event);
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_cnt,
				const struct iovec *remote, unsigned long remote_cnt,
				unsigned long flags)
{
	return fails(KIND_LOOK, -1) ? -1 :
				      syscall(SYS_process_vm_readv, pid, local, local_cnt, remote,
					      remote_cnt, flags);
}

EXPORT pid_t fork(void)
{
	return fails(KIND_LOOK, -1) ? -1 : real_fork();
}

/* Each process of jbpfd gives itself a name. */
EXPORT int prctl(int option, ...)
{
	unsigned long values[4];
	va_list arguments;

	va_start(arguments, option);
	for (int i = 0; i < 4; i++)
		values[i] = va_arg(arguments, unsigned long);
	va_end(arguments);
	if (option == PR_SET_NAME)
		(void)snprintf(process_name, sizeof(process_name), "%s", (const char *)values[0]);
	return (int)syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]);
}

/* The parser process gives up all memory that it shares with others, and is still to be told. */
EXPORT int munmap(void *at, size_t len)
{
	if (at == (arm ? (void *)arm : (void *)total))
		return 0;
	return (int)syscall(SYS_munmap, at, len);
}

/* ---- begin and end ---- */

static const struct {
	const char *name;
	enum mode mode;
} modes[] = {
	{ "memory:", MODE_MEMORY },
	{ "EIO:", MODE_EIO },
	{ "ENOSPC:", MODE_ENOSPC },
	{ "short:", MODE_SHORT },
};

static void map_arm(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	void *at = mmap(NULL, sizeof(*arm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)snprintf(process_name, sizeof(process_name), "%s", program_invocation_short_name);
	if (at != MAP_FAILED)
		arm = at;
	(void)syscall(SYS_close, fd);
}

__attribute__((constructor)) static void begin(void)
{
	const char *asked = getenv("JBPF_FAIL");
	char *end_of_number;

	resolve();
	is_first_thread = true;
	stack_end = (uintptr_t)environ;
	for (size_t i = 0; asked && i < sizeof(modes) / sizeof(modes[0]); i++) {
		size_t len = strlen(modes[i].name);

		if (strncmp(asked, modes[i].name, len) == 0) {
			mode = modes[i].mode;
			fail_at = strtoul(asked + len, &end_of_number, 10);
			if (*end_of_number == ':')
				report_fd = (int)strtol(end_of_number + 1, NULL, 10);
		}
	}
	if (asked && strncmp(asked, ARMED, strlen(ARMED)) == 0)
		map_arm(asked + strlen(ARMED));
	(void)unsetenv("JBPF_FAIL");
	(void)unsetenv("LD_PRELOAD");
	total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	is_on = total != MAP_FAILED;
}

__attribute__((destructor)) static void end(void)
{
	static char text[32 + 9 * PLACES_MAX];
	unsigned long count = atomic_load(&total->count);
	int len;

	is_on = false;
	len = snprintf(text, sizeof(text), "%lu %d\n", count, atomic_load(&total->hit));
	for (size_t i = 0; !fail_at && i < count && i < PLACES_MAX; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%x ", total->places[i]);
	(void)!syscall(SYS_write, report_fd, text, (size_t)len);
}
