// SPDX-License-Identifier: Apache-2.0
/*
 * Outcomes as bytes; see daily_wire.h. A number has 8 bytes, also a double (its bits) and a
 * truth; a text has a byte that says whether there is one, a length of 2 bytes, and its bytes.
 */
#include "user/daily/daily_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/daily/daily_verdict.h"
#include "user/util/byte_reader.h"
#include "user/util/byte_writer.h"

#define BEGIN 0x3179616473666964ull /* an empty file is no outcome */

/* ---- to bytes ---- */

static void put_number(struct byte_writer *writer, uint64_t value)
{
	byte_writer_uint(writer, value, sizeof(value));
}

static void put_double(struct byte_writer *writer, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_number(writer, bits);
}

static void put_text(struct byte_writer *writer, const char *text)
{
	byte_writer_uint(writer, text != NULL, 1);
	if (text)
		byte_writer_text(writer, text, strnlen(text, UINT16_MAX));
}

static void put_alarm(struct byte_writer *writer, const struct daily_alarm *alarm)
{
	put_number(writer, alarm->kind);
	put_number(writer, alarm->event);
	put_text(writer, alarm->method);
	put_text(writer, alarm->origin);
	put_number(writer, alarm->caller_cnt);
	put_number(writer, alarm->is_self);
	put_double(writer, alarm->change);
	put_double(writer, alarm->low);
	put_double(writer, alarm->high);
	put_double(writer, alarm->share_before);
	put_double(writer, alarm->share_after);
	put_number(writer, alarm->first_day);
	put_number(writer, alarm->last_day);
	for (size_t i = 0; i < DAILY_SPARK_DAYS; i++)
		put_double(writer, alarm->shares[i]);
}

static void put_alarms(struct byte_writer *writer, const struct daily_alarm *alarms, size_t cnt)
{
	put_number(writer, cnt);
	for (size_t i = 0; i < cnt; i++)
		put_alarm(writer, &alarms[i]);
}

static void put_damage(struct byte_writer *writer, const struct cmd_store_damage *damage)
{
	put_number(writer, damage->cnt);
	put_number(writer, damage->is_unreadable);
	for (size_t i = 0; i < CMD_STORE_DAMAGE_NAMED; i++)
		put_number(writer, damage->named[i]);
}

int daily_wire_put(const struct daily_outcome *outcome, const struct cmd_store_damage *damage,
		   struct strbuf *out)
{
	struct byte_writer writer = byte_writer_init(out);

	put_number(&writer, BEGIN);
	put_damage(&writer, damage);
	put_number(&writer, outcome->state);
	put_text(&writer, outcome->why);
	put_number(&writer, outcome->has_page);
	put_text(&writer, outcome->image_before);
	put_text(&writer, outcome->image_after);
	put_number(&writer, outcome->history_pairs);
	put_double(&writer, outcome->detectable);
	put_alarms(&writer, outcome->alarms, outcome->alarm_cnt);
	put_alarms(&writer, outcome->known, outcome->known_cnt);
	return byte_writer_end(&writer);
}

/* ---- from bytes ---- */

struct outcome_reader {
	struct byte_reader bytes;
	int err; /* the first one; sticky */
};

static void fail(struct outcome_reader *reader, int err)
{
	if (!reader->err)
		reader->err = err;
}

/* At most `max`, else 0 and a failure. */
static uint64_t get_number(struct outcome_reader *reader, uint64_t max)
{
	uint64_t value = byte_reader_u64(&reader->bytes);

	if (!reader->bytes.failed && value <= max)
		return value;
	fail(reader, -EBADMSG);
	return 0;
}

static double get_double(struct outcome_reader *reader)
{
	uint64_t bits = get_number(reader, UINT64_MAX);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* NULL: there is none, or a failure. */
static char *get_text(struct outcome_reader *reader)
{
	uint8_t is_there = byte_reader_u8(&reader->bytes);
	size_t len = is_there ? byte_reader_u16(&reader->bytes) : 0;
	const char *bytes = byte_reader_take(&reader->bytes, len);
	char *text;

	if (!bytes || is_there > 1 || memchr(bytes, '\0', len)) {
		fail(reader, -EBADMSG);
		return NULL;
	}
	if (!is_there)
		return NULL;
	text = strndup(bytes, len);
	if (!text)
		fail(reader, -ENOMEM);
	return text;
}

static void get_alarm(struct outcome_reader *reader, struct daily_alarm *out)
{
	out->kind = (enum daily_alarm_kind)get_number(reader, DAILY_ALARM_CREEP);
	out->event = (enum event)get_number(reader, EVENT_VIEW_END - 1);
	out->method = get_text(reader);
	out->origin = get_text(reader);
	out->caller_cnt = (uint32_t)get_number(reader, UINT32_MAX);
	out->is_self = get_number(reader, 1);
	out->change = get_double(reader);
	out->low = get_double(reader);
	out->high = get_double(reader);
	out->share_before = get_double(reader);
	out->share_after = get_double(reader);
	out->first_day = (uint32_t)get_number(reader, UINT32_MAX);
	out->last_day = (uint32_t)get_number(reader, UINT32_MAX);
	for (size_t i = 0; i < DAILY_SPARK_DAYS; i++)
		out->shares[i] = get_double(reader);
	if (!out->method)
		fail(reader, -EBADMSG);
}

static void get_alarms(struct outcome_reader *reader, size_t max, struct daily_alarm **out,
		       size_t *cnt_out)
{
	size_t cnt = get_number(reader, max);

	if (!cnt)
		return;
	*out = calloc(cnt, sizeof(**out));
	if (!*out) {
		fail(reader, -ENOMEM);
		return;
	}
	while (!reader->err && *cnt_out < cnt)
		get_alarm(reader, &(*out)[(*cnt_out)++]);
}

static void get_damage(struct outcome_reader *reader, struct cmd_store_damage *out)
{
	out->cnt = get_number(reader, SIZE_MAX);
	out->is_unreadable = get_number(reader, 1);
	for (size_t i = 0; i < CMD_STORE_DAMAGE_NAMED; i++)
		out->named[i] = get_number(reader, UINT64_MAX);
}

static void get_outcome(struct outcome_reader *reader, struct daily_outcome *out)
{
	out->state = (enum daily_state)get_number(reader, DAILY_STATE_NOT_COMPARED);
	out->why = get_text(reader);
	out->has_page = get_number(reader, 1);
	out->image_before = get_text(reader);
	out->image_after = get_text(reader);
	out->history_pairs = (uint32_t)get_number(reader, UINT32_MAX);
	out->detectable = get_double(reader);
	get_alarms(reader, DAILY_ALARMS_MAX, &out->alarms, &out->alarm_cnt);
	get_alarms(reader, DAILY_KNOWN_MAX, &out->known, &out->known_cnt);
}

int daily_wire_get(const void *bytes, size_t len, struct daily_outcome *out,
		   struct cmd_store_damage *damage_out)
{
	struct outcome_reader reader = { .bytes = byte_reader_init(bytes, len) };
	struct daily_outcome outcome = { 0 };
	struct cmd_store_damage damage = { 0 };

	if (get_number(&reader, UINT64_MAX) != BEGIN)
		fail(&reader, -EBADMSG);
	if (!reader.err)
		get_damage(&reader, &damage);
	if (!reader.err)
		get_outcome(&reader, &outcome);
	if (reader.bytes.left)
		fail(&reader, -EBADMSG);
	if (reader.err) {
		daily_outcome_release(&outcome);
		return reader.err;
	}
	*out = outcome;
	*damage_out = damage;
	return 0;
}
