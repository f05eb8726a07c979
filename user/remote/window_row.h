/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct window as a row of jbpf_windows, there and back: the same bytes in every output. Columns, in
 * this order:
 *
 *     service, ts, stream                  the key, see clickhouse_schema.h
 *     start_ns ... period                  numbers of struct window under their own names (window_row.c),
 *                                          window_cnt and recorded_ns as rows_merge_window() leaves them
 *     boot_id                              16 bytes
 *     lost, ends                           arrays by enum window_loss and enum stack_end, zeros at the
 *                                          end left out
 *     comm, label_service, namespace, ...  labels under window_label_name(), but label_service; '' is
 *                                          a label that is not known
 *     lines, cells                         as in struct window, '' = NULL; cells relative to start_ns
 *     threads                              code of thread_counts.h; its lines are the stacks of the row in
 *                                          order of their bytes
 *
 * In: a window. Out: bytes; and a row, of which a window borrows. No I/O.
 */
#ifndef JBPF_REMOTE_WINDOW_ROW_H
#define JBPF_REMOTE_WINDOW_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/remote/clickhouse_text.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* Service of the key; borrowed from the window. */
const char *window_row_service(const struct window *window);
/* Hash of its track. 0 or -ENOMEM. */
__must_check int window_row_stream(const struct window *window, uint64_t *out);

/* How many columns there are: fields of window_row_decode(). */
size_t window_row_column_cnt(void);
struct window_row_column {
	const char *name, *type;
};
/* The one at `at`, which is below the count. `label_type`: of labels. */
struct window_row_column window_row_column(size_t at, const char *label_type);
/* "service, ts, stream, ...", for INSERT and SELECT alike. */
void window_row_column_names(struct strbuf *out);
/* "service String, ts DateTime, ...", as CREATE TABLE has them. */
void window_row_column_types(struct strbuf *out, const char *label_type);

/* Appends a row of RowBinary. */
void window_row_encode(struct strbuf *out, const struct window *window, uint32_t minute_unix_s,
		       uint64_t stream);

struct window_row {
	uint64_t stream;
	struct window window; /* borrows from the fields */
};

/*
 * Out of a row of SELECT with exactly these columns; service and ts are not looked at. 0, or -EBADMSG: it
 * is no such row.
 */
__must_check int window_row_decode(const struct clickhouse_field *fields, struct window_row *out);

#endif
