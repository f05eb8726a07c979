// SPDX-License-Identifier: Apache-2.0
/*
 * The profile as pprof's profile.proto, gzipped. PPROF.md says what is put where and why. A frame
 * becomes one location, a function of the frame table one function; their numbers are the table's
 * plus one, for pprof wants them to begin there.
 */
#include "user/output/output.h"

#include <errno.h>
#include <string.h>

#include "user/model/select.h"
#include "user/model/stack_text.h"
#include "user/output/escape.h"
#include "user/output/frame_table.h"
#include "user/output/info.h"
#include "user/output/protobuf.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/gzip.h"
#include "user/util/parse.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

/* Field numbers of profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum mapping_field { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_LINE = 4 };
enum line_field { LINE_FUNCTION_ID = 1 };
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

struct pprof {
	const struct output_info *info;
	struct protobuf profile;
	struct frame_table *frames;
	struct strtab *strings; /* id = index in the string table */
	uint64_t period;	/* ns of CPU time, or events; 0 = it is not known */
	uint64_t *locations;	/* scratch: of one sample, leaf first */
	size_t location_cap;
	struct strbuf message; /* scratch: one message of the profile ... */
	struct strbuf inner;   /* ... and one inside it */
	struct strbuf text;    /* scratch */
};

static void fail(struct pprof *pprof, int err)
{
	strbuf_fail(pprof->profile.out, err);
}

/* A string's index in the table. Names are safe already; other texts go through add_text(). */
static uint64_t string_id(struct pprof *pprof, const char *text, size_t len)
{
	uint32_t id = 0;

	fail(pprof, strtab__intern(pprof->strings, text, len, &id));
	return id;
}

static uint64_t literal_id(struct pprof *pprof, const char *text)
{
	return string_id(pprof, text, strlen(text));
}

static uint64_t text_id(struct pprof *pprof, const char *text, size_t len)
{
	strbuf_clear(&pprof->text);
	escape_terminal(&pprof->text, text, len);
	fail(pprof, strbuf_error(&pprof->text));
	return string_id(pprof, strbuf_str(&pprof->text), pprof->text.len);
}

static struct protobuf begin(struct strbuf *scratch)
{
	strbuf_clear(scratch);
	return (struct protobuf){ .out = scratch };
}

/* Ends what begin() began, as `field` of `outer`. */
static void end(struct protobuf *outer, uint32_t field, const struct protobuf *message)
{
	protobuf_buf(outer, field, message->out);
}

/* ---- samples ---- */

static void add_value_type(struct pprof *pprof, enum profile_field field, const char *type,
			   const char *unit)
{
	struct protobuf message = begin(&pprof->message);

	protobuf_u64(&message, VALUE_TYPE_TYPE, literal_id(pprof, type));
	protobuf_u64(&message, VALUE_TYPE_UNIT, literal_id(pprof, unit));
	end(&pprof->profile, field, &message);
}

static void add_types(struct pprof *pprof)
{
	enum event event = pprof->info->event;
	const char *type = pprof->info->value_type ? pprof->info->value_type : event_name(event);
	const char *unit = event_value_unit(event);

	add_value_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
	if (!pprof->period) {
		protobuf_u64(&pprof->profile, PROFILE_DEFAULT_SAMPLE_TYPE,
			     literal_id(pprof, "samples"));
		return;
	}
	add_value_type(pprof, PROFILE_SAMPLE_TYPE, type, unit);
	add_value_type(pprof, PROFILE_PERIOD_TYPE, type, unit);
	protobuf_u64(&pprof->profile, PROFILE_PERIOD, pprof->period);
	protobuf_u64(&pprof->profile, PROFILE_DEFAULT_SAMPLE_TYPE, literal_id(pprof, type));
}

static void add_label(struct pprof *pprof, struct protobuf *sample, const char *key,
		      enum label_field field, uint64_t value)
{
	struct protobuf label = begin(&pprof->inner);

	protobuf_u64(&label, LABEL_KEY, literal_id(pprof, key));
	protobuf_u64(&label, field, value);
	end(sample, SAMPLE_LABEL, &label);
}

/* Takes the label frames off the front of a stack. */
static void add_front_labels(struct pprof *pprof, struct protobuf *sample, const char **text,
			     size_t *len)
{
	const struct output_info *info = pprof->info;
	struct stack_frame frame;

	for (size_t i = 0; i < info->label_cnt && stack_text_next(text, len, &frame); i++) {
		const struct output_label *label = &info->labels[i];
		uint64_t number;

		if (frame.text_len == strlen(OUTPUT_LABEL_NONE) &&
		    memcmp(frame.text, OUTPUT_LABEL_NONE, frame.text_len) == 0)
			continue;
		if (label->is_number && parse_u64_n(frame.text, frame.text_len, 10, &number) == 0)
			add_label(pprof, sample, label->name, LABEL_NUM,
				  protobuf_clamp_i64(number));
		else
			add_label(pprof, sample, label->name, LABEL_STR,
				  text_id(pprof, frame.text, frame.text_len));
	}
}

/* What --kind goes by: where the CPU was. */
static void add_kind_label(struct pprof *pprof, struct protobuf *sample, const char *text,
			   size_t len)
{
	static const struct {
		enum select_kind kind;
		const char *name;
	} kinds[] = {
		{ SELECT_KIND_JAVA, "java" },
		{ SELECT_KIND_KERNEL, "kernel" },
		{ SELECT_KIND_NATIVE, "native" },
	};
	struct stack_frame leaf;

	if (!stack_text_leaf(text, len, &leaf))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (select_kind_matches(kinds[i].kind, leaf.kind))
			add_label(pprof, sample, "kind", LABEL_STR,
				  literal_id(pprof, kinds[i].name));
	}
}

static void add_locations(struct pprof *pprof, struct protobuf *sample, const char *text,
			  size_t len)
{
	const uint32_t *frames;
	size_t cnt;
	int err = frame_table__add_stack(pprof->frames, text, len, 1, &frames, &cnt);

	if (!err)
		err = vec_reserve(pprof->locations, cnt, pprof->location_cap, 64);
	if (err) {
		fail(pprof, err);
		return;
	}
	for (size_t i = 0; i < cnt; i++)
		pprof->locations[i] = (uint64_t)frames[cnt - 1 - i] + 1;
	protobuf_packed(sample, SAMPLE_LOCATION_ID, pprof->locations, cnt);
}

static void add_sample(struct pprof *pprof, const struct profile_stack *stack)
{
	const uint64_t values[] = {
		protobuf_clamp_i64(stack->count),
		protobuf_clamp_i64(multiply_saturated(stack->count, pprof->period)),
	};
	struct protobuf sample = begin(&pprof->message);
	const char *text = stack->text;
	struct profile_stack plain = *stack;
	const char *thread = info_take_thread(pprof->info, &plain);
	size_t len = plain.len;

	add_front_labels(pprof, &sample, &text, &len);
	if (thread)
		add_label(pprof, &sample, "thread", LABEL_STR,
			  text_id(pprof, thread, strlen(thread)));
	add_kind_label(pprof, &sample, text, len);
	add_locations(pprof, &sample, text, len);
	protobuf_packed(&sample, SAMPLE_VALUE, values, pprof->period ? 2 : 1);
	end(&pprof->profile, PROFILE_SAMPLE, &sample);
}

/* ---- tables ---- */

/*
 * Mapping 1 is that of the frames that are no code, without a name: pprof heads its reports with
 * the name of the first.
 */
static uint64_t mapping_of(const struct frame_table_frame *frame)
{
	return frame->is_front ? 1 : (uint64_t)frame->kind + 2;
}

/* In brackets, and with functions: pprof then looks for no such files on the user's machine. */
static void add_mappings(struct pprof *pprof)
{
	static const char *const files[1 + FRAME_KIND_CNT] = {
		"",
		[1 + FRAME_KIND_NATIVE] = "[native]",
		[1 + FRAME_KIND_KERNEL] = "[kernel]",
		[1 + FRAME_KIND_JIT] = "[java jit]",
		[1 + FRAME_KIND_C1] = "[java c1]",
		[1 + FRAME_KIND_INTERPRETED] = "[java interpreted]",
		[1 + FRAME_KIND_INLINED] = "[java inlined]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct protobuf mapping = begin(&pprof->message);

		protobuf_u64(&mapping, MAPPING_ID, i + 1);
		protobuf_u64(&mapping, MAPPING_FILENAME, literal_id(pprof, files[i]));
		protobuf_u64(&mapping, MAPPING_HAS_FUNCTIONS, 1);
		end(&pprof->profile, PROFILE_MAPPING, &mapping);
	}
}

static void add_location_messages(struct pprof *pprof)
{
	uint32_t cnt = frame_table__count(pprof->frames);

	for (uint32_t i = 0; i < cnt && !strbuf_error(pprof->profile.out); i++) {
		struct frame_table_frame frame = frame_table__frame(pprof->frames, i);
		struct protobuf location = begin(&pprof->message);
		struct protobuf line = begin(&pprof->inner);

		protobuf_u64(&location, LOCATION_ID, (uint64_t)i + 1);
		protobuf_u64(&location, LOCATION_MAPPING_ID, mapping_of(&frame));
		protobuf_u64(&line, LINE_FUNCTION_ID, (uint64_t)frame.function + 1);
		end(&location, LOCATION_LINE, &line);
		end(&pprof->profile, PROFILE_LOCATION, &location);
	}
}

static void add_functions(struct pprof *pprof)
{
	uint32_t cnt = frame_table__function_count(pprof->frames);

	for (uint32_t i = 0; i < cnt && !strbuf_error(pprof->profile.out); i++) {
		struct frame_table_function it = frame_table__function(pprof->frames, i);
		struct protobuf function = begin(&pprof->message);
		uint64_t name = literal_id(pprof, it.name);

		protobuf_u64(&function, FUNCTION_ID, (uint64_t)i + 1);
		protobuf_u64(&function, FUNCTION_NAME, name);
		protobuf_u64(&function, FUNCTION_SYSTEM_NAME, name);
		protobuf_u64(&function, FUNCTION_FILENAME, literal_id(pprof, it.file));
		end(&pprof->profile, PROFILE_FUNCTION, &function);
	}
}

static void add_strings(struct pprof *pprof)
{
	uint32_t cnt = strtab__count(pprof->strings);

	for (uint32_t i = 0; i < cnt && !strbuf_error(pprof->profile.out); i++) {
		size_t len;
		const char *text = strtab__get(pprof->strings, i, &len);

		protobuf_bytes(&pprof->profile, PROFILE_STRING_TABLE, text, len);
	}
}

/* ---- the rest ---- */

/* A line that begins with # would not be shown. */
static void add_comment(struct pprof *pprof, uint64_t *ids, size_t *cnt, const char *text)
{
	if (*text && *text != '#')
		ids[(*cnt)++] = text_id(pprof, text, strlen(text));
}

static void add_line(struct pprof *pprof, uint64_t *ids, size_t *cnt, struct strbuf *line)
{
	fail(pprof, strbuf_error(line));
	add_comment(pprof, ids, cnt, strbuf_str(line));
	strbuf_clear(line);
}

static void add_comments(struct pprof *pprof, uint64_t samples)
{
	const struct output_info *info = pprof->info;
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;
	uint64_t ids[6];
	size_t cnt = 0;

	add_comment(pprof, ids, &cnt, info->title ? info->title : "");
	add_comment(pprof, ids, &cnt, info->subtitle ? info->subtitle : "");
	info_append_range(&line, info);
	add_line(pprof, ids, &cnt, &line);
	info_append_samples(&line, info, samples);
	add_line(pprof, ids, &cnt, &line);
	info_append_losses(&line, info, samples);
	add_line(pprof, ids, &cnt, &line);
	if (!pprof->period)
		add_comment(
			pprof, ids, &cnt,
			info->event == EVENT_CPU ?
				"samples of different frequencies: they cannot be told in CPU time" :
				"samples of different periods: they cannot be told in events");
	protobuf_packed(&pprof->profile, PROFILE_COMMENT, ids, cnt);
}

static void add_times(struct pprof *pprof)
{
	const struct output_info *info = pprof->info;

	if (info->until_unix_ns <= info->since_unix_ns)
		return;
	protobuf_u64(&pprof->profile, PROFILE_TIME_NANOS, protobuf_clamp_i64(info->since_unix_ns));
	protobuf_u64(&pprof->profile, PROFILE_DURATION_NANOS,
		     protobuf_clamp_i64(info->until_unix_ns - info->since_unix_ns));
}

static void add_profile(struct pprof *pprof, struct profile *profile)
{
	size_t cnt = profile__stack_count(profile);

	profile__sort(profile);
	(void)literal_id(pprof, ""); /* must be string 0 */
	add_types(pprof);
	for (size_t i = 0; i < cnt && !strbuf_error(pprof->profile.out); i++) {
		struct profile_stack stack = profile__stack(profile, i);

		add_sample(pprof, &stack);
	}
	add_mappings(pprof);
	add_location_messages(pprof);
	add_functions(pprof);
	add_times(pprof);
	add_comments(pprof, profile__sample_count(profile));
	add_strings(pprof);
}

int output_pprof(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf raw = STRBUF_INIT;
	struct pprof pprof = {
		.info = info,
		.profile = { .out = &raw },
		.strings = strtab__new(),
	};
	int err = pprof.strings ? frame_table__open(info->lines, &pprof.frames) : -ENOMEM;

	pprof.period = info_period(info);
	if (!err) {
		add_profile(&pprof, profile);
		err = strbuf_error(&raw);
	}
	if (!err)
		err = gzip_append(out, strbuf_str(&raw), raw.len, GZIP_USUAL);
	frame_table__free(pprof.frames);
	strtab__free(pprof.strings);
	free(pprof.locations);
	strbuf_release(&pprof.message);
	strbuf_release(&pprof.inner);
	strbuf_release(&pprof.text);
	return err;
}
