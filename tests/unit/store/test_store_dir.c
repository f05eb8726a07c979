// SPDX-License-Identifier: Apache-2.0
/* Directories that others may write to are refused for writing, with a line that says what to do. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/util/cleanup.h"

static int open_and_close(const char *dir)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer = NULL;
	int err = store_writer__open(dir, &options, &writer);

	store_writer__free(writer);
	return err;
}

static int compact(const char *dir)
{
	const struct store_compaction how = { .now_unix_ns = TEST_NS };
	struct store_compaction_stats stats;

	return store_compact(dir, &how, &stats);
}

static void directories_that_others_may_write_to_are_refused(void **state)
{
	static const char *const names[] = { ".", "v1", "v1/cpu" };
	static const struct {
		mode_t mode;
		bool is_refused;
	} rows[] = {
		{ 0700, false }, { 0750, false }, { 0755, false }, { 0775, false }, /* our group */
		{ 0757, true },	 { 0777, true },  { 01777, true },
	};
	struct test_store store;
	char path[256], why[512];

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(names) * ARRAY_SIZE(rows); i++) {
		const char *name = names[i / ARRAY_SIZE(rows)];
		bool is_refused = rows[i % ARRAY_SIZE(rows)].is_refused;

		assert_int_equal(
			chmod(test_path(&store, name, path), rows[i % ARRAY_SIZE(rows)].mode), 0);
		assert_int_equal(open_and_close(store.dir), is_refused ? -EUCLEAN : 0);
		assert_int_equal(compact(store.dir), is_refused ? -EUCLEAN : 0);
		assert_int_equal(store_dir_check(store.dir, why, sizeof(why)),
				 is_refused ? -EPERM : 0);
		if (is_refused) {
			assert_non_null(strstr(why, "may be written by everybody"));
			assert_non_null(strstr(why, "chmod go-w"));
		}
		assert_int_equal(chmod(path, 0755), 0);
	}
	test_store_remove(&store);
}

/* Chowns where the test may; else there is nothing to be shown. */
static void directories_of_others_are_refused(void **state)
{
	struct test_store store;
	char path[256], why[512];

	(void)state;
	if (geteuid() != 0)
		skip();
	test_store_make(&store);
	test_fill(&store, 0, 1);
	assert_int_equal(chown(test_path(&store, "v1/cpu", path), 12345, 12345), 0);
	assert_int_equal(open_and_close(store.dir), -EUCLEAN);
	assert_int_equal(store_dir_check(store.dir, why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, "/v1/cpu' belongs to another user (uid 12345"));
	/* A group that is not jbpfd's may read and not write. */
	assert_int_equal(chown(path, 0, 12345), 0);
	assert_int_equal(open_and_close(store.dir), 0);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(open_and_close(store.dir), -EUCLEAN);
	test_store_remove(&store);
}

static void links_in_place_of_directories_are_refused(void **state)
{
	struct test_store store, other;
	char path[256];

	(void)state;
	test_store_make(&store);
	test_store_make(&other);
	assert_int_equal(symlink(other.dir, test_path(&store, "v1", path)), 0);
	assert_int_equal(open_and_close(store.dir), -EUCLEAN);
	assert_false(test_exists(&other, "cpu/.lock"));
	test_store_remove(&store);
	test_store_remove(&other);
}

static void parents_that_everybody_may_write_to_must_be_sticky(void **state)
{
	struct test_store parent;
	char path[256], why[512];

	(void)state;
	test_store_make(&parent);
	test_path(&parent, "store", path);
	assert_int_equal(chmod(parent.dir, 0777), 0);
	assert_int_equal(open_and_close(path), -EUCLEAN);
	assert_int_equal(store_dir_check(path, why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, "above"));
	assert_int_equal(chmod(parent.dir, 01777), 0);
	assert_int_equal(open_and_close(path), 0);
	test_store_remove(&parent);
}

/* Whoever may rename a directory above the store may put another one in its place. */
static void parents_that_another_user_may_rename_are_refused(void **state)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		const char *why; /* NULL = accepted */
	} rows[] = {
		{ 0, 0, 0755, NULL },
		{ 0, 0, 0775, NULL },
		{ 0, 12345, 0755, NULL },
		{ 0, 12345, 01775, NULL },
		{ 0, 12345, 01777, NULL },
		{ 0, 12345, 0775,
		  "may be written by a group that is not jbpfd's (uid 0, mode 0775)" },
		{ 12345, 12345, 0755, "belongs to another user (uid 12345, mode 0755)" },
		{ 12345, 12345, 01777, "belongs to another user (uid 12345, mode 1777)" },
	};
	struct test_store top;
	char home[256], store[256], why[512];

	(void)state;
	if (geteuid() != 0)
		skip();
	test_store_make(&top);
	test_path(&top, "eve", home);
	test_path(&top, "eve/a/store", store);
	assert_int_equal(open_and_close(store), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int err = rows[i].why ? -EPERM : 0;

		assert_int_equal(chown(home, rows[i].uid, rows[i].gid), 0);
		assert_int_equal(chmod(home, rows[i].mode), 0);
		if (store_dir_check(store, why, sizeof(why)) != err ||
		    open_and_close(store) != (err ? -EUCLEAN : 0))
			fail_msg("row %zu", i);
		if (!err)
			continue;
		assert_non_null(strstr(why, home));
		assert_non_null(strstr(why, rows[i].why));
		assert_null(strchr(why, '\n'));
	}
	test_store_remove(&top);
}

/* As deep as a path can say, and deeper than any number of steps would go up. */
static void a_parent_is_looked_at_however_far_above_it_is(void **state)
{
	struct test_store top;
	char path[256], why[512];

	(void)state;
	test_store_make(&top);
	test_path(&top, "", path);
	for (int i = 0; i < 100; i++)
		strcat(path, "/d");
	assert_int_equal(open_and_close(path), 0);
	assert_int_equal(chmod(top.dir, 0777), 0);
	assert_int_equal(open_and_close(path), -EUCLEAN);
	assert_int_equal(store_dir_check(path, why, sizeof(why)), -EPERM);
	assert_int_equal(chmod(top.dir, 0700), 0);
	(void)remove_tree(top.dir);
}

static void what_is_not_there_yet_is_made(void **state)
{
	struct test_store store;
	char path[256], why[64];

	(void)state;
	test_store_make(&store);
	test_path(&store, "a/b", path);
	assert_int_equal(store_dir_check(path, why, sizeof(why)), 0);
	assert_int_equal(open_and_close(path), 0);
	assert_true(test_exists(&store, "a/b/v1/cpu"));
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_that_others_may_write_to_are_refused),
		cmocka_unit_test(directories_of_others_are_refused),
		cmocka_unit_test(links_in_place_of_directories_are_refused),
		cmocka_unit_test(parents_that_everybody_may_write_to_must_be_sticky),
		cmocka_unit_test(parents_that_another_user_may_rename_are_refused),
		cmocka_unit_test(a_parent_is_looked_at_however_far_above_it_is),
		cmocka_unit_test(what_is_not_there_yet_is_made),
	};

	return cmocka_run_group_tests_name("store_dir", tests, NULL, NULL);
}
