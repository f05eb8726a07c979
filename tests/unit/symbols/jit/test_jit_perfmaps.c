// SPDX-License-Identifier: Apache-2.0
/*
 * What perf maps of several processes may take together: who comes too late stays unnamed, is told
 * so, and gets its names when there is room again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "symbols/jit/jit_source.h"
#include "symbols/names/name_table.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define NAMES_CNT 3

static struct fake_proc tree;
static struct accounts *accounts;
static struct account *one, *other;
static struct jit_perfmaps names[NAMES_CNT]; /* of pid 100 and so on; the last one is the other's */

static int tree_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	accounts = accounts__new();
	if (!accounts)
		return -1;
	one = accounts__get(accounts, 1, "one");
	other = accounts__get(accounts, 2, "other");
	for (size_t i = 0; i < NAMES_CNT; i++)
		names[i] = (struct jit_perfmaps){ .parser = parser_here(),
						  .account = i < NAMES_CNT - 1 ? one : other };
	return !one || !other || fake_proc_make(&tree);
}

static int tree_remove(void **state)
{
	size_t left;

	(void)state;
	for (size_t i = 0; i < NAMES_CNT; i++)
		jit_perfmaps_release(&names[i]);
	left = accounts__held(accounts, ACCOUNT_POOL_MAPS);
	accounts__free(accounts);
	return left != 0 || fake_proc_remove(&tree);
}

static void put_map(size_t nth, const char *text)
{
	static struct timespec time = { .tv_sec = 1000000000 };
	char path[64];

	fake_proc_process(&tree, (uint32_t)(100 + nth), 5000, 1, geteuid());
	snprintf(path, sizeof(path), "%zu/root/tmp/perf-1.map", 100 + nth);
	fake_proc_text(&tree, path, "%s", text);
	/* Files that are written within a tick of the kernel's clock have the same time. */
	time.tv_sec++;
	assert_int_equal(utimensat(tree.fd, path, (struct timespec[2]){ time, time }, 0), 0);
}

static void refresh(size_t nth)
{
	/* A reading that took a busy host long is not soon repeated. */
	names[nth].read_cost_ns = 0;
	assert_int_equal(jit_perfmaps_refresh(&names[nth], tree.fd, (uint32_t)(100 + nth),
					      JIT_SOURCE_PERFMAP, JIT_PERFMAPS_WHEN_CHANGED),
			 0);
}

/* What else the account holds; returns how much that is. */
static size_t fill_pool(struct account *account)
{
	size_t bytes = 0;

	for (size_t step = 1u << 20; step; step /= 2)
		while (account__take(account, ACCOUNT_POOL_MAPS, step) == 0)
			bytes += step;
	return bytes;
}

static void map_past_the_memory_of_its_account_is_refused_until_there_is_room(void **state)
{
	size_t filled;

	(void)state;
	for (size_t i = 0; i < NAMES_CNT; i++)
		put_map(i, "1000 10 f\n");
	refresh(0);
	assert_int_equal(account__held(one, ACCOUNT_POOL_MAPS), jit_perfmaps_bytes(&names[0]));
	filled = fill_pool(one);
	refresh(1);
	assert_null(names[1].current);
	assert_non_null(strstr(names[1].problem, "refused"));
	assert_int_equal(names[1].rejected_cnt, 1);
	assert_true(account__cut_cnt(one, ACCOUNT_CUT_MAPS) > 0);
	/* Said once. */
	refresh(1);
	assert_int_equal(names[1].rejected_cnt, 1);
	/* Another container's is read all the same. */
	refresh(2);
	assert_non_null(names[2].current);
	assert_int_equal(account__cut_cnt(other, ACCOUNT_CUT_MAPS), 0);
	account__give(one, ACCOUNT_POOL_MAPS, filled);
	refresh(1);
	assert_non_null(names[1].current);
	assert_null(names[1].problem);
}

static void map_that_is_replaced_counts_until_it_is_forgotten(void **state)
{
	size_t size, filled;

	(void)state;
	put_map(0, "1000 10 f\n");
	refresh(0);
	size = account__held(one, ACCOUNT_POOL_MAPS);
	put_map(0, "1000 10 g\n");
	refresh(0);
	assert_int_equal(account__held(one, ACCOUNT_POOL_MAPS), 2 * size);
	for (int i = 0; i < 3; i++)
		refresh(0);
	assert_int_equal(account__held(one, ACCOUNT_POOL_MAPS), 2 * size);
	jit_perfmaps_age(&names[0], names[0].previous[0].replaced_boot_ns - 1);
	assert_int_equal(account__held(one, ACCOUNT_POOL_MAPS), 2 * size);
	jit_perfmaps_age(&names[0], names[0].previous[0].replaced_boot_ns);
	assert_int_equal(account__held(one, ACCOUNT_POOL_MAPS), size);
	assert_int_equal(size, jit_perfmaps_bytes(&names[0]));
	/* No room for a third one: what was known stays. */
	filled = fill_pool(one);
	put_map(0, "1000 10 h\n");
	refresh(0);
	assert_int_equal(names[0].entry_cnt, 1);
	assert_non_null(names[0].problem);
	account__give(one, ACCOUNT_POOL_MAPS, filled);
}

/* The map never changes again, and has done nothing wrong. */
static void error_of_the_profiler_itself_is_not_the_maps(void **state)
{
	static const int errors[] = { -EMFILE, -EIO, -ENOMEM, -EAGAIN };
	static const int facts[] = { -EFBIG, -E2BIG, -EINVAL, -ENOTRECOVERABLE };

	(void)state;
	put_map(0, "1000 10 f\n");
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		parser_here_perfmap_err = errors[i];
		names[0].read_cost_ns = 0;
		assert_int_equal(jit_perfmaps_refresh(&names[0], tree.fd, 100, JIT_SOURCE_PERFMAP,
						      JIT_PERFMAPS_WHEN_CHANGED),
				 errors[i] == -ENOMEM ? -ENOMEM : 0);
		assert_null(names[0].current);
		parser_here_perfmap_err = 0;
		refresh(0);
		assert_non_null(names[0].current);
		assert_null(names[0].problem);
		jit_perfmaps_release(&names[0]);
		names[0] = (struct jit_perfmaps){ .parser = parser_here(), .account = one };
	}
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		put_map(0, "1000 10 f\n");
		parser_here_perfmap_err = facts[i];
		refresh(0);
		parser_here_perfmap_err = 0;
		refresh(0);
		assert_null(names[0].current);
		assert_non_null(names[0].problem);
	}
}

/* ---- as a source ---- */

static struct jit_target target;
static void *source;

static int source_make(void **state)
{
	int err = tree_make(state);

	if (err)
		return err;
	target = (struct jit_target){
		.proc_fd = tree.fd,
		.pid = 100,
		.parser = parser_here(),
		.account = one,
		.has_jit_code = true,
	};
	err = name_table__new(target.parser, one, &target.names);
	return err ? err : jit_source_perfmap.open(&target, true, &source);
}

static int source_remove(void **state)
{
	jit_source_perfmap.close(source);
	name_table__free(target.names);
	return tree_remove(state);
}

/* No sample that is still to be named is older than `oldest_boot_ns`. */
static void source_refresh(uint64_t oldest_boot_ns, enum jit_perfmaps_force force)
{
	const struct jit_refresh how = { .force = force,
					 .source = JIT_SOURCE_PERFMAP,
					 .oldest_boot_ns = oldest_boot_ns };

	assert_true(jit_source_perfmap.refresh(source, &how) >= 0);
}

/* Some time later it has another name at 0x1000. Returns a moment before. */
static uint64_t replace_map(const char *text, uint64_t oldest_boot_ns)
{
	uint64_t before_ns = clock_boot_ns();

	while (clock_boot_ns() == before_ns)
		;
	put_map(0, text);
	/* Also where the one before took a busy host long. */
	source_refresh(oldest_boot_ns, JIT_PERFMAPS_ALWAYS);
	return before_ns;
}

static int source_lookup(uint64_t since_boot_ns)
{
	struct answer answer = { .kind = ANSWER_KIND_JIT };

	return jit_source_perfmap.lookup(source, 0x1000, since_boot_ns, &answer);
}

/* A JVM that is starting, or that is asked for its map, is read again and again within a window. */
static void map_counts_as_long_as_there_are_samples_of_its_time(void **state)
{
	uint64_t before_ns;

	(void)state;
	put_map(0, "1000 10 f\n");
	source_refresh(1, JIT_PERFMAPS_ALWAYS);
	before_ns = replace_map("1000 10 g\n", 1);
	for (int i = 0; i < 3; i++)
		source_refresh(before_ns, JIT_PERFMAPS_WHEN_CHANGED);
	assert_int_equal(source_lookup(before_ns), -EXDEV);
	assert_int_equal(source_lookup(clock_boot_ns()), 0);
	/* Of a younger window. */
	source_refresh(clock_boot_ns(), JIT_PERFMAPS_WHEN_CHANGED);
	assert_int_equal(source_lookup(before_ns), 0);
}

/* One that was found and one that was asked for in one window: samples are of three times then. */
static void answers_of_different_maps_are_of_different_epochs(void **state)
{
	static const int answers[] = { -EXDEV, 0, 0 };
	uint64_t since_ns[ARRAY_SIZE(answers)];

	(void)state;
	put_map(0, "1000 10 f\n");
	source_refresh(1, JIT_PERFMAPS_ALWAYS);
	since_ns[0] = replace_map("1000 10 g\n", 1);
	since_ns[1] = replace_map("1000 10 g\n", 1);
	since_ns[2] = clock_boot_ns();
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		assert_int_equal(source_lookup(since_ns[i]), answers[i]);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(jit_source_perfmap.epoch(source, since_ns[i]),
					     jit_source_perfmap.epoch(source, since_ns[j]));
	}
}

#define TEST_SOURCE(name) cmocka_unit_test_setup_teardown(name, source_make, source_remove)
#define TEST(name)	  cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(map_past_the_memory_of_its_account_is_refused_until_there_is_room),
		TEST(map_that_is_replaced_counts_until_it_is_forgotten),
		TEST(error_of_the_profiler_itself_is_not_the_maps),
		TEST_SOURCE(answers_of_different_maps_are_of_different_epochs),
		TEST_SOURCE(map_counts_as_long_as_there_are_samples_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
