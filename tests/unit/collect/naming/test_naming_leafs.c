// SPDX-License-Identifier: Apache-2.0
/*
 * Callers of leafs that are none: what is said of them to the kernel, and what is shown of their
 * stacks. The JVM is one that says of its code what each test wants; the process is this one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/jbpf.h"
#include "bpf/jbpf_leaf.h"
#include "symbols/symbols_process.h"
#include "tests/unit/naming_listener.h"
#include "user/collect/naming/naming_internal.h"
#include "user/host/proc_stat.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define CODE   0x10000ull
#define LEAF   (CODE + 0x100)
#define CALLER (CODE + 0x200)
#define OTHER  (CODE + 0x300)
#define BLOB   (CODE + 0x40)
#define HASH   77u

/* As leaf_rule_refutes() says where the caller is at [sp], at [sp + 8], in a frame. */
#define AT_SP	 0x1c
#define AT_SP_8	 0x1a
#define IN_FRAME 0x16
#define UNPROVED 0

static const uint8_t leaf_code[JBPF_LEAF_CODE_BYTES] = "0123456789abcde";

static struct {
	uint8_t refuted; /* of the code at LEAF */
	bool proves;
	struct leaf_rule rule;
	uint16_t proved; /* where the walk guessed */
	uint16_t guess;	 /* the walk's */
	uint32_t names[3];
} jvm;

static struct {
	struct naming_leaf_rule rule;
	size_t rule_cnt;
	char text[256];
	struct window_counts counts;
} said;

/* ---- the JVM ---- */

static bool jvm_ranges(const void *state, struct hotspot_ranges *out)
{
	(void)state;
	*out = (struct hotspot_ranges){ .code_low = CODE, .code_high = CODE + 0x1000 };
	return true;
}

static bool jvm_covers(const void *state, uint64_t address)
{
	(void)state;
	return address >= CODE && address < CODE + 0x1000;
}

static int jvm_read_frames(void *state, const struct jit_vm_query *query, struct jit_vm_answer *out)
{
	(void)state;
	*out = (struct jit_vm_answer){ .cnt = 1 };
	out->frames[0] = (struct jit_vm_frame){
		.name = jvm.names[query->word == LEAF	? 0 :
				  query->word == CALLER ? 1 :
							  2],
		.file = JIT_VM_NO_FILE,
		.kind = FRAME_KIND_JIT,
	};
	if (query->is_leaf && query->leaf_code) {
		out->frames[0].verdict = LEAF_NOT_REPAIRABLE;
		out->frames[0].refuted = jvm.refuted;
		out->frames[0].proved = query->is_guessed ? jvm.proved : 0;
	}
	return 0;
}

static bool jvm_prove_leaf(void *state, const struct jit_vm_query *query, struct jit_vm_proof *out)
{
	(void)state;
	(void)query;
	*out = (struct jit_vm_proof){ .blob = BLOB, .rule = jvm.rule };
	return jvm.proves;
}

static bool jvm_begin_prefetch(void *state)
{
	(void)state;
	return true;
}

static uint64_t jvm_number(const void *state)
{
	(void)state;
	return 1;
}

static int jvm_refresh(void *state, const struct jit_refresh *how)
{
	(void)state;
	(void)how;
	return 0;
}

static void jvm_describe(const void *state, bool is_last, struct jit_source_facts *facts)
{
	(void)state;
	(void)is_last;
	(void)facts;
}

static void jvm_end(void *state, uint64_t since_boot_ns)
{
	(void)state;
	(void)since_boot_ns;
}

static size_t jvm_bytes(const void *state)
{
	(void)state;
	return 0;
}

static void jvm_close(void *state)
{
	(void)state;
}

static const struct jit_source_ops jvm_ops = {
	.close = jvm_close,
	.refresh = jvm_refresh,
	.covers = jvm_covers,
	.ranges = jvm_ranges,
	.read_frames = jvm_read_frames,
	.prove_leaf = jvm_prove_leaf,
	.begin_prefetch = jvm_begin_prefetch,
	.read_cnt = jvm_number,
	.prefetch_interval_ns = jvm_number,
	.end = jvm_end,
	.describe = jvm_describe,
	.bytes = jvm_bytes,
};

/* ---- the namer ---- */

static int on_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	said.counts = window->counts;
	(void)snprintf(said.text, sizeof(said.text), "%.*s", (int)len, text);
	return 0;
}

static void on_leaf_rule(void *ctx, const struct naming_leaf_rule *rule)
{
	(void)ctx;
	said.rule = *rule;
	said.rule_cnt++;
}

static void on_code_range(void *ctx, const struct naming_code_range *range)
{
	(void)ctx;
	(void)range;
}

static void on_account(void *ctx, const struct naming_account *account)
{
	(void)ctx;
	(void)account;
}

static uint64_t own_start_ns(void)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t start_ns = 0;

	assert_int_equal(proc_stat_start_ns(proc_fd, (uint32_t)getpid(), &start_ns), 0);
	close(proc_fd);
	return start_ns;
}

static struct naming *naming;
static struct process *process;

static int naming_make(void **state)
{
	const struct naming_config config = {
		.jit = JIT_MODE_PERFMAP,
		.proc = "/proc",
		.ignores_opt_out = true,
		.launcher = dead_launcher(),
		.kallsyms_fd = -1,
		.listener = { .stream = on_stream,
			      .met = ignore_met,
			      .code_range = on_code_range,
			      .leaf_rule = on_leaf_rule,
			      .account = on_account },
	};
	const struct jbpf_notice seen = { .kind = JBPF_NOTICE_SEEN,
					  .pid = (uint32_t)getpid(),
					  .start_ns = own_start_ns(),
					  .comm = "test" };
	const struct process_life id = { .pid = seen.pid, .start_ns = seen.start_ns };
	static const char *const names[] = { "T.leaf", "T.caller", "T.other" };
	char why[256];

	(void)state;
	memset(&said, 0, sizeof(said));
	memset(&jvm, 0, sizeof(jvm));
	if (naming__open(&config, &naming, why, sizeof(why)))
		return -1;
	naming__notice(naming, &seen);
	process = process_table__find(naming->processes, &id);
	if (!process)
		return -1;
	symbols_process_close_jit(process->symbols);
	process->symbols->jit_sources[0] = (struct jit_source_use){ .ops = &jvm_ops };
	process->symbols->jit_sources[1].ops = NULL;
	symbols_process_bound_jit(process->symbols);
	process->jvm.is_known = true;
	process->jvm.preserve_frame_pointer = WINDOW_FLAG_OFF;
	for (size_t i = 0; i < 3; i++)
		if (name_table__plain(process->symbols->names, names[i], strlen(names[i]),
				      &jvm.names[i]))
			return -1;
	return 0;
}

static int naming_remove(void **state)
{
	(void)state;
	naming__free(naming);
	return 0;
}

/* A stack of LEAF, called by CALLER, whose caller was found by a rule; [sp] and [sp + 8]. */
static struct strbuf stack_of(uint32_t rule, uint64_t at_sp, uint64_t at_sp_8,
			      enum jbpf_stack_end end)
{
	const uint64_t ips[] = { LEAF, CALLER }, words[] = { at_sp, at_sp_8 };
	const struct naming_stack head = { .hash = HASH,
					   .pid = (uint32_t)getpid(),
					   .start_ns = process->id.start_ns,
					   .since_boot_ns = clock_boot_ns() };
	const struct probe_stack stack = { .ips = ips,
					   .frame_cnt = end == JBPF_END_LEAF ? 1 : 2,
					   .end = end,
					   .leaf_words = words,
					   .leaf_code = leaf_code,
					   .leaf_rule = rule,
					   .leaf_guess =
						   rule == JBPF_LEAF_RULE_GUESSED ? jvm.guess : 0 };
	struct strbuf records = STRBUF_INIT;

	assert_int_equal(naming_stack_put(&records, &head, &stack), 0);
	return records;
}

/* Just after the sample. */
static void prefetch(uint32_t rule, uint64_t at_sp, uint64_t at_sp_8, enum jbpf_stack_end end)
{
	struct strbuf records = stack_of(rule, at_sp, at_sp_8, end);

	(void)naming__prefetch(naming, records.data, records.len);
	strbuf_release(&records);
}

static void name(uint32_t rule, uint64_t at_sp, uint64_t at_sp_8, struct naming_end *end_out)
{
	struct strbuf records = stack_of(rule, at_sp, at_sp_8, JBPF_END_ROOT);
	const struct probe_count count = {
		.key = { .start_ns = process->id.start_ns,
			 .pid = (uint32_t)getpid(),
			 .user_hash = HASH },
		.value = { .count = 7, .comm = "test" },
	};
	const struct naming_window head = { .start_boot_ns = clock_boot_ns() - 1,
					    .end_boot_ns = clock_boot_ns(),
					    .count_cnt = 1,
					    .frequency_hz = 99,
					    .cpu_cnt = 1 };
	const struct naming_window_parts parts = { .counts = &count, .stacks = &records };
	struct packet_stream stream;
	struct naming_batch batch;
	struct packet packet;
	int err;

	packet_stream_init(&stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(naming_window_put(&stream, &head, &parts), 0);
	packet_stream_turn(&stream);
	assert_true(packet_stream_next(&stream, &packet, &err));
	assert_int_equal(naming_batch_read(packet.bytes, packet.len, &batch), 0);
	naming__window(naming, &batch, end_out);
	naming_batch_release(&batch);
	packet_stream_release(&stream);
	strbuf_release(&records);
}

/* ---- tests ---- */

static void what_is_proved_of_a_cut_leaf_is_told_with_whose_it_is(void **state)
{
	(void)state;
	jvm.proves = true;
	jvm.rule = (struct leaf_rule){ LEAF_RULE_FROM_SP, 0x28, true, 0x20, 0, 0 };
	prefetch(JBPF_LEAF_RULE_NONE, 0, 0, JBPF_END_LEAF);
	assert_int_equal(said.rule_cnt, 1);
	assert_int_equal(said.rule.key.address, LEAF);
	assert_int_equal(said.rule.key.pid, getpid());
	assert_int_equal(said.rule.proof.start_ns, process->id.start_ns);
	assert_int_equal(said.rule.proof.blob, BLOB);
	assert_int_equal(said.rule.proof.place, JBPF_LEAF_FROM_SP);
	assert_int_equal(said.rule.proof.ra, 0x28);
	assert_int_equal(said.rule.proof.fp, 0x20);
	assert_memory_equal(said.rule.proof.code, leaf_code, sizeof(leaf_code));
	jvm.rule = (struct leaf_rule){ LEAF_RULE_FROM_SP, 8, false, 0, 0, 0 };
	prefetch(JBPF_LEAF_RULE_NONE, 0, 0, JBPF_END_LEAF);
	assert_int_equal(said.rule.proof.fp, JBPF_LEAF_FP_SAME);
	jvm.rule = (struct leaf_rule){ .place = LEAF_RULE_FROM_FP };
	prefetch(JBPF_LEAF_RULE_NONE, 0, 0, JBPF_END_LEAF);
	assert_int_equal(said.rule.proof.place, JBPF_LEAF_FROM_FP);
	assert_int_equal(said.rule_cnt, 3);
}

static void what_is_not_proved_is_not_told(void **state)
{
	(void)state;
	prefetch(JBPF_LEAF_RULE_NONE, 0, 0, JBPF_END_LEAF);
	assert_int_equal(said.rule_cnt, 0);
	/* With frame pointers nothing asks for rules. */
	jvm.proves = true;
	process->jvm.preserve_frame_pointer = WINDOW_FLAG_ON;
	prefetch(JBPF_LEAF_RULE_NONE, 0, 0, JBPF_END_LEAF);
	assert_int_equal(said.rule_cnt, 0);
	/* And where the caller was right nobody needs one. */
	process->jvm.preserve_frame_pointer = WINDOW_FLAG_OFF;
	jvm.refuted = AT_SP;
	prefetch(JBPF_LEAF_RULE_SP, CALLER, OTHER, JBPF_END_ROOT);
	assert_int_equal(said.rule_cnt, 0);
}

/* Each row: by what the caller was found, what the code proves, and whether that is another place. */
static void stacks_with_a_wrong_caller_are_cut_and_the_right_rule_is_told(void **state)
{
	static const struct {
		uint32_t rule;
		uint8_t refuted;
		uint64_t at_sp, at_sp_8;
		bool is_wrong;
	} rows[] = {
		{ JBPF_LEAF_RULE_SP, AT_SP, CALLER, 0, false },
		{ JBPF_LEAF_RULE_SP, AT_SP_8, CALLER, OTHER, true },
		{ JBPF_LEAF_RULE_SP_8, IN_FRAME, OTHER, CALLER, true },
		{ JBPF_LEAF_RULE_FRAME, IN_FRAME, 0, 0, false },
		{ JBPF_LEAF_RULE_FRAME_FP, IN_FRAME, 0, 0, true },
		{ JBPF_LEAF_RULE_FRAME, UNPROVED, OTHER, OTHER, false },
		/* Proved of other code, which had the same bytes at the leaf. */
		{ JBPF_LEAF_RULE_PROVED, AT_SP, CALLER, OTHER, false },
		{ JBPF_LEAF_RULE_PROVED, AT_SP, OTHER, CALLER, true },
		{ JBPF_LEAF_RULE_PROVED, AT_SP_8, OTHER, CALLER, false },
		{ JBPF_LEAF_RULE_PROVED, AT_SP_8, CALLER, OTHER, true },
		/* What lies there is no code, or was not read: nobody knows. */
		{ JBPF_LEAF_RULE_PROVED, AT_SP, 0, CALLER, false },
		{ JBPF_LEAF_RULE_PROVED, IN_FRAME, OTHER, OTHER, false },
		{ JBPF_LEAF_RULE_PROVED, UNPROVED, OTHER, OTHER, false },
	};
	uint64_t refuted = 0, proved = 0;

	(void)state;
	jvm.proves = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t at_sp = rows[i].at_sp, at_sp_8 = rows[i].at_sp_8;
		struct naming_end end;

		jvm.refuted = rows[i].refuted;
		prefetch(rows[i].rule, at_sp, at_sp_8, JBPF_END_ROOT);
		name(rows[i].rule, at_sp, at_sp_8, &end);
		refuted += rows[i].is_wrong ? 7 : 0;
		proved += rows[i].is_wrong;
		if (said.rule_cnt != proved || end.leafs_proved != proved)
			fail_msg("row %zu: %zu rules are told", i, said.rule_cnt);
		assert_string_equal(said.text, rows[i].is_wrong ?
						       "test;[truncated];T.leaf_[j] 7\n" :
						       "test;T.caller_[j];T.leaf_[j] 7\n");
		assert_int_equal(said.counts.ends[STACK_END_UNPROVED_LEAF],
				 rows[i].is_wrong ? 7 : 0);
		assert_int_equal(end.leafs_refuted, refuted);
	}
}

static void what_was_guessed_and_is_not_proved_is_cut_and_not_refuted(void **state)
{
	static const struct {
		uint16_t guess, proved;
		bool is_right;
	} rows[] = {
		{ 1, 1, true },
		{ 1, 0, false },
		{ 1, 2, false },
		{ 9 | JBPF_LEAF_GUESS_BY_FP, JBPF_LEAF_GUESS_BY_FP, true },
	};
	size_t told = 0;

	(void)state;
	jvm.proves = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct naming_end end;

		jvm.guess = rows[i].guess;
		jvm.proved = rows[i].proved;
		prefetch(JBPF_LEAF_RULE_GUESSED, OTHER, OTHER, JBPF_END_ROOT);
		name(JBPF_LEAF_RULE_GUESSED, OTHER, OTHER, &end);
		told += !rows[i].is_right;
		assert_int_equal(said.rule_cnt, told);
		assert_string_equal(said.text, rows[i].is_right ?
						       "test;T.caller_[j];T.leaf_[j] 7\n" :
						       "test;[truncated];T.leaf_[j] 7\n");
		assert_int_equal(said.counts.ends[STACK_END_UNPROVED_LEAF],
				 rows[i].is_right ? 0 : 7);
		assert_int_equal(end.leafs_refuted, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, naming_make, naming_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_proved_of_a_cut_leaf_is_told_with_whose_it_is),
		TEST(what_is_not_proved_is_not_told),
		TEST(stacks_with_a_wrong_caller_are_cut_and_the_right_rule_is_told),
		TEST(what_was_guessed_and_is_not_proved_is_cut_and_not_refuted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
