/* SPDX-License-Identifier: Apache-2.0 */
/* jbpf dump --list: the streams of a selection instead of their stacks. Pure. */
#ifndef JBPF_CMD_DUMP_LIST_H
#define JBPF_CMD_DUMP_LIST_H

#include "user/util/attributes.h"
#include "user/cmd/dump_options.h"
#include "user/cli/streams.h"
#include "user/output/json_writer.h"
#include "user/output/output.h"
#include "user/util/strbuf.h"

enum dump_list_rows {
	DUMP_LIST_CONTAINERS = 0, /* and names of processes that are in none */
	DUMP_LIST_PROCESSES = 1,
};

/* As a table, or all streams as JSON. `info` says how long was sampled. Sorts the streams. 0 or -ENOMEM. */
__must_check int dump_list_table(struct streams *streams, const struct output_info *info,
				 enum dump_list_rows rows, struct strbuf *out);
__must_check int dump_list_json(struct streams *streams, const struct dump_options *options,
				struct strbuf *out);

/* The counts of a stream, as members of a JSON object. */
void dump_list_json_counts(struct json_writer *json, const struct stream *stream);

#define DUMP_LIST_RUN_DELAY_TITLE "CPUWAIT"

struct text_table;

/* How long threads waited for a CPU; an empty cell where they did not, or that is not known. */
void dump_list_run_delay(struct text_table *table, const struct window_counts *counts);

#define DUMP_LIST_VERSION_BYTES 64

/*
 * The JDK's version as people know it, cut to fit. HotSpot's own version differs in JDK 8:
 * "25.432-b06" is that of 8u432, whereas JDK 25 has "25.0.1+8".
 */
void dump_list_jdk_version(const struct window *window, char out[static DUMP_LIST_VERSION_BYTES]);

#endif
