// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the real BPF side until its input ends, and prints all it gave, a JSON object a line, for
 * tests/bpf/live.py to read while it comes. Usage (root):
 *
 *   live_probe [--pid PID]... [--cgroup PATH]... [--window SECONDS] [--frequency HZ]
 *              [--max-depth N] [--compat] [--range CODE_LOW:CODE_HIGH:INTERPRETER_LOW:HIGH]
 *              [--range-of START,EXEC] [--range-once] [--space none|fp|once]
 *              [--ticks WINDOW_SECONDS] [--seed HEX]
 *              [--account CGROUP_ID:ACCOUNT]... [--late] [--planned SECONDS] [--lazy] [--new]
 *
 * Prints "sampling" on stderr once it samples, and at the end of each window the sums of all so
 * far; the last window is over when the input is. --range: JIT
 * code of every process sampled (hexadecimal), said at its first notice; --range-of: but for a
 * process that began START ns later or runs EXEC programs later; --range-once: never again then.
 * --space: mappings of every process sampled, said at the same time: of no memory, or of all, as
 * code that keeps frame pointers (once: never again then); of which run: as --range-of says.
 * --ticks: the moments of the samples, too; the log has room for windows that long. --seed: of the
 * stacks' hashes. --late: accounts are set at the end of the first window. --planned: the length of
 * windows that maps are made for; those that are sampled may be longer. --lazy: buffers are emptied at
 * the end of a window only. --new: user stacks, too, as the kernel reports them.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/collect/probe/probe.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define LIVE_PIDS_MAX	  64
#define LIVE_ACCOUNTS_MAX 16
/* 128 TiB, all that x86_64 gives to programs that do not ask for more. */
#define LIVE_SPACE_MAPPINGS 16
#define LIVE_SPACE_PAGES    (1u << 31)

struct live {
	struct probe *probe;
	uint64_t counters[JBPF_CNT_MAX];
	uint64_t stack_records;
	uint64_t missing_stacks;
	int window;
	bool has_range;
	bool is_range_set_once;
	bool is_lazy;
	bool wants_new;
	bool is_over; /* the input ended */
	struct live_account {
		uint64_t cgroup_id, account_id;
	} accounts[LIVE_ACCOUNTS_MAX];
	int account_cnt;
	bool are_accounts_late;
	/* start_ns and exec_id: to be added to those of the process. */
	struct jbpf_code_range range;
	enum live_space {
		LIVE_SPACE_NOT_SET = 0,
		LIVE_SPACE_EMPTY,
		LIVE_SPACE_FP,
		LIVE_SPACE_ONCE
	} space;
};

static const char *const counter_names[JBPF_CNT_MAX] = {
	[JBPF_CNT_SAMPLES] = "samples",
	[JBPF_CNT_SAMPLES_KERNEL] = "samples_kernel",
	[JBPF_CNT_FILTERED] = "filtered",
	[JBPF_CNT_LOST_COUNTS_FULL] = "lost_counts_full",
	[JBPF_CNT_LOST_NO_MAP] = "lost_no_map",
	[JBPF_CNT_STACK_BUFFER_FULL] = "stack_buffer_full",
	[JBPF_CNT_SEEN_FULL] = "seen_full",
	[JBPF_CNT_NOTICE_LOST] = "notice_lost",
	[JBPF_CNT_END_MAX_DEPTH] = "end_max_depth",
	[JBPF_CNT_END_FAULT] = "end_fault",
	[JBPF_CNT_END_BAD_FP] = "end_bad_fp",
	[JBPF_CNT_END_LEAF_ONLY] = "end_leaf_only",
	[JBPF_CNT_KERNEL_STACK_ERROR] = "kernel_stack_error",
	[JBPF_CNT_LOST_UPDATE] = "lost_update",
	[JBPF_CNT_LEAF_UNREAD] = "leaf_unread",
	[JBPF_CNT_TICKS_FULL] = "ticks_full",
	[JBPF_CNT_OPTED_OUT] = "opted_out",
	[JBPF_CNT_CUT_DEPTH] = "cut_depth",
	[JBPF_CNT_CUT_LEAF] = "cut_leaf",
	[JBPF_CNT_CUT_ALL] = "cut_all",
	[JBPF_CNT_NOTICE_HELD] = "notice_held",
	[JBPF_CNT_FRAMES_TABLE] = "frames_table",
	[JBPF_CNT_FRAMES_JIT] = "frames_jit",
	[JBPF_CNT_RULE_MISS] = "rule_miss",
	[JBPF_CNT_END_NO_RULE] = "end_no_rule",
	[JBPF_CNT_END_NO_MAPPING] = "end_no_mapping",
	[JBPF_CNT_END_UNSUPPORTED] = "end_unsupported",
	[JBPF_CNT_END_JIT] = "end_jit",
	[JBPF_CNT_END_BAD_CFA] = "end_bad_cfa",
	[JBPF_CNT_END_FROZEN] = "end_frozen",
	[JBPF_CNT_END_LEAF] = "end_leaf",
	[JBPF_CNT_END_MAX_RULES] = "end_max_rules",
	[JBPF_CNT_EVENT_SAMPLES] = "event_samples",
	[JBPF_CNT_EVENT_LOST] = "event_lost",
};

static void print_comm(const char *comm)
{
	putchar('"');
	for (int i = 0; i < JBPF_COMM_LEN && comm[i]; i++)
		putchar(comm[i] < ' ' || comm[i] == '"' || comm[i] == '\\' ? '_' : comm[i]);
	putchar('"');
}

/* Mappings of no memory at all, or of all of it, as code that keeps frame pointers. */
static void set_space(struct live *live, const struct jbpf_notice *notice)
{
	struct jbpf_space space = { .start_ns = notice->start_ns + live->range.start_ns,
				    .exec_id = notice->exec_id + live->range.exec_id };
	int err;

	memset(space.start, 0xff, sizeof(space.start));
	while (live->space != LIVE_SPACE_EMPTY && space.mapping_cnt < LIVE_SPACE_MAPPINGS) {
		space.mappings[space.mapping_cnt] =
			(struct jbpf_mapping){ .page_cnt = LIVE_SPACE_PAGES,
					       .flags = JBPF_MAPPING_KEEPS_FP };
		space.start[space.mapping_cnt] = (uint64_t)space.mapping_cnt * LIVE_SPACE_PAGES
						 << JBPF_UNWIND_PAGE_SHIFT;
		space.mapping_cnt++;
	}
	err = probe__set_space(live->probe, notice->pid, 0, &space);
	if (err)
		fprintf(stderr, "space: %s\n", errstr(err));
	if (live->space == LIVE_SPACE_ONCE)
		live->space = LIVE_SPACE_NOT_SET;
}

static void set_range(struct live *live, const struct jbpf_notice *notice)
{
	struct jbpf_code_range range = live->range;
	int err;

	range.start_ns += notice->start_ns;
	range.exec_id += notice->exec_id;
	err = probe__set_code_range(live->probe, notice->pid, 0, &range);
	if (err)
		fprintf(stderr, "code range: %s\n", errstr(err));
	live->has_range = !live->is_range_set_once;
}

static void on_notice(void *ctx, const struct jbpf_notice *notice)
{
	struct live *live = ctx;

	if (live->space && notice->kind == JBPF_NOTICE_SEEN)
		set_space(live, notice);
	if (live->has_range && notice->kind == JBPF_NOTICE_SEEN)
		set_range(live, notice);

	printf("{\"notice\":%u,\"at_ns\":%" PRIu64 ",\"pid\":%u,\"ns_pid\":%u,\"exec_id\":%u,"
	       "\"start_ns\":%llu,\"cgroup_id\":%llu,\"flags\":%u,\"comm\":",
	       notice->kind, clock_boot_ns(), notice->pid, notice->ns_pid, notice->exec_id,
	       notice->start_ns, notice->cgroup_id, notice->flags);
	print_comm(notice->comm);
	puts("}");
}

static void print_leaf(const struct probe_stack *stack)
{
	if (stack->leaf_words)
		printf(",\"leaf_words\":[%" PRIu64 ",%" PRIu64 "]", stack->leaf_words[0],
		       stack->leaf_words[1]);
	if (!stack->leaf_code)
		return;
	fputs(",\"leaf_code\":\"", stdout);
	for (int i = 0; i < JBPF_LEAF_CODE_BYTES; i++)
		printf("%02x", stack->leaf_code[i]);
	putchar('"');
}

static void print_words(const struct probe_stack *stack)
{
	printf("\"end\":%d,\"ips\":[", stack->end);
	for (uint32_t i = 0; i < stack->frame_cnt; i++)
		printf("%s%" PRIu64, i ? "," : "", stack->ips[i]);
	putchar(']');
	print_leaf(stack);
}

/* User stacks as they are told of. */
static void print_new_stacks(struct live *live)
{
	struct probe_new_stack new_stack;

	while (live->wants_new && probe__next_new_stack(live->probe, &new_stack)) {
		printf("{\"new\":%u,\"start_ns\":%" PRIu64 ",\"exec_id\":%u,\"since_ns\":%" PRIu64
		       ",\"at_ns\":%" PRIu64 ",",
		       new_stack.life.pid, new_stack.life.start_ns, new_stack.life.exec_id,
		       new_stack.since_boot_ns, clock_boot_ns());
		print_words(&new_stack.stack);
		puts("}");
	}
}

static void print_stack(struct live *live, const char *name, uint64_t hash)
{
	struct probe_stack stack;

	if (!hash)
		return;
	if (probe__stack(live->probe, hash, &stack)) {
		live->missing_stacks++;
		return;
	}
	printf(",\"%s\":{\"hash\":\"%016" PRIx64 "\",", name, hash);
	print_words(&stack);
	putchar('}');
}

/* Moments on CLOCK_BOOTTIME, by key. */
static void print_ticks(const struct live *live, const struct probe_batch *batch)
{
	uint64_t start_us = batch->start_boot_ns / 1000;

	for (size_t i = 0; i < batch->tick_cnt; i++) {
		const struct probe_tick *tick = &batch->ticks[i];

		printf("{\"tick_us\":%" PRIu64 ",\"window\":%d,\"tag\":%u}\n",
		       start_us + tick->after_us, live->window, tick->tag);
	}
}

static void print_accounts(const struct live *live, const struct probe_batch *batch)
{
	for (size_t i = 0; i < batch->account_cnt; i++) {
		const struct probe_account *account = &batch->accounts[i];

		printf("{\"account\":%" PRIu64 ",\"window\":%d,\"stack_bytes\":%" PRIu64
		       ",\"entries\":%u,\"processes\":%u,\"cut\":%u,\"leaf\":%u,\"bare\":%u,"
		       "\"lost\":%u}\n",
		       account->account_id, live->window, account->stack_bytes, account->entries,
		       account->processes, account->cut_samples, account->leaf_samples,
		       account->bare_samples, account->lost_samples);
	}
}

static void print_batch(struct live *live, const struct probe_batch *batch)
{
	for (size_t i = 0; i < batch->count_cnt; i++) {
		const struct jbpf_key *key = &batch->counts[i].key;
		const struct jbpf_value *value = &batch->counts[i].value;

		printf("{\"count\":%llu,\"window\":%d,\"pid\":%u,\"ns_pid\":%u,\"exec_id\":%u,\"start_ns\":%llu,"
		       "\"cgroup_id\":%llu,\"flags\":%u,\"tag\":%u,\"comm\":",
		       value->count, live->window, key->pid, value->ns_pid, key->exec_id,
		       key->start_ns, key->cgroup_id, value->flags,
		       jbpf_key_tag(key, probe__tick_seed(live->probe)));
		print_comm(value->comm);
		printf(",\"thread\":");
		print_comm(value->thread);
		print_stack(live, "user", key->user_hash);
		print_stack(live, "kernel", key->kernel_hash);
		puts("}");
	}
	print_ticks(live, batch);
	print_accounts(live, batch);
	for (int i = 0; i < JBPF_CNT_MAX; i++)
		live->counters[i] += batch->counters[i];
	live->stack_records += batch->stack_records;
	live->window++;
}

/* All so far, which the reader has then. */
static void print_sums(const struct live *live)
{
	printf("{\"windows\":%d,\"map_bytes\":%" PRIu64 ",\"stack_records\":%" PRIu64
	       ",\"missing_stacks\":%" PRIu64 ",\"counters\":{",
	       live->window, probe__map_bytes(live->probe), live->stack_records,
	       live->missing_stacks);
	for (int i = 0; i < JBPF_CNT_MAX; i++)
		printf("%s\"%s\":%" PRIu64, i ? "," : "", counter_names[i], live->counters[i]);
	puts("}}");
	fflush(stdout);
}

static int end_window(struct live *live)
{
	struct probe_batch batch;
	int err = probe__drain(live->probe, on_notice, live, &batch);

	if (err)
		return err;
	print_new_stacks(live);
	print_batch(live, &batch);
	print_sums(live);
	probe__end_window(live->probe, &batch);
	return 0;
}

/* Takes notices and stacks as they come, until the window's end or the input's. */
static int run_window(struct live *live, uint64_t end_ns)
{
	uint64_t now_ns;

	while (!live->is_over && (now_ns = clock_boot_ns()) < end_ns) {
		struct pollfd ready[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					  { .fd = probe__fd(live->probe), .events = POLLIN } };
		int left_ms = (int)((end_ns - now_ns) / CLOCK_NS_PER_MS) + 1;
		int err;

		if (poll(ready, live->is_lazy ? 1 : 2, left_ms) < 0 && errno != EINTR)
			return -errno;
		live->is_over = ready[0].revents;
		if (live->is_lazy)
			continue;
		err = probe__consume(live->probe, on_notice, live);
		if (err)
			return err;
		print_new_stacks(live);
		fflush(stdout);
	}
	return end_window(live);
}

static int set_accounts(const struct live *live)
{
	int err = 0;

	for (int i = 0; i < live->account_cnt && !err; i++)
		err = probe__set_account(live->probe, live->accounts[i].cgroup_id,
					 live->accounts[i].account_id);
	return err;
}

static int run(struct live *live, double window_s)
{
	uint64_t window_ns = (uint64_t)(window_s * 1e9);
	uint64_t end_ns = clock_boot_ns();
	int err = probe__start(live->probe);

	fputs("sampling\n", stderr);
	while (!err && !live->is_over) {
		err = run_window(live, end_ns += window_ns);
		if (!err && live->are_accounts_late && live->window == 1)
			err = set_accounts(live);
	}
	probe__stop(live->probe);
	/* What was counted between the last swap and the stop. */
	return err ? err : end_window(live);
}

static bool parse_range(const char *text, struct jbpf_code_range *range)
{
	return sscanf(text, "%llx:%llx:%llx:%llx", &range->code_low, &range->code_high,
		      &range->interpreter_low, &range->interpreter_high) == 4;
}

static bool parse_account(const char *text, struct live *live)
{
	struct live_account *account = &live->accounts[live->account_cnt];

	if (live->account_cnt == LIVE_ACCOUNTS_MAX ||
	    sscanf(text, "%" SCNu64 ":%" SCNu64, &account->cgroup_id, &account->account_id) != 2)
		return false;
	live->account_cnt++;
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "cgroup", required_argument, NULL, 'c' },
		{ "window", required_argument, NULL, 'w' },
		{ "frequency", required_argument, NULL, 'f' },
		{ "max-depth", required_argument, NULL, 'd' },
		{ "compat", no_argument, NULL, 'C' },
		{ "range", required_argument, NULL, 'r' },
		{ "range-of", required_argument, NULL, 'o' },
		{ "space", required_argument, NULL, 'm' },
		{ "range-once", no_argument, NULL, '1' },
		{ "ticks", required_argument, NULL, 't' },
		{ "account", required_argument, NULL, 'a' },
		{ "late", no_argument, NULL, 'l' },
		{ "planned", required_argument, NULL, 'P' },
		{ "lazy", no_argument, NULL, 'L' },
		{ "new", no_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'S' },
		{ "keep-digits", no_argument, NULL, 'K' },
		{ "debug", no_argument, NULL, 'D' },
		{ NULL, 0, NULL, 0 },
	};
	const char *cgroups[JBPF_CGROUP_FILTER_MAX];
	uint32_t pids[LIVE_PIDS_MAX];
	struct probe_options probe_options = {
		.frequency_hz = 99,
		.max_depth = JBPF_MAX_DEPTH,
		.window_ns = 10 * CLOCK_NS_PER_S,
		.pids = pids,
		.cgroup_paths = cgroups,
	};
	struct live live = { .window = 0 };
	double window_s = 0.05;
	int option, err;
	char why[512] = "";

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'p' && probe_options.pid_cnt < LIVE_PIDS_MAX)
			pids[probe_options.pid_cnt++] = (uint32_t)atoi(optarg);
		else if (option == 'c' && probe_options.cgroup_cnt < JBPF_CGROUP_FILTER_MAX)
			cgroups[probe_options.cgroup_cnt++] = optarg;
		else if (option == 'w')
			window_s = atof(optarg);
		else if (option == 'f')
			probe_options.frequency_hz = (uint32_t)atoi(optarg);
		else if (option == 'd')
			probe_options.max_depth = (uint32_t)atoi(optarg);
		else if (option == 'C')
			probe_options.force_compat = true;
		else if (option == 'r' && parse_range(optarg, &live.range))
			live.has_range = true;
		else if (option == 'o' &&
			 sscanf(optarg, "%llu,%u", &live.range.start_ns, &live.range.exec_id) == 2)
			continue;
		else if (option == 'm')
			live.space = *optarg == 'n' ? LIVE_SPACE_EMPTY :
				     *optarg == 'f' ? LIVE_SPACE_FP :
						      LIVE_SPACE_ONCE;
		else if (option == '1')
			live.is_range_set_once = true;
		else if (option == 't') {
			probe_options.wants_ticks = true;
			probe_options.window_ns = (uint64_t)(atof(optarg) * 1e9);
		} else if (option == 'P')
			probe_options.window_ns = (uint64_t)(atof(optarg) * 1e9);
		else if (option == 'L')
			live.is_lazy = true;
		else if (option == 'l')
			live.are_accounts_late = true;
		else if (option == 'n')
			live.wants_new = true;
		else if (option == 'a' && parse_account(optarg, &live))
			continue;
		else if (option == 'S')
			probe_options.hash_seed = strtoull(optarg, NULL, 16);
		else if (option == 'K')
			probe_options.keeps_digits = true;
		else if (option == 'D')
			log_set_level(LOG_LEVEL_DEBUG);
		else
			return 2;
	}
	err = probe__open(&probe_options, &live.probe, why, sizeof(why));
	if (err) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	err = live.are_accounts_late ? 0 : set_accounts(&live);
	if (!err)
		err = run(&live, window_s);
	probe__free(live.probe);
	if (err)
		fprintf(stderr, "failed: %s\n", errstr(err));
	return err ? 1 : 0;
}
