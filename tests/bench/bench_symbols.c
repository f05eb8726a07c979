// SPDX-License-Identifier: Apache-2.0
/*
 * What naming costs: the symbol table of a large library, a first look at a process, cold and warm
 * addresses, the kernel's symbols; of a HotSpot also its compiled code, read through its tables.
 * One line per figure: name, value, unit.
 *
 * Usage: bench_symbols [PID]      default: this program itself
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/parser/parser_child.h"
#include "symbols/symbols.h"
#include "tests/unit/forking.h"
#include "user/files/opener_child.h"
#include "user/host/procmaps.h"
#include "user/util/account.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/host/proc_stat.h"

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
		if (symbols_process__read_and_resolve(process, &stack, UINT64_MAX, frames))
			return -1;
	}
	return (double)(clock_monotonic_ns() - begin_ns) / (double)(cnt ? cnt : 1);
}

/* ---- a JVM's compiled code ---- */

#define BENCH_METHODS 300u /* what a busy service has in its samples */
#define BENCH_PLACES  8u   /* in each */
#define BENCH_WINDOWS 20u

struct jit_places {
	uint64_t *words;
	size_t cnt;
	size_t cap;
};

/* Addresses all over one piece of code; the interpreter and the stubs count as little as others. */
static int add_places(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	struct jit_places *places = ctx;

	(void)name;
	for (uint64_t i = 0; i < BENCH_PLACES && places->cnt < places->cap; i++)
		places->words[places->cnt++] = start + len * i / BENCH_PLACES;
	return 0;
}

/* Each place as the leaf of a stack of its own: all that a prefetch has to do. */
static double prefetch_all(struct symbolizer *symbolizer, struct symbols_process *process,
			   const struct jit_places *places)
{
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < places->cnt; i++) {
		struct symbols_stack stack = { .words = &places->words[i], .word_cnt = 1 };

		if (symbols_process__prefetch(process, &stack, clock_boot_ns()))
			return -1;
	}
	(void)symbolizer__end_prefetch(symbolizer);
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e6;
}

static double window_of_all(struct symbols_process *process, const struct jit_places *places,
			    struct frame_list *frames)
{
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t since_ns = clock_boot_ns();

	if (symbols_process__refresh(process))
		return -1;
	for (size_t i = 0; i < places->cnt; i++) {
		struct symbols_stack stack = { .words = &places->words[i], .word_cnt = 1 };

		frames->cnt = 0;
		if (symbols_process__read_and_resolve(process, &stack, since_ns, frames))
			return -1;
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e6;
}

static void bench_jit(struct symbolizer *symbolizer, struct symbols_process *process,
		      struct frame_list *frames, size_t method_cnt)
{
	struct jit_places places = { .cap = method_cnt * BENCH_PLACES };
	size_t before = symbolizer__bytes(symbolizer);
	double warm_ms = 0;

	places.words = calloc(places.cap, sizeof(*places.words));
	if (!places.words || symbols_process__each_jit(process, add_places, &places))
		places.cnt = 0;
	row("JIT: pieces of code", (double)(places.cnt / BENCH_PLACES), "");
	row("JIT: first prefetch of all", prefetch_all(symbolizer, process, &places), "ms");
	row("JIT: second prefetch of all", prefetch_all(symbolizer, process, &places), "ms");
	row("JIT: first window", window_of_all(process, &places, frames), "ms");
	for (unsigned int i = 0; i < BENCH_WINDOWS; i++)
		warm_ms += window_of_all(process, &places, frames) / BENCH_WINDOWS;
	row("JIT: warm window", warm_ms, "ms");
	row("JIT: memory", (double)(symbolizer__bytes(symbolizer) - before) / 1024, "KiB");
	free(places.words);
}

static int bench(struct symbolizer *symbolizer, int proc_fd, uint32_t pid)
{
	static uint64_t ips[BENCH_ADDRESSES];
	struct process_life id = { .pid = pid };
	const uint64_t kernel_ip = UINT64_MAX - (2u << 20);
	struct symbols_process *process;
	struct frame_list frames = { 0 };
	uint64_t begin_ns;
	double warm_ns = 0;
	struct symbols_jit_status status;
	size_t cnt;

	if (proc_stat_start_ns(proc_fd, pid, &id.start_ns))
		return 1;
	begin_ns = clock_monotonic_ns();
	if (symbolizer__open_process(symbolizer, &id, account_of_host(), &process))
		return 1;
	symbols_process__jit_status(process, &status);
	row("first look at a process", (double)(clock_monotonic_ns() - begin_ns) / 1e6, "ms");
	begin_ns = clock_monotonic_ns();
	for (unsigned int i = 0; i < BENCH_ROUNDS; i++)
		if (symbols_process__refresh(process))
			return 1;
	row("refresh", (double)(clock_monotonic_ns() - begin_ns) / 1e3 / BENCH_ROUNDS, "us");
	if (status.source == JIT_SOURCE_VMSTRUCTS) {
		bench_jit(symbolizer, process, &frames, BENCH_METHODS);
		bench_jit(symbolizer, process, &frames, 10000);
	}
	cnt = choose_addresses(proc_fd, pid, ips, BENCH_ADDRESSES);
	row("addresses", (double)cnt, "");
	row("cold address", resolve_all(process, ips, cnt, &frames), "ns");
	for (unsigned int i = 0; i < BENCH_ROUNDS; i++)
		warm_ns += resolve_all(process, ips, cnt, &frames) / BENCH_ROUNDS;
	row("warm address", warm_ns, "ns");
	begin_ns = clock_monotonic_ns();
	if (symbolizer__read_and_resolve_kernel(symbolizer, &kernel_ip, 1, &frames))
		return 1;
	row("kernel symbols read", (double)(clock_monotonic_ns() - begin_ns) / 1e6, "ms");
	row("memory", (double)symbolizer__bytes(symbolizer) / 1024, "KiB");
	frame_list_release(&frames);
	return 0;
}

int main(int argc, char **argv)
{
	struct symbolizer_options options = { .jit = JIT_MODE_AUTO,
					      .parser_starter = forking(parser_child_main),
					      .opener_starter = forking(opener_child_main) };
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
