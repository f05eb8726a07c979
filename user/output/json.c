// SPDX-License-Identifier: Apache-2.0
/* The profile as one JSON object, a stack per line; JSON.md describes it. */
#include "user/output/output.h"

#include "user/model/event_view.h"
#include "user/model/stack_text.h"
#include "user/output/colors.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"

#define JSON_VERSION 1

static void json_info(struct json_writer *json, const struct output_info *info, uint64_t samples)
{
	json_writer_member_string(json, "title", info->title ? info->title : "");
	json_writer_member_string(json, "subtitle", info->subtitle ? info->subtitle : "");
	info_json_range(json, info);
	json_writer_member_u64(json, "samples", samples);
	json_writer_member_string(json, "event", event_name(info->event));
	json_writer_member_string(json, "unit", event_unit_name(info->event));
	json_writer_key(json, "period");
	if (info_period(info))
		json_writer_u64(json, info_period(info));
	else
		json_writer_null(json);
	json_writer_key(json, "frequency_hz");
	if (info->frequency_hz)
		json_writer_u64(json, info->frequency_hz);
	else
		json_writer_null(json);
	json_writer_key(json, "cpu_seconds");
	if (info->frequency_hz)
		json_writer_decimal(json, (double)samples / info->frequency_hz);
	else
		json_writer_null(json);
	if (event_has_idle(info->event))
		json_writer_member_u64(json, "idle_samples", info->hidden_samples[WAITING_IDLE]);
	json_writer_member_u64(json, "streams", info->stream_cnt);
	info_json_counts(json, &info->counts);
	json_writer_member_u64(json, "lost_samples", info->lost_samples);
	info_json_ends(json, &info->counts);
}

static void json_frames(struct json_writer *json, const char *text, size_t len)
{
	struct stack_frame frame;

	json_writer_member_begin(json, "frames", '[');
	while (stack_text_next(&text, &len, &frame)) {
		json_writer_begin(json, '{');
		json_writer_key(json, "name");
		json_writer_string_n(json, frame.name, frame.name_len);
		json_writer_member_string(json, "kind",
					  color_kind((enum tree_kind)frame.kind)->key);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

/* Stacks [from, end) of the profile are one stack's, by thread. */
static void json_threads(struct json_writer *json, const struct output_info *info,
			 const struct profile *profile, size_t from, size_t end)
{
	json_writer_member_begin(json, "threads", '[');
	for (; from < end; from++) {
		struct profile_stack stack = profile__stack(profile, from);
		const char *thread = info_take_thread(info, &stack);

		if (!thread)
			continue;
		json_writer_begin(json, '{');
		json_writer_member_string(json, "name", thread);
		json_writer_member_u64(json, "count", stack.count);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

/* The next stack and all its threads; returns where the one after it begins. */
static size_t json_stack(struct json_writer *json, const struct output_info *info,
			 const struct profile *profile, size_t index)
{
	struct profile_stack stack;
	size_t end = info_next_stack(info, profile, index, &stack);

	json_writer_begin(json, '{');
	json_writer_member_u64(json, "count", stack.count);
	json_frames(json, stack.text, stack.len);
	if (info->has_threads)
		json_threads(json, info, profile, index, end);
	json_writer_end(json, '}');
	return end;
}

static void json_lines(struct json_writer *json, struct source_lines *lines)
{
	size_t cnt = lines ? source_lines__count(lines) : 0;
	int err = lines ? source_lines__sort(lines) : 0;

	strbuf_fail(json->out, err);
	json_writer_member_begin(json, "lines", '[');
	for (size_t i = 0; i < cnt && !strbuf_error(json->out); i++) {
		struct source_line row = source_lines__get(lines, i);

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_key(json, "name");
		json_writer_string_n(json, row.name, row.name_len);
		json_writer_member_string(json, "kind", color_kind((enum tree_kind)row.kind)->key);
		json_writer_key(json, "file");
		json_writer_string_n(json, row.file, row.file_len);
		json_writer_member_u64(json, "line", row.line);
		json_writer_member_u64(json, "samples", row.samples);
		json_writer_end(json, '}');
	}
	if (cnt)
		json_writer_newline(json);
	json_writer_end(json, ']');
	json_writer_member_u64(json, "lines_left_out", lines ? source_lines__left_out(lines) : 0);
}

int output_json(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	size_t cnt = profile__stack_count(profile);

	profile__sort(profile);
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-profile");
	json_writer_member_u64(&json, "version", JSON_VERSION);
	json_info(&json, info, profile__sample_count(profile));
	json_writer_member_begin(&json, "stacks", '[');
	for (size_t i = 0; i < cnt && !strbuf_error(out);) {
		json_writer_newline(&json);
		i = json_stack(&json, info, profile, i);
	}
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_lines(&json, info->lines);
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}
