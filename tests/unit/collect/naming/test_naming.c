// SPDX-License-Identifier: Apache-2.0
/* What the namer says of accounts and JVMs, with this test's own process as the one that is sampled. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/unit/naming_listener.h"
#include "symbols/hotspot/hotspot_code.h"
#include "symbols/symbols_process.h"
#include "user/collect/naming/naming_internal.h"
#include "user/util/clock.h"
#include "user/host/proc_stat.h"

#define LEAF_ID (1ull << 40) /* there is none; /proc says where the process is */

static struct naming_account last_account;
static struct naming_hotspot last_hotspot;
static size_t account_cnt, stream_cnt, hotspot_cnt;
static char last_walk[256], last_over_budget[256], last_text[256];

static int on_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	(void)snprintf(last_text, sizeof(last_text), "%.*s", (int)len, text);
	(void)snprintf(last_walk, sizeof(last_walk), "%s",
		       window_label(window, WINDOW_LABEL_UNWIND));
	(void)snprintf(last_over_budget, sizeof(last_over_budget), "%s",
		       window_label(window, WINDOW_LABEL_OVER_BUDGET));
	stream_cnt++;
	return 0;
}

static void on_hotspot(void *ctx, const struct naming_hotspot *hotspot)
{
	(void)ctx;
	last_hotspot = *hotspot;
	hotspot_cnt++;
}

static void on_account(void *ctx, const struct naming_account *account)
{
	(void)ctx;
	last_account = *account;
	account_cnt++;
}

static size_t pause_cnt;

static void on_pause(void *ctx)
{
	(void)ctx;
	pause_cnt++;
}

static size_t met_cnt;
static uint32_t met_pid;
static char met_comm[32];
static char met_exe[256];

static void on_met(void *ctx, const struct window *window)
{
	(void)ctx;
	met_cnt++;
	met_pid = window->pid;
	snprintf(met_comm, sizeof(met_comm), "%s", window_label(window, WINDOW_LABEL_COMM));
	snprintf(met_exe, sizeof(met_exe), "%s", window_label(window, WINDOW_LABEL_EXE));
}

static struct naming *naming_with(bool ignores_opt_out)
{
	struct naming_config config = {
		.jit = JIT_MODE_PERFMAP,
		.proc = "/proc",
		.ignores_opt_out = ignores_opt_out,
		.launcher = dead_launcher(),
		.kallsyms_fd = -1,
		.listener = naming_listener(on_stream),
	};
	struct naming *naming = NULL;
	char why[256] = "";

	account_cnt = stream_cnt = hotspot_cnt = met_cnt = 0;
	config.listener.met = on_met;
	config.listener.hotspot = on_hotspot;
	config.listener.account = on_account;
	config.listener.pause = on_pause;
	assert_int_equal(naming__open(&config, &naming, why, sizeof(why)), 0);
	return naming;
}

static struct naming *naming_new(void)
{
	return naming_with(true);
}

static uint64_t own_start_ns(void)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t start_ns = 0;

	assert_int_equal(proc_stat_start_ns(proc_fd, (uint32_t)getpid(), &start_ns), 0);
	close(proc_fd);
	return start_ns;
}

/* The kernel's notice of this process. */
static struct jbpf_notice seen_here(void)
{
	return (struct jbpf_notice){
		.kind = JBPF_NOTICE_SEEN,
		.pid = (uint32_t)getpid(),
		.start_ns = own_start_ns(),
		.cgroup_id = LEAF_ID,
		.comm = "test",
	};
}

#define COUNTS_MAX 300u

static void name_counts(struct naming *naming, uint64_t start_ns, uint32_t cnt, bool goes_on)
{
	static struct probe_count counts[COUNTS_MAX];
	uint32_t slots[16] = { 0 };
	const struct naming_batch batch = {
		.head = { .start_boot_ns = clock_boot_ns() - 1,
			  .end_boot_ns = clock_boot_ns(),
			  .count_cnt = cnt,
			  .frequency_hz = 99,
			  .cpu_cnt = 1,
			  .goes_on = goes_on },
		.counts = counts,
		.slots = slots,
		.slot_cnt = 16,
	};
	struct naming_end end;

	for (uint32_t i = 0; i < cnt; i++)
		counts[i] = (struct probe_count){
			.key = { .start_ns = start_ns,
				 .cgroup_id = LEAF_ID,
				 .pid = (uint32_t)getpid() },
			.value = { .count = 1, .comm = "test_naming" },
		};
	naming__window(naming, &batch, &end);
}

static void name_part(struct naming *naming, uint64_t start_ns, bool goes_on)
{
	name_counts(naming, start_ns, 1, goes_on);
}

static void name_window(struct naming *naming, uint64_t start_ns)
{
	name_part(naming, start_ns, false);
}

/* It has ended, and nobody knows whether it wanted to be profiled. */
static void who_is_left_out_is_counted_with_the_event_that_was_sampled(void **state)
{
	const struct probe_count counts[] = {
		{ .key = { .start_ns = 1, .pid = (uint32_t)getpid() },
		  .value = { .count = 3, .comm = "gone" } },
		{ .key = { .start_ns = 1, .pid = (uint32_t)getpid(), .kind = JBPF_KEY_OFF_CPU },
		  .value = { .count = 40, .comm = "gone" } },
	};
	uint32_t slots[16] = { 0 };
	const struct naming_batch batch = {
		.head = { .start_boot_ns = clock_boot_ns() - 1,
			  .end_boot_ns = clock_boot_ns(),
			  .count_cnt = 2,
			  .cpu_cnt = 1 },
		.counts = counts,
		.slots = slots,
		.slot_cnt = 16,
	};
	struct naming *naming = naming_with(false);
	struct naming_end end;

	(void)state;
	naming__window(naming, &batch, &end);
	assert_int_equal(end.undecided[EVENT_CPU], 3);
	assert_int_equal(end.undecided[EVENT_OFF_CPU], 40);
	naming__free(naming);
}

/* Each may be of a process over which whoever reads it hangs. */
static void no_news_are_read_while_a_part_is_named(void **state)
{
	struct naming *naming;

	(void)state;
	pause_cnt = 0;
	naming = naming_new();
	name_part(naming, own_start_ns(), true);
	assert_int_equal(stream_cnt, 1);
	assert_int_equal(pause_cnt, 0);
	name_part(naming, own_start_ns(), false);
	assert_int_equal(stream_cnt, 2);
	assert_int_equal(pause_cnt, 1);
	naming__free(naming);
}

static void an_account_is_told_by_one_cgroup_with_each_window_again(void **state)
{
	const struct jbpf_notice seen = seen_here();
	struct naming *naming = naming_new();
	struct naming_account first;

	(void)state;
	naming__notice(naming, &seen);
	assert_int_equal(account_cnt, 1);
	first = last_account;
	assert_true(first.cgroup_id && first.account);
	naming__notice(naming, &seen);
	assert_int_equal(account_cnt, 1);
	for (size_t i = 2; i < 5; i++) {
		name_window(naming, seen.start_ns);
		assert_int_equal(account_cnt, i);
		assert_memory_equal(&last_account, &first, sizeof(first));
	}
	assert_int_equal(stream_cnt, 3);
	naming__free(naming);
}

/* ---- a JVM that is none ---- */

static bool jvm_ranges(const void *state, struct hotspot_ranges *out)
{
	(void)state;
	*out = (struct hotspot_ranges){ .code_low = 0x1000, .code_high = 0x2000 };
	return true;
}

static bool jvm_unwind(void *state, struct jbpf_hotspot *out)
{
	(void)state;
	*out = (struct jbpf_hotspot){ .flags = JBPF_HOTSPOT_HAS_FRAME_SIZES };
	return true;
}

static void jvm_describe(const void *state, bool is_last, struct jit_source_facts *facts)
{
	(void)state;
	(void)is_last;
	(void)facts;
}

static void jvm_close(void *state)
{
	(void)state;
}

static int jvm_tables(const void *state, struct hotspot_vm **out)
{
	(void)state;
	(void)out;
	return -EAGAIN;
}

static const struct jit_source_ops jvm_ops = {
	.tables = jvm_tables,
	.close = jvm_close,
	.ranges = jvm_ranges,
	.unwind = jvm_unwind,
	.describe = jvm_describe,
};

static struct process *jvm_new(struct naming *naming)
{
	const struct jbpf_notice seen = {
		.kind = JBPF_NOTICE_SEEN,
		.pid = (uint32_t)getpid(),
		.start_ns = own_start_ns(),
		.comm = "test",
	};
	const struct process_life id = { .pid = seen.pid, .start_ns = seen.start_ns };
	struct process *process;

	naming__notice(naming, &seen);
	process = process_table__find(naming->processes, &id);
	assert_non_null(process);
	symbols_process_close_jit(process->symbols);
	process->symbols->jit_sources[0] = (struct jit_source_use){ .ops = &jvm_ops };
	process->symbols->jit_sources[1].ops = NULL;
	process->jvm.is_hotspot = process->jvm.is_known = true;
	return process;
}

static void frame_sizes_are_told_of_jvms_that_keep_no_frame_pointers_alone(void **state)
{
	struct naming *naming = naming_new();
	struct process *process = jvm_new(naming);

	(void)state;
	hotspot_cnt = 0;
	naming->unwind_epoch = 1;
	for (int flag = WINDOW_FLAG_UNKNOWN; flag <= WINDOW_FLAG_ON; flag++) {
		process->jvm.preserve_frame_pointer = (enum window_flag)flag;
		process->hotspot = (struct jbpf_hotspot){ 0 };
		hotspot_cnt = 0;
		naming_update_jvm(naming, process);
		naming_update_jvm(naming, process);
		assert_int_equal(hotspot_cnt, flag == WINDOW_FLAG_OFF);
	}
	assert_int_equal(last_hotspot.pid, getpid());
	assert_int_equal(last_hotspot.hotspot.start_ns, process->id.start_ns);
	naming__free(naming);
}

/* Graal leaves rbp alone, whatever the flag says. */
static void the_flag_says_nothing_of_a_compiler_in_java(void **state)
{
	struct naming *naming = naming_new();
	struct process *process = jvm_new(naming);

	(void)state;
	naming->unwind_epoch = 1;
	process->jvm.uses_jvmci = true;
	for (int flag = WINDOW_FLAG_UNKNOWN; flag <= WINDOW_FLAG_ON; flag++) {
		process->jvm.preserve_frame_pointer = (enum window_flag)flag;
		process->hotspot = (struct jbpf_hotspot){ 0 };
		hotspot_cnt = 0;
		naming_update_jvm(naming, process);
		assert_int_equal(hotspot_cnt, flag != WINDOW_FLAG_UNKNOWN);
	}
	naming__free(naming);
}

static void nothing_is_told_of_frame_sizes_where_all_is_walked_by_frame_pointers(void **state)
{
	struct naming *naming = naming_new();
	struct process *process = jvm_new(naming);

	(void)state;
	hotspot_cnt = 0;
	process->jvm.preserve_frame_pointer = WINDOW_FLAG_OFF;
	naming_update_jvm(naming, process);
	assert_int_equal(hotspot_cnt, 0);
	naming__free(naming);
}

/* A shell that executed a JVM before anybody looked at it: the next sample only says so. */
static void the_jvm_that_a_program_executed_is_not_its_own(void **state)
{
	struct naming *naming = naming_new();
	struct process *process = jvm_new(naming);

	(void)state;
	process->jvm.is_hotspot = process->jvm.is_known = false;
	strcpy(process->comm, "bash");
	assert_false(naming_update_jvm(naming, process));
	assert_false(process->jvm.is_hotspot);
	strcpy(process->comm, "test_naming");
	process->has_execed = true;
	naming_update_jvm(naming, process);
	assert_false(process->jvm.is_hotspot);
	/* It is the one that was sampled, and may execute another later. */
	process->has_execed = false;
	assert_true(naming_update_jvm(naming, process));
	assert_true(process->jvm.is_hotspot);
	process->has_execed = true;
	naming_update_jvm(naming, process);
	assert_true(process->jvm.is_hotspot);
	naming__free(naming);
}

/* Nobody told this namer of tables; and this program is no JVM. */
static void each_stream_says_how_its_stacks_are_walked(void **state)
{
	struct naming *naming = naming_new();

	(void)state;
	name_window(naming, own_start_ns());
	assert_string_equal(last_walk, "by=frame_pointers tables=0 fp=0");
	naming__free(naming);
}

static void a_stream_that_is_banned_says_so_until_the_ban_is_over(void **state)
{
	struct naming *naming = naming_new();
	struct naming_banned banned = { .pid = (uint32_t)getpid(), .start_ns = own_start_ns() };

	(void)state;
	name_window(naming, banned.start_ns);
	assert_string_equal(last_over_budget, "");
	banned.until_boot_ns = UINT64_MAX;
	naming__ban(naming, &banned);
	for (int i = 0; i < 2; i++) {
		name_window(naming, banned.start_ns);
		assert_string_equal(
			last_over_budget,
			"not looked into for a while: jbpfd's reader hung, crashed or was killed over it");
	}
	banned.until_boot_ns = 1;
	naming__ban(naming, &banned);
	name_window(naming, banned.start_ns);
	assert_string_equal(last_over_budget, "");
	assert_int_not_equal(last_walk[0], '\0');
	naming__free(naming);
}

static void who_used_up_what_naming_may_take_keeps_samples_without_frames(void **state)
{
	struct naming *naming = naming_new();
	struct account *account;

	(void)state;
	name_window(naming, own_start_ns());
	account = accounts__find(naming->accounts, last_account.account);
	assert_non_null(account);
	account__note_work(account, ACCOUNT_WORK_BURST_NS);
	stream_cnt = 0;
	name_window(naming, own_start_ns());
	assert_int_equal(stream_cnt, 1);
	assert_string_equal(last_text, "test_naming;[not named] 1\n");
	assert_string_equal(
		last_over_budget,
		"samples not named, as it takes too much CPU time: 1; CPU time of jbpfd for it: 20.0 s");
	naming__free(naming);
}

static struct account *spender;

/* Asked of it when its stacks are named next. */
static void spend_all(const void *state, bool is_last, struct jit_source_facts *facts)
{
	jvm_describe(state, is_last, facts);
	account__note_work(spender, ACCOUNT_WORK_BURST_NS);
}

static int refresh_nothing(void *state, const struct jit_refresh *how)
{
	(void)state;
	(void)how;
	return 0;
}

static size_t no_bytes(const void *state)
{
	(void)state;
	return 0;
}

/* One process can have as many stacks as the kernel counts: it must not hold up all others before it is asked again. */
static void who_uses_it_up_with_one_long_stream_is_left_in_the_midst_of_it(void **state)
{
	static const struct jit_source_ops spending_ops = { .close = jvm_close,
							    .refresh = refresh_nothing,
							    .bytes = no_bytes,
							    .describe = spend_all };
	struct naming *naming = naming_new();
	struct process *process = jvm_new(naming);
	uint64_t start_ns = own_start_ns();

	(void)state;
	process->jvm.is_hotspot = false;
	process->symbols->jit_sources[0].ops = &spending_ops;
	spender = accounts__find(naming->accounts, process->account);
	assert_non_null(spender);
	name_counts(naming, start_ns, COUNTS_MAX, false);
	assert_int_equal(stream_cnt, 1);
	assert_string_equal(last_text, "test;[not named] 300\n");
	assert_non_null(strstr(last_over_budget, "takes too much CPU time: 300"));
	naming__free(naming);
}

/* A program may load libjvm.so long after its first sample, and in the midst of a long window. */
static void a_process_that_grows_is_read_again_within_the_window(void **state)
{
	const struct jbpf_notice seen = seen_here();
	const struct process_life id = { .start_ns = seen.start_ns, .pid = seen.pid };
	const size_t len = 1 << 20;
	struct naming *naming = naming_new();
	struct symbols_jit_status jit;
	uint64_t deadline_ns = clock_boot_ns() + 60 * CLOCK_NS_PER_S;
	void *code;

	(void)state;
	naming__notice(naming, &seen);
	/* Twice it is read in any case. */
	for (int i = 0; i < 3; i++) {
		while (naming__due_boot_ns(naming) > clock_boot_ns() &&
		       clock_boot_ns() < deadline_ns)
			usleep(1000);
		naming__tick(naming);
	}
	symbols_process__jit_status(process_table__find(naming->processes, &id)->symbols, &jit);
	assert_false(jit.has_jit_code);
	code = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	while (!jit.has_jit_code && clock_boot_ns() < deadline_ns) {
		usleep(1000);
		naming__tick(naming);
		symbols_process__jit_status(process_table__find(naming->processes, &id)->symbols,
					    &jit);
	}
	assert_true(jit.has_jit_code);
	assert_int_equal(munmap(code, len), 0);
	naming__free(naming);
}

static void a_process_that_is_met_is_told_by_its_names_before_its_window_ends(void **state)
{
	struct naming *naming = naming_new();
	struct jbpf_notice seen = seen_here();

	(void)state;
	/* As the kernel has it: the program is read only under that name. */
	assert_int_equal(prctl(PR_GET_NAME, seen.comm), 0);
	naming__notice(naming, &seen);
	assert_int_equal(met_cnt, 1);
	assert_int_equal(met_pid, (uint32_t)getpid());
	assert_string_equal(met_comm, seen.comm);
	assert_non_null(strstr(met_exe, "test_naming"));
	assert_int_equal(stream_cnt, 0);
	naming__free(naming);
}

static void naming_without_a_launcher_is_refused(void **state)
{
	const struct naming_config config = { .listener = naming_listener(on_stream) };
	struct naming *naming = NULL;
	char why[256] = "";

	(void)state;
	assert_int_equal(naming__open(&config, &naming, why, sizeof(why)), -EINVAL);
	assert_null(naming);
	assert_non_null(strstr(why, "no launcher"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_grows_is_read_again_within_the_window),
		cmocka_unit_test(a_process_that_is_met_is_told_by_its_names_before_its_window_ends),
		cmocka_unit_test(naming_without_a_launcher_is_refused),
		cmocka_unit_test(who_is_left_out_is_counted_with_the_event_that_was_sampled),
		cmocka_unit_test(no_news_are_read_while_a_part_is_named),
		cmocka_unit_test(an_account_is_told_by_one_cgroup_with_each_window_again),
		cmocka_unit_test(frame_sizes_are_told_of_jvms_that_keep_no_frame_pointers_alone),
		cmocka_unit_test(
			nothing_is_told_of_frame_sizes_where_all_is_walked_by_frame_pointers),
		cmocka_unit_test(the_flag_says_nothing_of_a_compiler_in_java),
		cmocka_unit_test(a_stream_that_is_banned_says_so_until_the_ban_is_over),
		cmocka_unit_test(who_used_up_what_naming_may_take_keeps_samples_without_frames),
		cmocka_unit_test(who_uses_it_up_with_one_long_stream_is_left_in_the_midst_of_it),
		cmocka_unit_test(the_jvm_that_a_program_executed_is_not_its_own),
		cmocka_unit_test(each_stream_says_how_its_stacks_are_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
