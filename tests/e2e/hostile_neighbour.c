// SPDX-License-Identifier: Apache-2.0
/*
 * What a neighbour may do to who profiles it and all others: see tests/e2e/test_fairness.py, which
 * runs it in a container, beside a witness. Each for SECONDS, then it ends by itself; "READY" once it
 * is at it. All names that it makes up begin with "planted".
 *
 *   nul SECONDS                      a perf map of 14 names of 4096 bytes and 690 that are a NUL byte
 *   names SECONDS PROCESSES LINES BYTES   perf maps of so many lines with names of so many bytes, all in use
 *   frames SECONDS PROCESSES         1000 frames of no meaning, others at every turn
 *   large SECONDS PROCESSES MIB      perf maps of that size
 *   rewrite SECONDS                  another perf map 50 times a second
 *   areas SECONDS COUNT              so many areas in its address space, others all the time
 *   memfd SECONDS                    programs in files that nobody has seen before
 *   exec SECONDS                     short programs with an environment of 32 KiB
 *   file SECONDS FILE                runs a new copy of FILE every 0.3 s, for 40 ms
 *   cgroups SECONDS FOLDER           makes cgroups there, with a process that works for a moment
 *   become SECONDS FOLDER            works in that cgroup, which it makes
 *   stops SECONDS                    children that stand still, and go on, and stand still
 *   connect SECONDS PORT             16 connections on which it says nothing
 *   fill SECONDS FILE                a file as large as the file system lets it, again and again
 *   work SECONDS                     nothing but work
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"

#define LINE_CODE_BYTES 16 /* code that a line of a perf map names */
#define MAX_FRAMES	1000
#define LONG_NAME_BYTES 4096
#define ENVIRON_BYTES	(32 << 10)
#define LARGE_NAME	"planted_in_a_large_map"
#define CONNECTIONS	16

struct task {
	uint64_t end_ns;
	char **arguments; /* behind SECONDS */
};

static int is_over(const struct task *task)
{
	return now_ns(CLOCK_MONOTONIC) >= task->end_ns;
}

static __attribute__((noinline, noclone)) void planted_work(uint64_t cpu_ns)
{
	burn(cpu_ns);
}

/* 0 in each of so many children, which work until the parent's task ends; waits in the parent. */
static int in_children(unsigned long cnt, int (*work)(const struct task *, unsigned long),
		       const struct task *task, unsigned long argument)
{
	for (unsigned long i = 0; i < cnt; i++) {
		if (fork() == 0)
			_exit(work(task, argument));
	}
	say_ready();
	while (wait(NULL) > 0)
		;
	return 0;
}

/* ---- frames that are made up ---- */

/* Works for a moment with the frame pointer at `frame`. */
static __attribute__((noinline, noclone)) void planted_leaf(const struct frame *frame)
{
	burn_at(frame, 2000000);
}

static void frames_link(struct frame *frames, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		frames[i].next = i + 1 < cnt ? &frames[i + 1] : NULL;
}

static uintptr_t code_of(size_t bytes)
{
	void *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		exit(1);
	return (uintptr_t)code;
}

static FILE *perf_map_open(void)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "we");
	if (!file)
		exit(1);
	return file;
}

static void perf_map_close(FILE *file)
{
	if (fclose(file))
		exit(1);
}

/* "planted" and a number, filled up to so many bytes. */
static void name_write(FILE *file, uintptr_t address, unsigned long number, size_t bytes)
{
	char name[LONG_NAME_BYTES + 1];
	int len = snprintf(name, sizeof(name), "planted_%lu_", number);

	if ((size_t)len < bytes)
		memset(name + len, 'a', bytes - (size_t)len);
	fprintf(file, "%lx %x %.*s\n", (unsigned long)address, LINE_CODE_BYTES, (int)bytes, name);
}

static int do_nul(const struct task *task)
{
	static const size_t long_cnt = 14, nul_cnt = 690;
	size_t cnt = long_cnt + nul_cnt;
	uintptr_t code = code_of(cnt * LINE_CODE_BYTES);
	struct frame frames[MAX_FRAMES];
	FILE *map = perf_map_open();

	for (size_t i = 0; i < cnt; i++) {
		uintptr_t at = code + i * LINE_CODE_BYTES;

		frames[i].address = at + LINE_CODE_BYTES / 2;
		if (i < long_cnt)
			name_write(map, at, i, LONG_NAME_BYTES);
		else
			fprintf(map, "%lx %x %c\n", (unsigned long)at, LINE_CODE_BYTES, '\0');
	}
	perf_map_close(map);
	frames_link(frames, cnt);
	say_ready();
	while (!is_over(task))
		planted_leaf(frames);
	return 0;
}

/* One process of `names`: its whole map is in use, 14 names per stack (a line has no room for more). */
static int use_names(const struct task *task, unsigned long lines)
{
	unsigned long bytes = strtoul(task->arguments[2], NULL, 10), at = 0;
	uintptr_t code = code_of(lines * LINE_CODE_BYTES);
	struct frame frames[MAX_FRAMES];
	FILE *map = perf_map_open();

	for (unsigned long i = 0; i < lines; i++)
		name_write(map, code + i * LINE_CODE_BYTES, i, bytes);
	perf_map_close(map);
	frames_link(frames, MAX_FRAMES);
	while (!is_over(task)) {
		for (size_t i = 0; i < MAX_FRAMES; i++, at++)
			frames[i].address =
				code + at % lines * LINE_CODE_BYTES + LINE_CODE_BYTES / 2;
		planted_leaf(frames);
	}
	return 0;
}

static int do_names(const struct task *task)
{
	return in_children(strtoul(task->arguments[0], NULL, 10), use_names, task,
			   strtoul(task->arguments[1], NULL, 10));
}

static int use_frames(const struct task *task, unsigned long unused)
{
	unsigned int seed = (unsigned int)getpid();
	struct frame frames[MAX_FRAMES];

	(void)unused;
	frames_link(frames, MAX_FRAMES);
	while (!is_over(task)) {
		for (size_t i = 0; i < MAX_FRAMES; i++)
			frames[i].address = 0x10000u + ((uintptr_t)rand_r(&seed) << 12);
		planted_leaf(frames);
	}
	return 0;
}

static int do_frames(const struct task *task)
{
	return in_children(strtoul(task->arguments[0], NULL, 10), use_frames, task, 0);
}

static int use_large(const struct task *task, unsigned long mib)
{
	uintptr_t code = code_of(1 << 20);
	struct frame frames[2];
	FILE *map = perf_map_open();
	long last = (long)mib << 20;

	for (uintptr_t at = code; ftell(map) < last; at += LINE_CODE_BYTES)
		fprintf(map, "%lx %x " LARGE_NAME "\n", (unsigned long)at, LINE_CODE_BYTES);
	perf_map_close(map);
	frames_link(frames, 2);
	frames[0].address = code + 8;
	frames[1].address = code + 24;
	while (!is_over(task))
		planted_leaf(frames);
	return 0;
}

static int do_large(const struct task *task)
{
	return in_children(strtoul(task->arguments[0], NULL, 10), use_large, task,
			   strtoul(task->arguments[1], NULL, 10));
}

static int do_rewrite(const struct task *task)
{
	static const unsigned long lines = 1000;
	uintptr_t code = code_of(lines * LINE_CODE_BYTES);
	struct frame frames[2];

	frames_link(frames, 2);
	say_ready();
	for (unsigned long turn = 0; !is_over(task); turn++) {
		FILE *map = perf_map_open();

		for (unsigned long i = 0; i < lines; i++)
			name_write(map, code + i * LINE_CODE_BYTES, turn * lines + i, 40);
		perf_map_close(map);
		frames[0].address = code + turn % lines * LINE_CODE_BYTES + 8;
		frames[1].address = frames[0].address;
		planted_leaf(frames);
		usleep(15000);
	}
	return 0;
}

/* ---- address spaces and files ---- */

/* Every second page executable: areas that the kernel cannot merge. */
static int do_areas(const struct task *task)
{
	unsigned long cnt = strtoul(task->arguments[0], NULL, 10);
	char *memory = mmap(NULL, cnt * 4096, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int seed = 1;

	if (memory == MAP_FAILED)
		return 1;
	for (unsigned long i = 0; i < cnt; i += 2)
		if (mprotect(memory + i * 4096, 4096, PROT_READ | PROT_EXEC))
			break; /* as many as the kernel allows */
	say_ready();
	while (!is_over(task)) {
		struct frame frame = { .address = (uintptr_t)memory + 64 };
		unsigned long page = (unsigned long)rand_r(&seed) % (cnt / 4);

		frame.address += page * 4096;
		(void)mprotect(memory + page * 4096, 4096,
			       rand_r(&seed) % 2 ? PROT_READ | PROT_EXEC : PROT_READ);
		planted_leaf(&frame);
	}
	return 0;
}

static int copy_to(int out, const char *path)
{
	static char buf[1 << 16];
	int in = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (in < 0)
		return -1;
	while ((len = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)len) != len)
			return -1;
	close(in);
	return len ? -1 : 0;
}

/* A program of its own for the child: it works for `ms` milliseconds. */
static void child_become(int fd, char *ms, char **environment)
{
	char name[] = "planted", kind[] = "moment";
	char *const arguments[] = { name, kind, ms, NULL };

	fexecve(fd, arguments, environment);
	_exit(1);
}

static int child_run(int fd, unsigned int ms, char **environment)
{
	pid_t child = fork();
	char text[16];

	if (child == 0) {
		snprintf(text, sizeof(text), "%u", ms);
		child_become(fd, text, environment);
	}
	return child < 0 || waitpid(child, NULL, 0) != child ? -1 : 0;
}

static int do_memfd(const struct task *task)
{
	char *environment[] = { NULL };

	say_ready();
	while (!is_over(task)) {
		int fd = memfd_create("planted", MFD_CLOEXEC);

		if (fd < 0 || copy_to(fd, "/proc/self/exe") || child_run(fd, 15, environment))
			return 1;
		close(fd);
	}
	return 0;
}

static int do_exec(const struct task *task)
{
	static char filler[ENVIRON_BYTES];
	char *environment[] = { filler, NULL };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	memset(filler, 'A', sizeof(filler) - 1);
	filler[7] = '=';
	say_ready();
	while (!is_over(task))
		if (child_run(fd, 3, environment))
			return 1;
	return 0;
}

static int do_file(const struct task *task)
{
	char *environment[] = { NULL };

	say_ready();
	while (!is_over(task)) {
		int fd = open("/tmp/planted", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

		if (fd < 0 || copy_to(fd, task->arguments[0]) || close(fd))
			return 1;
		fd = open("/tmp/planted", O_RDONLY | O_CLOEXEC);
		if (fd < 0 || child_run(fd, 40, environment))
			return 1;
		close(fd);
		unlink("/tmp/planted");
		usleep(260000);
	}
	return 0;
}

static int do_fill(const struct task *task)
{
	static char block[1 << 20];
	const char *path = task->arguments[0];
	unsigned int seed = 1;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)rand_r(&seed);
	if (close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)))
		return 1;
	say_ready();
	while (!is_over(task)) {
		size_t piece = sizeof(block);
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

		/* To the last byte. */
		while (fd >= 0 && piece)
			if (write(fd, block, piece) <= 0)
				piece /= 2;
		if (fd >= 0)
			close(fd);
		usleep(20000);
	}
	unlink(path);
	return 0;
}

/* ---- cgroups, processes, sockets ---- */

static int cgroup_enter(const char *folder)
{
	char path[4096];
	int fd, err;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	err = write(fd, "0", 1) == 1 ? 0 : -1;
	close(fd);
	return err;
}

static int do_cgroups(const struct task *task)
{
	say_ready();
	for (unsigned long i = 0; !is_over(task); i++) {
		char folder[2048];
		pid_t child;

		snprintf(folder, sizeof(folder), "%s/docker-%064lx.scope", task->arguments[0], i);
		if (mkdir(folder, 0755))
			return 1;
		child = fork();
		if (child == 0) {
			if (cgroup_enter(folder))
				_exit(1);
			planted_work(4 * NS_PER_MS);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
		for (int tries = 0; rmdir(folder) && tries < 100; tries++)
			usleep(1000);
	}
	return 0;
}

static int do_become(const struct task *task)
{
	if (mkdir(task->arguments[0], 0755) || cgroup_enter(task->arguments[0]))
		return 1;
	say_ready();
	while (!is_over(task))
		planted_work(10 * NS_PER_MS);
	return 0;
}

static int do_stops(const struct task *task)
{
	pid_t children[20];

	for (size_t i = 0; i < 20; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			while (!is_over(task))
				planted_work(NS_PER_MS);
			_exit(0);
		}
	}
	say_ready();
	for (unsigned int turn = 0; !is_over(task); turn++) {
		for (size_t i = 0; i < 20; i++)
			kill(children[i], (turn + i) % 4 == 0 ? SIGCONT : SIGSTOP);
		usleep(50000);
	}
	for (size_t i = 0; i < 20; i++)
		kill(children[i], SIGKILL);
	return 0;
}

static int do_connect(const struct task *task)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fds[CONNECTIONS];

	to.sin_port = htons((uint16_t)strtoul(task->arguments[0], NULL, 10));
	for (int i = 0; i < CONNECTIONS; i++)
		fds[i] = -1;
	for (unsigned int turn = 0; !is_over(task); turn++) {
		int *fd = &fds[turn % CONNECTIONS];

		if (*fd >= 0)
			close(*fd);
		*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (*fd >= 0)
			(void)connect(*fd, (struct sockaddr *)&to, sizeof(to));
		if (turn == CONNECTIONS)
			say_ready();
		planted_work(NS_PER_MS);
		usleep(turn < CONNECTIONS ? 1000 : 100000);
	}
	return 0;
}

static int do_work(const struct task *task)
{
	say_ready();
	while (!is_over(task))
		planted_work(10 * NS_PER_MS);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int argument_cnt;
		int (*run)(const struct task *task);
	} kinds[] = {
		{ "nul", 0, do_nul },	      { "names", 3, do_names },
		{ "frames", 1, do_frames },   { "large", 2, do_large },
		{ "rewrite", 0, do_rewrite }, { "areas", 1, do_areas },
		{ "memfd", 0, do_memfd },     { "exec", 0, do_exec },
		{ "file", 1, do_file },	      { "cgroups", 1, do_cgroups },
		{ "become", 1, do_become },   { "stops", 0, do_stops },
		{ "connect", 1, do_connect }, { "fill", 1, do_fill },
		{ "work", 0, do_work },
	};
	struct task task;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "moment") == 0) {
		planted_work(strtoull(argv[2], NULL, 10) * NS_PER_MS);
		return 0;
	}
	task.end_ns = now_ns(CLOCK_MONOTONIC) + strtoull(argv[2], NULL, 10) * NS_PER_S;
	task.arguments = argv + 3;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[1], kinds[i].name) == 0 && argc - 3 >= kinds[i].argument_cnt)
			return kinds[i].run(&task);
	return 2;
}
