// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/stat and /proc/PID/status. The comm in stat may hold anything, ")" and blanks
 * included, so fields are counted from the last ")". See proc(5).
 */
#include "user/host/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define PROC_STAT_MAX_BYTES   4096
#define PROC_STATUS_MAX_BYTES 65536
#define PROC_STAT_START_FIELD 22

int proc_stat_read(int proc_fd, uint32_t pid, struct proc_stat *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	int err;

	err = fs_read_filef(proc_fd, PROC_STAT_MAX_BYTES, &text, "%u/stat", pid);
	if (err)
		return err;
	at = strrchr(strbuf_str(&text), ')');
	if (!at || at[1] != ' ' || !at[2])
		return -EINVAL;
	at += 2;

	struct proc_stat stat = { .state = *at };

	for (int field = 3; field < PROC_STAT_START_FIELD; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -EINVAL;
		at++;
	}
	err = parse_u64_n(at, strspn(at, "0123456789"), 10, &stat.start_ticks);
	if (err)
		return err;
	*out = stat;
	return 0;
}

bool proc_stat_wants_cpu(pid_t pid)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_stat stat;

	return proc_fd >= 0 && proc_stat_read(proc_fd, (uint32_t)pid, &stat) == 0 &&
	       stat.state == 'R';
}

int proc_stat_check_start(int proc_fd, uint32_t pid, uint64_t start_ns)
{
	uint64_t ns_per_tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat stat;
	int err = proc_stat_read(proc_fd, pid, &stat);

	if (err)
		return err == -ENOENT ? -ESRCH : err;
	return stat.start_ticks == start_ns / ns_per_tick ? 0 : -ESRCH;
}

int proc_stat_start_ns(int proc_fd, uint32_t pid, uint64_t *start_ns_out)
{
	struct proc_stat stat;
	int err = proc_stat_read(proc_fd, pid, &stat);

	if (err)
		return err;
	*start_ns_out = stat.start_ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

/* Text behind "Key:\t", or NULL. */
static const char *status_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			return line + len + 1;
	}
	return NULL;
}

/* Number `index` (from 0) of a line of blank-separated numbers. */
static int status_number(const char *line, int index, int base, uint64_t *out)
{
	for (;;) {
		size_t len;

		line += strspn(line, " \t");
		len = strcspn(line, " \t\n");
		if (index-- == 0)
			return parse_u64_n(line, len, base, out);
		if (len == 0)
			return -EINVAL;
		line += len;
	}
}

static int status_field(const char *text, const char *key, int index, int base, uint64_t *out)
{
	const char *line = status_line(text, key);

	return line ? status_number(line, index, base, out) : -EINVAL;
}

/* The last number of the line, the innermost namespace. */
static int status_last_number(const char *line, uint64_t *out)
{
	size_t len = strcspn(line, "\n");
	size_t begin;

	while (len && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	begin = len;
	while (begin && line[begin - 1] >= '0' && line[begin - 1] <= '9')
		begin--;
	return parse_u64_n(line + begin, len - begin, 10, out);
}

int proc_status_read(int proc_fd, uint32_t pid, struct proc_status *out)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;
	uint64_t uid, euid, egid, tgid, ns_pid;
	struct proc_status status = { 0 };
	const char *text;
	const char *line;
	int err;

	err = fs_read_filef(proc_fd, PROC_STATUS_MAX_BYTES, &buf, "%u/status", pid);
	if (err)
		return err;
	text = strbuf_str(&buf);
	if (status_field(text, "Uid", 0, 10, &uid) || status_field(text, "Uid", 1, 10, &euid) ||
	    status_field(text, "Gid", 1, 10, &egid) || status_field(text, "Tgid", 0, 10, &tgid))
		return -EINVAL;
	ns_pid = tgid;
	line = status_line(text, "NSpid");
	if (line && status_last_number(line, &ns_pid))
		return -EINVAL;
	/* Kernel threads and zombies have them too; only odd fake trees do not. */
	(void)status_field(text, "SigCgt", 0, 16, &status.sig_caught);
	(void)status_field(text, "SigIgn", 0, 16, &status.sig_ignored);
	(void)status_field(text, "SigBlk", 0, 16, &status.sig_blocked);
	if (status_field(text, "CapBnd", 0, 16, &status.cap_bounding))
		status.cap_bounding = UINT64_MAX;
	status.uid = (uid_t)uid;
	status.euid = (uid_t)euid;
	status.egid = (gid_t)egid;
	status.tgid = (uint32_t)tgid;
	status.ns_pid = (uint32_t)ns_pid;
	*out = status;
	return 0;
}
