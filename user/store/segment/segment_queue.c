// SPDX-License-Identifier: Apache-2.0
/*
 * Units between the walk and the visitor; see segment_walk.h. Their texts are decoded ahead by
 * text_decoder.h; a unit of a merged file becomes its windows when it comes out of the queue.
 */
#include <errno.h>

#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/segment/segment_walk.h"

static int deliver_unit(struct walk *walk, struct text_job *job, int *result)
{
	const struct merged_texts texts = {
		.head = &job->head,
		.stacks = job->text_len ? job->text : "",
		.stacks_len = (size_t)job->text_len,
		.sources = job->lines.len ? job->lines.data : NULL,
		.sources_len = job->lines.len,
		.ticks = (const uint8_t *)job->ticks.data,
		.ticks_len = job->ticks.len,
	};

	bool is_wanted = true;
	int err = job->rows.len ? merged_unit__choose_rows(job->unit, walk->visitor, &is_wanted) :
				  0;

	if (err || !is_wanted)
		return err;
	return merged_unit__deliver(job->unit, walk->visitor, &texts, result);
}

/* Hands the oldest decoded unit to the visitor. Its result, 0 when there is none, or -ENOMEM. */
static int deliver_oldest(struct walk *walk)
{
	const struct segment_visitor *visitor = walk->visitor;
	struct text_job *job = text_decoder__take(walk->reader->decoder);
	const char *what = "data frame is not what its record says";
	int result = 0, err;

	if (!job)
		return 0;
	err = job->err;
	if (job->has_broken_rows)
		what = "broken rows";
	if (!err && job->is_unit) {
		err = deliver_unit(walk, job, &result);
		what = "text is not what its rows say";
	} else if (!err) {
		result = visitor->window(visitor->ctx, &job->window, job->text_len ? job->text : "",
					 (size_t)job->text_len);
	}
	if (err == -EINVAL) {
		walk->is_clean = false;
		if (visitor->damage)
			visitor->damage(visitor->ctx, NULL, job->offset, job->end - job->offset,
					what);
	} else if (err) {
		result = err;
	}
	text_decoder__drop(walk->reader->decoder);
	walk->queued_cnt--;
	return result;
}

/*
 * The records beside the text of an intact unit. Without them its stacks still count. 0 or -ENOMEM.
 */
static int take_beside(struct walk *walk, const uint8_t *bytes, size_t len, enum format_type type,
		       struct strbuf *out)
{
	struct format_record record;

	if (!bytes || format_decode_record(bytes, len, &record) != 0 || record.type != type ||
	    record.incompat & ~FORMAT_INCOMPAT_KNOWN)
		return walk->reader->source.err ? walk->reader->source.err : -EINVAL;
	return format_decode_lines(&record, out);
}

static int report_missing(const struct walk *walk, uint64_t data_offset, const char *what, int err)
{
	if (err == -EINVAL && walk->visitor->damage)
		walk->visitor->damage(walk->visitor->ctx, NULL, data_offset, 0, what);
	return err == -EINVAL ? 0 : err;
}

static int take_lines(struct walk *walk, uint64_t data_offset, const struct format_commit *commit,
		      struct text_job *job)
{
	const uint8_t *bytes = segment_unit_lines(&walk->reader->source, data_offset, commit);
	int err = take_beside(walk, bytes, commit->lines_len, FORMAT_TYPE_LINES, &job->lines);

	return report_missing(walk, data_offset, "source lines are missing", err);
}

/* A code that is invalid names nobody. */
static int take_threads(struct walk *walk, uint64_t data_offset, const struct format_commit *commit,
			struct text_job *job)
{
	const uint8_t *bytes = segment_unit_threads(&walk->reader->source, data_offset, commit);
	int err = take_beside(walk, bytes, commit->threads_len, FORMAT_TYPE_THREADS, &job->threads);
	struct thread_reader reader = { .names = NULL };

	if (!err)
		err = thread_reader_open(&reader, (const uint8_t *)strbuf_str(&job->threads),
					 job->threads.len);
	thread_reader_release(&reader);
	if (err)
		strbuf_clear(&job->threads);
	return report_missing(walk, data_offset, "names of threads are missing", err);
}

/* A code for the window, or one for each row of a unit. */
static bool are_ticks(const struct strbuf *ticks, const struct segment_claim *claim)
{
	struct varint_reader codes = varint_reader_init(strbuf_str(ticks), ticks->len);
	struct ticks_reader reader;
	const uint8_t *code;
	size_t len;

	if (!claim->is_rows)
		return ticks_reader_open(&reader, (const uint8_t *)strbuf_str(ticks), ticks->len) ==
		       0;
	for (uint32_t i = 0; i < claim->head.row_cnt; i++)
		if (!ticks_take(&codes, &code, &len))
			return false;
	return codes.at == codes.end;
}

static int take_ticks(struct walk *walk, uint64_t data_offset, const struct segment_claim *claim,
		      struct text_job *job)
{
	const struct format_commit *commit = &claim->commit;
	const uint8_t *bytes = segment_unit_ticks(&walk->reader->source, data_offset, commit);
	int err = take_beside(walk, bytes, commit->ticks_len, FORMAT_TYPE_TICKS, &job->ticks);

	if (!err && !are_ticks(&job->ticks, claim))
		err = -EINVAL;
	if (err)
		strbuf_clear(&job->ticks);
	return report_missing(walk, data_offset, "moments of stacks are missing", err);
}

/* The window's labels and cells point into the bytes, which go with it. */
static void take_window(struct walk *walk, const struct format_commit *commit, struct text_job *job)
{
	struct segment_reader *reader = walk->reader;
	struct strbuf labels = job->labels;

	job->labels = reader->labels;
	reader->labels = labels;
	job->window = commit->window;
	job->window.lines = job->lines.len ? job->lines.data : NULL;
	job->window.lines_len = job->lines.len;
	if (job->threads.len) {
		job->window.threads = (const uint8_t *)job->threads.data;
		job->window.threads_len = job->threads.len;
	}
	if (job->ticks.len) {
		job->window.ticks = (const uint8_t *)job->ticks.data;
		job->window.ticks_len = job->ticks.len;
	}
	if (walk->visitor->wants_cells) {
		job->window.cells = commit->cells;
		job->window.cells_len = commit->cells_len;
	}
}

static int take_rows(struct walk *walk, const struct merged_rows_head *head, struct text_job *job)
{
	struct segment_reader *reader = walk->reader;
	struct merged_unit *unit = job->unit ? job->unit : merged_unit__new();

	if (!unit)
		return -ENOMEM;
	job->unit = reader->rows;
	reader->rows = unit;
	job->head = *head;
	job->is_unit = true;
	return 0;
}

/* A stretch of the file. 0, -ENODATA: it is not there any more, or -errno. */
static int take_bytes(struct segment_reader *reader, uint64_t offset, size_t len,
		      struct strbuf *out)
{
	const uint8_t *bytes;
	size_t available;

	if (!len)
		return 0;
	bytes = segment_source_view(&reader->source, offset, len, &available);
	if (!bytes)
		return reader->source.err ? reader->source.err : -ENODATA;
	strbuf_append(out, bytes, len);
	return strbuf_error(out);
}

int segment_queue_put(struct walk *walk, uint64_t data_offset, uint64_t end,
		      const struct segment_claim *claim)
{
	const struct format_commit *commit = &claim->commit;
	struct segment_reader *reader = walk->reader;
	struct text_job *job;
	int err;

	while (!(job = text_decoder__claim(reader->decoder))) {
		int result = deliver_oldest(walk);

		if (result)
			return result;
	}
	err = take_bytes(reader, data_offset, commit->data_len, &job->frame);
	if (!err)
		err = take_bytes(reader, claim->rows_offset, claim->rows_len, &job->rows);
	if (err)
		return err == -ENODATA ? 0 : err; /* the file has become shorter: gone */
	if (commit->lines_len && walk->visitor->wants_lines)
		err = take_lines(walk, data_offset, commit, job);
	if (!err && commit->threads_len && walk->visitor->wants_threads)
		err = take_threads(walk, data_offset, commit, job);
	if (!err && commit->ticks_len && walk->visitor->wants_ticks)
		err = take_ticks(walk, data_offset, claim, job);
	if (!err && claim->is_rows)
		err = take_rows(walk, &claim->head, job);
	else if (!err)
		take_window(walk, commit, job);
	if (err)
		return err;
	job->text_len = commit->text_len;
	job->offset = data_offset;
	job->end = end;
	text_decoder__submit(reader->decoder);
	walk->queued_cnt++;
	return 0;
}

int segment_queue_drain(struct walk *walk, int result)
{
	while (walk->queued_cnt) {
		if (!result) {
			result = deliver_oldest(walk);
			continue;
		}
		(void)text_decoder__take(walk->reader->decoder);
		text_decoder__drop(walk->reader->decoder);
		walk->queued_cnt--;
	}
	return result;
}
