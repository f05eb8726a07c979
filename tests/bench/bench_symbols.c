// SPDX-License-Identifier: Apache-2.0
/*
 * What naming costs: the symbol table of a large library, a first look at a process, cold and warm
 * addresses, the kernel's symbols. One line per figure: name, value, unit.
 *
 * Usage: bench_symbols [PID]      default: this program itself
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/procmaps.h"
#include "symbols/symbols.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/proc_stat.h"

#define BENCH_ADDRESSES 20000u
#define BENCH_ROUNDS	200u
#define BENCH_DEPTH	64u /* frames of a stack */

static void row(const char *name, double value, const char *unit)
{
	printf("%-32s %12.3f %s\n", name, value, unit);
}

/* Addresses spread evenly over all code of the process. */
static size_t choose_addresses(int proc_fd, uint32_t pid, uint64_t *ips, size_t cnt)
{
	struct procmaps maps = { 0 };
	uint64_t total = 0, step, at = 0;
	size_t found = 0;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "%u/maps", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || procmaps_read(fd, &maps))
		return 0;
	close(fd);
	for (size_t i = 0; i < maps.cnt; i++)
		total += maps.items[i].end - maps.items[i].start;
	step = total / cnt + 1;
	for (size_t i = 0; i < maps.cnt; i++) {
		uint64_t len = maps.items[i].end - maps.items[i].start;

		for (; at < len && found < cnt; at += step)
			ips[found++] = maps.items[i].start + at;
		at = at < len ? 0 : at - len;
	}
	procmaps_release(&maps);
	return found;
}

/* All addresses as stacks; nanoseconds per frame, or a negative number. */
static double resolve_all(struct symbols_process *process, const uint64_t *ips, size_t cnt,
			  struct frame_list *frames)
{
	uint64_t begin_ns = clock_monotonic_ns();

	for (size_t at = 0; at < cnt; at += BENCH_DEPTH) {
		size_t depth = cnt - at < BENCH_DEPTH ? cnt - at : BENCH_DEPTH;

		struct symbols_stack stack = { .words = ips + at, .word_cnt = depth };

		frames->cnt = 0;
		if (symbols_process__resolve(process, &stack, UINT64_MAX, frames))
			return -1;
	}
	return (double)(clock_monotonic_ns() - begin_ns) / (double)(cnt ? cnt : 1);
}

static int bench(struct symbolizer *symbolizer, int proc_fd, uint32_t pid)
{
	static uint64_t ips[BENCH_ADDRESSES];
	struct symbols_process_id id = { .pid = pid };
	const uint64_t kernel_ip = UINT64_MAX - (2u << 20);
	struct symbols_process *process;
	struct frame_list frames = { 0 };
	uint64_t begin_ns;
	double warm_ns = 0;
	size_t cnt;

	if (proc_stat_start_ns(proc_fd, pid, &id.start_ns))
		return 1;
	begin_ns = clock_monotonic_ns();
	if (symbolizer__process(symbolizer, &id, &process))
		return 1;
	row("first look at a process", (double)(clock_monotonic_ns() - begin_ns) / 1e6, "ms");
	begin_ns = clock_monotonic_ns();
	for (unsigned int i = 0; i < BENCH_ROUNDS; i++)
		if (symbols_process__refresh(process))
			return 1;
	row("refresh", (double)(clock_monotonic_ns() - begin_ns) / 1e3 / BENCH_ROUNDS, "us");
	cnt = choose_addresses(proc_fd, pid, ips, BENCH_ADDRESSES);
	row("addresses", (double)cnt, "");
	row("cold address", resolve_all(process, ips, cnt, &frames), "ns");
	for (unsigned int i = 0; i < BENCH_ROUNDS; i++)
		warm_ns += resolve_all(process, ips, cnt, &frames) / BENCH_ROUNDS;
	row("warm address", warm_ns, "ns");
	begin_ns = clock_monotonic_ns();
	if (symbolizer__resolve_kernel(symbolizer, &kernel_ip, 1, &frames))
		return 1;
	row("kernel symbols read", (double)(clock_monotonic_ns() - begin_ns) / 1e6, "ms");
	row("memory", (double)symbolizer__bytes(symbolizer) / 1024, "KiB");
	frame_list_release(&frames);
	return 0;
}

int main(int argc, char **argv)
{
	struct symbolizer_options options = { .jit = JIT_MODE_PERFMAP };
	struct symbolizer *symbolizer = NULL;
	uint32_t pid = (uint32_t)getpid();
	int failed = 1;

	if (argc > 1 && parse_u32_range(argv[1], 1, INT32_MAX, &pid)) {
		fprintf(stderr, "bench_symbols: not a pid: '%s'\n", argv[1]);
		return 2;
	}
	options.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (options.proc_fd >= 0 && symbolizer__open(&options, &symbolizer) == 0)
		failed = bench(symbolizer, options.proc_fd, pid);
	symbolizer__free(symbolizer);
	if (failed)
		fprintf(stderr, "bench_symbols: process %u cannot be looked at\n", pid);
	return failed;
}
