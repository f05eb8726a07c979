// SPDX-License-Identifier: Apache-2.0
/* Sources of JIT names: what each must be able to do, and how a process asks several of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "symbols/symbolizer.h"
#include "tests/unit/parse_here.h"
#include "user/host/proc_stat.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

/* A source that says what a test wants. */
struct scripted {
	int lookup_err;
	uint32_t name;
	uint32_t epoch;
	uint64_t covers_from;
	int refresh_result;
	size_t lookup_cnt;
	size_t close_cnt;
	bool was_last;
};

static struct symbolizer *symbolizer;
static struct symbols_process *process;
static struct scripted best, second;
static int proc_fd = -1;

static void scripted_close(void *state)
{
	((struct scripted *)state)->close_cnt++;
}

static int scripted_refresh(void *state, const struct jit_refresh *how)
{
	(void)how;
	return ((struct scripted *)state)->refresh_result;
}

static int scripted_lookup(const void *state, uint64_t address, uint64_t since_boot_ns,
			   struct answer *out)
{
	struct scripted *scripted = (struct scripted *)state;

	(void)address;
	(void)since_boot_ns;
	scripted->lookup_cnt++;
	if (!scripted->lookup_err)
		out->name = scripted->name;
	return scripted->lookup_err;
}

static uint32_t scripted_epoch(const void *state, uint64_t since_boot_ns)
{
	(void)since_boot_ns;
	return ((const struct scripted *)state)->epoch;
}

static bool scripted_covers(const void *state, uint64_t address)
{
	const struct scripted *scripted = state;

	return scripted->covers_from && address >= scripted->covers_from;
}

static int scripted_each(void *state, jit_source_fn fn, void *ctx)
{
	const struct scripted *scripted = state;

	return scripted->lookup_err ? scripted->lookup_err : fn(ctx, 1, 2, "all");
}

static void scripted_describe(const void *state, bool is_last, struct jit_source_facts *facts)
{
	struct scripted *scripted = (struct scripted *)state;

	scripted->was_last = is_last;
	facts->entry_cnt = scripted->name;
}

static size_t scripted_bytes(const void *state)
{
	(void)state;
	return 1000;
}

static const struct jit_source_ops scripted_ops = {
	.close = scripted_close,
	.refresh = scripted_refresh,
	.lookup = scripted_lookup,
	.epoch = scripted_epoch,
	.covers = scripted_covers,
	.each = scripted_each,
	.describe = scripted_describe,
	.bytes = scripted_bytes,
};

/* This test as a process, with two sources that do as they are told. */
static int sources_make(void **state)
{
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };
	struct process_life id = { .pid = (uint32_t)getpid() };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	best = second = (struct scripted){ .lookup_err = -ENOENT };
	proc_fd = options.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_stat_start_ns(proc_fd, id.pid, &id.start_ns) ||
	    symbolizer__open(&options, &symbolizer) ||
	    symbolizer__open_process(symbolizer, &id, account_of_host(), &process))
		return -1;
	symbols_process_close_jit(process);
	process->jit_sources[0] = (struct jit_source_use){ &scripted_ops, &best };
	process->jit_sources[1] = (struct jit_source_use){ &scripted_ops, &second };
	return 0;
}

static int sources_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	close(proc_fd);
	return best.close_cnt != 1 || second.close_cnt != 1;
}

static void check_groups(const struct jit_source_ops *ops)
{
	assert_true(ops->open && ops->close && ops->refresh && ops->each && ops->describe &&
		    ops->bytes);
	assert_int_equal(!ops->lookup, !ops->epoch);
	assert_int_equal(!ops->covers, !ops->read_frames);
	assert_true(ops->lookup || ops->covers);
	assert_int_equal(!ops->begin_prefetch, !ops->read_cnt);
	assert_int_equal(!ops->begin_prefetch, !ops->prefetch_interval_ns);
	assert_int_equal(!ops->begin_prefetch, !ops->end);
	assert_true(!ops->begin_prefetch || ops->covers);
}

static void sources_have_whole_groups_of_operations(void **state)
{
	(void)state;
	check_groups(&jit_source_hotspot);
	check_groups(&jit_source_perfmap);
}

static void each_mode_has_its_sources(void **state)
{
	static const struct {
		enum jit_mode mode;
		const struct jit_source_ops *second;
	} cases[] = {
		{ JIT_MODE_AUTO, &jit_source_perfmap },
		{ JIT_MODE_VMSTRUCTS, NULL },
		{ JIT_MODE_PERFMAP, &jit_source_perfmap },
		{ JIT_MODE_ATTACH, &jit_source_perfmap },
		{ JIT_MODE_OFF, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process_life id = process->id;
		struct symbols_process *other;

		symbolizer__set_jit(symbolizer, cases[i].mode, false);
		assert_int_equal(
			symbolizer__open_process(symbolizer, &id, account_of_host(), &other), 0);
		assert_ptr_equal(other->jit_sources[0].ops, &jit_source_hotspot);
		assert_ptr_equal(other->jit_sources[1].ops, cases[i].second);
		symbols_process__close(other);
	}
}

static void the_best_source_that_has_a_name_gives_it(void **state)
{
	struct answer answer = { .kind = ANSWER_KIND_FIXED };

	(void)state;
	second = (struct scripted){ .name = 7 };
	assert_int_equal(symbols_process_answer_jit(process, 1, 0, &answer), 0);
	assert_int_equal(answer.name, 7);
	best = (struct scripted){ .name = 5 };
	assert_int_equal(symbols_process_answer_jit(process, 1, 0, &answer), 0);
	assert_int_equal(answer.name, 5);
	assert_int_equal(second.lookup_cnt, 1);
	assert_int_equal(process->unknown_jit_cnt, 0);
}

static void an_ambiguous_name_is_not_asked_of_the_next_source(void **state)
{
	struct answer answer = { .kind = ANSWER_KIND_FIXED };

	(void)state;
	best.lookup_err = -EXDEV;
	second = (struct scripted){ .name = 7 };
	assert_int_equal(symbols_process_answer_jit(process, 1, 0, &answer), 0);
	assert_string_equal(name_table__text(process->names, answer.name), "[unknown jit]");
	assert_int_equal(process->ambiguous_jit_cnt, 1);
	assert_int_equal(second.lookup_cnt, 0);
	best.lookup_err = -ENOMEM;
	assert_int_equal(symbols_process_answer_jit(process, 1, 0, &answer), -ENOMEM);
}

static void new_names_of_any_source_end_the_epoch(void **state)
{
	uint32_t before = symbols_process_jit_epoch(process, 0);

	(void)state;
	second.epoch++;
	assert_int_not_equal(symbols_process_jit_epoch(process, 0), before);
}

static void unknown_addresses_are_counted_since_names_were_new(void **state)
{
	struct answer answer;

	(void)state;
	assert_int_equal(symbols_process_answer_jit(process, 1, 0, &answer), 0);
	assert_int_equal(process->unknown_jit_cnt, 1);
	assert_int_equal(symbols_process_refresh_jit(process, JIT_SOURCE_PERFMAP,
						     JIT_PERFMAPS_WHEN_CHANGED),
			 0);
	assert_int_equal(process->unknown_jit_cnt, 1);
	second.refresh_result = 1;
	assert_int_equal(symbols_process_refresh_jit(process, JIT_SOURCE_PERFMAP,
						     JIT_PERFMAPS_WHEN_CHANGED),
			 0);
	assert_int_equal(process->unknown_jit_cnt, 0);
	best.refresh_result = -ESRCH;
	assert_int_equal(symbols_process_refresh_jit(process, JIT_SOURCE_PERFMAP,
						     JIT_PERFMAPS_WHEN_CHANGED),
			 -ESRCH);
}

static void a_source_owns_the_code_that_it_covers(void **state)
{
	(void)state;
	second.covers_from = 100;
	assert_null(symbols_process_jit_owner(process, 99));
	assert_ptr_equal(symbols_process_jit_owner(process, 100)->state, &second);
	best.covers_from = 200;
	assert_ptr_equal(symbols_process_jit_owner(process, 199)->state, &second);
	assert_ptr_equal(symbols_process_jit_owner(process, 200)->state, &best);
}

static int count_names(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	(void)start;
	(void)len;
	(void)name;
	++*(size_t *)ctx;
	return 0;
}

static void all_code_and_the_facts_come_from_the_best_source(void **state)
{
	struct symbols_jit_status status;
	size_t cnt = 0;

	(void)state;
	assert_int_equal(symbols_process__each_jit(process, count_names, &cnt), -ENOENT);
	second.lookup_err = 0;
	assert_int_equal(symbols_process__each_jit(process, count_names, &cnt), 0);
	best.lookup_err = 0;
	assert_int_equal(symbols_process__each_jit(process, count_names, &cnt), 0);
	assert_int_equal(cnt, 2);
	best.name = 11;
	second.name = 12;
	symbols_process__jit_status(process, &status);
	assert_int_equal(status.entry_cnt, 11);
	assert_true(second.was_last);
	assert_false(best.was_last);
	assert_int_equal(symbols_process_jit_bytes(process), 2000);
}

static void sources_without_prefetching_are_never_due(void **state)
{
	struct symbols_code_range range;
	struct hotspot_vm *tables;

	(void)state;
	assert_false(symbols_process_begin_jit_prefetch(process));
	assert_int_equal(symbols_process_jit_read_cnt(process), 0);
	assert_int_equal(symbols_process_jit_prefetch_interval_ns(process),
			 SYMBOLS_PREFETCH_QUIET_NS);
	symbols_process_end_jit(process, 0);
	assert_false(symbols_process__code_range(process, &range));
	assert_int_equal(symbols_process__hotspot(process, &tables), -ENOENT);
}

static struct jit_target target_of_a_jvm(void)
{
	struct jit_target target = { .proc_fd = proc_fd,
				     .pid = (uint32_t)getpid(),
				     .parser = parser_here(),
				     .account = account_of_host(),
				     .names = process->names,
				     .is_hotspot = true };

	for (size_t i = 0; i < process->maps.cnt && !target.hotspot_map.inode; i++)
		if (process->maps.items[i].kind == PROCMAP_KIND_FILE)
			target.hotspot_map = process->maps.items[i];
	return target;
}

/* What a JVM's source says of its tables when opening libjvm.so gives this. */
static int tables_when_opening_gives(int err)
{
	struct jit_target target = target_of_a_jvm();
	struct hotspot_vm *tables;
	void *source;

	assert_int_equal(jit_source_hotspot.open(&target, false, &source), 0);
	open_here_err = err;
	assert_false(jit_source_hotspot.begin_prefetch(source));
	open_here_err = 0;
	err = jit_source_hotspot.tables(source, &tables);
	jit_source_hotspot.close(source);
	return err;
}

/* What people are told then. */
static const char *problem_when_opening_gives(int err)
{
	struct jit_target target = target_of_a_jvm();
	struct jit_source_facts facts = { 0 };
	void *source;

	assert_int_equal(jit_source_hotspot.open(&target, true, &source), 0);
	open_here_err = err;
	assert_false(jit_source_hotspot.begin_prefetch(source));
	open_here_err = 0;
	jit_source_hotspot.describe(source, true, &facts);
	jit_source_hotspot.close(source);
	assert_false(facts.is_starting);
	return facts.problem;
}

/* A host out of processes, a server that is slow, an opener that was killed: it is tried again. */
static void tables_of_a_jvm_whose_file_cannot_be_opened_now_are_wanted_later(void **state)
{
	static const int passing[] = { -EAGAIN, -EBUSY,	 -ETIMEDOUT, -EIO,
				       -EMFILE, -ENFILE, -ENOMEM,    -ESTALE };
	static const int final[] = { -EPERM, -ENOTSUP, -EFBIG };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		assert_int_equal(tables_when_opening_gives(passing[i]), -EAGAIN);
	assert_string_equal(problem_when_opening_gives(-EMFILE),
			    "the JVM's libjvm.so cannot be opened just now");
	for (size_t i = 0; i < ARRAY_SIZE(final); i++)
		assert_int_equal(tables_when_opening_gives(final[i]), final[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sources_make, sources_remove)
	const struct CMUnitTest tests[] = {
		TEST(sources_have_whole_groups_of_operations),
		TEST(each_mode_has_its_sources),
		TEST(the_best_source_that_has_a_name_gives_it),
		TEST(an_ambiguous_name_is_not_asked_of_the_next_source),
		TEST(new_names_of_any_source_end_the_epoch),
		TEST(unknown_addresses_are_counted_since_names_were_new),
		TEST(a_source_owns_the_code_that_it_covers),
		TEST(all_code_and_the_facts_come_from_the_best_source),
		TEST(sources_without_prefetching_are_never_due),
		TEST(tables_of_a_jvm_whose_file_cannot_be_opened_now_are_wanted_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
