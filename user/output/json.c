// SPDX-License-Identifier: Apache-2.0
/* The profile as one JSON object, a stack per line; JSON.md describes it. */
#include "user/output/output.h"

#include "user/model/stack_text.h"
#include "user/output/colors.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"

#define JSON_VERSION 1

static int json_time(struct json_writer *json, const char *key, uint64_t unix_ns)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	int err = info_append_time(&text, unix_ns);

	json_writer_key(json, key);
	json_writer_string(json, strbuf_str(&text));
	return err;
}

static int json_info(struct json_writer *json, const struct output_info *info, uint64_t samples)
{
	int err;

	json_writer_key(json, "title");
	json_writer_string(json, info->title ? info->title : "");
	json_writer_key(json, "subtitle");
	json_writer_string(json, info->subtitle ? info->subtitle : "");
	err = json_time(json, "since", info->since_unix_ns);
	if (!err)
		err = json_time(json, "until", info->until_unix_ns);
	json_writer_key(json, "samples");
	json_writer_u64(json, samples);
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
	json_writer_key(json, "streams");
	json_writer_u64(json, info->stream_cnt);
	json_writer_key(json, "frames");
	json_writer_u64(json, info->frames);
	json_writer_key(json, "unknown_frames");
	json_writer_u64(json, info->unknown_frames);
	json_writer_key(json, "truncated_samples");
	json_writer_u64(json, info->truncated_samples);
	json_writer_key(json, "lost_samples");
	json_writer_u64(json, info->lost_samples);
	return err;
}

static void json_stack(struct json_writer *json, const struct profile_stack *stack)
{
	const char *text = stack->text;
	size_t len = stack->len;
	struct stack_frame frame;

	json_writer_begin(json, '{');
	json_writer_key(json, "count");
	json_writer_u64(json, stack->count);
	json_writer_key(json, "frames");
	json_writer_begin(json, '[');
	while (stack_text_next(&text, &len, &frame)) {
		json_writer_begin(json, '{');
		json_writer_key(json, "name");
		json_writer_string_n(json, frame.name, frame.name_len);
		json_writer_key(json, "kind");
		json_writer_string(json, color_kind((enum tree_kind)frame.kind)->key);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
	json_writer_end(json, '}');
}

int output_json(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	size_t cnt = profile__stack_count(profile);
	int err;

	profile__sort(profile);
	json_writer_begin(&json, '{');
	json_writer_key(&json, "format");
	json_writer_string(&json, "jbpf-profile");
	json_writer_key(&json, "version");
	json_writer_u64(&json, JSON_VERSION);
	err = json_info(&json, info, profile__sample_count(profile));
	if (err)
		return err;
	json_writer_key(&json, "stacks");
	json_writer_begin(&json, '[');
	for (size_t i = 0; i < cnt && !json.err; i++) {
		struct profile_stack stack = profile__stack(profile, i);

		json_writer_newline(&json);
		json_stack(&json, &stack);
	}
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_writer_end(&json, '}');
	if (!json.err)
		json.err = strbuf_putc(out, '\n');
	return json.err;
}
