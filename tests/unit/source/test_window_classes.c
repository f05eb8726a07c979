// SPDX-License-Identifier: Apache-2.0
/* Streams that may be read as one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/source/window_classes.h"
#include "user/util/cleanup.h"

/* What the visitor tells apart. */
static bool same_host(void *ctx, const struct window *a, const struct window *b)
{
	(void)ctx;
	return strcmp(window_label(a, WINDOW_LABEL_HOST), window_label(b, WINDOW_LABEL_HOST)) == 0;
}

static bool never_same(void *ctx, const struct window *a, const struct window *b)
{
	(void)ctx;
	(void)a;
	(void)b;
	return false;
}

static const struct store_visitor by_host = { .same = same_host };

static struct window_row row(uint64_t stream, const char *service, const char *host,
			     uint64_t samples)
{
	struct window_row row = { .stream = stream, .window.counts.samples = samples };

	row.window.labels[WINDOW_LABEL_SERVICE] = service;
	row.window.labels[WINDOW_LABEL_HOST] = host;
	return row;
}

static void streams_of_a_service_that_are_the_same_are_one_class(void **state)
{
	struct window_row rows[] = {
		row(1, "shop", "a", 10), row(2, "shop", "b", 20), row(3, "shop", "a", 30),
		row(4, "cart", "a", 40), row(1, "shop", "a", 1),
	};
	struct window_classes *classes = window_classes__new(&by_host);
	__cleanup_strbuf struct strbuf streams = STRBUF_INIT, numbers = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(window_classes__add(classes, &rows[i]), 0);
	assert_true(window_classes__has(classes, 4));
	assert_false(window_classes__has(classes, 5));
	assert_int_equal(window_classes__cnt(classes), 3);
	assert_int_equal(window_classes__get(classes, 0)->samples, 41);
	assert_int_equal(window_classes__get(classes, 1)->samples, 20);
	assert_ptr_equal(window_classes__get(classes, 2)->window, &rows[3].window);
	assert_false(window_classes__are_services(classes));
	assert_int_equal(window_classes__of_service(classes, "cart"), 2);
	assert_true(window_classes__of_service(classes, "shop") == SIZE_MAX);
	assert_true(window_classes__of_service(classes, "none") == SIZE_MAX);
	window_classes__put_streams(classes, &streams, &numbers);
	assert_string_equal(streams.data, "[toUInt64(1),toUInt64(2),toUInt64(3),toUInt64(4)]");
	assert_string_equal(numbers.data, "[toUInt64(0),toUInt64(1),toUInt64(0),toUInt64(2)]");
	window_classes__free(classes);
}

static void services_may_be_the_classes(void **state)
{
	struct window_row rows[] = { row(1, "shop", "a", 10), row(4, "cart", "a", 40) };
	struct window_classes *classes = window_classes__new(&by_host);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(window_classes__add(classes, &rows[i]), 0);
	assert_true(window_classes__are_services(classes));
	window_classes__free(classes);
}

static void a_stream_of_two_classes_is_none(void **state)
{
	static const struct {
		const char *service, *host;
	} others[] = { { "shop", "b" }, { "cart", "a" } };
	struct window_row first = row(1, "shop", "a", 10);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct window_row other = row(1, others[i].service, others[i].host, 1);
		struct window_classes *classes = window_classes__new(&by_host);

		assert_int_equal(window_classes__add(classes, &first), 0);
		assert_int_equal(window_classes__add(classes, &other), -ENOTSUP);
		window_classes__free(classes);
	}
}

static void there_are_not_too_many_classes(void **state)
{
	static const struct store_visitor apart = { .same = never_same };
	struct window_row one = row(0, "shop", "a", 1);
	struct window_classes *classes = window_classes__new(&apart);

	(void)state;
	for (; one.stream < WINDOW_CLASSES_MAX; one.stream++)
		assert_int_equal(window_classes__add(classes, &one), 0);
	assert_int_equal(window_classes__add(classes, &one), -ENOTSUP);
	window_classes__free(classes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_of_a_service_that_are_the_same_are_one_class),
		cmocka_unit_test(services_may_be_the_classes),
		cmocka_unit_test(a_stream_of_two_classes_is_none),
		cmocka_unit_test(there_are_not_too_many_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
