/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages and JSON with names of any bytes in them, looked at by somebody else: what is in the places
 * for names is harmless there, and without these places a page is the page of anything else.
 */
#ifndef JBPF_TESTS_FUZZ_PAGE_H
#define JBPF_TESTS_FUZZ_PAGE_H

#include <jansson.h>

#include "tests/fuzz/fuzz.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

/* Moves the text between `open` and the next `close` out of the page. */
static inline char *page_cut_out(char *page, const char *open, const char *close, const char *until)
{
	char *begin = strstr(page, open), *end, *inner;

	must(begin);
	begin += strlen(open);
	end = strcasestr(begin, until);
	must(end && strncmp(end, close, strlen(close)) == 0);
	inner = strndup(begin, (size_t)(end - begin));
	must(inner);
	memmove(begin, end, strlen(end) + 1);
	return inner;
}

static inline bool page_is_entity(const char *text)
{
	static const char *const entities[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;" };

	for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
		if (strncmp(text, entities[i], strlen(entities[i])) == 0)
			return true;
	}
	return false;
}

static inline void page_check_text(const char *text, size_t len)
{
	must(fuzz_is_clean(text, len, "\n"));
	for (size_t i = 0; i < len; i++) {
		must(text[i] != '<' && text[i] != '>');
		must(text[i] != '&' || page_is_entity(text + i));
	}
}

static inline json_t *page_read_json(const char *text, size_t len)
{
	json_t *json = json_loadb(text, len, JSON_DECODE_INT_AS_REAL, NULL);

	must(json && json_is_object(json));
	must(fuzz_is_clean(text, len, "\n"));
	return json;
}

static inline double page_json_number(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	must(json_is_number(value));
	return json_number_value(value);
}

/* The page without its title, table and data, which are checked; the caller frees. *data is the data. */
static inline char *page_skeleton(const struct strbuf *page, json_t **data_out)
{
	char *text = strdup(strbuf_str(page));
	char *title, *table, *data;

	must(text && strlen(text) == page->len);
	data = page_cut_out(text, "<script type=\"application/json\" id=\"data\">", "</script>",
			    "</script");
	title = page_cut_out(text, "<title>", "</title>", "</title");
	/* Any tag would end it early. */
	table = page_cut_out(text, "<noscript><pre>", "</pre>", "<");
	page_check_text(title, strlen(title));
	page_check_text(table, strlen(table));
	must(!strpbrk(data, "<>&"));
	*data_out = page_read_json(data, strlen(data));
	free(title);
	free(table);
	free(data);
	return text;
}

#endif
