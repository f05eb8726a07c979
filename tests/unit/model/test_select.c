// SPDX-License-Identifier: Apache-2.0
/* Selectors: what matches which stream, and which windows a time range covers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/select.h"
#include "user/util/cleanup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct window shop = {
	.pid = 4711,
	.ns_pid = 1,
	.labels = {
		[WINDOW_LABEL_COMM] = "java",
		[WINDOW_LABEL_SERVICE] = "shop",
		[WINDOW_LABEL_NAMESPACE] = "prod",
		[WINDOW_LABEL_POD] = "shop-7d9f-x2x4k",
		[WINDOW_LABEL_POD_UID] = "11111111-2222-3333-4444-555555555555",
		[WINDOW_LABEL_CONTAINER] = "app",
		[WINDOW_LABEL_CONTAINER_ID] = ID,
		[WINDOW_LABEL_CGROUP] = "/kubepods.slice/pod1/cri-1.scope",
		[WINDOW_LABEL_IMAGE] = "registry/shop:1.2",
		[WINDOW_LABEL_HOST] = "node-7",
	},
};

static const struct window host_process = {
	.pid = 1,
	.ns_pid = 1,
	.labels = { [WINDOW_LABEL_COMM] = "[systemd]", [WINDOW_LABEL_CGROUP] = "/init.scope" },
};

static void selectors_match_streams(void **state)
{
	static const struct {
		struct selection selection;
		bool shop;
		bool host;
	} rows[] = {
		{ { .pid = 0 }, true, true },
		{ { .pid = 4711 }, true, false },
		{ { .pid = 1 }, false, true }, /* the host's pid, not the container's */
		{ { .comm = "java" }, true, false },
		{ { .comm = "jav" }, false, false },
		{ { .comm = "JAVA" }, false, false },
		{ { .comm = "j*" }, true, false },
		{ { .comm = "[systemd]" }, false, true }, /* equal before glob */
		{ { .comm = "*" }, true, true },
		{ { .service = "shop" }, true, false },
		{ { .service = "sh?p" }, true, false },
		{ { .service = "[a-r]hop" }, false, false },
		{ { .namespace = "prod" }, true, false },
		{ { .namespace = "*" }, true, false }, /* unknown is not anything */
		{ { .namespace = "" }, false, true },
		{ { .pod = "shop-7d9f-x2x4k" }, true, false },
		{ { .pod = "shop-*" }, true, false },
		{ { .pod = "11111111-2222-3333-4444-555555555555" }, true, false },
		{ { .pod = "" }, false, true },
		{ { .pod = "22222222-*" }, false, false },
		{ { .container = "app" }, true, false },
		{ { .container = "a*" }, true, false },
		{ { .container = "ap" }, false, false },
		{ { .container = ID }, true, false },
		{ { .container = ID "0" }, false, false },
		{ { .container = "012345" }, true, false },
		{ { .container = "0123456789ab" }, true, false },
		{ { .container = "01234" }, false, false },  /* too short */
		{ { .container = "123456" }, false, false }, /* not a prefix */
		{ { .container = "01234567g" }, false, false },
		{ { .container = "" }, false, true },
		{ { .cgroup = "/kubepods.slice/pod1/cri-1.scope" }, true, false },
		{ { .cgroup = "/kubepods.slice" }, true, false },
		{ { .cgroup = "/kubepods.slice/" }, true, false },
		{ { .cgroup = "/sys/fs/cgroup/kubepods.slice" }, true, false },
		{ { .cgroup = "/sys/fs/cgroup" }, true, true },
		{ { .cgroup = "/kubepods" }, false, false },
		{ { .cgroup = "/kubepods.slice/pod" }, false, false },
		{ { .cgroup = "/kube*" }, true, false },
		{ { .cgroup = "/" }, true, true },
		{ { .cgroup = "" }, false, false },
		{ { .image = "registry/shop:1.2" }, true, false },
		{ { .image = "*/shop:*" }, true, false },
		{ { .image = "" }, false, true },
		{ { .host = "node-?" }, true, false },
		{ { .host = "node" }, false, false },
		{ { .host = "node-7", .image = "*/cart:*" }, false, false },
		{ { .comm = "java", .pod = "shop-*", .pid = 4711 }, true, false },
		{ { .comm = "java", .pod = "other" }, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (selection_matches(&rows[i].selection, &shop) != rows[i].shop ||
		    selection_matches(&rows[i].selection, &host_process) != rows[i].host)
			fail_msg("row %zu", i);
	}
}

/* As a shell's "*" stands for no leading dot: whoever wants a user's own names has to say so. */
static void names_that_a_user_gave_are_selected_on_purpose_only(void **state)
{
	static const struct window users = {
		.pid = 9,
		.labels = { [WINDOW_LABEL_COMM] = "user:comm",
			    [WINDOW_LABEL_SERVICE] = "user:1000/shop",
			    [WINDOW_LABEL_POD] = "user:1000/shop-0",
			    [WINDOW_LABEL_CONTAINER] = "user:1000/app",
			    [WINDOW_LABEL_CONTAINER_ID] = "user:1000/" ID },
	};
	static const struct {
		struct selection selection;
		bool matches;
	} rows[] = {
		{ { .container = "app" }, false },
		{ { .container = "*app" }, false },
		{ { .container = "?ser:1000/app" }, false },
		{ { .container = ID }, false },
		{ { .container = "0123456789ab" }, false },
		{ { .service = "*shop" }, false },
		{ { .pod = "*shop*" }, false },
		{ { .container = "*" }, true },
		{ { .container = "user:1000/app" }, true },
		{ { .container = "user:1000/" ID }, true },
		{ { .service = "user:*/shop" }, true },
		{ { .pod = "user:1000/shop-?" }, true },
		{ { .comm = "*comm" }, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (selection_matches(&rows[i].selection, &users) != rows[i].matches)
			fail_msg("row %zu", i);
	}
}

static void host_record_matches_only_the_empty_selection(void **state)
{
	const struct window host_record = { 0 };

	(void)state;
	assert_true(selection_matches(&(struct selection){ 0 }, &host_record));
	assert_false(selection_matches(&(struct selection){ .comm = "*" }, &host_record));
	assert_false(selection_matches(&(struct selection){ .cgroup = "/" }, &host_record));
}

static void a_process_goes_by_all_its_labels_a_host_s_record_by_its_host(void **state)
{
	struct window record = { .labels = { [WINDOW_LABEL_HOST] = "node-1" } };
	struct selection left_out = { .comm = "java" };

	(void)state;
	assert_true(selection_takes(&(struct selection){ 0 }, &record));
	assert_true(selection_takes(&(struct selection){ .pid = 1, .comm = "*" }, &record));
	assert_true(selection_takes(&(struct selection){ .host = "node-*" }, &record));
	assert_false(selection_takes(&(struct selection){ .host = "node-2" }, &record));
	assert_int_equal(selection_add(&left_out, SELECT_BY_HOST, "!node-1"), 0);
	assert_false(selection_takes(&left_out, &record));
	record.pid = 7;
	record.labels[WINDOW_LABEL_COMM] = "ruby";
	assert_true(selection_takes(&(struct selection){ .comm = "ruby" }, &record));
	assert_false(selection_takes(&(struct selection){ .comm = "java" }, &record));
	assert_false(selection_takes(&(struct selection){ .host = "node-2" }, &record));
}

static void a_selection_is_of_all_until_something_is_selected(void **state)
{
	struct selection left_out = { .kind = SELECT_KIND_JAVA };

	(void)state;
	assert_true(selection_is_of_all(&(struct selection){ 0 }));
	assert_true(selection_is_of_all(&left_out));
	assert_int_equal(selection_add(&left_out, SELECT_BY_POD, "!shop"), 0);
	assert_false(selection_is_of_all(&left_out));
	assert_false(selection_is_of_all(&(struct selection){ .host = "node-1" }));
	assert_false(selection_is_of_all(&(struct selection){ .pid = 1 }));
	assert_false(selection_is_of_all(&(struct selection){ .thread = "main" }));
}

static void threads_are_selected_by_name_or_glob(void **state)
{
	static const struct {
		const char *thread;
		const char *name;
		bool matches;
	} rows[] = {
		{ NULL, "http-nio-#-exec", true },
		{ NULL, "", true },
		{ "http-nio-#-exec", "http-nio-#-exec", true },
		{ "http-*", "http-nio-#-exec", true },
		{ "http", "http-nio-#-exec", false },
		{ "GC*", "http-nio-#-exec", false },
		{ "[unknown thread]", "[unknown thread]", true }, /* equal before glob */
		{ "http-nio-8080-exec", "http-nio-#-exec", true },
		{ "http-nio-[0-9]*", "http-nio-#-exec", true },
		{ "http-nio8-exec", "http-nio-#-exec", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct selection selection = { .thread = rows[i].thread };

		if (selection_takes_thread(&selection, rows[i].name) != rows[i].matches)
			fail_msg("row %zu", i);
		assert_true(selection_matches(&selection, &shop));
	}
}

static void threads_are_left_out_and_taken_in_by_several(void **state)
{
	struct selection selection = { 0 };

	(void)state;
	assert_false(selection_is_of_threads(&selection));
	assert_int_equal(selection_add(&selection, SELECT_BY_THREAD, "!GC*"), 0);
	assert_true(selection_is_of_threads(&selection));
	assert_true(selection_is_of_parts(&selection));
	assert_false(selection_is_of_all(&selection));
	assert_true(selection_takes_thread(&selection, "main"));
	assert_false(selection_takes_thread(&selection, "GC Thread##"));
	assert_int_equal(selection_add(&selection, SELECT_BY_THREAD, "main"), 0);
	assert_int_equal(selection_add(&selection, SELECT_BY_THREAD, "C2 CompilerThread0"), 0);
	assert_true(selection_takes_thread(&selection, "main"));
	assert_true(selection_takes_thread(&selection, "C# CompilerThread#"));
	assert_false(selection_takes_thread(&selection, "VM Thread"));
	assert_true(selection_matches(&selection, &shop));
}

static void ranges_are_half_open(void **state)
{
	static const struct {
		uint64_t since, until, start, duration;
		bool covers;
	} rows[] = {
		{ 100, 200, 100, 10, true },
		{ 100, 200, 190, 10, true },
		{ 100, 200, 199, 10, true },
		{ 100, 200, 200, 10, false },
		{ 100, 200, 90, 10, false },
		{ 100, 200, 91, 10, true },
		{ 100, 200, 50, 500, true },
		{ 100, 200, 100, 0, true },
		{ 100, 200, 99, 0, false },
		{ 100, 100, 100, 10, false },
		{ 0, UINT64_MAX, UINT64_MAX - 1, 100, true },
		{ 200, 100, 150, 10, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct selection selection = { .since_unix_ns = rows[i].since,
						     .until_unix_ns = rows[i].until };
		const struct window window = { .start_unix_ns = rows[i].start,
					       .duration_ns = rows[i].duration };

		if (selection_covers(&selection, &window) != rows[i].covers)
			fail_msg("row %zu", i);
	}
}

static void every_leaf_is_of_exactly_one_kind(void **state)
{
	(void)state;
	for (int leaf = 0; leaf < FRAME_KIND_CNT; leaf++) {
		int matches = 0;

		for (int kind = SELECT_KIND_JAVA; kind <= SELECT_KIND_NATIVE; kind++)
			matches +=
				select_kind_matches((enum select_kind)kind, (enum frame_kind)leaf);
		assert_int_equal(matches, 1);
		assert_true(select_kind_matches(SELECT_KIND_ANY, (enum frame_kind)leaf));
	}
	assert_true(select_kind_matches(SELECT_KIND_JAVA, FRAME_KIND_INTERPRETED));
	assert_true(select_kind_matches(SELECT_KIND_JAVA, FRAME_KIND_INLINED));
}

/* What the command line says, one selector after the other. */
static bool matches_all_of(const char *const *words, const struct window *window)
{
	struct selection selection = { 0 };

	for (; *words; words += 2) {
		enum select_by by = SELECT_BY_CONTAINER;

		while (by < SELECT_BY_CNT && strcmp(select_by_name(by), words[0]) != 0)
			by++;
		assert_int_equal(selection_add(&selection, by, words[1]), 0);
	}
	return selection_matches(&selection, window);
}

static void one_of_a_label_must_match_and_none_that_leaves_out(void **state)
{
	static const struct {
		const char *words[9];
		bool shop;
		bool host;
	} rows[] = {
		{ { "comm", "perl", "comm", "java" }, true, false },
		{ { "comm", "java", "comm", "[systemd]" }, true, true },
		{ { "comm", "perl", "comm", "ruby" }, false, false },
		{ { "comm", "!java" }, false, true },
		{ { "comm", "!j*", "comm", "!r*" }, false, true },
		{ { "comm", "*", "comm", "!java" }, false, true },
		{ { "comm", "!java", "comm", "java" }, false, false },
		{ { "comm", "java", "namespace", "!prod" }, false, false },
		{ { "comm", "java", "namespace", "!test" }, true, false },
		{ { "container", "!" }, true, false }, /* all that are in one */
		{ { "container", "!012345" }, false, true },
		{ { "cgroup", "!/init.scope" }, true, false },
		{ { "pod", "x", "pod", "shop-*", "service", "a", "service", "shop" }, true, false },
		{ { "comm", "\\!java" }, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (matches_all_of(rows[i].words, &shop) != rows[i].shop ||
		    matches_all_of(rows[i].words, &host_process) != rows[i].host)
			fail_msg("case %zu: %s %s", i, rows[i].words[0], rows[i].words[1]);
	}
}

static void selectors_are_told_in_order_those_that_leave_out_last(void **state)
{
	static const char *const values[] = { "!x", "a", "!y", "b" };
	static const char *const expected[] = { "a", "b", "x", "y" };
	struct selection selection = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		assert_int_equal(selection_add(&selection, SELECT_BY_POD, values[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct select_more got = selection_get(&selection, SELECT_BY_POD, i);

		assert_string_equal(got.pattern, expected[i]);
		assert_int_equal(got.leaves_out, i >= 2);
	}
	assert_null(selection_get(&selection, SELECT_BY_POD, 4).pattern);
	assert_null(selection_get(&selection, SELECT_BY_COMM, 0).pattern);
	selection_set(&selection, SELECT_BY_POD, "c");
	assert_string_equal(selection_get(&selection, SELECT_BY_POD, 0).pattern, "c");
	assert_string_equal(selection_get(&selection, SELECT_BY_POD, 1).pattern, "x");
	assert_string_equal(selection_get(&selection, SELECT_BY_POD, 2).pattern, "y");
	assert_null(selection_get(&selection, SELECT_BY_POD, 3).pattern);
	while (selection.more_cnt < SELECT_MORE_MAX)
		assert_int_equal(selection_add(&selection, SELECT_BY_COMM, "!c"), 0);
	assert_int_equal(selection_add(&selection, SELECT_BY_COMM, "!c"), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_a_label_must_match_and_none_that_leaves_out),
		cmocka_unit_test(selectors_are_told_in_order_those_that_leave_out_last),
		cmocka_unit_test(selectors_match_streams),
		cmocka_unit_test(names_that_a_user_gave_are_selected_on_purpose_only),
		cmocka_unit_test(host_record_matches_only_the_empty_selection),
		cmocka_unit_test(a_process_goes_by_all_its_labels_a_host_s_record_by_its_host),
		cmocka_unit_test(a_selection_is_of_all_until_something_is_selected),
		cmocka_unit_test(threads_are_selected_by_name_or_glob),
		cmocka_unit_test(threads_are_left_out_and_taken_in_by_several),
		cmocka_unit_test(ranges_are_half_open),
		cmocka_unit_test(every_leaf_is_of_exactly_one_kind),
	};

	return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
