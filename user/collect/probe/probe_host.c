// SPDX-License-Identifier: Apache-2.0
/* See probe_host.h. */
#include "user/collect/probe/probe_host.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define NO_MEMORY_TRIES	      4
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

/* ---- maps ---- */

bool probe_host_may_grow(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	__cleanup_fd int map_fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "jbpf_may_grow", 4, 4, 1, &options);
	struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map_fd },
		{ .code = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	__cleanup_fd int program_fd = -1;

	if (map_fd < 0)
		return false;
	program_fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "jbpf_may_grow", "GPL", insns,
				   ARRAY_SIZE(insns), NULL);
	return program_fd >= 0;
}

int probe_host_let_grow(struct bpf_map *const *maps, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; !err && i < cnt; i++)
		err = bpf_map__set_map_flags(maps[i], BPF_F_NO_PREALLOC);
	return err;
}

/* The kernel refills what it hands out some at a time, a moment after it was asked (kernel/bpf/memalloc.c). */
int probe_host_map_put(int map_fd, const void *key, const void *value)
{
	int err = -ENOMEM;

	for (int i = 0; i < NO_MEMORY_TRIES && err == -ENOMEM; i++)
		err = bpf_map_update_elem(map_fd, key, value, BPF_ANY);
	return err;
}
