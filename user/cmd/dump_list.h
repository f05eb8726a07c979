/* SPDX-License-Identifier: Apache-2.0 */
/* jbpf dump --list: the streams of a selection instead of their stacks. Pure. */
#ifndef JBPF_CMD_DUMP_LIST_H
#define JBPF_CMD_DUMP_LIST_H

#include "user/cmd/dump_options.h"
#include "user/cmd/streams.h"
#include "user/output/json_writer.h"
#include "user/util/strbuf.h"

/* As a table, or as JSON. Sorts the streams. 0 or -ENOMEM. */
int dump_list_table(struct streams *streams, struct strbuf *out);
int dump_list_json(struct streams *streams, const struct dump_options *options, struct strbuf *out);

/* What was counted of a stream, as members of a JSON object. */
void dump_list_json_counts(struct json_writer *json, const struct stream *stream);

/* "perfmap", "attach", ...; "" for none. */
const char *dump_list_source_name(uint32_t jit_source);

#endif
