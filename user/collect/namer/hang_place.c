// SPDX-License-Identifier: Apache-2.0
/*
 * See hang_place.h. Of a read in many pieces the kernel has done those before the one that it waits for,
 * in order (process_vm_rw_core() in mm/process_vm_access.c), so that their pages are there: the first
 * that is not is the one (/proc/PID/pagemap).
 */
#include "user/collect/namer/hang_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/host/proc_stat.h"
#include "user/host/remote_mem.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/role_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/procmaps_line.h"
#include "user/util/strbuf.h"

#define LOOKER_NAME	"jbpfd-looker" /* at most 15 bytes */
#define LOOK_NS		(2 * CLOCK_NS_PER_S)
#define CALL_ARGS	6
#define CALL_MAX_BYTES	256
#define SPANS_MAX	1024   /* UIO_MAXIOV */
#define PAGES_MAX	65536u /* looked at */
#define PAGEMAP_PRESENT (1ull << 63)

enum look_number {
	LOOK_HANGING,
	LOOK_OVER,
	LOOK_START_NS,
};

/* ---- the call ---- */

struct call {
	uint64_t number;
	uint64_t args[CALL_ARGS];
};

/* "NUMBER 0xARG ... 0xSP 0xPC"; "running" and "-1 0xSP 0xPC" say of none (proc_pid_syscall() in fs/proc/base.c). */
static bool read_call(int proc_fd, uint32_t pid, struct call *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	char *end;

	if (fs_read_filef(proc_fd, CALL_MAX_BYTES, &text, "%" PRIu32 "/syscall", pid))
		return false;
	at = strbuf_str(&text);
	if (*at < '0' || *at > '9')
		return false;
	out->number = strtoull(at, &end, 10);
	for (int i = 0; i < CALL_ARGS; i++) {
		at = end;
		out->args[i] = strtoull(at, &end, 16);
		if (end == at)
			return false;
	}
	return true;
}

/* Is its descriptor the memory of that process, by whichever of its threads? */
static bool is_memory_of(int proc_fd, const struct hang_question *question, uint64_t fd)
{
	char link[48], path[64], want[32];
	ssize_t len;
	size_t begin;

	(void)snprintf(link, sizeof(link), "%" PRIu32 "/fd/%" PRIu64, question->hanging, fd);
	len = readlinkat(proc_fd, link, path, sizeof(path) - 1);
	if (len < 4)
		return false;
	path[len] = '\0';
	begin = (size_t)snprintf(want, sizeof(want), "/proc/%" PRIu32 "/", question->over);
	return strncmp(path, want, begin) == 0 && strcmp(path + len - 4, "/mem") == 0;
}

/* What it reads: how many spans of the other's memory. */
static size_t read_spans(int proc_fd, const struct hang_question *question, struct iovec *out)
{
	struct remote_mem mem = remote_mem_of_file(proc_fd, question->hanging);
	struct call call;

	if (!read_call(proc_fd, question->hanging, &call))
		return 0;
	if (call.number == SYS_pread64 && is_memory_of(proc_fd, question, call.args[0])) {
		*out = (struct iovec){ .iov_base = (void *)(uintptr_t)call.args[3],
				       .iov_len = call.args[2] };
		return 1;
	}
	if (call.number != SYS_process_vm_readv || call.args[0] != question->over ||
	    call.args[4] > SPANS_MAX ||
	    remote_mem_read(&mem, call.args[3], out, call.args[4] * sizeof(*out)))
		return 0;
	return call.args[4];
}

/* ---- the place ---- */

/* The first address of which the page is not there. Of a single span the kernel was asked for no other. */
static bool find_missing(int proc_fd, uint32_t pid, const struct iovec *spans, size_t cnt,
			 uint64_t *out)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), entry;
	uint32_t looked = 0;
	char path[32];

	(void)snprintf(path, sizeof(path), "%" PRIu32 "/pagemap", pid);

	__cleanup_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < cnt; i++) {
		uint64_t at = (uint64_t)(uintptr_t)spans[i].iov_base, end = at + spans[i].iov_len;

		for (; at < end && looked < PAGES_MAX; at = (at / page_bytes + 1) * page_bytes) {
			off_t place = (off_t)(at / page_bytes * sizeof(entry));

			looked++;
			*out = at;
			if (fd >= 0 && pread(fd, &entry, sizeof(entry), place) == sizeof(entry) &&
			    !(entry & PAGEMAP_PRESENT))
				return true;
		}
	}
	return cnt == 1 && spans[0].iov_len && looked == 1;
}

/* A path that is too long loses its begin. */
static void put_path(const char *path, size_t len, char out[HANG_PLACE_BYTES])
{
	size_t cut = len < HANG_PLACE_BYTES ? 0 : len - HANG_PLACE_BYTES + 1;

	(void)snprintf(out, HANG_PLACE_BYTES, "%.*s", (int)(len - cut), path + cut);
}

static void find_file(int proc_fd, uint32_t pid, uint64_t address, char out[HANG_PLACE_BYTES])
{
	__cleanup_free char *text = NULL;
	struct procmaps_line_file file;
	struct procmaps_line line;
	size_t room = 0;
	ssize_t len;
	char path[32];
	FILE *maps;
	int fd;

	(void)snprintf(path, sizeof(path), "%" PRIu32 "/maps", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!maps) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((len = getline(&text, &room, maps)) > 0) {
		len -= text[len - 1] == '\n';
		if (!procmaps_line_parse(text, (size_t)len, &line) || address < line.start ||
		    address >= line.end)
			continue;
		if (procmaps_line_file(&line, &file) && file.path_len && *file.path == '/')
			put_path(file.path, file.path_len, out);
		break;
	}
	(void)fclose(maps);
}

void hang_place_find(int proc_fd, const struct hang_question *question, char out[HANG_PLACE_BYTES])
{
	__cleanup_free struct iovec *spans = calloc(SPANS_MAX, sizeof(*spans));
	size_t cnt = spans ? read_spans(proc_fd, question, spans) : 0;
	uint64_t address = 0;

	*out = '\0';
	if (cnt && find_missing(proc_fd, question->over, spans, cnt, &address))
		find_file(proc_fd, question->over, address, out);
	/* The number may be another process's by now. */
	if (*out && proc_stat_check_start(proc_fd, question->over, question->start_ns))
		*out = '\0';
}

/* ---- the process ---- */

int hang_place_main(const struct launcher_child *child)
{
	const struct hang_question question = {
		.hanging = (uint32_t)child->numbers[LOOK_HANGING],
		.over = (uint32_t)child->numbers[LOOK_OVER],
		.start_ns = child->numbers[LOOK_START_NS],
	};
	int socket_fd = child->socket_fd;
	int *const kept[] = { &socket_fd };
	const struct child_options options = {
		.name = LOOKER_NAME,
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
		.ends_first = true,
	};
	char place[HANG_PLACE_BYTES];
	int err = child_process_become(&options);

	if (!err)
		err = role_sandbox_namer();
	if (err)
		return err;

	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc_fd < 0)
		return -errno;
	hang_place_find(proc_fd, &question, place);
	return send(socket_fd, place, strlen(place) + 1, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int hang_look_start(struct hang_look *look, struct launcher *launcher,
		    const struct hang_question *question, uint64_t now_ns)
{
	const uint64_t numbers[LAUNCHER_NUMBERS] = {
		[LOOK_HANGING] = question->hanging,
		[LOOK_OVER] = question->over,
		[LOOK_START_NS] = question->start_ns,
	};
	int err = launcher__start(launcher, LAUNCHER_LOOKER, numbers, &look->fd, &look->pid);

	if (err)
		look->pid = 0;
	look->end_ns = now_ns + LOOK_NS;
	return err;
}

bool hang_look_take(struct hang_look *look, struct launcher *launcher, uint64_t now_ns,
		    char out[HANG_PLACE_BYTES])
{
	ssize_t got = recv(look->fd, out, HANG_PLACE_BYTES - 1, MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN && now_ns < look->end_ns)
		return false;
	out[got > 0 ? got : 0] = '\0';
	close(look->fd);
	(void)launcher__end(launcher, look->pid);
	look->pid = 0;
	return true;
}
