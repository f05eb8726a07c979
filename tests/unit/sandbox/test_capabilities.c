// SPDX-License-Identifier: Apache-2.0
/* Capabilities: names, and giving them up in a child. Run by root and by anybody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/capabilities.h"

/* What a forked child's function returns. */
static int in_child(int (*run)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void names_are_listed_in_the_order_of_their_numbers(void **state)
{
	static const struct {
		uint64_t set;
		const char *text;
	} rows[] = {
		{ 0, "none" },
		{ CAPABILITY_BIT(CAP_CHOWN), "CAP_CHOWN" },
		{ CAPABILITY_BIT(CAP_BPF), "CAP_BPF" },
		{ CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_SYSLOG) | CAPABILITY_BIT(CAP_KILL),
		  "CAP_KILL CAP_SYSLOG CAP_BPF" },
		{ CAPABILITY_BIT(CAP_CHECKPOINT_RESTORE) | CAPABILITY_BIT(63),
		  "CAP_CHECKPOINT_RESTORE 63" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct strbuf text = STRBUF_INIT;

		assert_int_equal(capabilities_append_names(rows[i].set, &text), 0);
		assert_string_equal(strbuf_str(&text), rows[i].text);
		strbuf_release(&text);
	}
}

static void every_number_up_to_the_last_has_a_name(void **state)
{
	(void)state;
	for (unsigned int cap = 0; cap <= CAP_CHECKPOINT_RESTORE; cap++) {
		assert_non_null(capabilities_name(cap));
		assert_memory_equal(capabilities_name(cap), "CAP_", 4);
	}
	assert_null(capabilities_name(CAP_CHECKPOINT_RESTORE + 1));
	assert_null(capabilities_name(UINT32_MAX));
}

static int limit_to_nothing(void)
{
	const struct capabilities none = { 0 };
	struct capabilities held = { .effective = 1, .permitted = 1 };

	if (capabilities_limit(&none) || capabilities_read(&held))
		return 1;
	return held.effective || held.permitted ? 2 : 0;
}

static int limit_keeps_aside_what_is_not_in_force(void)
{
	const struct capabilities kept = {
		.effective = CAPABILITY_BIT(CAP_DAC_READ_SEARCH),
		.permitted = CAPABILITY_BIT(CAP_DAC_READ_SEARCH) | CAPABILITY_BIT(CAP_SETUID),
	};
	const uint64_t wanted = CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SYS_ADMIN);
	struct capabilities first, before, raised, last;

	if (capabilities_read(&first) || capabilities_limit(&kept) ||
	    capabilities_raise(wanted, &before) || capabilities_read(&raised) ||
	    capabilities_restore(&before) || capabilities_read(&last))
		return 1;
	if (raised.permitted != (first.permitted & kept.permitted))
		return 2; /* nothing is won, nothing kept is lost */
	if (raised.effective != ((first.effective & kept.effective) | (wanted & raised.permitted)))
		return 3;
	return last.effective == before.effective && last.permitted == raised.permitted ? 0 : 4;
}

static int what_is_given_up_does_not_come_back(void)
{
	const struct capabilities none = { 0 };
	const struct capabilities all = { .effective = UINT64_MAX, .permitted = UINT64_MAX };
	struct capabilities held;

	if (capabilities_limit(&none) || capabilities_limit(&all) ||
	    capabilities_raise(UINT64_MAX, NULL) || capabilities_restore(&all) ||
	    capabilities_read(&held))
		return 1;
	return held.effective || held.permitted ? 2 : 0;
}

/* With CAP_SETPCAP it shrinks, without it stays; it never grows. */
static int bounding_set_shrinks_where_it_may(void)
{
	const struct capabilities kept = { .permitted = CAPABILITY_BIT(CAP_SYS_PTRACE) };
	uint64_t before = capabilities_bounding();
	struct capabilities first;
	uint64_t after;

	if (capabilities_read(&first) || capabilities_limit(&kept))
		return 1;
	after = capabilities_bounding();
	if (first.effective & CAPABILITY_BIT(CAP_SETPCAP))
		return after == (before & kept.permitted) ? 0 : 2;
	return after == before ? 0 : 3;
}

static void giving_up_is_for_ever(void **state)
{
	(void)state;
	assert_int_equal(in_child(limit_to_nothing), 0);
	assert_int_equal(in_child(limit_keeps_aside_what_is_not_in_force), 0);
	assert_int_equal(in_child(what_is_given_up_does_not_come_back), 0);
	assert_int_equal(in_child(bounding_set_shrinks_where_it_may), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_listed_in_the_order_of_their_numbers),
		cmocka_unit_test(every_number_up_to_the_last_has_a_name),
		cmocka_unit_test(giving_up_is_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
