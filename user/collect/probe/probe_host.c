// SPDX-License-Identifier: Apache-2.0
/* See probe_host.h. */
#include "user/collect/probe/probe_host.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define PROBE_PROC_FILE_BYTES 65536

static int read_proc_number(const char *path, int fallback)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	uint64_t number;
	bool is_negative;

	if (fs_read_file(AT_FDCWD, path, PROBE_PROC_FILE_BYTES, &text))
		return fallback;
	at = strbuf_str(&text);
	is_negative = *at == '-';
	at += is_negative;
	if (parse_u64_n(at, strcspn(at, "\n"), 10, &number) || number > INT_MAX)
		return fallback;
	return is_negative ? -(int)number : (int)number;
}

uint32_t probe_host_max_sample_rate(void)
{
	return (uint32_t)read_proc_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);
}

void probe_host_read(struct probe_host *out)
{
	__cleanup_strbuf struct strbuf status = STRBUF_INIT;

	*out = (struct probe_host){ 0 };
	if (!fs_read_file(AT_FDCWD, "/proc/self/status", PROBE_PROC_FILE_BYTES, &status))
		(void)probe_why_capabilities(strbuf_str(&status), &out->capabilities);
	out->perf_event_paranoid =
		read_proc_number("/proc/sys/kernel/perf_event_paranoid", INT_MAX);
	out->max_sample_rate = probe_host_max_sample_rate();
	out->has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

uint64_t probe_host_map_bytes(int fd)
{
	static const char label[] = "\nmemlock:\t";
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	uint64_t bytes = 0;

	if (fs_read_filef(AT_FDCWD, PROBE_PROC_FILE_BYTES, &text, "/proc/self/fdinfo/%d", fd))
		return 0;
	at = strstr(strbuf_str(&text), label);
	if (!at)
		return 0;
	at += sizeof(label) - 1;
	if (parse_u64_n(at, strcspn(at, "\n"), 10, &bytes))
		return 0;
	return bytes;
}
