// SPDX-License-Identifier: Apache-2.0
/* The profile as one JSON object, a stack per line; JSON.md describes it. */
#include "user/output/output.h"

#include "user/model/stack_text.h"
#include "user/output/colors.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"

#define JSON_VERSION 1

static void json_info(struct json_writer *json, const struct output_info *info, uint64_t samples)
{
	json_writer_member_string(json, "title", info->title ? info->title : "");
	json_writer_member_string(json, "subtitle", info->subtitle ? info->subtitle : "");
	info_json_time(json, "since", info->since_unix_ns);
	info_json_time(json, "until", info->until_unix_ns);
	json_writer_member_u64(json, "samples", samples);
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
	json_writer_member_u64(json, "streams", info->stream_cnt);
	json_writer_member_u64(json, "frames", info->counts.frames);
	json_writer_member_u64(json, "unknown_frames", info->counts.unknown_frames);
	json_writer_member_u64(json, "truncated_samples", info->counts.truncated_samples);
	json_writer_member_u64(json, "jit_frames", info->counts.jit_frames);
	json_writer_member_u64(json, "unknown_jit_frames", info->counts.unknown_jit_frames);
	json_writer_member_u64(json, "ambiguous_frames", info->counts.ambiguous_frames);
	json_writer_member_u64(json, "inlined_frames", info->counts.inlined_frames);
	json_writer_member_u64(json, "interpreted_frames", info->counts.interpreted_frames);
	json_writer_member_u64(json, "jit_leaf_samples", info->counts.jit_leaf_samples);
	json_writer_member_u64(json, "repaired_samples", info->counts.repaired_samples);
	json_writer_member_u64(json, "unrepaired_samples", info->counts.unrepaired_samples);
	json_writer_member_u64(json, "lost_samples", info->lost_samples);
}

static void json_stack(struct json_writer *json, const struct profile_stack *stack)
{
	const char *text = stack->text;
	size_t len = stack->len;
	struct stack_frame frame;

	json_writer_begin(json, '{');
	json_writer_member_u64(json, "count", stack->count);
	json_writer_key(json, "frames");
	json_writer_begin(json, '[');
	while (stack_text_next(&text, &len, &frame)) {
		json_writer_begin(json, '{');
		json_writer_key(json, "name");
		json_writer_string_n(json, frame.name, frame.name_len);
		json_writer_member_string(json, "kind",
					  color_kind((enum tree_kind)frame.kind)->key);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
	json_writer_end(json, '}');
}

static int json_lines(struct json_writer *json, struct source_lines *lines)
{
	size_t cnt = lines ? source_lines__count(lines) : 0;
	int err = lines ? source_lines__sort(lines) : 0;

	if (err)
		return err;
	json_writer_key(json, "lines");
	json_writer_begin(json, '[');
	for (size_t i = 0; i < cnt && !json->err; i++) {
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
	return json->err;
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
	json_writer_key(&json, "stacks");
	json_writer_begin(&json, '[');
	for (size_t i = 0; i < cnt && !json.err; i++) {
		struct profile_stack stack = profile__stack(profile, i);

		json_writer_newline(&json);
		json_stack(&json, &stack);
	}
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	if (!json.err)
		json.err = json_lines(&json, info->lines);
	json_writer_end(&json, '}');
	if (!json.err)
		json.err = strbuf_putc(out, '\n');
	return json.err;
}
