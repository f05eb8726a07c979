// SPDX-License-Identifier: Apache-2.0
/* Containers, or streams, as a table, and streams as JSON; the fields are described in jbpf-dump(1). */
#include "user/cmd/dump_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/cli/text_table.h"
#include "user/model/jvm_facts.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/vec.h"

void dump_list_jdk_version(const struct window *window, char out[static DUMP_LIST_VERSION_BYTES])
{
	const char *version = window_label(window, WINDOW_LABEL_JVM_VERSION);
	size_t digits = strncmp(version, "25.", 3) == 0 ? strspn(version + 3, "0123456789") : 0;

	if (digits && strncmp(version + 3 + digits, "-b", 2) == 0)
		(void)snprintf(out, DUMP_LIST_VERSION_BYTES, "8u%s", version + 3);
	else
		(void)snprintf(out, DUMP_LIST_VERSION_BYTES, "%s", version);
}

void dump_list_run_delay(struct text_table *table, const struct window_counts *counts)
{
	if (counts->run_delay_ns)
		text_table_cellf(table, "%.2fs", (double)counts->run_delay_ns / CLOCK_NS_PER_S);
	else
		text_table_cell(table, "");
}

static void cell_time(struct text_table *table, uint64_t unix_ns)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	info_append_local_time(&text, unix_ns);
	text_table_cell(table, strbuf_str(&text));
	if (!table->err)
		table->err = strbuf_error(&text);
}

/* What a row is of: a container's processes, or those of one name that are in none. */
struct group {
	const struct stream *busiest;
	struct window_counts counts; /* samples and frames */
	uint64_t first_unix_ns, last_unix_ns;
	size_t process_cnt;
};

struct groups {
	struct group *items;
	size_t cnt;
	size_t cap;
};

static bool is_same_label(const struct stream *a, const struct stream *b, enum window_label label)
{
	return strcmp(window_label(&a->latest, label), window_label(&b->latest, label)) == 0;
}

/* Windows of an older jbpf do not know their host. */
static bool are_hosts_alike(const struct stream *a, const struct stream *b)
{
	return !*window_label(&a->latest, WINDOW_LABEL_HOST) ||
	       !*window_label(&b->latest, WINDOW_LABEL_HOST) ||
	       is_same_label(a, b, WINDOW_LABEL_HOST);
}

static bool is_same_group(const struct stream *a, const struct stream *b, enum dump_list_rows rows)
{
	bool is_in_one = *window_label(&a->latest, WINDOW_LABEL_CONTAINER) ||
			 *window_label(&a->latest, WINDOW_LABEL_POD);

	return rows == DUMP_LIST_CONTAINERS && is_same_label(a, b, WINDOW_LABEL_CONTAINER) &&
	       is_same_label(a, b, WINDOW_LABEL_POD) && are_hosts_alike(a, b) &&
	       (is_in_one || is_same_label(a, b, WINDOW_LABEL_COMM));
}

/* The group of this stream, which comes in the order of streams_sort(): containers stand together. */
static struct group *group_find(const struct groups *groups, const struct stream *stream,
				enum dump_list_rows rows)
{
	bool is_in_one = *window_label(&stream->latest, WINDOW_LABEL_CONTAINER);
	size_t first = is_in_one && groups->cnt ? groups->cnt - 1 : 0;

	for (size_t i = groups->cnt; i-- > first && rows == DUMP_LIST_CONTAINERS;)
		if (is_same_group(groups->items[i].busiest, stream, rows))
			return &groups->items[i];
	return NULL;
}

static int group_add(struct groups *groups, const struct stream *stream, enum dump_list_rows rows)
{
	struct group *group = group_find(groups, stream, rows);
	int err = group ? 0 : vec_room(groups->items, groups->cnt, groups->cap, 32);

	if (err)
		return err;
	if (!group) {
		group = &groups->items[groups->cnt++];
		*group = (struct group){ .busiest = stream, .first_unix_ns = UINT64_MAX };
	}
	if (stream->counts.samples > group->busiest->counts.samples)
		group->busiest = stream;
	group->process_cnt++;
	group->counts.samples += stream->counts.samples;
	group->counts.frames += stream->counts.frames;
	group->counts.unknown_frames += stream->counts.unknown_frames;
	group->counts.run_delay_ns += stream->counts.run_delay_ns;
	if (stream->first_unix_ns < group->first_unix_ns)
		group->first_unix_ns = stream->first_unix_ns;
	if (stream->last_unix_ns > group->last_unix_ns)
		group->last_unix_ns = stream->last_unix_ns;
	return 0;
}

/* Busiest first; else as their streams are. */
static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->counts.samples != b->counts.samples)
		return a->counts.samples < b->counts.samples ? 1 : -1;
	return (a->busiest > b->busiest) - (a->busiest < b->busiest);
}

static void add_row(struct text_table *table, const struct group *group,
		    const struct output_info *info, bool has_hosts)
{
	const struct window *latest = &group->busiest->latest;
	double cores = info_cores(info, group->counts.samples);
	char version[DUMP_LIST_VERSION_BYTES];

	text_table_cell(table, has_hosts ? window_label(latest, WINDOW_LABEL_HOST) : "");
	text_table_cell(table, window_label(latest, WINDOW_LABEL_CONTAINER));
	text_table_cell(table, window_label(latest, WINDOW_LABEL_POD));
	text_table_cellf(table, "%" PRIu32, latest->pid);
	if (group->process_cnt > 1)
		text_table_cellf(table, "%s +%zu", window_label(latest, WINDOW_LABEL_COMM),
				 group->process_cnt - 1);
	else
		text_table_cell(table, window_label(latest, WINDOW_LABEL_COMM));
	dump_list_jdk_version(latest, version);
	text_table_cell(table, version);
	text_table_cellf(table, "%" PRIu64, group->counts.samples);
	if (cores >= 0)
		text_table_cellf(table, "%.2f", cores);
	else
		text_table_cell(table, "");
	dump_list_run_delay(table, &group->counts);
	cell_time(table, group->first_unix_ns);
	cell_time(table, group->last_unix_ns);
	text_table_cellf(table, "%.1f",
			 info_percent(group->counts.unknown_frames, group->counts.frames));
	text_table_cell(table, jit_source_name(latest->jit_source));
}

static bool are_of_hosts(const struct streams *streams)
{
	const struct stream *known = NULL;

	for (size_t i = 0; i < streams->cnt; i++) {
		if (known && !are_hosts_alike(known, &streams->items[i]))
			return true;
		if (!known && *window_label(&streams->items[i].latest, WINDOW_LABEL_HOST))
			known = &streams->items[i];
	}
	return false;
}

int dump_list_table(struct streams *streams, const struct output_info *info,
		    enum dump_list_rows rows, struct strbuf *out)
{
	static const struct text_table_column columns[] = {
		{ .title = "HOST", .is_name = true, .is_optional = true },
		{ .title = "CONTAINER", .is_name = true },
		{ .title = "POD", .is_name = true },
		{ .title = "PID", .is_number = true },
		{ .title = "COMM", .is_name = true },
		{ .title = "JVM", .is_extra = true },
		{ .title = "SAMPLES", .is_number = true },
		{ .title = "CORES", .is_number = true, .is_optional = true },
		{ .title = DUMP_LIST_RUN_DELAY_TITLE,
		  .is_number = true,
		  .is_optional = true,
		  .is_extra = true },
		{ .title = "FIRST", .is_extra = true },
		{ .title = "LAST", .is_extra = true },
		{ .title = "UNKNOWN%", .is_number = true, .is_extra = true },
		{ .title = "SYMBOLS", .is_extra = true },
	};
	struct text_table table = { .columns = columns,
				    .column_cnt = ARRAY_SIZE(columns),
				    .width = info->columns };
	struct groups groups = { .items = NULL };
	bool has_hosts = are_of_hosts(streams);
	int err = 0;

	streams_sort(streams);
	for (size_t i = 0; i < streams->cnt && !err; i++)
		err = group_add(&groups, &streams->items[i], rows);
	if (groups.cnt)
		qsort(groups.items, groups.cnt, sizeof(*groups.items), compare_groups);
	for (size_t i = 0; i < groups.cnt && !err; i++)
		add_row(&table, &groups.items[i], info, has_hosts);
	if (!err)
		err = text_table_render(&table, out);
	text_table_release(&table);
	free(groups.items);
	return err;
}

void dump_list_json_counts(struct json_writer *json, const struct stream *stream)
{
	json_writer_member_u64(json, "samples", stream->counts.samples);
	info_json_counts(json, &stream->counts);
	info_json_ends(json, &stream->counts);
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
	json_writer_member_string(&json, "event", event_name(options->event));
	info_json_time(&json, "since", options->selection.since_unix_ns);
	info_json_time(&json, "until", options->selection.until_unix_ns);
	json_writer_member_begin(&json, "streams", '[');
	for (size_t i = 0; i < streams->cnt; i++)
		json_stream(&json, &streams->items[i]);
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}
