/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that ClickHouse reads and writes: strings in a query, rows of TabSeparated, values of RowBinary,
 * messages of errors. No I/O. What comes from a server is foreign input.
 */
#ifndef JBPF_REMOTE_CLICKHOUSE_TEXT_H
#define JBPF_REMOTE_CLICKHOUSE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* Appends 'TEXT' as a query has it: whatever the bytes are, they stay one string. */
void clickhouse_quote(struct strbuf *out, const char *text, size_t len);

/* Values as INSERT ... FORMAT RowBinary has them. */
void clickhouse_put_u16(struct strbuf *out, uint16_t value);
void clickhouse_put_u32(struct strbuf *out, uint32_t value);
void clickhouse_put_u64(struct strbuf *out, uint64_t value);
void clickhouse_put_string(struct strbuf *out, const void *bytes, size_t len);

struct clickhouse_field {
	char *text; /* NUL-terminated, may hold NULs; borrowed */
	size_t len;
};

/*
 * Splits a line of TabSeparated, which has a NUL at its end, into `cnt` fields, and takes their escapes back
 * in place. 0, or -EBADMSG: there are more or fewer, or an escape is broken.
 */
__must_check int clickhouse_split_row(char *line, size_t len, struct clickhouse_field *fields,
				      size_t cnt);

/* A decimal number, all of the field. 0 or -EBADMSG. */
__must_check int clickhouse_field_u64(const struct clickhouse_field *field, uint64_t *out);
/* "[1,2]" with at most `max` numbers; the rest of `out` becomes 0. 0 or -EBADMSG. */
__must_check int clickhouse_field_array(const struct clickhouse_field *field, uint64_t *out,
					size_t max);

/* The N of "Code: N, ..." or "Code: N. ..."; 0: the text is no such message. */
uint32_t clickhouse_error_code(const char *text);
/* What it says, without stack and version, on one line. */
void clickhouse_error_words(const char *text, char *out, size_t out_len);

#endif
