// SPDX-License-Identifier: Apache-2.0
/*
 * In-kernel cost of one sample: jbpf's program against a minimal bpf_get_stackid profiler, on the
 * same process in the same run. Both are set on a clock event of a child that burns CPU below a
 * known number of frames; the kernel times each run of a program (BPF_ENABLE_STATS). Variants take
 * turns, medians over the rounds are printed. "cold" means the child walks through 64 MiB all the
 * time, so that stack, maps and programs have left the caches, as at 99 Hz in life. "interpreted" is
 * jbpf's program, too, told that the child is a JVM that interprets every second frame.
 *
 * Usage (root): bench_kernel_cost [--json] [--rounds N]
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/jbpf.skel.h"
#include "tests/bench/stackid.skel.h"

#include "user/collect/probe/count_map.h"
#include "user/collect/probe/cpus.h"
#include "user/collect/probe/tick_log.h"
#include "user/util/cleanup.h"

#define BENCH_PERIOD_HOT_NS  200000  /* 5 kHz */
#define BENCH_PERIOD_COLD_NS 1000000 /* 1 kHz */
#define BENCH_ROUND_HOT_MS   80
#define BENCH_ROUND_COLD_MS  250
#define BENCH_ROUNDS_MAX     101
#define BENCH_ROUND_MIN_RUNS 50 /* a round lasts longer where the child has to wait for the CPU */
#define BENCH_ROUND_STEPS    20
#define BENCH_COUNT_ENTRIES  4096
#define BENCH_TICKS_NS	     10000000000 /* room for more than a round */
#define BENCH_COLD_BYTES     (64u << 20)
#define BENCH_FRAME_PAD	     5 /* words; frames are 96 bytes apart on x86_64, about as in Java */
#define BENCH_METHOD	     0x7f0000000000 /* what frames hold where a Method* is looked for */

enum { JBPF = 0, STACKID = 1, INTERPRETED = 2, VARIANTS = 3 };

static volatile uint64_t sink;
static volatile bool is_over; /* never: the child is killed */
static uint8_t *cold_bytes;   /* NULL: stay hot */

/* Burns for ever at the bottom of `depth` frames. */
static __attribute__((noinline)) void burn(void)
{
	uint64_t at = 0;

	while (!is_over) {
		for (int i = 0; i < 64; i++) {
			sink += at;
			if (cold_bytes) {
				at = (at + 4096 + 64) & (BENCH_COLD_BYTES - 1);
				cold_bytes[at]++;
			}
		}
	}
}

/* Two functions that call each other; the code of one is the interpreter. */
#define INTERPRETER_SECTION "bench_interpreter"
extern const char __start_bench_interpreter[], __stop_bench_interpreter[];

static void recurse(int depth);

static __attribute__((noinline, section(INTERPRETER_SECTION))) void interpret(int depth)
{
	volatile uint64_t pad[BENCH_FRAME_PAD];

	for (int i = 0; i < BENCH_FRAME_PAD; i++)
		pad[i] = BENCH_METHOD;
	recurse(depth - 1);
	sink += pad[0];
}

static __attribute__((noinline)) void recurse(int depth)
{
	volatile uint64_t pad[BENCH_FRAME_PAD];

	for (int i = 0; i < BENCH_FRAME_PAD; i++)
		pad[i] = BENCH_METHOD;
	if (depth > 1)
		interpret(depth - 1);
	else
		burn();
	sink += pad[0];
}

/* The child that is sampled; pinned, so that it stays next to its caches. */
static pid_t start_load(int depth, bool is_cold)
{
	pid_t pid = fork();
	cpu_set_t cpus;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	if (is_cold) {
		cold_bytes = malloc(BENCH_COLD_BYTES);
		if (cold_bytes)
			memset(cold_bytes, 1, BENCH_COLD_BYTES);
	}
	/* The last frames are burn(), and main() with what is above it. */
	recurse(depth > 4 ? (depth - 4) | 1 : 1);
	_exit(0);
}

static void stop_load(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

struct bench {
	struct jbpf_bpf *jbpf;
	struct stackid_bpf *stackid;
	struct ring_buffer *stacks;
	int count_fd;
	struct tick_log ticks;
	struct probe_tick *taken;
	int program_fds[VARIANTS];
	struct jbpf_notice child; /* as the programs told of it */
	bool saw_method;
};

static int on_stack(void *ctx, void *data, size_t len)
{
	const struct jbpf_stack *head = data;
	const uint64_t *words = (const uint64_t *)(head + 1);
	struct bench *bench = ctx;

	for (uint32_t i = 0; len >= sizeof(*head) && i < head->frame_cnt; i++)
		bench->saw_method |= words[i] == (BENCH_METHOD | JBPF_WORD_METHOD);
	return 0;
}

static int on_notice(void *ctx, void *data, size_t len)
{
	struct bench *bench = ctx;

	if (len >= sizeof(bench->child))
		memcpy(&bench->child, data, sizeof(bench->child));
	return 0;
}

/* What the child interprets, from now on, or no more. */
static int set_range(struct bench *bench, bool is_jvm)
{
	const struct jbpf_code_range range = {
		.start_ns = bench->child.start_ns,
		.exec_id = bench->child.exec_id,
		.interpreter_low = (uintptr_t)__start_bench_interpreter,
		.interpreter_high = (uintptr_t)__stop_bench_interpreter,
	};
	int fd = bpf_map__fd(bench->jbpf->maps.code_ranges);

	if (is_jvm)
		return bpf_map_update_elem(fd, &bench->child.pid, &range, BPF_ANY);
	(void)bpf_map_delete_elem(fd, &bench->child.pid);
	return 0;
}

/* As probe.c does it: the moment of each sample is noted, too. */
static int load_jbpf(struct bench *bench)
{
	__cleanup_free uint32_t *cpus = NULL;
	size_t cpu_cnt = 0;
	int err = cpus_online(&cpus, &cpu_cnt);

	if (err)
		return err;
	bench->jbpf = jbpf_bpf__open();
	if (!bench->jbpf)
		return -errno;
	tick_log_size(&bench->ticks, (uint32_t)(1000000000 / BENCH_PERIOD_HOT_NS),
		      (uint32_t)cpu_cnt, BENCH_TICKS_NS);
	bench->taken = calloc(tick_log_max(&bench->ticks) + 1, sizeof(*bench->taken));
	if (!bench->taken)
		return -ENOMEM;
	bench->jbpf->rodata->ticks_stride = bench->ticks.stride;
	bench->jbpf->rodata->ticks_cpu_cnt = bench->ticks.cpu_cnt;
	err = bpf_map__set_max_entries(bench->jbpf->maps.ticks, tick_log_words(&bench->ticks));
	if (!err)
		err = jbpf_bpf__load(bench->jbpf);
	if (!err)
		err = tick_log_map(&bench->ticks, bpf_map__fd(bench->jbpf->maps.ticks));
	return err;
}

static int bench_open(struct bench *bench)
{
	__u32 zero = 0;
	int err = load_jbpf(bench);

	if (err)
		return err;
	bench->stackid = stackid_bpf__open_and_load();
	if (!bench->stackid)
		return -errno;
	bench->count_fd = count_map_create("bench_counts", BENCH_COUNT_ENTRIES);
	if (bench->count_fd < 0)
		return bench->count_fd;
	err = bpf_map_update_elem(bpf_map__fd(bench->jbpf->maps.counts), &zero, &bench->count_fd,
				  BPF_ANY);
	if (err)
		return err;
	bench->stacks =
		ring_buffer__new(bpf_map__fd(bench->jbpf->maps.stacks), on_stack, bench, NULL);
	if (!bench->stacks)
		return -errno;
	err = ring_buffer__add(bench->stacks, bpf_map__fd(bench->jbpf->maps.notices), on_notice,
			       bench);
	if (err)
		return err;
	bench->program_fds[JBPF] = bpf_program__fd(bench->jbpf->progs.oncpu);
	bench->program_fds[INTERPRETED] = bench->program_fds[JBPF];
	bench->program_fds[STACKID] = bpf_program__fd(bench->stackid->progs.stackid_oncpu);
	return 0;
}

static void bench_close(struct bench *bench)
{
	ring_buffer__free(bench->stacks);
	tick_log_unmap(&bench->ticks);
	free(bench->taken);
	jbpf_bpf__destroy(bench->jbpf);
	stackid_bpf__destroy(bench->stackid);
	if (bench->count_fd >= 0)
		close(bench->count_fd);
}

static int program_time(int fd, uint64_t *ns, uint64_t *runs)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int err = bpf_obj_get_info_by_fd(fd, &info, &len);

	if (err)
		return err;
	*ns = info.run_time_ns;
	*runs = info.run_cnt;
	return 0;
}

static int open_event(pid_t pid, int program_fd, bool is_cold)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = is_cold ? BENCH_PERIOD_COLD_NS : BENCH_PERIOD_HOT_NS,
		.disabled = 1,
	};
	__cleanup_fd int fd =
		(int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return take_fd(&fd);
}

/* Nanoseconds per run of one variant over one round. */
static int run_round(struct bench *bench, int variant, pid_t pid, bool is_cold, double *out)
{
	const long ms = is_cold ? BENCH_ROUND_COLD_MS : BENCH_ROUND_HOT_MS;
	const struct timespec round = { .tv_nsec = ms * 1000000 };
	uint64_t ns = 0, runs = 0, ns_before, runs_before;
	int err = set_range(bench, variant == INTERPRETED);

	if (err)
		return err;

	__cleanup_fd int fd = open_event(pid, bench->program_fds[variant], is_cold);

	if (fd < 0)
		return fd;
	err = program_time(bench->program_fds[variant], &ns_before, &runs_before);
	if (err)
		return err;
	runs = runs_before;
	for (int i = 0; i < BENCH_ROUND_STEPS && runs - runs_before < BENCH_ROUND_MIN_RUNS; i++) {
		nanosleep(&round, NULL);
		err = program_time(bench->program_fds[variant], &ns, &runs);
		if (err)
			return err;
	}
	if (runs - runs_before < BENCH_ROUND_MIN_RUNS)
		return -ETIME;
	*out = (double)(ns - ns_before) / (double)(runs - runs_before);
	(void)tick_log_take(&bench->ticks, 0, 0, bench->taken);
	err = ring_buffer__consume(bench->stacks);
	return err < 0 ? err : 0;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Medians of all variants at one depth. */
static int measure(struct bench *bench, int depth, bool is_cold, int rounds, double *medians)
{
	double ns[VARIANTS][BENCH_ROUNDS_MAX];
	const struct timespec settle = { .tv_nsec = 100000000 };
	pid_t pid = start_load(depth, is_cold);
	int err = pid < 0 ? -errno : 0;

	if (err)
		return err;
	nanosleep(&settle, NULL);
	for (int round = -1; !err && round < rounds; round++) {
		/* The round before the first only warms up. */
		for (int variant = 0; !err && variant < VARIANTS; variant++)
			err = run_round(bench, variant, pid, is_cold,
					&ns[variant][round < 0 ? 0 : round]);
	}
	stop_load(pid);
	if (!err && !bench->saw_method)
		err = -EBADMSG; /* nothing was interpreted */
	bench->saw_method = false;
	for (int variant = 0; !err && variant < VARIANTS; variant++) {
		qsort(ns[variant], (size_t)rounds, sizeof(double), compare_doubles);
		medians[variant] = ns[variant][rounds / 2];
	}
	return err;
}

static int run(struct bench *bench, int rounds, bool is_json)
{
	static const int depths[] = { 16, 120, 128, 512 };

	printf(is_json ?
		       "{\"depths\":[" :
		       "| frames | jbpf hot | interpreted hot | stackid hot | ratio | jbpf cold | "
		       "interpreted cold | stackid cold | ratio |\n"
		       "|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		double hot[VARIANTS], cold[VARIANTS];
		int err = measure(bench, depths[i], false, rounds, hot);

		if (!err)
			err = measure(bench, depths[i], true, rounds, cold);
		if (err)
			return err;
		if (is_json)
			printf("%s{\"depth\":%d,\"jbpf_ns\":%.0f,\"interpreted_ns\":%.0f,"
			       "\"stackid_ns\":%.0f,\"jbpf_cold_ns\":%.0f,"
			       "\"interpreted_cold_ns\":%.0f,\"stackid_cold_ns\":%.0f}",
			       i ? "," : "", depths[i], hot[JBPF], hot[INTERPRETED], hot[STACKID],
			       cold[JBPF], cold[INTERPRETED], cold[STACKID]);
		else
			printf("| %d | %.0f ns | %.0f ns | %.0f ns | %.2f | %.0f ns | %.0f ns | "
			       "%.0f ns | %.2f |\n",
			       depths[i], hot[JBPF], hot[INTERPRETED], hot[STACKID],
			       hot[JBPF] / hot[STACKID], cold[JBPF], cold[INTERPRETED],
			       cold[STACKID], cold[JBPF] / cold[STACKID]);
		fflush(stdout);
	}
	printf(is_json ? "]}\n" : "stackid is cut at 127 frames\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "rounds", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct bench bench = { .count_fd = -1 };
	bool is_json = false;
	int rounds = 9, option, err;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'j')
			is_json = true;
		else if (option == 'r')
			rounds = atoi(optarg);
		else
			return 2;
	}
	if (rounds < 1 || rounds > BENCH_ROUNDS_MAX)
		return 2;

	__cleanup_fd int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	err = stats_fd < 0 ? -errno : bench_open(&bench);
	if (!err)
		err = run(&bench, rounds, is_json);
	bench_close(&bench);
	if (err)
		fprintf(stderr, "bench_kernel_cost: %s\n", strerror(-err));
	return err ? 1 : 0;
}
