// SPDX-License-Identifier: Apache-2.0
/* Streams as a table and as JSON; the fields are described in jbpf-dump(1). */
#include "user/cmd/dump_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/cli/text_table.h"
#include "user/model/jvm_facts.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"

void dump_list_jdk_version(const struct window *window, char out[static DUMP_LIST_VERSION_BYTES])
{
	const char *version = window_label(window, WINDOW_LABEL_JVM_VERSION);
	size_t digits = strncmp(version, "25.", 3) == 0 ? strspn(version + 3, "0123456789") : 0;

	if (digits && strncmp(version + 3 + digits, "-b", 2) == 0)
		(void)snprintf(out, DUMP_LIST_VERSION_BYTES, "8u%s", version + 3);
	else
		(void)snprintf(out, DUMP_LIST_VERSION_BYTES, "%s", version);
}

static void cell_time(struct text_table *table, uint64_t unix_ns)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = info_append_time(&text, unix_ns);

	text_table_cell(table, strbuf_str(&text));
	if (err)
		table->err = err;
}

static void add_row(struct text_table *table, const struct stream *stream)
{
	const struct window *latest = &stream->latest;
	char version[DUMP_LIST_VERSION_BYTES];

	text_table_cell(table, window_label(latest, WINDOW_LABEL_CONTAINER));
	text_table_cell(table, window_label(latest, WINDOW_LABEL_POD));
	text_table_cellf(table, "%" PRIu32, latest->pid);
	text_table_cell(table, window_label(latest, WINDOW_LABEL_COMM));
	dump_list_jdk_version(latest, version);
	text_table_cell(table, version);
	text_table_cellf(table, "%" PRIu64, stream->counts.samples);
	cell_time(table, stream->first_unix_ns);
	cell_time(table, stream->last_unix_ns);
	text_table_cellf(table, "%.1f",
			 info_percent(stream->counts.unknown_frames, stream->counts.frames));
	text_table_cell(table, jit_source_name(latest->jit_source));
}

int dump_list_table(struct streams *streams, struct strbuf *out)
{
	static const struct text_table_column columns[] = {
		{ .title = "CONTAINER" },
		{ .title = "POD" },
		{ .title = "PID", .is_number = true },
		{ .title = "COMM" },
		{ .title = "JVM" },
		{ .title = "SAMPLES", .is_number = true },
		{ .title = "FIRST" },
		{ .title = "LAST" },
		{ .title = "UNKNOWN%", .is_number = true },
		{ .title = "SYMBOLS" },
	};
	struct text_table table = { .columns = columns, .column_cnt = ARRAY_SIZE(columns) };
	int err;

	streams_sort(streams);
	for (size_t i = 0; i < streams->cnt; i++)
		add_row(&table, &streams->items[i]);
	err = text_table_render(&table, out);
	text_table_release(&table);
	return err;
}

void dump_list_json_counts(struct json_writer *json, const struct stream *stream)
{
	json_writer_member_u64(json, "samples", stream->counts.samples);
	json_writer_member_u64(json, "frames", stream->counts.frames);
	json_writer_member_u64(json, "unknown_frames", stream->counts.unknown_frames);
	json_writer_member_u64(json, "truncated_samples", stream->counts.truncated_samples);
	json_writer_member_u64(json, "jit_frames", stream->counts.jit_frames);
	json_writer_member_u64(json, "unknown_jit_frames", stream->counts.unknown_jit_frames);
	json_writer_member_u64(json, "ambiguous_frames", stream->counts.ambiguous_frames);
	json_writer_member_u64(json, "inlined_frames", stream->counts.inlined_frames);
	json_writer_member_u64(json, "interpreted_frames", stream->counts.interpreted_frames);
	json_writer_member_u64(json, "jit_leaf_samples", stream->counts.jit_leaf_samples);
	json_writer_member_u64(json, "repaired_samples", stream->counts.repaired_samples);
	json_writer_member_u64(json, "unrepaired_samples", stream->counts.unrepaired_samples);
}

static void json_stream(struct json_writer *json, const struct stream *stream)
{
	const struct window *latest = &stream->latest;

	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_u64(json, "pid", latest->pid);
	json_writer_member_u64(json, "ns_pid", latest->ns_pid);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		if (!latest->labels[i])
			continue;
		json_writer_member_string(json, window_label_name((enum window_label)i),
					  latest->labels[i]);
	}
	info_json_time(json, "first", stream->first_unix_ns);
	info_json_time(json, "last", stream->last_unix_ns);
	dump_list_json_counts(json, stream);
	json_writer_member_string(json, "jit_source", jit_source_name(latest->jit_source));
	json_writer_end(json, '}');
}

int dump_list_json(struct streams *streams, const struct dump_options *options, struct strbuf *out)
{
	struct json_writer json = { .out = out };

	streams_sort(streams);
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-list");
	json_writer_member_u64(&json, "version", 1);
	info_json_time(&json, "since", options->selection.since_unix_ns);
	info_json_time(&json, "until", options->selection.until_unix_ns);
	json_writer_key(&json, "streams");
	json_writer_begin(&json, '[');
	for (size_t i = 0; i < streams->cnt; i++)
		json_stream(&json, &streams->items[i]);
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_writer_end(&json, '}');
	return json.err ? json.err : strbuf_putc(out, '\n');
}
