// SPDX-License-Identifier: Apache-2.0
/* See window_row.h: all directions go by the table of a window's numbers. */
#include "user/remote/window_row.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "user/remote/clickhouse_schema.h"
#include "user/util/cleanup.h"
#include "user/util/varint.h"

#define FIRST_NUMBER 3 /* behind the key */

/* Behind the numbers. */
enum {
	AT_BOOT_ID,
	AT_LOST,
	AT_ENDS,
	AT_LABELS,
	AT_LINES = AT_LABELS + WINDOW_LABEL_CNT,
	AT_CELLS,
	AT_THREADS,
	AT_CNT
};

#define AT(place) (FIRST_NUMBER + ARRAY_SIZE(window_fields) + (place))

_Static_assert(FIRST_NUMBER + ARRAY_SIZE(window_fields) + AT_CNT <= CLICKHOUSE_FIELDS_MAX,
	       "a row has room in an answer");

static uint64_t get_number(const struct window_field *number, const struct window *window)
{
	return window_number_get(window, number->offset, number->bytes);
}

static int set_number(const struct window_field *number, struct window *window,
		      const struct clickhouse_field *from)
{
	uint64_t value;

	if (clickhouse_field_u64(from, &value))
		return -EBADMSG;
	return window_number_set(window, number->offset, number->bytes, value) ? 0 : -EBADMSG;
}

/* ---- the key ---- */

const char *window_row_service(const struct window *window)
{
	const char *service = window->labels[WINDOW_LABEL_SERVICE];

	return service && *service ? service : window_label(window, WINDOW_LABEL_COMM);
}

/* A label that is not known and one that is empty are the same here: a row cannot tell them apart. */
int window_row_stream(const struct window *window, uint64_t *out)
{
	__cleanup_strbuf struct strbuf key = STRBUF_INIT;

	strbuf_append(&key, window->boot_id, sizeof(window->boot_id));
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		if (window_fields[i].kind == WINDOW_FIELD_TRACK)
			clickhouse_put_u64(&key, get_number(&window_fields[i], window));
	}
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *label = window_label(window, (enum window_label)i);

		/* With its number, so that a stream stays the same when a later jbpf knows more labels. */
		if (!*label)
			continue;
		strbuf_putc(&key, (char)i);
		clickhouse_put_string(&key, label, strlen(label));
	}
	if (strbuf_error(&key))
		return strbuf_error(&key);
	*out = XXH3_64bits_withSeed(key.data, key.len, CLICKHOUSE_HASH_SEED);
	return 0;
}

/* ---- columns ---- */

static const char *label_column(enum window_label label)
{
	return label == WINDOW_LABEL_SERVICE ? "label_service" : window_label_name(label);
}

size_t window_row_column_cnt(void)
{
	return AT(AT_CNT);
}

struct window_row_column window_row_column(size_t at, const char *label_type)
{
	static const struct window_row_column key[FIRST_NUMBER] = { { "service", "String" },
								    { "ts", "DateTime" },
								    { "stream", "UInt64" } };
	static const struct window_row_column last[AT_CNT] = {
		[AT_BOOT_ID] = { "boot_id", "FixedString(16)" },
		[AT_LOST] = { "lost", "Array(UInt64)" },
		[AT_ENDS] = { "ends", "Array(UInt64)" },
		[AT_LINES] = { "lines", "String" },
		[AT_CELLS] = { "cells", "String" },
		[AT_THREADS] = { "threads", "String" },
	};
	const struct window_field *number;

	if (at < FIRST_NUMBER)
		return key[at];
	if (at >= AT(AT_LABELS) && at < AT(AT_LINES))
		return (struct window_row_column){
			label_column((enum window_label)(at - AT(AT_LABELS))), label_type
		};
	if (at >= AT(0))
		return last[at - AT(0)];
	number = &window_fields[at - FIRST_NUMBER];
	return (struct window_row_column){ number->name, number->bytes == sizeof(uint32_t) ?
								 "UInt32" :
								 "UInt64" };
}

/* One word per column: `types` false = names only. */
static void put_columns(struct strbuf *out, const char *label_type, bool types)
{
	for (size_t i = 0; i < window_row_column_cnt(); i++) {
		struct window_row_column column = window_row_column(i, label_type);

		strbuf_printf(out, types ? "%s%s %s" : "%s%s", i ? ", " : "", column.name,
			      column.type);
	}
}

void window_row_column_names(struct strbuf *out)
{
	put_columns(out, "", false);
}

void window_row_column_types(struct strbuf *out, const char *label_type)
{
	put_columns(out, label_type, true);
}

/* ---- rows ---- */

static void put_array(struct strbuf *out, const uint64_t *values, size_t cnt)
{
	while (cnt && !values[cnt - 1])
		cnt--;
	varint_put(out, cnt);
	for (size_t i = 0; i < cnt; i++)
		clickhouse_put_u64(out, values[i]);
}

void window_row_encode(struct strbuf *out, const struct window *window, uint32_t minute_unix_s,
		       uint64_t stream)
{
	const char *service = window_row_service(window);

	clickhouse_put_string(out, service, strlen(service));
	clickhouse_put_u32(out, minute_unix_s);
	clickhouse_put_u64(out, stream);
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		uint64_t value = get_number(&window_fields[i], window);

		if (window_fields[i].bytes == sizeof(uint32_t))
			clickhouse_put_u32(out, (uint32_t)value);
		else
			clickhouse_put_u64(out, value);
	}
	strbuf_append(out, window->boot_id, sizeof(window->boot_id));
	put_array(out, window->lost, WINDOW_LOSS_CNT);
	put_array(out, window->counts.ends, STACK_END_CNT);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *label = window_label(window, (enum window_label)i);

		clickhouse_put_string(out, label, strlen(label));
	}
	clickhouse_put_string(out, window->lines, window->lines ? window->lines_len : 0);
	clickhouse_put_string(out, window->cells, window->cells ? window->cells_len : 0);
	clickhouse_put_string(out, window->threads, window->threads ? window->threads_len : 0);
}

static int decode_rest(const struct clickhouse_field *fields, struct window *window)
{
	const struct clickhouse_field *boot_id = &fields[AT(AT_BOOT_ID)];
	const struct clickhouse_field *lines = &fields[AT(AT_LINES)];
	const struct clickhouse_field *cells = &fields[AT(AT_CELLS)];
	const struct clickhouse_field *threads = &fields[AT(AT_THREADS)];

	if (boot_id->len != sizeof(window->boot_id) || cells->len > UINT32_MAX ||
	    clickhouse_field_array(&fields[AT(AT_LOST)], window->lost, WINDOW_LOSS_CNT) ||
	    clickhouse_field_array(&fields[AT(AT_ENDS)], window->counts.ends, STACK_END_CNT))
		return -EBADMSG;
	memcpy(window->boot_id, boot_id->text, sizeof(window->boot_id));
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const struct clickhouse_field *label = &fields[AT(AT_LABELS) + (size_t)i];

		if (memchr(label->text, '\0', label->len))
			return -EBADMSG;
		window->labels[i] = label->len ? label->text : NULL;
	}
	window->lines = lines->len ? lines->text : NULL;
	window->lines_len = lines->len;
	window->cells = cells->len ? (const uint8_t *)cells->text : NULL;
	window->cells_len = (uint32_t)cells->len;
	window->threads = threads->len ? (const uint8_t *)threads->text : NULL;
	window->threads_len = threads->len;
	return 0;
}

int window_row_decode(const struct clickhouse_field *fields, struct window_row *out)
{
	struct window_row row = { 0 };
	int err = clickhouse_field_u64(&fields[2], &row.stream);

	for (size_t i = 0; !err && i < ARRAY_SIZE(window_fields); i++)
		err = set_number(&window_fields[i], &row.window, &fields[FIRST_NUMBER + i]);
	if (!err)
		err = decode_rest(fields, &row.window);
	if (!err)
		*out = row;
	return err;
}
