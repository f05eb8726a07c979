// SPDX-License-Identifier: Apache-2.0
/* Text of a window out of numbers of stacks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/source/window_texts.h"

static int stack(struct window_texts *texts, const char *service, uint64_t hash, const char *text)
{
	return window_texts__add_stack(texts, service, strlen(service), hash, text, strlen(text));
}

static int samples(struct window_texts *texts, const char *service, uint64_t hash, uint64_t cnt)
{
	return window_texts__add_samples(texts, service, strlen(service), hash, cnt);
}

static void assert_taken_with(struct window_texts *texts, const char *expected,
			      uint64_t expected_sum, uint64_t expected_ambiguous)
{
	const struct strbuf *text;
	struct window_texts_sum sum;

	assert_int_equal(window_texts__take(texts, &text, &sum), 0);
	assert_string_equal(strbuf_str(text), expected);
	assert_int_equal(sum.samples, expected_sum);
	assert_int_equal(sum.ambiguous, expected_ambiguous);
}

static void assert_taken(struct window_texts *texts, const char *expected, uint64_t expected_sum)
{
	assert_taken_with(texts, expected, expected_sum, 0);
}

static void lines_come_in_the_order_of_their_bytes(void **state)
{
	struct window_texts *texts = window_texts__new();

	(void)state;
	assert_int_equal(stack(texts, "shop", 1, "a;c"), 0);
	assert_int_equal(stack(texts, "shop", 2, "a;b"), 0);
	assert_int_equal(stack(texts, "shop", 3, "a;b;\xff"), 0);
	assert_true(window_texts__has(texts, "shop", 4, 3));
	assert_false(window_texts__has(texts, "shop", 4, 4));
	assert_false(window_texts__has(texts, "sho", 3, 3));
	assert_int_equal(stack(texts, "shop", 4, "a;b;c"), 0);
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(samples(texts, "shop", i, i * 10), 0);
	assert_taken(texts, "a;b 20\na;b;c 40\na;b;\xff 30\na;c 10\n", 100);
	/* The next window begins with nothing, and knows the stacks. */
	assert_taken(texts, "", 0);
	assert_int_equal(samples(texts, "shop", 2, 7), 0);
	assert_taken(texts, "a;b 7\n", 7);
	window_texts__free(texts);
	window_texts__free(NULL);
}

static void a_hash_is_of_one_service(void **state)
{
	struct window_texts *texts = window_texts__new();

	(void)state;
	assert_int_equal(stack(texts, "shop", 1, "a;b"), 0);
	assert_int_equal(stack(texts, "cart", 1, "x;y"), 0);
	assert_int_equal(samples(texts, "cart", 1, 5), 0);
	assert_int_equal(samples(texts, "", 1, 5), -ENOENT);
	assert_int_equal(samples(texts, "shop", 2, 5), -ENOENT);
	assert_taken(texts, "x;y 5\n", 5);
	window_texts__free(texts);
}

static void stacks_of_one_hash_are_said_to_be_ambiguous_and_hold_up_no_other(void **state)
{
	struct window_texts *texts = window_texts__new();

	(void)state;
	assert_int_equal(stack(texts, "shop", 1, "java;b"), 0);
	assert_int_equal(stack(texts, "shop", 1, "java;b"), 0);
	assert_int_equal(samples(texts, "shop", 1, 1), 0);
	assert_taken(texts, "java;b 1\n", 1);
	/* Whichever comes again. */
	assert_int_equal(stack(texts, "shop", 1, "java;c"), 0);
	assert_int_equal(stack(texts, "shop", 1, "java;b"), 0);
	assert_int_equal(stack(texts, "shop", 2, "java;d"), 0);
	assert_int_equal(stack(texts, "shop", 3, "java;e"), 0);
	assert_int_equal(stack(texts, "shop", 3, "java;f"), 0);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(samples(texts, "shop", i, i), 0);
	assert_taken_with(texts, "java;" WINDOW_TEXTS_AMBIGUOUS " 4\njava;d 2\n", 6, 4);
	/* Not even the process is known. */
	assert_int_equal(stack(texts, "shop", 1, "sh;b"), 0);
	assert_int_equal(samples(texts, "shop", 1, 7), 0);
	assert_taken_with(texts, WINDOW_TEXTS_AMBIGUOUS " 7\n", 7, 7);
	window_texts__free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_the_order_of_their_bytes),
		cmocka_unit_test(a_hash_is_of_one_service),
		cmocka_unit_test(stacks_of_one_hash_are_said_to_be_ambiguous_and_hold_up_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
