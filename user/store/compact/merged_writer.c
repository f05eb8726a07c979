// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a merged segment; see merged_writer.h. The windows of a unit are collected with their lines
 * as numbers, then put in order of track and time and written at once: lines, text, rows. What
 * the index will say of the unit is kept.
 */
#include "user/store/compact/merged_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <zstd.h>

#include "user/model/cells.h"
#include "user/store/format/crc32c.h"
#include "user/store/compact/line_set.h"
#include "user/store/format/merged_format.h"
#include "user/store/format/rows_table.h"
#include "user/store/segment/segment_header.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/strtab.h"
#include "user/util/varint.h"
#include "user/util/vec.h"

#define DEFAULT_LEVEL 9
#define WINDOW_LOG    23 /* what every decoder must take; less where a text is smaller */
/* Of all that is kept of a unit beside its text; a unit of one window may have more. */
#define UNIT_ROWS_MAX_BYTES (64u << 20)
#define ROW_BYTES	    128 /* about, of a window's fixed fields */

/* A window of the present unit. Its labels are in writer->labels, its cells in writer->cells. */
struct unit_row {
	struct window window;
	uint32_t track;	 /* in order of first sight */
	uint32_t number; /* in order of arrival */
	struct line_span stacks;
	struct line_span sources;
	size_t cells_offset;
	size_t ticks_offset; /* in writer->ticks */
};

struct merged_writer {
	int fd;
	struct merged_options options;
	ZSTD_CCtx *encoder;
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint8_t (*source_ids)[FORMAT_ID_BYTES];
	size_t source_cnt;
	uint64_t sources_offset; /* of their record */
	bool has_ticks;
	uint64_t sequence; /* of the last unit */
	uint64_t offset;   /* bytes written */
	struct merged_seek_entry *frames;
	size_t frame_cnt;
	size_t frame_cap;
	struct strbuf index; /* units so far */
	uint32_t unit_cnt;
	struct strbuf notes;
	uint32_t note_cnt;

	/* The present unit. */
	struct unit_row *rows;
	size_t row_cnt;
	size_t row_cap;
	struct line_set *stacks;
	struct line_set *sources;
	struct strtab *labels;
	struct strtab *tracks;
	struct strbuf track; /* scratch: what makes a track */
	struct strbuf cells;
	struct strbuf ticks;
};

/* ---- the file ---- */

static int put_frame(struct merged_writer *writer, const struct strbuf *bytes, uint64_t content)
{
	int err = vec_room(writer->frames, writer->frame_cnt, writer->frame_cap, 64);

	if (!err)
		err = fs_write_all(writer->fd, bytes->data, bytes->len);
	if (err)
		return err;
	writer->frames[writer->frame_cnt++] = (struct merged_seek_entry){
		.frame_bytes = (uint32_t)bytes->len,
		.content_bytes = (uint32_t)content,
	};
	writer->offset += bytes->len;
	return 0;
}

/* Appends a zstd frame with these bytes. */
static int compress(struct merged_writer *writer, const struct strbuf *bytes, struct strbuf *out)
{
	uint32_t frame_len;

	return format_compress(writer->encoder, strbuf_str(bytes), bytes->len, out, &frame_len);
}

/* ---- life ---- */

static void unit_release(struct merged_writer *writer)
{
	line_set__free(writer->stacks);
	line_set__free(writer->sources);
	strtab__free(writer->labels);
	strtab__free(writer->tracks);
	writer->stacks = NULL;
	writer->sources = NULL;
	writer->labels = NULL;
	writer->tracks = NULL;
	writer->row_cnt = 0;
	strbuf_clear(&writer->cells);
	strbuf_clear(&writer->ticks);
}

static int unit_begin(struct merged_writer *writer)
{
	unit_release(writer);
	writer->stacks = line_set__new();
	writer->sources = line_set__new();
	writer->labels = strtab__new();
	writer->tracks = strtab__new();
	if (!writer->stacks || !writer->sources || !writer->labels || !writer->tracks)
		return -ENOMEM;
	return 0;
}

void merged_writer__free(struct merged_writer *writer)
{
	if (!writer)
		return;
	unit_release(writer);
	ZSTD_freeCCtx(writer->encoder);
	free(writer->source_ids);
	free(writer->rows);
	free(writer->frames);
	strbuf_release(&writer->track);
	strbuf_release(&writer->cells);
	strbuf_release(&writer->ticks);
	strbuf_release(&writer->index);
	strbuf_release(&writer->notes);
	free(writer);
}

static int encoder_open(struct merged_writer *writer)
{
	int level = writer->options.compression_level;

	return format_encoder_open(level ? level : DEFAULT_LEVEL, WINDOW_LOG, &writer->encoder);
}

static int take_sources(struct merged_writer *writer, const uint8_t (*ids)[FORMAT_ID_BYTES],
			size_t cnt)
{
	writer->source_ids = calloc(cnt + 1, FORMAT_ID_BYTES);
	if (!writer->source_ids)
		return -ENOMEM;
	if (cnt)
		memcpy(writer->source_ids, ids, cnt * FORMAT_ID_BYTES);
	writer->source_cnt = cnt;
	return 0;
}

static int encode_sources(const struct merged_writer *writer, struct strbuf *out)
{
	return merged_encode_sources((const uint8_t(*)[FORMAT_ID_BYTES])writer->source_ids,
				     writer->source_cnt,
				     writer->has_ticks ? FORMAT_COMPAT_TICKS : 0, out);
}

static int write_front(struct merged_writer *writer)
{
	__cleanup_strbuf struct strbuf header = STRBUF_INIT, sources = STRBUF_INIT;
	int err = segment_header_encode(writer->segment_id, &header);

	if (!err)
		err = encode_sources(writer, &sources);
	if (!err)
		err = put_frame(writer, &header, 0);
	writer->sources_offset = writer->offset;
	return err ? err : put_frame(writer, &sources, 0);
}

int merged_writer__open(int fd, const struct merged_options *options,
			const uint8_t (*source_ids)[FORMAT_ID_BYTES], size_t source_cnt,
			struct merged_writer **out)
{
	struct merged_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return -ENOMEM;
	writer->fd = fd;
	writer->options = *options;
	err = encoder_open(writer);
	if (!err && getrandom(writer->segment_id, FORMAT_ID_BYTES, 0) != FORMAT_ID_BYTES)
		err = -EIO;
	if (!err)
		err = unit_begin(writer);
	if (!err)
		err = take_sources(writer, source_ids, source_cnt);
	if (!err)
		err = write_front(writer);
	if (err) {
		merged_writer__free(writer);
		return err;
	}
	*out = writer;
	return 0;
}

int merged_writer__note_damage(struct merged_writer *writer, const char *path, uint64_t offset,
			       uint64_t bytes, const char *what)
{
	const struct merged_note note = {
		.path = path,
		.what = writer->note_cnt + 1 < MERGED_NOTES_MAX ? what : "more than could be noted",
		.offset = offset,
		.bytes = bytes,
	};
	int err;

	if (writer->note_cnt == MERGED_NOTES_MAX)
		return 0;
	err = merged_encode_note(&note, &writer->notes);
	if (!err)
		writer->note_cnt++;
	return err;
}

size_t merged_writer__unit_bytes(const struct merged_writer *writer)
{
	return line_set__bytes(writer->stacks) + line_set__bytes(writer->sources);
}

/* ---- collecting ---- */

static bool is_acceptable(const struct window *window, const char *text, size_t len)
{
	return window->duration_ns <= STORE_WINDOW_MAX_NS && len <= FORMAT_TEXT_MAX_BYTES &&
	       window->lines_len <= FORMAT_LINES_MAX_BYTES &&
	       window->threads_len <= FORMAT_LINES_MAX_BYTES &&
	       window->cells_len <= MERGED_BODY_MAX_BYTES / 4 &&
	       window->ticks_len <= MERGED_TICKS_MAX_BYTES && (len == 0 || text[len - 1] == '\n');
}

static bool has_room(const struct merged_writer *writer, const struct window *window, size_t len)
{
	size_t kept = line_set__span_bytes(writer->stacks) + line_set__span_bytes(writer->sources) +
		      writer->cells.len + strtab__bytes(writer->labels) +
		      writer->row_cnt * ROW_BYTES;

	if (writer->row_cnt == 0)
		return true;
	return writer->row_cnt < MERGED_ROWS_MAX &&
	       line_set__bytes(writer->stacks) + len <= FORMAT_TEXT_MAX_BYTES / 2 &&
	       line_set__bytes(writer->sources) + window->lines_len <= FORMAT_LINES_MAX_BYTES / 2 &&
	       writer->ticks.len + window->ticks_len <= MERGED_TICKS_MAX_BYTES &&
	       kept + len + window->lines_len + window->threads_len + window->cells_len <=
		       UNIT_ROWS_MAX_BYTES;
}

/*
 * Labels that stay where they are, and the number of the window's track. Two windows have the same one
 * when rows_is_same_track() says so: every field of a track is in the key.
 */
static int number_track(struct merged_writer *writer, struct unit_row *row)
{
	struct window *window = &row->window;
	struct strbuf *key = &writer->track;
	int err = 0;

	strbuf_clear(key);
	strbuf_append(key, window->boot_id, sizeof(window->boot_id));
	for (size_t i = 0; i < WINDOW_FIELD_CNT; i++) {
		const struct window_field *field = &window_fields[i];

		if (field->kind == WINDOW_FIELD_TRACK)
			strbuf_append(key, (const char *)window + field->offset, field->bytes);
	}
	for (int i = 0; i < WINDOW_LABEL_CNT && !err; i++) {
		uint32_t id = STRTAB_NONE;

		if (window->labels[i]) {
			err = strtab__intern(writer->labels, window->labels[i],
					     strlen(window->labels[i]), &id);
			window->labels[i] = err ? NULL : strtab__get(writer->labels, id, NULL);
		}
		strbuf_append(key, &id, sizeof(id));
	}
	if (!err)
		err = strbuf_error(key);
	if (!err)
		err = strtab__intern(writer->tracks, key->data, key->len, &row->track);
	return err ? -ENOMEM : 0;
}

int merged_writer__add(struct merged_writer *writer, const struct window *window, const char *text,
		       size_t len)
{
	struct unit_row row = {
		.window = *window,
		.cells_offset = writer->cells.len,
		.ticks_offset = writer->ticks.len,
	};
	int err;

	if (!is_acceptable(window, text, len))
		return -EINVAL;
	if (!has_room(writer, window, len))
		return -E2BIG;
	err = vec_room(writer->rows, writer->row_cnt, writer->row_cap, 64);
	if (!err)
		err = number_track(writer, &row);
	if (!err)
		err = line_set__add(writer->stacks, text, len, window->threads,
				    (size_t)window->threads_len, &row.stacks);
	if (!err)
		err = line_set__add(writer->sources, window->lines, window->lines_len, NULL, 0,
				    &row.sources);
	if (!err) {
		strbuf_append(&writer->cells, window->cells, window->cells_len);
		err = strbuf_error(&writer->cells);
	}
	if (!err && writer->options.keeps_ticks) {
		strbuf_append(&writer->ticks, window->ticks, (size_t)window->ticks_len);
		err = strbuf_error(&writer->ticks);
	}
	if (err)
		return err;
	row.window.ticks = NULL;
	row.window.lines = NULL;
	row.window.lines_len = 0;
	row.window.threads = NULL;
	row.window.threads_len = 0;
	row.window.cells = NULL;
	row.number = (uint32_t)writer->row_cnt;
	writer->rows[writer->row_cnt++] = row;
	return 0;
}

/* ---- writing a unit ---- */

/* What goes into the rows record: rows that may be sums, in order. */
struct unit_out {
	struct window *windows;
	const struct window **window_ptrs;
	uint32_t cnt;
	struct rows_entry_columns stacks;
	struct rows_entry_columns sources;
	struct rows_thread_columns threads;
	struct rows_thread_columns nobodys; /* of source lines: nothing */
	struct strbuf cells;		    /* of sums */
	struct strbuf ticks;		    /* codes of all rows, once one has any */
	size_t *cell_sums;	 /* where a row's cells are in `cells`; SIZE_MAX = none of it */
	struct line_span *spans; /* scratch */
};

static void unit_out_release(struct unit_out *out)
{
	free(out->windows);
	free(out->window_ptrs);
	free(out->cell_sums);
	free(out->spans);
	rows_entry_columns_release(&out->stacks);
	rows_entry_columns_release(&out->sources);
	rows_thread_columns_release(&out->threads);
	rows_thread_columns_release(&out->nobodys);
	strbuf_release(&out->cells);
	strbuf_release(&out->ticks);
}

static int unit_out_reserve(struct unit_out *out, size_t cnt)
{
	out->windows = reallocarray(NULL, cnt, sizeof(*out->windows));
	out->window_ptrs = reallocarray(NULL, cnt, sizeof(*out->window_ptrs));
	out->cell_sums = reallocarray(NULL, cnt, sizeof(*out->cell_sums));
	out->spans = reallocarray(NULL, cnt, sizeof(*out->spans));
	return out->windows && out->window_ptrs && out->cell_sums && out->spans ? 0 : -ENOMEM;
}

static int compare_rows(const void *left, const void *right)
{
	const struct unit_row *a = left, *b = right;

	if (a->track != b->track)
		return (a->track > b->track) - (a->track < b->track);
	if (a->window.start_unix_ns != b->window.start_unix_ns)
		return (a->window.start_unix_ns > b->window.start_unix_ns) -
		       (a->window.start_unix_ns < b->window.start_unix_ns);
	return (a->number > b->number) - (a->number < b->number);
}

/* How many rows, from `first` on, are merged into one. */
static size_t slot_rows(const struct merged_writer *writer, size_t first)
{
	uint64_t row_ns = writer->options.row_ns;
	const struct unit_row *rows = writer->rows;
	size_t cnt = 1;

	if (!row_ns)
		return 1;
	for (; first + cnt < writer->row_cnt; cnt++) {
		const struct unit_row *row = &rows[first + cnt];

		/* Readers do not look further back than the longest window. */
		if (row->track != rows[first].track ||
		    row->window.start_unix_ns / row_ns !=
			    rows[first].window.start_unix_ns / row_ns ||
		    window_end_unix_ns(&row->window) - rows[first].window.start_unix_ns >
			    STORE_WINDOW_MAX_NS)
			break;
	}
	return cnt;
}

/* Cells of a sum. Those that are broken are left out, and so are sums that cannot be written. */
static int sum_cells(const struct merged_writer *writer, const struct unit_row *rows, size_t cnt,
		     struct window *sum, struct unit_out *out)
{
	struct cells_sum *cells = cells_sum__new();
	size_t start = out->cells.len;
	int err = cells ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && err != -ENOMEM; i++)
		err = cells_sum__add(cells, rows[i].window.start_unix_ns,
				     (const uint8_t *)strbuf_str(&writer->cells) +
					     rows[i].cells_offset,
				     rows[i].window.cells_len);
	if (err != -ENOMEM)
		err = cells_sum__take(cells, sum->start_unix_ns, &out->cells);
	cells_sum__free(cells);
	sum->cells_len = (uint32_t)(out->cells.len - start);
	return err == -ENOMEM ? err : 0;
}

/* Of one window: lines of a sum have other numbers. */
static void put_ticks(const struct merged_writer *writer, const struct unit_row *row, size_t cnt,
		      struct unit_out *out)
{
	size_t len = cnt == 1 && writer->ticks.len ? (size_t)row->window.ticks_len : 0;

	if (!writer->ticks.len)
		return;
	varint_put(&out->ticks, len);
	if (len)
		strbuf_append(&out->ticks, writer->ticks.data + row->ticks_offset, len);
}

/* The rows [first, first + cnt) as one. */
static int put_row(struct merged_writer *writer, size_t first, size_t cnt, struct unit_out *out)
{
	const struct unit_row *rows = &writer->rows[first];
	struct window *window = &out->windows[out->cnt];
	int err = 0;

	*window = rows[0].window;
	out->cell_sums[out->cnt] = SIZE_MAX;
	for (size_t i = 1; i < cnt; i++)
		rows_merge_window(window, &rows[i].window);
	if (cnt > 1) {
		out->cell_sums[out->cnt] = out->cells.len;
		err = sum_cells(writer, rows, cnt, window, out);
	} else if (window->cells_len) {
		window->cells = (const uint8_t *)writer->cells.data + rows[0].cells_offset;
	}
	put_ticks(writer, rows, cnt, out);
	for (size_t i = 0; i < cnt; i++)
		out->spans[i] = rows[i].stacks;
	if (!err)
		err = line_set__put_row(writer->stacks, out->spans, cnt, &out->stacks,
					&out->threads);
	for (size_t i = 0; i < cnt; i++)
		out->spans[i] = rows[i].sources;
	if (!err)
		err = line_set__put_row(writer->sources, out->spans, cnt, &out->sources,
					&out->nobodys);
	out->window_ptrs[out->cnt] = window;
	out->cnt++;
	return err;
}

static int collect_rows(struct merged_writer *writer, struct unit_out *out)
{
	int err = unit_out_reserve(out, writer->row_cnt);

	if (!err)
		err = line_set__seal(writer->stacks);
	if (!err)
		err = line_set__seal(writer->sources);
	if (err)
		return err;
	qsort(writer->rows, writer->row_cnt, sizeof(*writer->rows), compare_rows);
	for (size_t first = 0, cnt; first < writer->row_cnt && !err; first += cnt) {
		cnt = slot_rows(writer, first);
		err = put_row(writer, first, cnt, out);
	}
	line_set__put_threads(writer->stacks, &out->threads);
	/* Their place is known only now. */
	for (uint32_t i = 0; i < out->cnt && !err; i++) {
		if (out->cell_sums[i] != SIZE_MAX && out->windows[i].cells_len)
			out->windows[i].cells =
				(const uint8_t *)out->cells.data + out->cell_sums[i];
	}
	return err;
}

static int write_ticks(struct merged_writer *writer, const struct unit_out *out,
		       struct merged_rows_head *head)
{
	__cleanup_strbuf struct strbuf frame = STRBUF_INIT, record = STRBUF_INIT;
	int err = strbuf_error(&out->ticks);

	if (err || !out->ticks.len)
		return err;
	err = compress(writer, &out->ticks, &frame);
	if (!err)
		err = format_encode_ticks((uint32_t)out->ticks.len, frame.data, frame.len, &record);
	if (err)
		return err;
	head->ticks_len = (uint32_t)record.len;
	head->ticks_crc = crc32c(record.data, record.len);
	writer->has_ticks = true;
	return put_frame(writer, &record, 0);
}

static int write_lines(struct merged_writer *writer, struct merged_rows_head *head)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT, frame = STRBUF_INIT,
				       record = STRBUF_INIT;
	int err = line_set__put_text(writer->sources, &text, &head->source_line_cnt);

	if (err || !text.len)
		return err;
	err = compress(writer, &text, &frame);
	if (!err)
		err = format_encode_lines((uint32_t)text.len, frame.data, frame.len, &record);
	if (err)
		return err;
	head->source_text_len = text.len;
	head->lines_len = (uint32_t)record.len;
	head->lines_crc = crc32c(record.data, record.len);
	return put_frame(writer, &record, 0);
}

static int write_text(struct merged_writer *writer, struct merged_rows_head *head)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT, frame = STRBUF_INIT;
	int err = line_set__put_text(writer->stacks, &text, &head->line_cnt);

	if (err || !text.len)
		return err;
	if (text.len > FORMAT_TEXT_MAX_BYTES)
		return -E2BIG;
	err = compress(writer, &text, &frame);
	if (err)
		return err;
	head->text_len = text.len;
	head->data_len = (uint32_t)frame.len;
	head->data_crc = crc32c(frame.data, frame.len);
	return put_frame(writer, &frame, text.len);
}

static int write_rows(struct merged_writer *writer, const struct unit_out *out,
		      struct merged_rows_head *head, uint32_t *record_len)
{
	__cleanup_strbuf struct strbuf body = STRBUF_INIT, frame = STRBUF_INIT,
				       record = STRBUF_INIT;
	const struct rows_input input = {
		.rows = out->window_ptrs,
		.row_cnt = out->cnt,
		.stacks = &out->stacks,
		.sources = &out->sources,
		.threads = &out->threads,
	};
	int err = rows_table_encode(&input, &body, &head->track_cnt);

	if (!err && body.len > MERGED_BODY_MAX_BYTES)
		err = -E2BIG;
	if (!err)
		err = compress(writer, &body, &frame);
	if (err)
		return err;
	memcpy(head->segment_id, writer->segment_id, FORMAT_ID_BYTES);
	head->sequence = ++writer->sequence;
	head->row_cnt = out->cnt;
	head->body_len = (uint32_t)body.len;
	err = merged_encode_rows(head, frame.data, frame.len, &record);
	*record_len = (uint32_t)record.len;
	return err ? err : put_frame(writer, &record, 0);
}

/* One row per track: the sum of all. */
static int sum_tracks(const struct unit_out *out, struct strbuf *table, uint32_t *track_cnt)
{
	__cleanup_free struct window *sums = reallocarray(NULL, out->cnt, sizeof(*sums));
	__cleanup_free const struct window **ptrs = reallocarray(NULL, out->cnt, sizeof(*ptrs));
	struct rows_input input = { .rows = ptrs };

	if (!sums || !ptrs)
		return -ENOMEM;
	for (uint32_t i = 0; i < out->cnt; i++) {
		if (i && rows_is_same_track(&out->windows[i - 1], &out->windows[i])) {
			rows_merge_window(&sums[input.row_cnt - 1], &out->windows[i]);
			continue;
		}
		sums[input.row_cnt] = out->windows[i];
		sums[input.row_cnt].cells = NULL;
		sums[input.row_cnt].cells_len = 0;
		ptrs[input.row_cnt] = &sums[input.row_cnt];
		input.row_cnt++;
	}
	return rows_table_encode(&input, table, track_cnt);
}

static int index_add(struct merged_writer *writer, const struct unit_out *out,
		     struct merged_index_unit *unit)
{
	__cleanup_strbuf struct strbuf table = STRBUF_INIT;
	struct strbuf_mark start = strbuf_mark(&writer->index);
	int err = sum_tracks(out, &table, &unit->track_cnt);

	if (err)
		return err;
	unit->table_len = (uint32_t)table.len;
	merged_put_index_unit(unit, &writer->index);
	strbuf_add(&writer->index, &table);
	err = strbuf_settle(&writer->index, start, 0);
	if (!err)
		writer->unit_cnt++;
	return err;
}

int merged_writer__end_unit(struct merged_writer *writer)
{
	struct merged_index_unit unit = { .offset = 0 };
	struct merged_rows_head head = { .sequence = 0 };
	struct unit_out out = { .windows = NULL };
	int err;

	if (writer->row_cnt == 0)
		return 0;
	err = collect_rows(writer, &out);
	if (!err)
		err = write_ticks(writer, &out, &head);
	unit.offset = writer->offset; /* readers of before there were ticks begin here */
	if (!err)
		err = write_lines(writer, &head);
	if (!err)
		err = write_text(writer, &head);
	if (!err)
		err = write_rows(writer, &out, &head, &unit.rows_len);
	unit.lines_len = head.lines_len;
	unit.data_len = head.data_len;
	if (!err)
		err = index_add(writer, &out, &unit);
	unit_out_release(&out);
	return err ? err : unit_begin(writer);
}

/* ---- the end of the file ---- */

static int write_notes(struct merged_writer *writer, uint32_t *len_out)
{
	__cleanup_strbuf struct strbuf payload = STRBUF_INIT, record = STRBUF_INIT;
	uint8_t cnt[4] = { (uint8_t)writer->note_cnt, (uint8_t)(writer->note_cnt >> 8) };
	int err;

	*len_out = 0;
	if (!writer->note_cnt)
		return 0;
	strbuf_append(&payload, cnt, sizeof(cnt));
	strbuf_add(&payload, &writer->notes);
	err = strbuf_error(&payload);
	if (!err)
		err = format_encode_record(FORMAT_TYPE_NOTES, payload.data, payload.len, &record);
	if (err)
		return err;
	*len_out = (uint32_t)record.len;
	return put_frame(writer, &record, 0);
}

static int write_index(struct merged_writer *writer, uint32_t notes_len)
{
	__cleanup_strbuf struct strbuf frame = STRBUF_INIT, record = STRBUF_INIT;
	struct merged_index_head head = {
		.offset = writer->offset,
		.unit_cnt = writer->unit_cnt,
		.notes_len = notes_len,
		.body_len = (uint32_t)writer->index.len,
	};
	int err;

	if (writer->index.len > MERGED_BODY_MAX_BYTES)
		return -E2BIG;
	memcpy(head.segment_id, writer->segment_id, FORMAT_ID_BYTES);
	err = compress(writer, &writer->index, &frame);
	if (!err)
		err = merged_encode_index(&head, frame.data, frame.len, &record);
	return err ? err : put_frame(writer, &record, 0);
}

/* That there are ticks is known only now; the record's length is what it was. */
static int mark_ticks(const struct merged_writer *writer)
{
	__cleanup_strbuf struct strbuf sources = STRBUF_INIT;
	ssize_t written;
	int err = encode_sources(writer, &sources);

	if (err || !writer->has_ticks)
		return err;
	written = pwrite(writer->fd, sources.data, sources.len, (off_t)writer->sources_offset);
	if (written < 0)
		return -errno;
	return (size_t)written == sources.len ? 0 : -ENOSPC;
}

int merged_writer__finish(struct merged_writer *writer)
{
	__cleanup_strbuf struct strbuf table = STRBUF_INIT;
	uint32_t notes_len = 0;
	int err = merged_writer__end_unit(writer);

	if (!err)
		err = mark_ticks(writer);
	if (!err)
		err = write_notes(writer, &notes_len);
	if (!err)
		err = write_index(writer, notes_len);
	if (!err)
		err = merged_encode_seek_table(writer->frames, writer->frame_cnt, &table);
	return err ? err : fs_write_all(writer->fd, table.data, table.len);
}
