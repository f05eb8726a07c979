/* SPDX-License-Identifier: Apache-2.0 */
/* What a key does to the state. Pure. */
#ifndef JBPF_TOP_KEYS_H
#define JBPF_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/top/top_content.h"

enum top_key {
	TOP_KEY_NONE = 0, /* nothing was pressed */
	TOP_KEY_CHAR = 1,
	TOP_KEY_UP = 2,
	TOP_KEY_DOWN = 3,
	TOP_KEY_PAGE_UP = 4,
	TOP_KEY_PAGE_DOWN = 5,
	TOP_KEY_HOME = 6,
	TOP_KEY_END = 7,
	TOP_KEY_ENTER = 8,
	TOP_KEY_ESCAPE = 9,
	TOP_KEY_BACKSPACE = 10,
	TOP_KEY_TAB = 11,
	TOP_KEY_RESIZE = 12,	/* the terminal has another size now */
	TOP_KEY_INTERRUPT = 13, /* Ctrl-C */
	TOP_KEY_OTHER = 14,	/* one that does nothing */
};

struct top_press {
	enum top_key key;
	char text; /* of TOP_KEY_CHAR: a printable one of ASCII */
};

/* `page_lines`: how many lines of a page the screen shows. */
void top_keys_apply(struct top_state *state, const struct top_content *content,
		    struct top_press press, size_t page_lines);

/* After new content: enters the only row if that was asked for. True: the page is another one now. */
bool top_keys_enter_only_row(struct top_state *state, const struct top_content *content);
/* After new content: the cursor follows what it was on, and is on the screen. */
void top_keys_settle(struct top_state *state, const struct top_content *content, size_t page_lines);

#endif
