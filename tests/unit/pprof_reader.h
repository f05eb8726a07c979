/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small reader of gzipped profile.proto, for tests: it shares no line with the writer, refuses
 * what pprof and Parca refuse, and turns the profile back into folded text. Include after cmocka.
 */
#ifndef JBPF_TESTS_UNIT_PPROF_READER_H
#define JBPF_TESTS_UNIT_PPROF_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "user/util/strbuf.h"

/* ---- wire format ---- */

struct pb_cursor {
	const uint8_t *at;
	const uint8_t *end;
};

struct pb_field {
	uint64_t number;
	uint64_t value; /* of a varint */
	struct pb_cursor bytes;
	bool is_bytes;
};

static inline uint64_t pb_varint(struct pb_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		assert_true(cursor->at < cursor->end);
		byte = *cursor->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	fail_msg("a varint without end");
	return 0;
}

static inline bool pb_next(struct pb_cursor *cursor, struct pb_field *out)
{
	uint64_t tag;

	if (cursor->at == cursor->end)
		return false;
	tag = pb_varint(cursor);
	*out = (struct pb_field){ .number = tag >> 3 };
	assert_true(out->number > 0);
	if ((tag & 7) == 0) {
		out->value = pb_varint(cursor);
		return true;
	}
	if ((tag & 7) == 1) { /* fixed64 */
		assert_true(cursor->end - cursor->at >= 8);
		for (unsigned int i = 0; i < 8; i++)
			out->value |= (uint64_t)*cursor->at++ << 8 * i;
		return true;
	}
	assert_int_equal(tag & 7, 2);
	out->is_bytes = true;
	out->value = pb_varint(cursor);
	assert_true(out->value <= (uint64_t)(cursor->end - cursor->at));
	out->bytes = (struct pb_cursor){ cursor->at, cursor->at + out->value };
	cursor->at += out->value;
	return true;
}

/* Numbers of a repeated field, packed or not, appended to an array of uint64_t. */
static inline void pb_numbers(const struct pb_field *field, struct strbuf *out)
{
	struct pb_cursor cursor = field->bytes;

	if (!field->is_bytes) {
		strbuf_append(out, &field->value, sizeof(field->value));
		return;
	}
	while (cursor.at < cursor.end) {
		uint64_t value = pb_varint(&cursor);

		strbuf_append(out, &value, sizeof(value));
	}
}

/* ---- the profile ---- */

#define PPROF_TYPES_MAX	   4
#define PPROF_MAPPINGS_MAX 16
#define PPROF_LABELS_MAX   8

struct pprof_string {
	char *text; /* NUL-terminated copy */
	size_t len;
};

struct pprof_function {
	uint64_t name, system_name, filename;
};

struct pprof_location {
	uint64_t mapping, function;
};

struct pprof_label {
	uint64_t key, str, num;
};

struct pprof_sample {
	struct strbuf locations; /* of uint64_t */
	struct strbuf values;	 /* of uint64_t */
	struct pprof_label labels[PPROF_LABELS_MAX];
	size_t label_cnt;
};

struct pprof_type {
	uint64_t type, unit;
};

/* Arrays that grow are strbufs of their elements. */
struct pprof_read {
	struct strbuf raw;
	struct strbuf strings, functions, locations, samples, comments;
	uint64_t mappings[PPROF_MAPPINGS_MAX]; /* filename */
	bool mapping_has_functions[PPROF_MAPPINGS_MAX];
	size_t mapping_cnt;
	struct pprof_type types[PPROF_TYPES_MAX];
	size_t type_cnt;
	struct pprof_type period_type;
	uint64_t period, time_ns, duration_ns, default_type;
};

#define PPROF_CNT(read, array, type)	((read)->array.len / sizeof(type))
#define PPROF_AT(read, array, type, at) (&((type *)(void *)(read)->array.data)[at])
#define PPROF_ADD(read, array, element) strbuf_append(&(read)->array, element, sizeof(*(element)))

static inline const char *pprof_text(const struct pprof_read *read, uint64_t index)
{
	assert_true(index < PPROF_CNT(read, strings, struct pprof_string));
	return PPROF_AT(read, strings, struct pprof_string, index)->text;
}

static inline void pprof_gunzip(const void *bytes, size_t len, struct strbuf *out)
{
	z_stream stream = { .next_in = (z_const Bytef *)bytes, .avail_in = (uInt)len };
	int status = Z_OK;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	while (status == Z_OK) {
		assert_int_equal(strbuf_reserve(out, 65536), 0);
		stream.next_out = (Bytef *)out->data + out->len;
		stream.avail_out = 65536;
		status = inflate(&stream, Z_NO_FLUSH);
		out->len += 65536 - stream.avail_out;
	}
	assert_int_equal(status, Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0); /* one gzip member and nothing behind it */
	inflateEnd(&stream);
}

static inline struct pprof_type pprof_read_type(struct pb_cursor cursor)
{
	struct pprof_type type = { 0 };
	struct pb_field field;

	while (pb_next(&cursor, &field))
		*(field.number == 1 ? &type.type : &type.unit) = field.value;
	return type;
}

static inline struct pprof_label pprof_read_label(struct pb_cursor cursor)
{
	struct pprof_label label = { 0 };
	struct pb_field field;

	while (pb_next(&cursor, &field)) {
		assert_in_range(field.number, 1, 3);
		*(field.number == 1 ? &label.key :
		  field.number == 2 ? &label.str :
				      &label.num) = field.value;
	}
	return label;
}

static inline void pprof_read_sample(struct pprof_read *read, struct pb_cursor cursor)
{
	struct pprof_sample sample = { 0 };
	struct pb_field field;

	while (pb_next(&cursor, &field)) {
		if (field.number == 3) {
			assert_true(sample.label_cnt < PPROF_LABELS_MAX);
			sample.labels[sample.label_cnt++] = pprof_read_label(field.bytes);
		} else {
			assert_in_range(field.number, 1, 2);
			pb_numbers(&field, field.number == 1 ? &sample.locations : &sample.values);
		}
	}
	PPROF_ADD(read, samples, &sample);
}

static inline void pprof_read_mapping(struct pprof_read *read, struct pb_cursor cursor)
{
	struct pb_field field;
	uint64_t id = 0;

	assert_true(read->mapping_cnt < PPROF_MAPPINGS_MAX);
	while (pb_next(&cursor, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 5)
			read->mappings[read->mapping_cnt] = field.value;
		else if (field.number == 7)
			read->mapping_has_functions[read->mapping_cnt] = field.value;
	}
	assert_int_equal(id, ++read->mapping_cnt);
}

static inline void pprof_read_location(struct pprof_read *read, struct pb_cursor cursor)
{
	struct pprof_location location = { 0 };
	struct pb_field field;
	uint64_t id = 0;

	while (pb_next(&cursor, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			location.mapping = field.value;
		else if (field.number == 4) {
			struct pb_field line;

			assert_int_equal(location.function, 0);
			assert_true(pb_next(&field.bytes, &line));
			assert_int_equal(line.number, 1);
			location.function = line.value;
		}
	}
	PPROF_ADD(read, locations, &location);
	assert_int_equal(id, PPROF_CNT(read, locations, struct pprof_location));
}

static inline void pprof_read_function(struct pprof_read *read, struct pb_cursor cursor)
{
	struct pprof_function function = { 0 };
	struct pb_field field;
	uint64_t id = 0;

	while (pb_next(&cursor, &field)) {
		switch (field.number) {
		case 1:
			id = field.value;
			break;
		case 2:
			function.name = field.value;
			break;
		case 3:
			function.system_name = field.value;
			break;
		case 4:
			function.filename = field.value;
			break;
		default:
			fail_msg("field of a function");
		}
	}
	PPROF_ADD(read, functions, &function);
	assert_int_equal(id, PPROF_CNT(read, functions, struct pprof_function));
}

static inline void pprof_read_string(struct pprof_read *read, struct pb_cursor cursor)
{
	struct pprof_string string = { .len = (size_t)(cursor.end - cursor.at) };

	string.text = strndup((const char *)cursor.at, string.len);
	assert_non_null(string.text);
	assert_int_equal(strlen(string.text), string.len);
	PPROF_ADD(read, strings, &string);
}

static inline void pprof_read_field(struct pprof_read *read, const struct pb_field *field)
{
	switch (field->number) {
	case 1:
		assert_true(read->type_cnt < PPROF_TYPES_MAX);
		read->types[read->type_cnt++] = pprof_read_type(field->bytes);
		break;
	case 2:
		pprof_read_sample(read, field->bytes);
		break;
	case 3:
		pprof_read_mapping(read, field->bytes);
		break;
	case 4:
		pprof_read_location(read, field->bytes);
		break;
	case 5:
		pprof_read_function(read, field->bytes);
		break;
	case 6:
		pprof_read_string(read, field->bytes);
		break;
	case 9:
		read->time_ns = field->value;
		break;
	case 10:
		read->duration_ns = field->value;
		break;
	case 11:
		read->period_type = pprof_read_type(field->bytes);
		break;
	case 12:
		read->period = field->value;
		break;
	case 13:
		pb_numbers(field, &read->comments);
		break;
	case 14:
		read->default_type = field->value;
		break;
	default:
		fail_msg("field %llu of a profile", (unsigned long long)field->number);
	}
}

/* Everything refers to something that is there; numbers are those of signed 64-bit integers. */
static inline void pprof_check(const struct pprof_read *read)
{
	size_t function_cnt = PPROF_CNT(read, functions, struct pprof_function);
	size_t location_cnt = PPROF_CNT(read, locations, struct pprof_location);

	assert_string_equal(pprof_text(read, 0), "");
	assert_true(read->type_cnt > 0);
	for (size_t i = 0; i < function_cnt; i++) {
		struct pprof_function *it = PPROF_AT(read, functions, struct pprof_function, i);

		assert_string_not_equal(pprof_text(read, it->name), "");
		assert_int_equal(it->name, it->system_name);
		(void)pprof_text(read, it->filename);
	}
	for (size_t i = 0; i < location_cnt; i++) {
		struct pprof_location *it = PPROF_AT(read, locations, struct pprof_location, i);

		assert_in_range(it->mapping, 1, read->mapping_cnt);
		assert_in_range(it->function, 1, function_cnt);
		assert_true(read->mapping_has_functions[it->mapping - 1]);
	}
	for (size_t i = 0; i < PPROF_CNT(read, samples, struct pprof_sample); i++) {
		struct pprof_sample *it = PPROF_AT(read, samples, struct pprof_sample, i);

		assert_int_equal(PPROF_CNT(it, values, uint64_t), read->type_cnt);
		for (size_t j = 0; j < PPROF_CNT(it, values, uint64_t); j++)
			assert_true(*PPROF_AT(it, values, uint64_t, j) <= INT64_MAX);
		for (size_t j = 0; j < PPROF_CNT(it, locations, uint64_t); j++)
			assert_in_range(*PPROF_AT(it, locations, uint64_t, j), 1, location_cnt);
		for (size_t j = 0; j < it->label_cnt; j++)
			assert_string_not_equal(pprof_text(read, it->labels[j].key), "");
	}
}

static inline void pprof_read_raw(struct pprof_read *read)
{
	struct pb_cursor cursor = { (const uint8_t *)strbuf_str(&read->raw), NULL };
	struct pb_field field;

	cursor.end = cursor.at + read->raw.len;
	while (pb_next(&cursor, &field))
		pprof_read_field(read, &field);
	pprof_check(read);
}

static inline struct pprof_read pprof_read(const void *bytes, size_t len)
{
	struct pprof_read read = { 0 };

	pprof_gunzip(bytes, len, &read.raw);
	pprof_read_raw(&read);
	return read;
}

static inline void pprof_release(struct pprof_read *read)
{
	for (size_t i = 0; i < PPROF_CNT(read, samples, struct pprof_sample); i++) {
		strbuf_release(&PPROF_AT(read, samples, struct pprof_sample, i)->locations);
		strbuf_release(&PPROF_AT(read, samples, struct pprof_sample, i)->values);
	}
	for (size_t i = 0; i < PPROF_CNT(read, strings, struct pprof_string); i++)
		free(PPROF_AT(read, strings, struct pprof_string, i)->text);
	strbuf_release(&read->raw);
	strbuf_release(&read->strings);
	strbuf_release(&read->functions);
	strbuf_release(&read->locations);
	strbuf_release(&read->samples);
	strbuf_release(&read->comments);
}

/* ---- questions ---- */

static inline const char *pprof_suffix(const struct pprof_read *read, uint64_t mapping)
{
	static const char *const suffixes[][2] = {
		{ "", "" },
		{ "[native]", "" },
		{ "[kernel]", "_[k]" },
		{ "[java jit]", "_[j]" },
		{ "[java c1]", "_[1]" },
		{ "[java interpreted]", "_[0]" },
		{ "[java inlined]", "_[i]" },
	};
	const char *file = pprof_text(read, read->mappings[mapping - 1]);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(file, suffixes[i][0]) == 0)
			return suffixes[i][1];
	}
	fail_msg("mapping '%s'", file);
	return "";
}

/* The samples as folded text, in their order; the kinds come from the mappings. */
static inline void pprof_folded(const struct pprof_read *read, struct strbuf *out)
{
	for (size_t i = 0; i < PPROF_CNT(read, samples, struct pprof_sample); i++) {
		struct pprof_sample *it = PPROF_AT(read, samples, struct pprof_sample, i);
		size_t depth = PPROF_CNT(it, locations, uint64_t);

		for (size_t j = depth; j-- > 0;) {
			struct pprof_location *location =
				PPROF_AT(read, locations, struct pprof_location,
					 *PPROF_AT(it, locations, uint64_t, j) - 1);
			struct pprof_function *function = PPROF_AT(
				read, functions, struct pprof_function, location->function - 1);

			strbuf_printf(out, "%s%s%s", j == depth - 1 ? "" : ";",
				      pprof_text(read, function->name),
				      pprof_suffix(read, location->mapping));
		}
		strbuf_printf(out, " %llu\n",
			      (unsigned long long)*PPROF_AT(it, values, uint64_t, 0));
	}
}

/* How many functions have this name; the last one's file. */
static inline size_t pprof_find(const struct pprof_read *read, const char *name, const char **file)
{
	size_t cnt = 0;

	for (size_t i = 0; i < PPROF_CNT(read, functions, struct pprof_function); i++) {
		struct pprof_function *it = PPROF_AT(read, functions, struct pprof_function, i);

		if (strcmp(pprof_text(read, it->name), name) != 0)
			continue;
		*file = pprof_text(read, it->filename);
		cnt++;
	}
	return cnt;
}

/* "container=shop-1 pid=42 kind=java" of a sample. */
static inline void pprof_labels(const struct pprof_read *read, size_t sample, struct strbuf *out)
{
	struct pprof_sample *it = PPROF_AT(read, samples, struct pprof_sample, sample);

	for (size_t i = 0; i < it->label_cnt; i++) {
		const struct pprof_label *label = &it->labels[i];

		strbuf_printf(out, "%s%s=", i ? " " : "", pprof_text(read, label->key));
		if (label->str)
			strbuf_puts(out, pprof_text(read, label->str));
		else
			strbuf_printf(out, "#%llu", (unsigned long long)label->num);
	}
	assert_int_equal(strbuf_error(out), 0);
}

#endif
