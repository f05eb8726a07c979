// SPDX-License-Identifier: Apache-2.0
/* Answers of receivers: what was rejected, what an error says, and that broken bytes are no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/remote/otlp_answer.h"
#include "user/util/cleanup.h"

static void a_partial_success_is_read(void **state)
{
	/* Behind it is a field that this version does not know. */
	static const char bytes[] = "\x0a\x0b\x08\x82\x01\x12\x06no\nway\x1d\x01\x02\x03\x04";
	struct otlp_partial partial;

	(void)state;
	assert_true(otlp_answer_partial(bytes, sizeof(bytes) - 1, &partial));
	assert_int_equal(partial.rejected_profiles, 130);
	assert_string_equal(partial.words, "no");
	assert_true(otlp_answer_partial("", 0, &partial));
	assert_int_equal(partial.rejected_profiles, 0);
	assert_string_equal(partial.words, "");
}

static void what_is_cut_is_no_answer(void **state)
{
	static const char bytes[] = "\x0a\x0b\x08\x82\x01\x12\x06no\nway";
	struct otlp_partial partial;

	(void)state;
	for (size_t len = 1; len < sizeof(bytes) - 1; len++) {
		assert_false(otlp_answer_partial(bytes, len, &partial));
		assert_int_equal(partial.rejected_profiles, 0);
	}
	assert_false(otlp_answer_partial("\x0b", 1, &partial));
	assert_false(otlp_answer_partial("\x08\x01", 2, &partial));
}

static void an_error_is_a_status_or_a_text(void **state)
{
	static const struct {
		const char *body, *words;
	} rows[] = {
		{ "\x08\x10\x12\x09"
		  "bad token",
		  "bad token" },
		{ "not today\nor tomorrow", "not today" },
		{ "<html>", "<html>" },
		{ "red \033[31m\x7f", "red ?[31m?" },
		{ "", "" },
	};
	char words[OTLP_ANSWER_WORDS], many[2 * OTLP_ANSWER_WORDS];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		otlp_answer_words(rows[i].body, words);
		assert_string_equal(words, rows[i].words);
	}
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	otlp_answer_words(many, words);
	assert_int_equal(strlen(words), OTLP_ANSWER_WORDS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partial_success_is_read),
		cmocka_unit_test(what_is_cut_is_no_answer),
		cmocka_unit_test(an_error_is_a_status_or_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
