/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the interactive pages share: templates with {{slots}}, numbers as text, the table of frames,
 * the palette. Errors are those of `out`; an int is 0 or -ENOMEM unless said otherwise.
 */
#ifndef JBPF_OUTPUT_PAGE_PARTS_H
#define JBPF_OUTPUT_PAGE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "user/output/json_writer.h"
#include "user/output/tree.h"
#include "user/util/strbuf.h"

/* Appends what stands in a slot; -EINVAL when there is no such slot. */
typedef int (*page_slot)(void *ctx, const char *name, struct strbuf *out);

/*
 * A template with its slots filled. The slots "head", "search", "floats" and "tail" are templates
 * themselves, with slots of the page in them; all others are the page's business.
 */
int page_fill(const char *start, const char *end, page_slot slot, void *ctx, struct strbuf *out);

void page_append(struct strbuf *out, const char *start, const char *end);

/* Lines as text of HTML: escape_html() alone would turn line breaks into '_'. */
void page_lines(struct strbuf *out, const char *text);

/*
 * A number as its 5-bit groups, least first, each one character of 64; all groups but the last have
 * 32 added. Needs no separator.
 */
void page_number(struct strbuf *out, uint64_t value);

/* Frames in the order of the page: most used first, so that their numbers are short. */
struct page_frames {
	uint32_t *order;  /* page number -> frame */
	uint32_t *number; /* frame -> page number */
};

/* `uses` by frame; those that are never used come last. */
int page_frames_make(const uint32_t *uses, size_t cnt, struct page_frames *out);
void page_frames_release(struct page_frames *frames);

/* The palette of kinds, as member "kinds". */
void page_palette(struct json_writer *json);

/* Members "names", "frameKinds" and "frameShades": of each frame its name, a digit, a digit. */
struct page_names {
	struct json_writer *json;
	struct strbuf kinds;
	struct strbuf shades;
};

void page_names_begin(struct page_names *names);
void page_names_add(struct page_names *names, const struct tree_frame *frame);
/* Releases what `names` holds; its errors are the writer's. */
void page_names_end(struct page_names *names);

#endif
