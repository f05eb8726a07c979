// SPDX-License-Identifier: Apache-2.0
/*
 * The walk over a segment. A unit is an optional data frame and the record behind it. While units
 * follow each other without doubt the walk goes from frame to frame without looking inside. When
 * one is in doubt, nothing about lengths is trusted any more: every byte from the last good unit
 * on is searched for a record whose checksum is right and whose segment id is the file's, and the
 * record's word for the length of its data frame gives the place of that frame.
 */
#include "user/store/segment_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "user/store/crc32c.h"
#include "user/store/merged_format.h"
#include "user/store/segment_source.h"
#include "user/store/text_decoder.h"
#include "user/util/cleanup.h"

#define GROWTH_RETRIES_MAX 8
#define VIEW_GROWTH	   4
#define DATA_MAX_BYTES	   ((uint64_t)FORMAT_TEXT_MAX_BYTES + (FORMAT_TEXT_MAX_BYTES >> 7))

struct segment_reader {
	struct segment_source source;
	struct text_decoder *decoder;
	struct strbuf labels; /* of the record looked at last */
};

struct walk {
	struct segment_reader *reader;
	const struct segment_visitor *visitor;
	bool is_verifying;
	uint64_t offset; /* everything before it is accounted for */
	bool has_segment;
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence; /* of the last record */
	bool has_header;
	bool has_refused; /* since the last record: it had a number, too */
	bool is_clean;
	uint64_t damage_start;	 /* with damage_what */
	const char *damage_what; /* NULL = no damage is open */
	int growth_retries;
	size_t queued_cnt; /* windows that the visitor has not seen yet */
};

/* One unit in the file. `what` says what is wrong with it; then nothing else is valid. */
struct unit {
	const char *what;
	uint64_t data_offset;
	size_t data_len; /* 0 = no data frame */
	uint64_t end;
	bool is_cut;	 /* with `what`: the file ends before the unit does */
	bool is_foreign; /* a skippable frame of somebody else */
	struct format_record record;
};

struct segment_reader *segment_reader__new(void)
{
	struct segment_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->source.fd = -1;
	reader->decoder = text_decoder__new();
	if (!reader->decoder) {
		free(reader);
		return NULL;
	}
	return reader;
}

void segment_reader__free(struct segment_reader *reader)
{
	if (!reader)
		return;
	text_decoder__free(reader->decoder);
	segment_source_release(&reader->source);
	strbuf_release(&reader->labels);
	free(reader);
}

/* ---- damage ---- */

static void damage_open(struct walk *walk, uint64_t start, const char *what)
{
	walk->is_clean = false;
	if (walk->damage_what)
		return; /* goes on */
	walk->damage_start = start;
	walk->damage_what = what;
}

static void damage_close(struct walk *walk, uint64_t end)
{
	const struct segment_visitor *visitor = walk->visitor;

	if (walk->damage_what && visitor->damage)
		visitor->damage(visitor->ctx, NULL, walk->damage_start, end - walk->damage_start,
				walk->damage_what);
	walk->damage_what = NULL;
}

/* ---- units ---- */

/*
 * Bytes of the data frame at `offset`. 0 when it is not complete or not a frame: unit->what.
 * ZSTD_findFrameCompressedSize() wants the whole frame in memory, so the view grows until it fits.
 */
static size_t data_frame_bytes(struct segment_source *source, uint64_t offset, struct unit *unit)
{
	uint64_t rest = source->size - offset;
	size_t want = 1;

	for (;;) {
		size_t available;
		const uint8_t *bytes = segment_source_view(source, offset, want, &available);
		size_t found;

		if (!bytes)
			return 0;
		found = ZSTD_findFrameCompressedSize(bytes, available);
		if (!ZSTD_isError(found))
			return found;
		unit->what = "broken data frame";
		if (ZSTD_getErrorCode(found) != ZSTD_error_srcSize_wrong ||
		    available >= DATA_MAX_BYTES)
			return 0;
		if (available >= rest) {
			unit->what = "cut data frame";
			unit->is_cut = true;
			return 0;
		}
		want = available > rest / VIEW_GROWTH ? (size_t)rest : available * VIEW_GROWTH;
		if (want > DATA_MAX_BYTES)
			want = (size_t)DATA_MAX_BYTES < rest ? (size_t)DATA_MAX_BYTES :
							       (size_t)rest;
	}
}

/* The skippable frame at `offset`; the unit begins at unit->data_offset. */
static void unit_parse_skippable(struct segment_source *source, uint64_t offset, struct unit *unit)
{
	uint64_t rest = source->size - offset;
	size_t in_front = (size_t)(offset - unit->data_offset);
	size_t peek = rest < 12 ? (size_t)rest : 12;
	size_t available;
	const uint8_t *bytes =
		segment_source_view(source, unit->data_offset, in_front + peek, &available);
	uint64_t frame_len;

	if (!bytes)
		return;
	bytes += in_front;
	if (peek < FORMAT_FRAME_HEADER_BYTES) {
		unit->what = in_front ? "data frame without its record" : "cut record";
		unit->is_cut = true;
		return;
	}
	if ((format_get_u32(bytes) & FORMAT_MAGIC_RECORD_MASK) != FORMAT_MAGIC_RECORD_FIRST) {
		unit->what = in_front ? "data frame without its record" : "no frame begins here";
		return;
	}
	frame_len = FORMAT_FRAME_HEADER_BYTES + (uint64_t)format_get_u32(bytes + 4);
	if (frame_len > rest) {
		unit->what = "cut record";
		unit->is_cut = true;
		return;
	}
	unit->end = offset + frame_len;
	if (!format_is_record(bytes, peek)) {
		unit->is_foreign = true;
		unit->what = in_front ? "data frame without its record" : NULL;
		return;
	}
	bytes = segment_source_view(source, unit->data_offset, in_front + (size_t)frame_len,
				    &available);
	if (!bytes)
		return;
	if (format_decode_record(bytes + in_front, (size_t)frame_len, &unit->record)) {
		unit->what = "bad record checksum";
		return;
	}
	unit->what = NULL;
}

/* The unit that begins at `offset`, by the lengths the frames claim. */
static void unit_parse(struct segment_source *source, uint64_t offset, struct unit *unit)
{
	size_t available;
	const uint8_t *bytes;

	*unit = (struct unit){ .what = "no frame begins here", .data_offset = offset };
	bytes = segment_source_view(source, offset, 1, &available);
	if (!bytes)
		return;
	if (available >= 4 && format_get_u32(bytes) == FORMAT_MAGIC_DATA) {
		unit->data_len = data_frame_bytes(source, offset, unit);
		if (unit->data_len == 0)
			return;
	}
	unit_parse_skippable(source, offset + unit->data_len, unit);
}

/* Is the data frame the one the record was written for? */
static bool data_is_intact(struct segment_source *source, uint64_t offset,
			   const struct format_commit *commit)
{
	size_t available;
	const uint8_t *bytes;

	if (commit->data_len == 0)
		return true;
	if (commit->data_len > DATA_MAX_BYTES)
		return false;
	bytes = segment_source_view(source, offset, commit->data_len, &available);
	return bytes && crc32c(bytes, commit->data_len) == commit->data_crc;
}

/* The lines record in front of a data frame, checked; NULL when there is none or not this one. */
static const uint8_t *lines_view(struct segment_source *source, uint64_t data_offset,
				 const struct format_commit *commit)
{
	size_t available;
	const uint8_t *bytes;

	if (commit->lines_len < FORMAT_RECORD_MIN_BYTES || commit->lines_len > data_offset ||
	    commit->lines_len > 2 * FORMAT_LINES_MAX_BYTES)
		return NULL;
	bytes = segment_source_view(source, data_offset - commit->lines_len, commit->lines_len,
				    &available);
	if (!bytes || crc32c(bytes, commit->lines_len) != commit->lines_crc)
		return NULL;
	return bytes;
}

/* Where an intact unit begins whose data frame was found behind damage. */
static uint64_t unit_begin(struct walk *walk, uint64_t data_offset,
			   const struct format_commit *commit)
{
	if (commit->lines_len > data_offset - walk->offset ||
	    !lines_view(&walk->reader->source, data_offset, commit))
		return data_offset;
	return data_offset - commit->lines_len;
}

static bool segment_is_ours(const struct walk *walk, const struct format_commit *commit)
{
	return !walk->has_segment ||
	       memcmp(walk->segment_id, commit->segment_id, FORMAT_ID_BYTES) == 0;
}

/* ---- one intact unit ---- */

/* Hands the oldest decoded window to the visitor. Its result, 0 when there is none, or -ENOMEM. */
static int deliver_oldest(struct walk *walk)
{
	const struct segment_visitor *visitor = walk->visitor;
	const struct text_job *job = text_decoder__take(walk->reader->decoder);
	int result = 0;

	if (!job)
		return 0;
	if (job->err == -EINVAL) {
		walk->is_clean = false;
		if (visitor->damage)
			visitor->damage(visitor->ctx, NULL, job->offset, job->end - job->offset,
					"data frame is not what its record says");
	} else if (job->err) {
		result = job->err;
	} else {
		result = visitor->window(visitor->ctx, &job->window, job->text_len ? job->text : "",
					 (size_t)job->text_len);
	}
	text_decoder__drop(walk->reader->decoder);
	walk->queued_cnt--;
	return result;
}

/* Source lines of an intact unit. Without them its stacks still count. 0 or -ENOMEM. */
static int take_lines(struct walk *walk, uint64_t data_offset, const struct format_commit *commit,
		      struct text_job *job)
{
	const struct segment_visitor *visitor = walk->visitor;
	const uint8_t *bytes = lines_view(&walk->reader->source, data_offset, commit);
	struct format_record record;
	int err = -EINVAL;

	if (bytes && format_decode_record(bytes, commit->lines_len, &record) == 0 &&
	    record.type == FORMAT_TYPE_LINES && !(record.incompat & ~FORMAT_INCOMPAT_KNOWN))
		err = format_decode_lines(&record, &job->lines);
	if (err == -EINVAL && visitor->damage)
		visitor->damage(visitor->ctx, NULL, data_offset, 0, "source lines are missing");
	return err == -EINVAL ? walk->reader->source.err : err;
}

/* Queues an intact unit. Windows that come out of the queue meanwhile go to the visitor. */
static int enqueue(struct walk *walk, uint64_t data_offset, uint64_t end,
		   const struct format_commit *commit)
{
	struct segment_reader *reader = walk->reader;
	struct text_job *job;
	struct strbuf labels;
	const uint8_t *bytes;
	size_t available;

	while (!(job = text_decoder__claim(reader->decoder))) {
		int result = deliver_oldest(walk);

		if (result)
			return result;
	}
	if (commit->data_len) {
		bytes = segment_source_view(&reader->source, data_offset, commit->data_len,
					    &available);
		if (!bytes)
			return reader->source.err; /* the file has become shorter: gone */
		if (strbuf_append(&job->frame, bytes, commit->data_len))
			return -ENOMEM;
	}
	if (commit->lines_len && walk->visitor->wants_lines) {
		int err = take_lines(walk, data_offset, commit, job);

		if (err)
			return err;
	}
	/* The window's labels and cells point into the bytes, which go with it. */
	labels = job->labels;
	job->labels = reader->labels;
	reader->labels = labels;
	job->window = commit->window;
	job->window.lines = job->lines.len ? job->lines.data : NULL;
	job->window.lines_len = job->lines.len;
	if (walk->visitor->wants_cells) {
		job->window.cells = commit->cells;
		job->window.cells_len = commit->cells_len;
	}
	job->text_len = commit->text_len;
	job->offset = data_offset;
	job->end = end;
	text_decoder__submit(reader->decoder);
	walk->queued_cnt++;
	return 0;
}

/* The rest of the queue: to the visitor, or away when the walk has ended early. */
static int queue_drain(struct walk *walk, int result)
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

/* A unit in its right place: hands it to the visitor if it wants it. Result of the walk's step. */
static int commit_deliver(struct walk *walk, uint64_t data_offset, uint64_t end,
			  const struct format_commit *commit)
{
	const struct segment_visitor *visitor = walk->visitor;
	struct segment_reader *reader = walk->reader;
	bool is_wanted = visitor->want && visitor->want(visitor->ctx, &commit->window);
	uint64_t begin = data_offset;

	if ((is_wanted || walk->is_verifying) &&
	    (commit->text_len > FORMAT_TEXT_MAX_BYTES ||
	     !data_is_intact(&reader->source, data_offset, commit))) {
		if (reader->source.err)
			return 0; /* walk_file() looks at it */
		walk->offset = end;
		damage_open(walk, data_offset, "bad data checksum");
		walk->sequence = commit->sequence;
		return 0;
	}
	if (walk->damage_what)
		begin = unit_begin(walk, data_offset, commit);
	walk->offset = end;
	if (!walk->damage_what && walk->has_segment && !walk->has_refused &&
	    commit->sequence != walk->sequence + 1)
		damage_open(walk, data_offset, "records are missing");
	damage_close(walk, begin);
	walk->has_refused = false;
	memcpy(walk->segment_id, commit->segment_id, FORMAT_ID_BYTES);
	walk->has_segment = true;
	walk->sequence = commit->sequence;
	if (!is_wanted || !visitor->window)
		return 0;
	return enqueue(walk, data_offset, end, commit);
}

/* Header of the file: only the first record may be one. */
static const char *header_accept(struct walk *walk, const struct unit *unit)
{
	struct format_header header;

	if (unit->data_offset != 0 || unit->data_len)
		return "header in the middle";
	if (unit->record.incompat & ~FORMAT_INCOMPAT_KNOWN)
		return "header needs a newer version of jbpf";
	if (format_decode_header(&unit->record, &walk->reader->labels, &header))
		return "broken header";
	if (header.format_version != FORMAT_VERSION)
		walk->is_clean = false; /* readable, but not for us to continue */
	memcpy(walk->segment_id, header.segment_id, FORMAT_ID_BYTES);
	walk->has_segment = true;
	walk->has_header = true;
	return NULL;
}

/* What a newer jbpf wrote. Nothing is lost by stepping over a kind of record without text. */
static void unit_refuse(struct walk *walk, const struct unit *unit)
{
	damage_close(walk, unit->data_offset);
	if (unit->data_len || unit->record.type == FORMAT_TYPE_COMMIT)
		damage_open(walk, unit->data_offset, "record needs a newer version of jbpf");
	damage_close(walk, unit->end);
	walk->is_clean = false;
	walk->has_refused = true;
	walk->offset = unit->end;
}

/*
 * Takes the unit at walk->offset. Returns what is in doubt about it, or NULL; the result of a
 * visitor goes to *result.
 */
static const char *unit_accept(struct walk *walk, const struct unit *unit, int *result)
{
	struct format_commit commit;
	const char *what;
	int err;

	if (unit->is_foreign) {
		damage_close(walk, unit->data_offset);
		walk->offset = unit->end;
		return NULL;
	}
	if (unit->record.type == FORMAT_TYPE_HEADER) {
		what = header_accept(walk, unit);
		if (!what)
			walk->offset = unit->end;
		return what;
	}
	if (unit->record.type == FORMAT_TYPE_LINES && !unit->data_len &&
	    !(unit->record.incompat & ~FORMAT_INCOMPAT_KNOWN)) {
		/* It belongs to the unit behind it, whose record says where it is. */
		damage_close(walk, unit->data_offset);
		walk->offset = unit->end;
		return NULL;
	}
	if (unit->record.type != FORMAT_TYPE_COMMIT ||
	    (unit->record.incompat & ~FORMAT_INCOMPAT_KNOWN)) {
		unit_refuse(walk, unit);
		return NULL;
	}
	err = format_decode_commit(&unit->record, &walk->reader->labels, &commit);
	if (err == -ENOMEM) {
		*result = err;
		return NULL;
	}
	if (err)
		return "broken record";
	if (!segment_is_ours(walk, &commit))
		return "record of another file";
	if (walk->has_segment && commit.sequence <= walk->sequence)
		return "record out of order";
	if (commit.data_len != unit->data_len)
		return "record without its data frame";
	*result = commit_deliver(walk, unit->data_offset, unit->end, &commit);
	return NULL;
}

/* ---- resynchronisation ---- */

/* A commit record of this file at `offset`: then *end_out is set. */
static int candidate_check(struct walk *walk, uint64_t offset, struct format_commit *commit,
			   uint64_t *end_out)
{
	struct segment_source *source = &walk->reader->source;
	struct format_record record;
	size_t available;
	const uint8_t *bytes =
		segment_source_view(source, offset, FORMAT_RECORD_MIN_BYTES, &available);
	uint64_t frame_len;

	if (!bytes)
		return -EINVAL;
	frame_len = FORMAT_FRAME_HEADER_BYTES + (uint64_t)format_get_u32(bytes + 4);
	if (format_get_u32(bytes) != FORMAT_MAGIC_RECORD || frame_len > FORMAT_RECORD_MAX_BYTES ||
	    frame_len > source->size - offset)
		return -EINVAL;
	bytes = segment_source_view(source, offset, (size_t)frame_len, &available);
	if (!bytes || format_decode_record(bytes, (size_t)frame_len, &record) ||
	    record.type != FORMAT_TYPE_COMMIT || (record.incompat & ~FORMAT_INCOMPAT_KNOWN) ||
	    format_decode_commit(&record, &walk->reader->labels, commit))
		return -EINVAL;
	if (!segment_is_ours(walk, commit) ||
	    (walk->has_segment && commit->sequence <= walk->sequence))
		return -EINVAL;
	*end_out = offset + frame_len;
	return 0;
}

/* Next place at or behind `from` where a record's tag stands 8 bytes further on. */
static bool find_candidate(struct segment_source *source, uint64_t from, uint64_t *offset_out)
{
	const size_t tag_len = strlen(FORMAT_TAG);
	uint64_t at = from + FORMAT_FRAME_HEADER_BYTES;

	for (;;) {
		size_t available;
		const uint8_t *bytes = segment_source_view(source, at, tag_len, &available);
		const uint8_t *tag;

		if (!bytes)
			return false;
		tag = memmem(bytes, available, FORMAT_TAG, tag_len);
		if (tag) {
			*offset_out = at + (uint64_t)(tag - bytes) - FORMAT_FRAME_HEADER_BYTES;
			return true;
		}
		/* The tag may lie across the view's end. */
		at += available - tag_len + 1;
	}
}

/*
 * Finds the next record behind walk->offset and goes on there, with its data frame if that is
 * intact. Returns false at the end of the file.
 */
static bool resync(struct walk *walk, int *result)
{
	struct segment_source *source = &walk->reader->source;
	struct format_commit commit;
	uint64_t from = walk->offset, offset, end;

	for (; find_candidate(source, from, &offset); from = offset + 1) {
		uint64_t data_offset;

		if (candidate_check(walk, offset, &commit, &end))
			continue;
		data_offset = offset - commit.data_len;
		if (commit.data_len <= offset - walk->offset &&
		    data_is_intact(source, data_offset, &commit)) {
			*result = commit_deliver(walk, data_offset, end, &commit);
			return true;
		}
		/* The record stands, its data does not: both are part of the damage. */
		memcpy(walk->segment_id, commit.segment_id, FORMAT_ID_BYTES);
		walk->has_segment = true;
		walk->sequence = commit.sequence;
		walk->offset = end;
		return true;
	}
	return false;
}

/* ---- the end of the file ---- */

/* A writer that is alive holds a lock on the file it appends to (segment_writer.c). */
static bool is_being_written(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

static bool is_all_zero(struct segment_source *source, uint64_t offset)
{
	while (offset < source->size) {
		size_t available;
		const uint8_t *bytes = segment_source_view(source, offset, 1, &available);

		if (!bytes)
			return false;
		for (size_t i = 0; i < available; i++) {
			if (bytes[i])
				return false;
		}
		offset += available;
	}
	return true;
}

/*
 * Nothing intact follows walk->offset. A record that is being written is no damage, nor is one that
 * the writer took back because the disk was full: then the file has become shorter. One that was
 * finished after we looked at the size, by a writer that is gone since, is read now.
 * Returns true when there is more to read.
 */
static bool tail_check(struct walk *walk, bool is_cut)
{
	struct segment_source *source = &walk->reader->source;
	bool is_fresh = walk->damage_what && walk->damage_start == walk->offset;
	struct stat st;

	if (source->size <= walk->offset || (is_cut && is_being_written(source->fd))) {
		walk->is_clean = false;
		/* Damage that was open before the tail is real. */
		if (is_fresh)
			walk->damage_what = NULL;
		return false;
	}
	if (fstat(source->fd, &st) == 0 && (uint64_t)st.st_size > source->size &&
	    walk->growth_retries++ < GROWTH_RETRIES_MAX) {
		if (is_fresh)
			walk->damage_what = NULL;
		segment_source_reset(source, source->fd, (uint64_t)st.st_size);
		return true;
	}
	if (is_fresh)
		walk->damage_what = is_all_zero(source, walk->offset) ? "zero-filled tail" :
									"torn tail";
	walk->offset = source->size;
	return false;
}

static int walk_file(struct walk *walk)
{
	struct segment_source *source = &walk->reader->source;
	int result = 0;

	while (walk->offset < source->size && !result && !source->err) {
		const char *what;
		struct unit unit;

		unit_parse(source, walk->offset, &unit);
		if (source->err)
			break;
		what = unit.what;
		if (!what)
			what = unit_accept(walk, &unit, &result);
		if (!what)
			continue;
		damage_open(walk, walk->offset, what);
		if (!resync(walk, &result) && !source->err && !tail_check(walk, unit.is_cut))
			break;
	}
	if (source->err && source->err != -ENOMEM) {
		/* A bad sector takes this file's rest with it, not the other files. */
		damage_open(walk, walk->offset, "input/output error");
		walk->offset = source->size;
		source->err = 0;
	}
	if (!source->err)
		damage_close(walk, walk->offset);
	return queue_drain(walk, result ? result : source->err);
}

static int walk_start(struct walk *walk, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	segment_source_reset(&walk->reader->source, fd, (uint64_t)st.st_size);
	return walk_file(walk);
}

int segment_reader__walk(struct segment_reader *reader, int fd,
			 const struct segment_visitor *visitor)
{
	struct walk walk = { .reader = reader, .visitor = visitor, .is_clean = true };

	return walk_start(&walk, fd);
}

/* ---- which file it is ---- */

void segment_identity_release(struct segment_identity *identity)
{
	free(identity->source_ids);
	*identity = (struct segment_identity){ .has_id = false };
}

/* The record at `offset`; -EINVAL when none of that type stands there intact. */
static int small_record_at(struct segment_source *source, uint64_t offset, enum format_type type,
			   struct format_record *out)
{
	size_t available;
	const uint8_t *bytes =
		segment_source_view(source, offset, FORMAT_RECORD_MIN_BYTES, &available);
	size_t len = bytes ? FORMAT_FRAME_HEADER_BYTES + (size_t)format_get_u32(bytes + 4) : 0;

	if (!bytes || len > FORMAT_RECORD_MAX_BYTES)
		return -EINVAL;
	bytes = segment_source_view(source, offset, len, &available);
	if (!bytes || format_decode_record(bytes, len, out) || out->type != type ||
	    (out->incompat & ~FORMAT_INCOMPAT_KNOWN))
		return -EINVAL;
	return 0;
}

static int identity_take_sources(const struct format_record *record, struct segment_identity *out)
{
	const uint8_t(*ids)[FORMAT_ID_BYTES];
	size_t cnt;

	out->is_merged = true;
	if (merged_decode_sources(record, &ids, &cnt) || cnt == 0)
		return 0;
	out->source_ids = reallocarray(NULL, cnt, FORMAT_ID_BYTES);
	if (!out->source_ids)
		return -ENOMEM;
	memcpy(out->source_ids, ids, cnt * FORMAT_ID_BYTES);
	out->source_cnt = cnt;
	return 0;
}

int segment_reader__identify(struct segment_reader *reader, int fd, struct segment_identity *out)
{
	struct segment_source *source = &reader->source;
	struct format_record record;
	struct format_header header;
	struct stat st;
	int err;

	*out = (struct segment_identity){ .has_id = false };
	if (fstat(fd, &st))
		return -errno;
	segment_source_reset(source, fd, (uint64_t)st.st_size);
	if (small_record_at(source, 0, FORMAT_TYPE_HEADER, &record))
		return source->err;
	err = format_decode_header(&record, &reader->labels, &header);
	if (err)
		return err == -ENOMEM ? err : 0;
	out->has_id = true;
	memcpy(out->segment_id, header.segment_id, FORMAT_ID_BYTES);
	if (small_record_at(source, record.frame_len, FORMAT_TYPE_SOURCES, &record))
		return source->err;
	return identity_take_sources(&record, out);
}

int segment_reader__verify(struct segment_reader *reader, int fd, struct segment_end *out)
{
	const struct segment_visitor nobody = { 0 };
	struct walk walk = {
		.reader = reader,
		.visitor = &nobody,
		.is_verifying = true,
		.is_clean = true,
	};
	int err = walk_start(&walk, fd);

	if (err)
		return err;
	*out = (struct segment_end){
		.is_clean = walk.is_clean && walk.has_header && !walk.damage_what,
		.bytes = walk.offset,
		.sequence = walk.sequence,
	};
	memcpy(out->segment_id, walk.segment_id, FORMAT_ID_BYTES);
	return 0;
}
