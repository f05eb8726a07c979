// SPDX-License-Identifier: Apache-2.0
/*
 * See opt_out.h. Environments hold passwords: they pass through one buffer on the stack, which is
 * wiped, and never reach the heap.
 */
#include "user/collect/container/opt_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "user/host/proc_thread.h"
#include "user/util/cleanup.h"

/* Larger than any that execve() takes with the default stack limit of 8 MiB, which is 2 MiB. */
#define ENVIRON_MAX_BYTES   (4u << 20)
#define ENVIRON_CHUNK_BYTES 4096

static const char name[] = OPT_OUT_VARIABLE "=";

bool opt_out_value(const char *value)
{
	static const char *const offs[] = { "off", "0", "no", "false" };

	for (size_t i = 0; value && i < ARRAY_SIZE(offs); i++) {
		if (strcasecmp(value, offs[i]) == 0)
			return true;
	}
	return false;
}

static void scan_byte(struct opt_out_scan *scan, char byte)
{
	if (scan->is_value_whole)
		return;
	if (scan->is_found) {
		scan->is_value_whole = byte == '\0';
		if (byte && scan->value_len < sizeof(scan->value) - 1)
			scan->value[scan->value_len++] = byte;
		return;
	}
	if (byte == '\0') {
		scan->name_len = 0;
		scan->is_other = false;
	} else if (!scan->is_other) {
		scan->is_other = byte != name[scan->name_len++];
		scan->is_found = !scan->is_other && scan->name_len == sizeof(name) - 1;
	}
}

void opt_out_scan_add(struct opt_out_scan *scan, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		scan_byte(scan, bytes[i]);
}

bool opt_out_scan_result(const struct opt_out_scan *scan)
{
	return scan->is_found && opt_out_value(scan->value);
}

enum opt_out opt_out_read(int proc_fd, uint32_t pid)
{
	struct opt_out_scan scan = { .name_len = 0 };
	char chunk[ENVIRON_CHUNK_BYTES];
	char path[32];
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	size_t total = 0;
	ssize_t got;

	snprintf(path, sizeof(path), "%u/environ", pid);

	/* The first thread of a process that goes on without it has no memory any more. */
	__cleanup_fd int fd = proc_first_thread_has_ended(proc_fd, pid) ?
				      proc_thread_open(proc_fd, pid, "environ", flags) :
				      openat(proc_fd, path, flags);

	if (fd < 0)
		return OPT_OUT_UNDECIDED;
	do {
		got = read(fd, chunk, sizeof(chunk));
		if (got > 0) {
			total += (size_t)got;
			opt_out_scan_add(&scan, chunk, (size_t)got);
		}
	} while ((got > 0 || (got < 0 && errno == EINTR)) && !scan.is_value_whole &&
		 total < ENVIRON_MAX_BYTES);
	explicit_bzero(chunk, sizeof(chunk));
	if (opt_out_scan_result(&scan))
		return OPT_OUT_BY_ENVIRONMENT;
	/* Nothing at all: its memory is gone. A program without environment, the BPF side tells. */
	if (got < 0 || !total || (!scan.is_value_whole && total >= ENVIRON_MAX_BYTES))
		return OPT_OUT_UNDECIDED;
	return OPT_OUT_NONE;
}

const char *opt_out_reason(enum opt_out opt_out)
{
	switch (opt_out) {
	case OPT_OUT_BY_ENVIRONMENT:
		return OPT_OUT_VARIABLE " in its environment";
	case OPT_OUT_BY_LABEL:
		return "label " OPT_OUT_LABEL " of its container";
	default:
		return NULL;
	}
}
