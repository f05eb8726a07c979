// SPDX-License-Identifier: Apache-2.0
/*
 * The walk over a segment. A unit is an optional data frame and the record behind it. While units
 * follow each other without doubt the walk goes from frame to frame without looking inside. When
 * one is in doubt, nothing about lengths is trusted any more: every byte from the last good unit
 * on is searched for a record whose checksum is right and whose segment id is the file's, and the
 * record's word for the length of its data frame gives the place of that frame.
 */
#include "user/store/segment/segment_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/store/segment/segment_walk.h"
#include "user/util/cleanup.h"

#define GROWTH_RETRIES_MAX  8
#define IDENTITY_STEP_BYTES 4096 /* the records at a file's beginning are small */
/* Upper limit for checksumming records that turn out invalid: only a hostile file gets that far. */
#define RESYNC_FACTOR	 8
#define RESYNC_MIN_BYTES (64ull << 20)

struct segment_reader *segment_reader__new(void)
{
	struct segment_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->source.fd = -1;
	reader->decoder = text_decoder__new();
	reader->rows = merged_unit__new();
	if (!reader->decoder || !reader->rows) {
		segment_reader__free(reader);
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
	merged_unit__free(reader->rows);
	strbuf_release(&reader->labels);
	strbuf_release(&reader->index);
	free(reader);
}

/* ---- what was looked at before ---- */

/* The file's own place among those that were passed, or the one that was taken longest ago. */
static struct segment_passed *passed_of(struct segment_reader *reader, const uint8_t *segment_id)
{
	struct segment_passed *passed;

	for (size_t i = 0; i < SEGMENT_PASSED_MAX; i++) {
		passed = &reader->passed[i];
		if (memcmp(passed->segment_id, segment_id, FORMAT_ID_BYTES) == 0)
			return passed;
	}
	passed = &reader->passed[reader->passed_next++ % SEGMENT_PASSED_MAX];
	*passed = (struct segment_passed){ .offset = 0 };
	memcpy(passed->segment_id, segment_id, FORMAT_ID_BYTES);
	return passed;
}

/* The checksum with which the record in front of `offset` ends. false: the file is shorter now. */
static bool crc_before(struct walk *walk, uint64_t offset, uint32_t *out)
{
	size_t available;
	const uint8_t *bytes;

	if (offset < sizeof(*out) || offset > walk->reader->source.size)
		return false;
	bytes = segment_source_view(&walk->reader->source, offset - sizeof(*out), sizeof(*out),
				    &available);
	if (bytes)
		*out = format_get_u32(bytes);
	return bytes != NULL;
}

/* A writer may have taken back what it could not finish, and have written something else there. */
static bool passed_is_there(struct walk *walk, const struct segment_passed *passed)
{
	uint32_t crc;

	return passed->offset > walk->offset &&
	       walk->visitor->since_unix_ns >= passed->since_unix_ns &&
	       crc_before(walk, passed->offset, &crc) && crc == passed->crc;
}

/* Behind the header: over what nobody can want any more. */
static void passed_skip(struct walk *walk)
{
	const struct segment_visitor *visitor = walk->visitor;
	struct segment_passed *passed;

	if (walk->is_verifying || visitor->checks_all || !visitor->since_unix_ns)
		return;
	passed = passed_of(walk->reader, walk->segment_id);
	if (passed_is_there(walk, passed)) {
		walk->offset = passed->offset;
		walk->sequence = passed->sequence;
	} else {
		passed->offset = 0;
	}
	walk->passed = passed;
}

/* A unit was met in its place: is its window one of those that are over, like all in front of it? */
static void passed_note(struct walk *walk, const struct segment_claim *claim)
{
	const struct window *window = &claim->commit.window;
	uint64_t since = walk->visitor->since_unix_ns;

	if (!walk->passed)
		return;
	if (claim->is_rows || !walk->is_clean || window->start_unix_ns >= since ||
	    window_end_unix_ns(window) > since ||
	    !crc_before(walk, walk->offset, &walk->passed->crc)) {
		walk->passed = NULL;
		return;
	}
	walk->passed->since_unix_ns = since;
	walk->passed->offset = walk->offset;
	walk->passed->sequence = walk->sequence;
}

/* ---- damage ---- */

static void damage_open(struct walk *walk, uint64_t start, const char *what)
{
	walk->is_clean = false;
	if (walk->passed)
		walk->passed->offset = 0;
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

/* Where an intact unit begins whose data frame was found behind damage. */
static uint64_t unit_begin(struct walk *walk, uint64_t data_offset,
			   const struct format_commit *commit)
{
	struct segment_source *source = &walk->reader->source;
	uint64_t begin = data_offset;

	if (commit->lines_len) {
		if (commit->lines_len > begin - walk->offset ||
		    !segment_unit_lines(source, data_offset, commit))
			return begin;
		begin -= commit->lines_len;
	}
	if (commit->threads_len) {
		if (commit->threads_len > begin - walk->offset ||
		    !segment_unit_threads(source, data_offset, commit))
			return begin;
		begin -= commit->threads_len;
	}
	if (commit->ticks_len && commit->ticks_len <= begin - walk->offset &&
	    segment_unit_ticks(source, data_offset, commit))
		begin -= commit->ticks_len;
	return begin;
}

static bool segment_is_ours(const struct walk *walk, const struct format_commit *commit)
{
	return !walk->has_segment ||
	       memcmp(walk->segment_id, commit->segment_id, FORMAT_ID_BYTES) == 0;
}

/* ---- one intact unit ---- */

/* Is anything of the unit wanted? Its windows are asked about. 0 or -ENOMEM. */
static int claim_choose(struct walk *walk, const struct segment_claim *claim, bool *is_wanted)
{
	const struct segment_visitor *visitor = walk->visitor;
	struct merged_unit *rows = walk->reader->rows;
	enum merged_wanted wanted;
	int err;

	if (!claim->is_rows) {
		*is_wanted = visitor->want && visitor->want(visitor->ctx, &claim->commit.window);
		return 0;
	}
	err = merged_unit__choose_loaded(rows, visitor, &wanted);
	if (err)
		return err;
	*is_wanted = wanted != MERGED_WANTED_NOTHING;
	return wanted == MERGED_WANTED_ROWS ? merged_unit__choose_rows(rows, visitor, is_wanted) :
					      0;
}

/* A unit in its right place: hands it to the visitor if it wants it. Result of the walk's step. */
static int claim_deliver(struct walk *walk, uint64_t data_offset, uint64_t end,
			 const struct segment_claim *claim)
{
	const struct format_commit *commit = &claim->commit;
	struct segment_reader *reader = walk->reader;
	uint64_t begin = data_offset;
	bool is_wanted;
	int err = claim_choose(walk, claim, &is_wanted);

	if (err)
		return err;
	if ((is_wanted || walk->is_verifying || walk->visitor->checks_all) &&
	    (commit->text_len > FORMAT_TEXT_MAX_BYTES ||
	     !segment_unit_data_is_intact(&reader->source, data_offset, commit))) {
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
	walk->is_merged |= claim->is_rows;
	walk->sequence = commit->sequence;
	passed_note(walk, claim);
	if (!is_wanted || !walk->visitor->window)
		return 0;
	return segment_queue_put(walk, data_offset, end, claim);
}

/* Header of the file: only the first record may be one. */
static const char *header_accept(struct walk *walk, const struct segment_unit *unit, int *result)
{
	struct format_header header;
	int err;

	if (unit->data_offset != 0 || unit->data_len)
		return "header in the middle";
	if (unit->record.incompat & ~FORMAT_INCOMPAT_KNOWN) {
		walk->needs_newer = true;
		return "header needs a newer version of jbpf";
	}
	err = format_decode_header(&unit->record, &walk->reader->labels, &header);
	if (err == -ENOMEM)
		*result = err;
	if (err)
		return err == -ENOMEM ? NULL : "broken header";
	if (header.format_version != FORMAT_VERSION)
		walk->is_clean = false; /* readable, but not for us to continue */
	walk->needs_newer |= header.format_version > FORMAT_VERSION;
	memcpy(walk->segment_id, header.segment_id, FORMAT_ID_BYTES);
	walk->has_segment = true;
	walk->has_header = true;
	return NULL;
}

static bool is_unit_type(uint16_t type)
{
	return type == FORMAT_TYPE_COMMIT || type == FORMAT_TYPE_ROWS;
}

/* Written by a newer jbpf. Nothing is lost by stepping over a kind of record without text. */
static void unit_refuse(struct walk *walk, const struct segment_unit *unit)
{
	damage_close(walk, unit->data_offset);
	if (unit->data_len || is_unit_type(unit->record.type))
		damage_open(walk, unit->data_offset, "record needs a newer version of jbpf");
	damage_close(walk, unit->end);
	walk->is_clean = false;
	walk->needs_newer = true;
	walk->has_refused = true;
	walk->offset = unit->end;
}

/* The index of the units that were read so far: none may be missing in front of it. */
static const char *index_accept(struct walk *walk, const struct segment_unit *unit)
{
	struct merged_index_head head;
	const uint8_t *frame;
	size_t frame_len;

	if (merged_decode_index(&unit->record, &head, &frame, &frame_len))
		return "broken index";
	if (walk->has_segment && memcmp(head.segment_id, walk->segment_id, FORMAT_ID_BYTES) != 0)
		return "record of another file";
	if (!walk->damage_what && !walk->has_refused && head.unit_cnt != walk->sequence)
		damage_open(walk, unit->data_offset, "records are missing");
	walk->has_index = true;
	return NULL;
}

/* A record without text. Returns false when it is none of those, else what is in doubt in *what. */
static bool plain_record_accept(struct walk *walk, const struct segment_unit *unit,
				const char **what)
{
	*what = NULL;
	if (unit->data_len || (unit->record.incompat & ~FORMAT_INCOMPAT_KNOWN))
		return false;
	switch (unit->record.type) {
	case FORMAT_TYPE_LINES: /* the record of the unit behind it says where it is */
	case FORMAT_TYPE_THREADS:
	case FORMAT_TYPE_TICKS:
		break;
	case FORMAT_TYPE_SOURCES:
		walk->is_merged = true;
		break;
	case FORMAT_TYPE_NOTES:
		if (!segment_index_notes(walk, &unit->record))
			*what = "notes of earlier damage are broken";
		break;
	case FORMAT_TYPE_INDEX:
		*what = index_accept(walk, unit);
		break;
	default:
		return false;
	}
	if (!*what) {
		damage_close(walk, unit->data_offset);
		walk->offset = unit->end;
	}
	return true;
}

/*
 * Takes the unit at walk->offset. Returns what is in doubt about it, or NULL; the result of a
 * visitor goes to *result.
 */
static const char *unit_accept(struct walk *walk, const struct segment_unit *unit, int *result)
{
	struct segment_claim claim;
	const char *what;
	int err;

	if (unit->is_foreign) {
		damage_close(walk, unit->data_offset);
		walk->offset = unit->end;
		return NULL;
	}
	if (unit->record.type == FORMAT_TYPE_HEADER) {
		what = header_accept(walk, unit, result);
		if (!what && !*result) {
			walk->offset = unit->end;
			passed_skip(walk);
		}
		return what;
	}
	if (plain_record_accept(walk, unit, &what))
		return what;
	if (!is_unit_type(unit->record.type) || (unit->record.incompat & ~FORMAT_INCOMPAT_KNOWN)) {
		unit_refuse(walk, unit);
		return NULL;
	}
	err = segment_unit_claim(walk->reader, &unit->record, &claim);
	if (err == -ENOMEM) {
		*result = err;
		return NULL;
	}
	if (err)
		return "broken record";
	if (!segment_is_ours(walk, &claim.commit))
		return "record of another file";
	if (walk->has_segment && claim.commit.sequence <= walk->sequence)
		return "record out of order";
	if (claim.commit.data_len != unit->data_len)
		return "record without its data frame";
	*result = claim_deliver(walk, unit->data_offset, unit->end, &claim);
	return NULL;
}

/* ---- resynchronisation ---- */

static bool is_expected(const struct walk *walk, const struct format_commit *commit)
{
	return segment_is_ours(walk, commit) &&
	       (!walk->has_segment || commit->sequence > walk->sequence);
}

/*
 * Length of the record at `offset` if it is to be checked; else 0. A rows record may be large: its
 * head must be right, and of this file, before a checksum of the rest is computed.
 */
static size_t candidate_bytes(struct walk *walk, uint64_t offset, bool *is_large)
{
	struct segment_source *source = &walk->reader->source;
	uint64_t rest = source->size - offset;
	size_t peek = rest < MERGED_ROWS_PEEK_BYTES ? (size_t)rest : MERGED_ROWS_PEEK_BYTES;
	struct merged_rows_head head;
	size_t available, frame_len;
	const uint8_t *bytes = segment_source_view(source, offset, peek, &available);

	if (!bytes || peek < FORMAT_RECORD_MIN_BYTES ||
	    format_get_u32(bytes) != FORMAT_MAGIC_RECORD)
		return 0;
	*is_large = false;
	frame_len = FORMAT_FRAME_HEADER_BYTES + (size_t)format_get_u32(bytes + 4);
	if (frame_len > FORMAT_RECORD_MAX_BYTES) {
		struct format_commit commit = { .sequence = 0 };

		*is_large = true;
		if (merged_peek_rows(bytes, peek, &head, &frame_len) ||
		    frame_len > walk->resync_left)
			return 0;
		memcpy(commit.segment_id, head.segment_id, FORMAT_ID_BYTES);
		commit.sequence = head.sequence;
		if (!is_expected(walk, &commit))
			return 0;
	}
	return frame_len <= rest ? frame_len : 0;
}

/* A unit's record of this file at `offset`: then *end_out is set. */
static int candidate_check(struct walk *walk, uint64_t offset, struct segment_claim *claim,
			   uint64_t *end_out)
{
	struct format_record record;
	bool is_large;
	size_t available, frame_len = candidate_bytes(walk, offset, &is_large);
	const uint8_t *bytes;
	int err;

	if (!frame_len)
		return -EINVAL;
	bytes = segment_source_view(&walk->reader->source, offset, frame_len, &available);
	if (!bytes || format_decode_record(bytes, frame_len, &record)) {
		if (is_large)
			walk->resync_left -= frame_len;
		return -EINVAL;
	}
	if (!is_unit_type(record.type) || (record.incompat & ~FORMAT_INCOMPAT_KNOWN))
		return -EINVAL;
	err = segment_unit_claim(walk->reader, &record, claim);
	if (err)
		return err;
	if (!is_expected(walk, &claim->commit))
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
	uint64_t from = walk->offset, offset, end;
	struct segment_claim claim;

	for (; find_candidate(source, from, &offset); from = offset + 1) {
		const struct format_commit *commit = &claim.commit;
		uint64_t data_offset;
		int err = candidate_check(walk, offset, &claim, &end);

		if (err == -ENOMEM) {
			*result = err;
			return true;
		}
		if (err)
			continue;
		data_offset = offset - commit->data_len;
		if (commit->data_len <= offset - walk->offset &&
		    segment_unit_data_is_intact(source, data_offset, commit)) {
			*result = claim_deliver(walk, data_offset, end, &claim);
			return true;
		}
		/* The record is intact, its data is not: both are part of the damage. */
		memcpy(walk->segment_id, commit->segment_id, FORMAT_ID_BYTES);
		walk->has_segment = true;
		walk->sequence = commit->sequence;
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
 * completed after the size was read, by a writer that has ended since, is read now. Returns true
 * when there is more to read.
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

/* A bad sector costs the rest of this file, but no other file. */
static void source_check(struct walk *walk)
{
	struct segment_source *source = &walk->reader->source;

	if (!source->err || source->err == -ENOMEM)
		return;
	walk->is_unreadable = true;
	damage_open(walk, walk->offset, SEGMENT_UNREADABLE);
	walk->offset = source->size;
	source->err = 0;
}

static int walk_file(struct walk *walk)
{
	struct segment_source *source = &walk->reader->source;
	int result = 0;

	while (walk->offset < source->size && !result && !source->err) {
		const char *what;
		struct segment_unit unit;

		segment_unit_parse(source, walk->offset, &unit);
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
	source_check(walk);
	if (!source->err) {
		if (walk->is_merged && !walk->has_index && !result)
			damage_open(walk, walk->offset, "index is missing");
		damage_close(walk, walk->offset);
	}
	return segment_queue_drain(walk, result ? result : source->err);
}

static int walk_start(struct walk *walk, int fd)
{
	struct segment_source *source = &walk->reader->source;
	bool has_index = false;
	struct stat st;
	int result = 0;

	if (fstat(fd, &st))
		return -errno;
	segment_source_reset(source, fd, (uint64_t)st.st_size);
	walk->resync_left = RESYNC_FACTOR * source->size + RESYNC_MIN_BYTES;
	if (!walk->is_verifying && !walk->visitor->checks_all) {
		has_index = segment_index_walk(walk, &result);
		/* A walk meets the same bad sector, or none. */
		if (source->err && source->err != -ENOMEM && !has_index)
			source->err = 0;
	}
	if (!has_index) {
		source->step = SEGMENT_SOURCE_STEP_BYTES;
		return walk_file(walk);
	}
	source_check(walk);
	damage_close(walk, walk->offset);
	return segment_queue_drain(walk, result ? result : source->err);
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
	out->has_ticks = (record->compat & FORMAT_COMPAT_TICKS) != 0;
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
	source->step = IDENTITY_STEP_BYTES;
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

int segment_reader__identify_file(struct segment_reader *reader, int tree_fd,
				  const struct segment_file *file, struct segment_identity *out)
{
	char path[SEGMENT_PATH_BYTES];

	*out = (struct segment_identity){ .has_id = false };
	segment_path(file, path);

	__cleanup_fd int fd = openat(tree_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	return segment_reader__identify(reader, fd, out);
}

bool segment_identity_has_taken_in(const struct segment_identity *identity,
				   const uint8_t *segment_id)
{
	for (size_t i = 0; i < identity->source_cnt; i++) {
		if (memcmp(identity->source_ids[i], segment_id, FORMAT_ID_BYTES) == 0)
			return true;
	}
	return false;
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
		.is_clean = walk.is_clean && walk.has_header && !walk.is_merged,
		.bytes = walk.offset,
		.sequence = walk.sequence,
		.needs_newer = walk.needs_newer,
		.is_unreadable = walk.is_unreadable,
	};
	memcpy(out->segment_id, walk.segment_id, FORMAT_ID_BYTES);
	return 0;
}
