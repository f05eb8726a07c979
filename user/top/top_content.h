/* SPDX-License-Identifier: Apache-2.0 */
/* Where the reader is (the state), and what stands there (the content): sorted, filtered. No terminal. */
#ifndef JBPF_TOP_CONTENT_H
#define JBPF_TOP_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/top/top_model.h"
#include "user/top/top_stacks.h"
#include "user/util/attributes.h"

#define TOP_TEXT_BYTES	 4608 /* of a key or a frame: names have up to 4096 */
#define TOP_FILTER_BYTES 128

enum top_page {
	TOP_PAGE_LIST = 0,    /* containers and processes of the host */
	TOP_PAGE_METHODS = 1, /* of one of them */
	TOP_PAGE_TREE = 2,    /* its calls from the top down */
	TOP_PAGE_CALLERS = 3, /* of one method of it */
	TOP_PAGE_THREADS = 4, /* by their names */
	TOP_PAGE_CNT,
};

/* Of the list; methods have enum top_order, trees have none. */
enum top_list_order {
	TOP_LIST_NOW = 0,
	TOP_LIST_MINUTE = 1,
	TOP_LIST_NAME = 2,
	TOP_LIST_ORDER_CNT,
};

struct top_page_state {
	size_t cursor;
	size_t first; /* line at the top of the screen */
	char anchor
		[TOP_TEXT_BYTES]; /* what the cursor is on, when lines move; "" = it stays at the top */
	char filter[TOP_FILTER_BYTES];
	unsigned int order;
};

struct top_state {
	enum top_page page;
	struct top_page_state pages[TOP_PAGE_CNT];
	char key[TOP_TEXT_BYTES];    /* of the row that the pages below the list are of */
	char thread[TOP_TEXT_BYTES]; /* whose methods, calls and callers are shown; "" = of all */
	char method[TOP_TEXT_BYTES]; /* whose callers are shown */
	enum event event;
	uint32_t events;   /* EVENT_BIT() of those that there are */
	bool is_inside;	   /* the list is left as soon as it has one row only */
	bool is_filtering; /* keys go to the filter */
	bool is_paused;
	bool is_help;
	bool is_done;
};

/* Zero-initialise; end with top_content_release(). */
struct top_content {
	struct top_rows rows;	     /* all of them */
	const struct top_row **list; /* of TOP_PAGE_LIST */
	size_t list_cnt;
	struct top_lines lines;	   /* of the other pages */
	const struct top_row *row; /* the row of state->key; NULL: it has no samples any more */
	size_t hidden_cnt;	   /* by the filter */
};

/* Replaces the content by what the model has for the state. 0 or -ENOMEM: it is empty then. */
__must_check int top_content_load(struct top_model *model, const struct top_state *state,
				  struct top_content *content);
void top_content_release(struct top_content *content);

/* Lines of the page. */
size_t top_content_cnt(const struct top_content *content, const struct top_state *state);
/* What identifies a line of the page when others come and go; "" where nothing does. */
const char *top_content_anchor(const struct top_content *content, const struct top_state *state,
			       size_t line);

#endif
