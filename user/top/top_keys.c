// SPDX-License-Identifier: Apache-2.0
/* Keys; see top_keys.h. The cursor stays on its row when rows change places, but at the top it stays at the top. */
#include "user/top/top_keys.h"

#include <string.h>

static struct top_page_state *page_of(struct top_state *state)
{
	return &state->pages[state->page];
}

/* Texts that do not fit are of no row: they are left out. */
static void copy_text(char *out, size_t out_len, const char *text)
{
	size_t len = strlen(text);

	if (len >= out_len)
		len = 0;
	memcpy(out, text, len);
	out[len] = '\0';
}

/* ---- moving ---- */

static void move_to(struct top_state *state, const struct top_content *content, size_t line)
{
	struct top_page_state *page = page_of(state);
	size_t cnt = top_content_cnt(content, state);

	page->cursor = line < cnt ? line : cnt ? cnt - 1 : 0;
	copy_text(page->anchor, sizeof(page->anchor),
		  page->cursor ? top_content_anchor(content, state, page->cursor) : "");
}

static void move(struct top_state *state, const struct top_content *content, enum top_key key,
		 size_t page_lines)
{
	size_t cursor = page_of(state)->cursor;
	size_t up = key == TOP_KEY_PAGE_UP ? page_lines : 1;

	switch (key) {
	case TOP_KEY_PAGE_UP:
	case TOP_KEY_UP:
		move_to(state, content, cursor > up ? cursor - up : 0);
		break;
	case TOP_KEY_DOWN:
		move_to(state, content, cursor + 1);
		break;
	case TOP_KEY_PAGE_DOWN:
		move_to(state, content, cursor + page_lines);
		break;
	case TOP_KEY_END:
		move_to(state, content, SIZE_MAX);
		break;
	default:
		move_to(state, content, 0);
		break;
	}
}

void top_keys_settle(struct top_state *state, const struct top_content *content, size_t page_lines)
{
	struct top_page_state *page = page_of(state);
	size_t cnt = top_content_cnt(content, state);

	for (size_t i = 0; *page->anchor && i < cnt; i++) {
		if (strcmp(top_content_anchor(content, state, i), page->anchor) != 0)
			continue;
		page->cursor = i;
		break;
	}
	if (page->cursor >= cnt)
		page->cursor = cnt ? cnt - 1 : 0;
	if (page_lines < 1)
		page_lines = 1;
	if (page->first > page->cursor)
		page->first = page->cursor;
	if (page->cursor >= page->first + page_lines)
		page->first = page->cursor - page_lines + 1;
	/* No empty lines below as long as there are lines above. */
	if (page->first + page_lines > cnt)
		page->first = cnt > page_lines ? cnt - page_lines : 0;
}

/* ---- pages ---- */

static void go_to(struct top_state *state, enum top_page page)
{
	state->page = page;
	*page_of(state) = (struct top_page_state){ .order = page_of(state)->order };
}

static void enter(struct top_state *state, const struct top_content *content)
{
	size_t cursor = page_of(state)->cursor;

	if (cursor >= top_content_cnt(content, state))
		return;
	if (state->page == TOP_PAGE_LIST) {
		copy_text(state->key, sizeof(state->key), content->list[cursor]->key);
		state->thread[0] = '\0';
		go_to(state, TOP_PAGE_METHODS);
		return;
	}
	if (state->page == TOP_PAGE_THREADS) {
		copy_text(state->thread, sizeof(state->thread), content->lines.items[cursor].name);
		go_to(state, TOP_PAGE_METHODS);
		return;
	}
	/* The callers of a caller, too. */
	copy_text(state->method, sizeof(state->method), content->lines.items[cursor].name);
	go_to(state, TOP_PAGE_CALLERS);
}

/*
 * The line of the only row, or of the only one that runs where all have one name: the others are
 * what the container was before it was started again. SIZE_MAX when there is none.
 */
static size_t only_line(const struct top_content *content)
{
	const struct top_row *const *list = content->list;
	size_t line = SIZE_MAX;

	if (content->list_cnt != content->rows.cnt)
		return SIZE_MAX;
	if (content->list_cnt == 1)
		return 0;
	for (size_t i = 0; i < content->list_cnt; i++) {
		if (!list[i]->is_container || strcmp(list[i]->name, list[0]->name) != 0)
			return SIZE_MAX;
		if (!list[i]->samples)
			continue;
		if (line != SIZE_MAX)
			return SIZE_MAX;
		line = i;
	}
	return line;
}

bool top_keys_enter_only_row(struct top_state *state, const struct top_content *content)
{
	size_t line = only_line(content);

	if (!state->is_inside || state->page != TOP_PAGE_LIST || content->rows.cnt == 0)
		return false;
	/* Only the window that runs has it: there are no stacks to go into before that has ended. */
	if (line != SIZE_MAX && !content->list[line]->counts.samples)
		return false;
	state->is_inside = false;
	if (line == SIZE_MAX)
		return false;
	move_to(state, content, line);
	enter(state, content);
	return true;
}

/* One page up, or, if the page is filtered, all of it again. */
static void leave(struct top_state *state)
{
	static const enum top_page above[TOP_PAGE_CNT] = {
		[TOP_PAGE_LIST] = TOP_PAGE_LIST,    [TOP_PAGE_METHODS] = TOP_PAGE_LIST,
		[TOP_PAGE_TREE] = TOP_PAGE_LIST,    [TOP_PAGE_CALLERS] = TOP_PAGE_METHODS,
		[TOP_PAGE_THREADS] = TOP_PAGE_LIST,
	};

	if (*page_of(state)->filter) {
		page_of(state)->filter[0] = '\0';
	} else if (*state->thread && above[state->page] == TOP_PAGE_LIST) {
		state->thread[0] = '\0';
		state->page = TOP_PAGE_THREADS;
	} else {
		state->page = above[state->page];
	}
}

/* The pages of a row in turn; one thread has no threads. */
static void next_page(struct top_state *state)
{
	if (state->page == TOP_PAGE_METHODS)
		go_to(state, *state->thread ? TOP_PAGE_TREE : TOP_PAGE_THREADS);
	else if (state->page == TOP_PAGE_THREADS)
		go_to(state, TOP_PAGE_TREE);
	else if (state->page == TOP_PAGE_TREE)
		go_to(state, TOP_PAGE_METHODS);
}

static void next_order(struct top_state *state)
{
	static const unsigned int cnt[TOP_PAGE_CNT] = {
		[TOP_PAGE_LIST] = TOP_LIST_ORDER_CNT,
		[TOP_PAGE_METHODS] = TOP_ORDER_CNT,
	};

	if (cnt[state->page])
		page_of(state)->order = (page_of(state)->order + 1) % cnt[state->page];
}

static void next_event(struct top_state *state)
{
	for (unsigned int i = 1; i <= EVENT_CNT; i++) {
		unsigned int event = ((unsigned int)state->event + i) % EVENT_CNT;

		if (!(state->events & EVENT_BIT(event)))
			continue;
		state->event = (enum event)event;
		return;
	}
}

/* ---- keys ---- */

static void edit_filter(struct top_state *state, struct top_press press)
{
	char *filter = page_of(state)->filter;
	size_t len = strlen(filter);

	if (press.key == TOP_KEY_ENTER) {
		state->is_filtering = false;
	} else if (press.key == TOP_KEY_ESCAPE) {
		state->is_filtering = false;
		filter[0] = '\0';
	} else if (press.key == TOP_KEY_BACKSPACE && len) {
		filter[len - 1] = '\0';
	} else if (press.key == TOP_KEY_CHAR && len + 1 < TOP_FILTER_BYTES) {
		filter[len] = press.text;
		filter[len + 1] = '\0';
	}
}

static void apply_char(struct top_state *state, const struct top_content *content, char text)
{
	switch (text) {
	case 'q':
		state->is_done = true;
		break;
	case 'j':
		move(state, content, TOP_KEY_DOWN, 1);
		break;
	case 'k':
		move(state, content, TOP_KEY_UP, 1);
		break;
	case 's':
		next_order(state);
		break;
	case '/':
		state->is_filtering = true;
		break;
	case 'p':
	case ' ':
		state->is_paused = !state->is_paused;
		break;
	case 'e':
		next_event(state);
		break;
	case '?':
	case 'h':
		state->is_help = true;
		break;
	default:
		break;
	}
}

void top_keys_apply(struct top_state *state, const struct top_content *content,
		    struct top_press press, size_t page_lines)
{
	if (press.key == TOP_KEY_NONE || press.key == TOP_KEY_RESIZE || press.key == TOP_KEY_OTHER)
		return;
	if (press.key == TOP_KEY_INTERRUPT) {
		state->is_done = true;
		return;
	}
	if (state->is_help) {
		state->is_help = false;
		state->is_done = press.key == TOP_KEY_CHAR && press.text == 'q';
		return;
	}
	if (state->is_filtering) {
		edit_filter(state, press);
		return;
	}
	switch (press.key) {
	case TOP_KEY_CHAR:
		apply_char(state, content, press.text);
		break;
	case TOP_KEY_ENTER:
		enter(state, content);
		break;
	case TOP_KEY_ESCAPE:
	case TOP_KEY_BACKSPACE:
		leave(state);
		break;
	case TOP_KEY_TAB:
		next_page(state);
		break;
	default:
		move(state, content, press.key, page_lines);
		break;
	}
}
