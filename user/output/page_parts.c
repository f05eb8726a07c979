// SPDX-License-Identifier: Apache-2.0
/* Parts of the interactive pages, see page_parts.h. */
#include "user/output/page_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/colors.h"
#include "user/output/escape.h"

static const char PAGE_DIGITS[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* flamegraph_page.S */
extern const char page_head_start[], page_head_end[];
extern const char page_search_start[], page_search_end[];
extern const char page_floats_start[], page_floats_end[];
extern const char page_tail_start[], page_tail_end[];

void page_append(struct strbuf *out, const char *start, const char *end)
{
	strbuf_append(out, start, (size_t)(end - start));
}

static int page_fill_slot(const char *name, page_slot slot, void *ctx, struct strbuf *out)
{
	const struct {
		const char *name;
		const char *start;
		const char *end;
	} parts[] = {
		{ "head", page_head_start, page_head_end },
		{ "search", page_search_start, page_search_end },
		{ "floats", page_floats_start, page_floats_end },
		{ "tail", page_tail_start, page_tail_end },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, name) == 0)
			return page_fill(parts[i].start, parts[i].end, slot, ctx, out);
	return slot(ctx, name, out);
}

int page_fill(const char *start, const char *end, page_slot slot, void *ctx, struct strbuf *out)
{
	int err = 0;

	while (!err) {
		const char *open = memmem(start, (size_t)(end - start), "{{", 2);
		const char *close;
		char name[16];
		size_t name_len;

		page_append(out, start, open ? open : end);
		if (!open)
			return strbuf_error(out);
		close = memmem(open, (size_t)(end - open), "}}", 2);
		if (!close)
			return -EINVAL;
		name_len = (size_t)(close - open - 2);
		if (name_len >= sizeof(name))
			return -EINVAL;
		memcpy(name, open + 2, name_len);
		name[name_len] = '\0';
		err = page_fill_slot(name, slot, ctx, out);
		start = close + 2;
	}
	return err;
}

void page_lines(struct strbuf *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		escape_html(out, text, len);
		strbuf_putc(out, '\n');
		text += len + (text[len] == '\n');
	}
}

void page_number(struct strbuf *out, uint64_t value)
{
	char digits[16];
	size_t len = 0;

	while (value >= 32) {
		digits[len++] = PAGE_DIGITS[32 + (value & 31)];
		value >>= 5;
	}
	digits[len++] = PAGE_DIGITS[value];
	strbuf_append(out, digits, len);
}

static int compare_uses(const void *left, const void *right, void *uses)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const uint32_t *all = uses;

	if (all[a] != all[b])
		return all[a] < all[b] ? 1 : -1;
	return (a > b) - (a < b);
}

int page_frames_make(const uint32_t *uses, size_t cnt, struct page_frames *out)
{
	out->order = calloc(cnt + 1, sizeof(*out->order));
	out->number = calloc(cnt + 1, sizeof(*out->number));
	if (!out->order || !out->number) {
		page_frames_release(out);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		out->order[i] = (uint32_t)i;
	qsort_r(out->order, cnt, sizeof(*out->order), compare_uses, (void *)uses);
	for (size_t i = 0; i < cnt; i++)
		out->number[out->order[i]] = (uint32_t)i;
	return 0;
}

void page_frames_release(struct page_frames *frames)
{
	free(frames->order);
	free(frames->number);
	*frames = (struct page_frames){ 0 };
}

void page_palette(struct json_writer *json)
{
	json_writer_member_begin(json, "kinds", '[');
	for (int kind = 0; kind < TREE_KIND_CNT; kind++) {
		const struct color_kind *color = color_kind((enum tree_kind)kind);

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_member_string(json, "key", color->key);
		json_writer_member_string(json, "label", color->label);
		json_writer_member_string(json, "light", color->light);
		json_writer_member_string(json, "dark", color->dark);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

void page_names_begin(struct page_names *names)
{
	json_writer_newline(names->json);
	json_writer_member_begin(names->json, "names", '[');
}

void page_names_add(struct page_names *names, const struct tree_frame *frame)
{
	unsigned shade = color_shade(frame->name, frame->name_len);

	json_writer_newline(names->json);
	json_writer_string_n(names->json, frame->name, frame->name_len);
	strbuf_putc(&names->kinds, PAGE_DIGITS[frame->kind]);
	strbuf_putc(&names->shades, PAGE_DIGITS[shade]);
}

void page_names_end(struct page_names *names)
{
	json_writer_end(names->json, ']');
	json_writer_newline(names->json);
	json_writer_member_text(names->json, "frameKinds", &names->kinds);
	json_writer_newline(names->json);
	json_writer_member_text(names->json, "frameShades", &names->shades);
	strbuf_release(&names->kinds);
	strbuf_release(&names->shades);
}
