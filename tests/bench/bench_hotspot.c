// SPDX-License-Identifier: Apache-2.0
/*
 * What reading a JVM's code cache costs us, in CPU time of our own, on the JVM given by its pid:
 * opening, naming everything from cold, naming single blobs, asking whether blobs are still the
 * same. Medians; the first walk, which also pays for our own memory, is told apart.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_code.h"
#include "tests/unit/parse_here.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

#define ROUND_CNT 11
#define FIND_CNT  2000u

static void die(const char *what)
{
	fprintf(stderr, "bench_hotspot: %s\n", what);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int u64_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t median(uint64_t *values, size_t cnt)
{
	qsort(values, cnt, sizeof(*values), u64_compare);
	return values[cnt / 2];
}

/* Blobs with methods, evenly taken from all. */
struct sample {
	struct hotspot_blob *blobs;
	size_t cnt; /* blobs seen */
	size_t kept;
	size_t stride;
};

static int count_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	struct sample *sample = ctx;

	(void)name;
	if (sample->blobs && blob->method && sample->cnt % sample->stride == 0 &&
	    sample->kept < FIND_CNT)
		sample->blobs[sample->kept++] = *blob;
	sample->cnt++;
	return 0;
}

static uint64_t time_walk(struct hotspot_code *code, struct sample *sample)
{
	uint64_t start = cpu_ns();

	sample->cnt = 0;
	if (hotspot_code__walk(code, count_blob, sample, NULL))
		die("the walk failed");
	return cpu_ns() - start;
}

static uint64_t time_find(struct hotspot_code *code, const struct sample *sample)
{
	uint64_t start = cpu_ns();
	struct hotspot_blob found;

	for (size_t i = 0; i < sample->kept; i++) {
		const struct hotspot_blob *blob = &sample->blobs[i];
		uint64_t pc = blob->code_begin + (blob->code_end - blob->code_begin) / 2;

		(void)hotspot_code__find(code, pc, &found);
	}
	return (cpu_ns() - start) / sample->kept;
}

static uint64_t time_names(struct hotspot_code *code, const struct sample *sample)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	uint64_t start = cpu_ns();

	for (size_t i = 0; i < sample->kept; i++) {
		strbuf_clear(&name);
		(void)hotspot_code__method_name(code, sample->blobs[i].method, NULL, &name);
	}
	return (cpu_ns() - start) / sample->kept;
}

static uint64_t time_verify(struct hotspot_code *code, const struct sample *sample)
{
	const struct hotspot_blob **blobs = calloc(sample->kept, sizeof(*blobs));
	bool *same = calloc(sample->kept, sizeof(*same));
	uint64_t start, taken;

	if (!blobs || !same)
		die("out of memory");
	for (size_t i = 0; i < sample->kept; i++)
		blobs[i] = &sample->blobs[i];
	start = cpu_ns();
	if (hotspot_code__verify(code, blobs, sample->kept, same))
		die("verify failed");
	taken = (cpu_ns() - start) / sample->kept;
	free(blobs);
	free(same);
	return taken;
}

/* Opens a JVM as if for the first time. */
static struct hotspot_vm *open_vm(uint32_t pid, uint64_t *ns_out)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t start = cpu_ns();
	struct hotspot_vm *vm;

	if (proc_fd < 0 || hotspot_vm__open(proc_fd, pid, parser_here(), NULL, &vm))
		die("this is no HotSpot that can be read");
	*ns_out = cpu_ns() - start;
	return vm;
}

int main(int argc, char **argv)
{
	uint64_t opens[ROUND_CNT], walks[ROUND_CNT], first_walk, refresh;
	struct sample sample = { .stride = 1 };
	const char *missing = "";
	struct hotspot_code *code;
	struct hotspot_vm *vm = NULL;
	uint32_t pid;

	if (argc != 2 || parse_u32_range(argv[1], 1, UINT32_MAX, &pid))
		die("usage: bench_hotspot PID");
	for (int i = 0; i < ROUND_CNT; i++) {
		hotspot_vm__free(vm);
		vm = open_vm(pid, &opens[i]);
	}
	if (hotspot_code__open(vm, &code, &missing))
		die("its code cache cannot be read");
	first_walk = time_walk(code, &sample);
	for (int i = 0; i < ROUND_CNT; i++)
		walks[i] = time_walk(code, &sample);
	sample.blobs = calloc(FIND_CNT, sizeof(*sample.blobs));
	sample.stride = sample.cnt / FIND_CNT + 1;
	if (!sample.blobs || !sample.cnt)
		die("nothing to find");
	(void)time_walk(code, &sample);
	if (!sample.kept)
		die("no methods");
	refresh = cpu_ns();
	for (int i = 0; i < 100; i++)
		(void)hotspot_code__refresh(code);
	refresh = (cpu_ns() - refresh) / 100;
	printf("{\"blobs\": %zu, \"open_us\": %.1f, \"first_walk_us\": %.1f, \"walk_us\": %.1f, ",
	       sample.cnt, (double)median(opens, ROUND_CNT) / 1e3, (double)first_walk / 1e3,
	       (double)median(walks, ROUND_CNT) / 1e3);
	printf("\"find_us\": %.2f, \"name_us\": %.2f, \"verify_us\": %.3f, \"refresh_us\": %.2f}\n",
	       (double)time_find(code, &sample) / 1e3, (double)time_names(code, &sample) / 1e3,
	       (double)time_verify(code, &sample) / 1e3, (double)refresh / 1e3);
	free(sample.blobs);
	hotspot_code__free(code);
	hotspot_vm__free(vm);
	return 0;
}
