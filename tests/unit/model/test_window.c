// SPDX-License-Identifier: Apache-2.0
/* Names of labels and losses: complete, distinct, and stable because they are on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/window.h"
#include "user/util/cleanup.h"

static void label_names_are_those_on_disk(void **state)
{
	static const char *const names[] = { "comm",	      "service",      "namespace",
					     "pod",	      "pod_uid",      "container",
					     "container_id",  "runtime",      "image",
					     "cgroup",	      "exe",	      "jvm_version",
					     "jit_problem",   "jit_fallback", "over_budget",
					     "label_sources", "cost",	      "store_problem" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(window_label_name((enum window_label)i), names[i]);
		assert_int_equal(window_label_by_name(names[i], strlen(names[i])), i);
	}
}

static void every_label_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *name = window_label_name((enum window_label)i);

		assert_non_null(name);
		assert_int_equal(window_label_by_name(name, strlen(name)), i);
	}
}

static void every_loss_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < WINDOW_LOSS_CNT; i++) {
		assert_non_null(window_loss_name((enum window_loss)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(window_loss_name((enum window_loss)i),
						window_loss_name((enum window_loss)k));
	}
}

static void every_number_has_a_name_and_places_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		const struct window_field *field = &window_fields[i];

		assert_true(field->bytes == 4 || field->bytes == 8);
		/* enum rows_section of rows_columns.h */
		if (field->kind == WINDOW_FIELD_TRACK)
			assert_in_range(field->section, 3, 31);
		else if (field->section)
			assert_in_range(field->section, 33, 79);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(field->name, window_fields[k].name);
			assert_int_not_equal(field->offset, window_fields[k].offset);
			assert_true(!field->section || field->section != window_fields[k].section);
			assert_true(field->commit_at == WINDOW_FIELD_NOT_IN_COMMIT ||
				    field->commit_at != window_fields[k].commit_at);
		}
	}
}

static void a_time_has_no_weight_of_samples(void **state)
{
	const struct window_counts counts = { .samples = 3, .frames = 9, .run_delay_ns = 500 };
	struct window_counts sum = { .run_delay_ns = 1 };

	(void)state;
	window_counts_add_weighted(&sum, &counts, 100);
	assert_int_equal(sum.samples, 300);
	assert_int_equal(sum.frames, 900);
	assert_int_equal(sum.run_delay_ns, 501);
}

static void unknown_names_are_no_label(void **state)
{
	(void)state;
	assert_int_equal(window_label_by_name("", 0), WINDOW_LABEL_CNT);
	assert_int_equal(window_label_by_name("pods", 4), WINDOW_LABEL_CNT);
	assert_int_equal(window_label_by_name("po", 2), WINDOW_LABEL_CNT);
	assert_int_equal(window_label_by_name("pod\0x", 5), WINDOW_LABEL_CNT);
	assert_int_equal(window_label_by_name("podx", 3), WINDOW_LABEL_POD);
	assert_string_equal(window_label_name((enum window_label)1000), "unknown");
	assert_string_equal(window_loss_name((enum window_loss)1000), "unknown");
}

static void missing_label_reads_as_empty(void **state)
{
	const struct window window = { .labels = { [WINDOW_LABEL_POD] = "p" } };

	(void)state;
	assert_string_equal(window_label(&window, WINDOW_LABEL_POD), "p");
	assert_string_equal(window_label(&window, WINDOW_LABEL_EXE), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_names_are_those_on_disk),
		cmocka_unit_test(every_label_has_a_name_of_its_own),
		cmocka_unit_test(every_loss_has_a_name_of_its_own),
		cmocka_unit_test(every_number_has_a_name_and_places_of_its_own),
		cmocka_unit_test(a_time_has_no_weight_of_samples),
		cmocka_unit_test(unknown_names_are_no_label),
		cmocka_unit_test(missing_label_reads_as_empty),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
