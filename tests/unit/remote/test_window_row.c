// SPDX-License-Identifier: Apache-2.0
/* Windows as rows of a table: what a row says is the window again, and which windows are one stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/remote/clickhouse.h"
#include "user/remote/window_row.h"
#include "user/util/cleanup.h"

static struct window window_of_shop(void)
{
	struct window window = {
		.start_unix_ns = 1700000000000000000ull,
		.duration_ns = 10000000000ull,
		.frequency_hz = 99,
		.pid = 42,
		.boot_id = { 1, 2, 3 },
		.jit_age_ms = UINT32_MAX,
		.counts = { .samples = 7, .ends = { 0, 3 } },
		.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_POD] = "shop-1" },
	};

	return window;
}

static void put_text(struct strbuf *line, size_t *ends, size_t *cnt, const char *text)
{
	strbuf_puts(line, text);
	strbuf_putc(line, '\0');
	ends[(*cnt)++] = line->len;
}

/* The fields as a server tells a row: every number is 5, every label "x", one of them unknown. */
static size_t fields_of_fives(struct strbuf *line, struct clickhouse_field *fields)
{
	__cleanup_strbuf struct strbuf types = STRBUF_INIT;
	size_t ends[CLICKHOUSE_FIELDS_MAX], cnt = 0, begin = 0;
	char *type;

	window_row_column_types(&types, "Label");
	assert_int_equal(strbuf_error(&types), 0);
	for (type = strtok(types.data, ","); type; type = strtok(NULL, ",")) {
		const char *kind = strrchr(type, ' ') + 1;

		put_text(line, ends, &cnt,
			 strstr(kind, "Array")	     ? "[1,2]" :
			 strstr(kind, "Fixed")	     ? "0123456789abcdef" :
			 strcmp(kind, "Label") == 0  ? (strstr(type, " pod ") ? "" : "x") :
			 strcmp(kind, "String") == 0 ? "text" :
						       "5");
	}
	for (size_t i = 0; i < cnt; i++) {
		fields[i] = (struct clickhouse_field){ line->data + begin, ends[i] - begin - 1 };
		begin = ends[i];
	}
	return cnt;
}

static void row_is_read_into_every_part_of_a_window(void **state)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;
	struct clickhouse_field fields[CLICKHOUSE_FIELDS_MAX];
	struct window_row row;

	(void)state;
	assert_int_equal(fields_of_fives(&line, fields), window_row_column_cnt());
	assert_int_equal(window_row_decode(fields, &row), 0);
	assert_true(row.stream == 5 && row.window.start_unix_ns == 5 && row.window.period == 5);
	assert_int_equal(row.window.is_jvm, 5);
	assert_true(row.window.counts.unrepaired_samples == 5);
	assert_true(row.window.counts.run_delay_ns == 5);
	assert_memory_equal(row.window.boot_id, "0123456789abcdef", 16);
	assert_true(row.window.lost[1] == 2 && row.window.lost[2] == 0);
	assert_true(row.window.counts.ends[0] == 1 && row.window.counts.ends[2] == 0);
	assert_string_equal(row.window.labels[WINDOW_LABEL_SERVICE], "x");
	assert_string_equal(row.window.labels[WINDOW_LABEL_PASSES], "x");
	assert_null(row.window.labels[WINDOW_LABEL_POD]);
	assert_int_equal(row.window.lines_len, 4);
	assert_int_equal(row.window.cells_len, 4);
	assert_int_equal(row.window.threads_len, 4);
}

static void row_that_is_none_is_refused(void **state)
{
	(void)state;
	for (size_t broken = 2; broken < window_row_column_cnt(); broken++) {
		__cleanup_strbuf struct strbuf line = STRBUF_INIT;
		struct clickhouse_field fields[CLICKHOUSE_FIELDS_MAX];
		struct window_row row;

		(void)fields_of_fives(&line, fields);
		/* Neither a number, nor an array, nor an id, nor text of a label. */
		fields[broken] = (struct clickhouse_field){ (char[]){ "a\0b" }, 3 };
		if (broken + 3 < window_row_column_cnt())
			assert_int_equal(window_row_decode(fields, &row), -EBADMSG);
		else
			assert_int_equal(window_row_decode(fields, &row), 0);
	}
}

static void row_is_as_long_as_its_columns(void **state)
{
	struct window window = window_of_shop();
	__cleanup_strbuf struct strbuf out = STRBUF_INIT, names = STRBUF_INIT;

	(void)state;
	window_row_encode(&out, &window, 60, 1);
	assert_int_equal(strbuf_error(&out), 0);
	/* service, minute, stream, start_ns */
	assert_memory_equal(out.data, "\4java\x3c\0\0\0\1\0\0\0\0\0\0\0", 17);
	assert_memory_equal(out.data + 17, &window.start_unix_ns, sizeof(uint64_t));
	window_row_column_names(&names);
	assert_non_null(strstr(names.data, ", label_service, "));
}

static void stream_is_a_track_and_nothing_else(void **state)
{
	struct window window = window_of_shop(), other;
	uint64_t stream, changed;

	(void)state;
	assert_int_equal(window_row_stream(&window, &stream), 0);
	other = window;
	other.start_unix_ns++;
	other.counts.samples++;
	other.jit_entries++;
	other.labels[WINDOW_LABEL_IMAGE] = "";
	assert_int_equal(window_row_stream(&other, &changed), 0);
	assert_true(changed == stream);

	other = window;
	other.event = EVENT_OFF_CPU;
	assert_int_equal(window_row_stream(&other, &changed), 0);
	assert_true(changed != stream);
	other = window;
	other.labels[WINDOW_LABEL_POD] = NULL;
	other.labels[WINDOW_LABEL_POD_UID] = "shop-1";
	assert_int_equal(window_row_stream(&other, &changed), 0);
	assert_true(changed != stream);
}

static void service_is_the_label_or_the_process(void **state)
{
	struct window window = window_of_shop();

	(void)state;
	assert_string_equal(window_row_service(&window), "java");
	window.labels[WINDOW_LABEL_SERVICE] = "shop";
	assert_string_equal(window_row_service(&window), "shop");
	assert_string_equal(window_row_service(&(struct window){ 0 }), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_is_read_into_every_part_of_a_window),
		cmocka_unit_test(row_that_is_none_is_refused),
		cmocka_unit_test(row_is_as_long_as_its_columns),
		cmocka_unit_test(stream_is_a_track_and_nothing_else),
		cmocka_unit_test(service_is_the_label_or_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
