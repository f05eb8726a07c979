// SPDX-License-Identifier: Apache-2.0
/*
 * The profile as speedscope's JSON: one sampled profile, stacks in byte order, so that its "Time
 * Order" is a flame graph too. A frame stands for a function, whichever tier compiled it: speedscope
 * adds up by frame. Frames come last, when all are known.
 */
#include "user/output/output.h"

#include "user/output/frame_table.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/saturate.h"
#include "user/util/version.h"

#define SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
	struct json_writer json;
	struct frame_table *frames;
	size_t front_cnt;
	uint64_t weight; /* of one sample */
	uint64_t total;	 /* saturates */
};

static uint64_t stack_weight(const struct speedscope *speedscope, const struct profile_stack *stack)
{
	uint64_t weight;

	return __builtin_mul_overflow(stack->count, speedscope->weight, &weight) ? UINT64_MAX :
										   weight;
}

static void add_sample(struct speedscope *speedscope, const struct profile_stack *stack)
{
	struct json_writer *json = &speedscope->json;
	const uint32_t *frames;
	size_t cnt;
	int err = frame_table__add_stack(speedscope->frames, stack->text, stack->len,
					 speedscope->front_cnt, &frames, &cnt);

	if (err) {
		if (!json->err)
			json->err = err;
		return;
	}
	json_writer_newline(json);
	json_writer_begin(json, '[');
	for (size_t i = 0; i < cnt; i++)
		json_writer_u64(json, frame_table__frame(speedscope->frames, frames[i]).function);
	json_writer_end(json, ']');
}

static void add_samples(struct speedscope *speedscope, const struct profile *profile)
{
	struct json_writer *json = &speedscope->json;
	size_t cnt = profile__stack_count(profile);

	json_writer_key(json, "samples");
	json_writer_begin(json, '[');
	for (size_t i = 0; i < cnt && !json->err; i++) {
		struct profile_stack stack = profile__stack(profile, i);

		add_sample(speedscope, &stack);
	}
	json_writer_newline(json);
	json_writer_end(json, ']');
	json_writer_key(json, "weights");
	json_writer_begin(json, '[');
	for (size_t i = 0; i < cnt && !json->err; i++) {
		struct profile_stack stack = profile__stack(profile, i);
		uint64_t weight = stack_weight(speedscope, &stack);

		json_writer_u64(json, weight);
		speedscope->total = add_saturated(speedscope->total, weight);
	}
	json_writer_end(json, ']');
}

static void add_frames(struct speedscope *speedscope)
{
	struct json_writer *json = &speedscope->json;
	uint32_t cnt = frame_table__function_count(speedscope->frames);

	json_writer_key(json, "shared");
	json_writer_begin(json, '{');
	json_writer_key(json, "frames");
	json_writer_begin(json, '[');
	for (uint32_t i = 0; i < cnt && !json->err; i++) {
		struct frame_table_function function = frame_table__function(speedscope->frames, i);

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_member_string(json, "name", function.name);
		if (*function.file)
			json_writer_member_string(json, "file", function.file);
		json_writer_end(json, '}');
	}
	json_writer_newline(json);
	json_writer_end(json, ']');
	json_writer_end(json, '}');
}

static void add_exporter(struct json_writer *json)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = strbuf_printf(&text, "jbpf %s", jbpf_version);

	if (!json->err)
		json->err = err;
	json_writer_member_string(json, "exporter", strbuf_str(&text));
}

static void add_file(struct speedscope *speedscope, const struct profile *profile,
		     const struct output_info *info)
{
	struct json_writer *json = &speedscope->json;
	const char *title = info->title ? info->title : "";

	json_writer_begin(json, '{');
	json_writer_member_string(json, "$schema", SPEEDSCOPE_SCHEMA);
	add_exporter(json);
	json_writer_member_string(json, "name", title);
	json_writer_member_u64(json, "activeProfileIndex", 0);
	json_writer_key(json, "profiles");
	json_writer_begin(json, '[');
	json_writer_begin(json, '{');
	json_writer_member_string(json, "type", "sampled");
	json_writer_member_string(json, "name", title);
	json_writer_member_string(json, "unit", info->frequency_hz ? "nanoseconds" : "none");
	json_writer_member_u64(json, "startValue", 0);
	add_samples(speedscope, profile);
	json_writer_member_u64(json, "endValue", speedscope->total);
	json_writer_end(json, '}');
	json_writer_end(json, ']');
	add_frames(speedscope);
	json_writer_end(json, '}');
}

int output_speedscope(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct speedscope speedscope = {
		.json = { .out = out },
		.front_cnt = info->label_cnt + 1,
		.weight = 1,
	};
	size_t before = out->len;
	int err = frame_table__open(info->lines, &speedscope.frames);

	if (err)
		return err;
	if (info->frequency_hz)
		speedscope.weight = (CLOCK_NS_PER_S + info->frequency_hz / 2) / info->frequency_hz;
	profile__sort(profile);
	add_file(&speedscope, profile, info);
	frame_table__free(speedscope.frames);
	err = speedscope.json.err;
	if (!err)
		err = strbuf_putc(out, '\n');
	if (err)
		strbuf_truncate(out, before);
	return err;
}
