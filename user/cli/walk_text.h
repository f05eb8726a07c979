/* SPDX-License-Identifier: Apache-2.0 */
/* How stacks are walked (unwind_facts.h), for people and as JSON. Pure. */
#ifndef JBPF_CLI_WALK_TEXT_H
#define JBPF_CLI_WALK_TEXT_H

#include "user/model/window.h"
#include "user/output/json_writer.h"
#include "user/util/strbuf.h"

/*
 * "walked by the tables of 14 files; Java by the sizes of its frames; without: libx.so (has no unwind
 * information)". Nothing when the window does not say. Names of files are as they are: escape them.
 * Errors are the buffer's.
 */
void walk_text_append(const struct window *window, struct strbuf *out);
/* The member "walk": an object, or null. */
void walk_text_json(struct json_writer *json, const struct window *window);

/* Of the host, from the label of its record; "" = not known: nothing, or null. Whole lines. */
void walk_text_append_host(const char *label, struct strbuf *out);
/* The member "unwind". */
void walk_text_json_host(struct json_writer *json, const char *label);

#endif
