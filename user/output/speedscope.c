// SPDX-License-Identifier: Apache-2.0
/*
 * The profile as speedscope's JSON: one sampled profile, and one for each thread, stacks in byte
 * order, so that its "Time Order" is a flame graph too. A frame stands for a function, whichever
 * tier compiled it: speedscope adds up by frame. Frames come last, when all are known.
 */
#include "user/output/output.h"

#include <errno.h>
#include <string.h>

#include "user/output/frame_table.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/version.h"

#define SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
	struct json_writer json;
	const struct output_info *info;
	struct frame_table *frames;
	size_t front_cnt;
	uint64_t period; /* what a sample stands for; 0 = not known: weights are samples */
	uint64_t total;	 /* of a profile; saturates */
};

static void add_sample(struct speedscope *speedscope, const struct profile_stack *stack)
{
	struct json_writer *json = &speedscope->json;
	const uint32_t *frames;
	size_t cnt;
	int err = frame_table__add_stack(speedscope->frames, stack->text, stack->len,
					 speedscope->front_cnt, &frames, &cnt);

	if (err) {
		strbuf_fail(json->out, err);
		return;
	}
	json_writer_newline(json);
	json_writer_begin(json, '[');
	for (size_t i = 0; i < cnt; i++)
		json_writer_u64(json, frame_table__frame(speedscope->frames, frames[i]).function);
	json_writer_end(json, ']');
}

/*
 * The next stack that is wanted, from *at on: all threads of a stack as one, or those of one
 * thread. False at the end.
 */
static bool next_stack(const struct speedscope *speedscope, const struct profile *profile,
		       const char *thread, size_t *at, struct profile_stack *out)
{
	size_t cnt = profile__stack_count(profile);

	if (!thread) {
		if (*at >= cnt)
			return false;
		*at = info_next_stack(speedscope->info, profile, *at, out);
		return true;
	}
	while (*at < cnt) {
		const char *name;

		*out = profile__stack(profile, (*at)++);
		name = info_take_thread(speedscope->info, out);
		if (name && strcmp(name, thread) == 0)
			return true;
	}
	return false;
}

static void add_samples(struct speedscope *speedscope, const struct profile *profile,
			const char *thread)
{
	struct json_writer *json = &speedscope->json;
	struct profile_stack stack;

	json_writer_member_begin(json, "samples", '[');
	for (size_t at = 0;
	     !strbuf_error(json->out) && next_stack(speedscope, profile, thread, &at, &stack);)
		add_sample(speedscope, &stack);
	json_writer_newline(json);
	json_writer_end(json, ']');
	json_writer_member_begin(json, "weights", '[');
	speedscope->total = 0;
	for (size_t at = 0;
	     !strbuf_error(json->out) && next_stack(speedscope, profile, thread, &at, &stack);) {
		uint64_t weight = event_amount(stack.count, speedscope->period);

		json_writer_u64(json, weight);
		speedscope->total = add_saturated(speedscope->total, weight);
	}
	json_writer_end(json, ']');
}

static const char *unit_of(const struct speedscope *speedscope)
{
	const char *unit = event_value_unit(speedscope->info->event);

	return speedscope->period && strcmp(unit, "count") != 0 ? unit : "none";
}

/* Of all threads, or of one. */
static void add_profile(struct speedscope *speedscope, const struct profile *profile,
			const char *thread)
{
	const struct output_info *info = speedscope->info;
	struct json_writer *json = &speedscope->json;
	const char *title = info->title ? info->title : "";

	json_writer_begin(json, '{');
	json_writer_member_string(json, "type", "sampled");
	json_writer_member_string(json, "name", thread ? thread : title);
	json_writer_member_string(json, "unit", unit_of(speedscope));
	json_writer_member_u64(json, "startValue", 0);
	add_samples(speedscope, profile, thread);
	json_writer_member_u64(json, "endValue", speedscope->total);
	json_writer_end(json, '}');
}

/* One profile for each thread, in order of their first stacks. */
static void add_threads(struct speedscope *speedscope, const struct profile *profile)
{
	struct strtab *seen = strtab__new();
	size_t cnt = profile__stack_count(profile);

	if (!seen)
		strbuf_fail(speedscope->json.out, -ENOMEM);
	for (size_t i = 0; i < cnt && !strbuf_error(speedscope->json.out); i++) {
		struct profile_stack stack = profile__stack(profile, i);
		const char *thread = info_take_thread(speedscope->info, &stack);
		uint32_t before = strtab__count(seen), id;

		if (!thread)
			continue;
		strbuf_fail(speedscope->json.out,
			    strtab__intern(seen, thread, strlen(thread), &id));
		if (strtab__count(seen) > before)
			add_profile(speedscope, profile, thread);
	}
	strtab__free(seen);
}

static void add_frames(struct speedscope *speedscope)
{
	struct json_writer *json = &speedscope->json;
	uint32_t cnt = frame_table__function_count(speedscope->frames);

	json_writer_member_begin(json, "shared", '{');
	json_writer_member_begin(json, "frames", '[');
	for (uint32_t i = 0; i < cnt && !strbuf_error(json->out); i++) {
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

	strbuf_printf(&text, "jbpf %s", jbpf_version);
	json_writer_member_text(json, "exporter", &text);
}

static void add_file(struct speedscope *speedscope, const struct profile *profile)
{
	struct json_writer *json = &speedscope->json;

	json_writer_begin(json, '{');
	json_writer_member_string(json, "$schema", SPEEDSCOPE_SCHEMA);
	add_exporter(json);
	json_writer_member_string(json, "name",
				  speedscope->info->title ? speedscope->info->title : "");
	json_writer_member_u64(json, "activeProfileIndex", 0);
	json_writer_member_begin(json, "profiles", '[');
	add_profile(speedscope, profile, NULL);
	if (speedscope->info->has_threads)
		add_threads(speedscope, profile);
	json_writer_end(json, ']');
	add_frames(speedscope);
	json_writer_end(json, '}');
}

int output_speedscope(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct speedscope speedscope = {
		.json = { .out = out },
		.info = info,
		.front_cnt = info->label_cnt + 1,
		.period = info_period(info),
	};
	struct strbuf_mark before = strbuf_mark(out);
	int err = frame_table__open(info->lines, &speedscope.frames);

	if (err)
		return err;
	profile__sort(profile);
	add_file(&speedscope, profile);
	frame_table__free(speedscope.frames);
	strbuf_putc(out, '\n');
	return strbuf_settle(out, before, 0);
}
