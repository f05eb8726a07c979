// SPDX-License-Identifier: Apache-2.0
/* From the model to the lines of a page; see top_content.h. */
#include "user/top/top_content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void top_content_release(struct top_content *content)
{
	top_rows_release(&content->rows);
	top_lines_release(&content->lines);
	free(content->list);
	*content = (struct top_content){ 0 };
}

static bool passes(const char *filter, const char *text)
{
	return !*filter || strcasestr(text, filter);
}

/* ---- the list ---- */

/* Containers before processes of the host where all else is equal. */
static int compare_names(const struct top_row *a, const struct top_row *b)
{
	int order = strcmp(a->name, b->name);

	if (a->is_container != b->is_container)
		return a->is_container ? -1 : 1;
	return order ? order : strcmp(a->key, b->key);
}

static int compare_rows(const void *left, const void *right, void *order)
{
	const struct top_row *a = *(const struct top_row *const *)left;
	const struct top_row *b = *(const struct top_row *const *)right;
	unsigned int by = *(const unsigned int *)order;

	if (by == TOP_LIST_NOW && a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	if (by != TOP_LIST_NAME && a->counts.samples != b->counts.samples)
		return a->counts.samples < b->counts.samples ? 1 : -1;
	return compare_names(a, b);
}

static int load_list(const struct top_page_state *page, struct top_content *content)
{
	unsigned int order = page->order;

	content->list = calloc(content->rows.cnt + 1, sizeof(const struct top_row *));
	if (!content->list)
		return -ENOMEM;
	for (size_t i = 0; i < content->rows.cnt; i++) {
		const struct top_row *row = &content->rows.items[i];

		if (passes(page->filter, row->name))
			content->list[content->list_cnt++] = row;
		else
			content->hidden_cnt++;
	}
	qsort_r(content->list, content->list_cnt, sizeof(*content->list), compare_rows, &order);
	return 0;
}

/* ---- the pages of a row ---- */

static void filter_lines(const char *filter, struct top_content *content)
{
	struct top_lines *lines = &content->lines;
	size_t kept = 0;

	for (size_t i = 0; i < lines->cnt; i++) {
		if (passes(filter, lines->items[i].name)) {
			lines->items[kept++] = lines->items[i];
		} else {
			free(lines->items[i].name);
			content->hidden_cnt++;
		}
	}
	lines->cnt = kept;
}

static int load_lines(struct top_model *model, const struct top_state *state,
		      struct top_content *content)
{
	const char *thread = *state->thread ? state->thread : NULL;
	struct profile *profile = profile__new();
	int err = -ENOMEM;

	if (profile && state->page == TOP_PAGE_THREADS)
		err = top_model__threads(model, state->event, state->key, profile);
	else if (profile)
		err = top_model__profile(model, state->event, state->key, thread, profile);
	if (!err && state->page == TOP_PAGE_THREADS)
		err = top_stacks_names(profile, &content->lines);
	else if (!err && state->page == TOP_PAGE_METHODS)
		err = top_stacks_methods(profile,
					 (enum top_order)state->pages[TOP_PAGE_METHODS].order,
					 &content->lines);
	else if (!err && state->page == TOP_PAGE_TREE)
		err = top_stacks_tree(profile, &content->lines);
	else if (!err)
		err = top_stacks_callers(profile, state->method, &content->lines);
	profile__free(profile);
	if (!err)
		filter_lines(state->pages[state->page].filter, content);
	return err;
}

static void find_row(const struct top_state *state, struct top_content *content)
{
	for (size_t i = 0; i < content->rows.cnt; i++) {
		if (strcmp(content->rows.items[i].key, state->key) == 0)
			content->row = &content->rows.items[i];
	}
}

int top_content_load(struct top_model *model, const struct top_state *state,
		     struct top_content *content)
{
	int err;

	top_content_release(content);
	err = top_model__rows(model, state->event, &content->rows);
	if (!err && state->page == TOP_PAGE_LIST) {
		err = load_list(&state->pages[TOP_PAGE_LIST], content);
	} else if (!err) {
		find_row(state, content);
		err = load_lines(model, state, content);
	}
	if (err)
		top_content_release(content);
	return err;
}

/* ---- lines ---- */

size_t top_content_cnt(const struct top_content *content, const struct top_state *state)
{
	return state->page == TOP_PAGE_LIST ? content->list_cnt : content->lines.cnt;
}

const char *top_content_anchor(const struct top_content *content, const struct top_state *state,
			       size_t line)
{
	if (line >= top_content_cnt(content, state))
		return "";
	if (state->page == TOP_PAGE_LIST)
		return content->list[line]->key;
	if (state->page == TOP_PAGE_METHODS || state->page == TOP_PAGE_THREADS)
		return content->lines.items[line].name;
	return "";
}
