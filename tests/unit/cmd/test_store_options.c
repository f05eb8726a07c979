// SPDX-License-Identifier: Apache-2.0
/* Command lines of jbpf-store. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "user/cmd/store_options.h"
#include "user/util/cleanup.h"

#define ARGS_MAX 8

static int parse(const char *const *args, struct store_options *out, char *why, size_t why_len)
{
	char *argv[ARGS_MAX + 1] = { (char *)"jbpf-store" };
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	argv[argc] = NULL;
	return store_options_parse(argc, argv, out, why, why_len);
}

static void verbs_and_options_come_in_any_order(void **state)
{
	static const struct {
		const char *args[ARGS_MAX];
		struct store_options expected;
	} rows[] = {
		{ { "check" }, { .verb = STORE_VERB_CHECK, .store = "/var/lib/jbpf" } },
		{ { "compact" }, { .verb = STORE_VERB_COMPACT, .store = "/var/lib/jbpf" } },
		{ { "check", "--store", "/s" }, { .verb = STORE_VERB_CHECK, .store = "/s" } },
		{ { "--store=/s", "compact" }, { .verb = STORE_VERB_COMPACT, .store = "/s" } },
		{ { "check", "--format", "json" },
		  { .verb = STORE_VERB_CHECK, .store = "/var/lib/jbpf", .json = true } },
		{ { "check", "--format=text" },
		  { .verb = STORE_VERB_CHECK, .store = "/var/lib/jbpf" } },
		{ { "--help" }, { .store = "/var/lib/jbpf", .info.help = true } },
		{ { "--version" }, { .store = "/var/lib/jbpf", .info.version = true } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct store_options options;
		char why[256];

		assert_int_equal(parse(rows[i].args, &options, why, sizeof(why)), 0);
		assert_int_equal(options.verb, rows[i].expected.verb);
		assert_string_equal(options.store, rows[i].expected.store);
		assert_int_equal(options.json, rows[i].expected.json);
		assert_int_equal(options.info.help, rows[i].expected.info.help);
		assert_int_equal(options.info.version, rows[i].expected.info.version);
	}
}

static void wrong_usage_is_refused_in_one_line(void **state)
{
	static const struct {
		const char *args[ARGS_MAX];
		const char *why;
	} rows[] = {
		{ { NULL }, "check or compact? see jbpf-store --help" },
		{ { "delete" }, "'delete' is not one of check, compact; see jbpf-store --help" },
		{ { "check", "again" }, "'again' is too much; see jbpf-store --help" },
		{ { "check", "--nonsense" },
		  "there is no option --nonsense; see jbpf-store --help" },
		{ { "check", "--store" }, "--store wants a value; see jbpf-store --help" },
		{ { "check", "--store=a", "--store=b" },
		  "--store is given twice; see jbpf-store --help" },
		{ { "check", "--format=xml" },
		  "--format: 'xml' is not one of text, json; see jbpf-store --help" },
		{ { "compact", "--format=json" },
		  "--format does not go with compact; see jbpf-store --help" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct store_options options;
		char why[256];

		assert_int_equal(parse(rows[i].args, &options, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verbs_and_options_come_in_any_order),
		cmocka_unit_test(wrong_usage_is_refused_in_one_line),
	};

	return cmocka_run_group_tests_name("cmd_store_options", tests, NULL, NULL);
}
