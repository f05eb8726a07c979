// SPDX-License-Identifier: Apache-2.0
/*
 * What servers answer: a row of windows, an answer of OTLP, a body that says what is wrong. Whatever
 * comes, a row is whole or refused, words are one short line, and text that is quoted is one string.
 *
 * Input: a byte that says which (as in LLVMFuzzerTestOneInput), then the bytes.
 */
#include "tests/fuzz/fuzz.h"
#include "user/model/cells.h"
#include "user/remote/clickhouse_text.h"
#include "user/remote/otlp_answer.h"
#include "user/remote/window_row.h"

#define FIELDS_MAX 128
#define WORDS_MAX  64

static void check_line(const char *words, size_t max)
{
	size_t len = strnlen(words, max);

	must(len < max);
	for (size_t i = 0; i < len; i++)
		must((unsigned char)words[i] >= ' ');
}

static void check_window(const struct window *window)
{
	struct strbuf again = STRBUF_INIT;

	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		must(window_label(window, (enum window_label)i) != NULL);
	must(!window->lines || strlen(window->lines) <= window->lines_len);
	must(!window->cells == !window->cells_len && !window->threads == !window->threads_len);
	window_row_encode(&again, window, 0, 0);
	must(strbuf_error(&again) == 0 && again.len);
	strbuf_release(&again);
}

static void check_row(char *line, size_t len)
{
	struct clickhouse_field fields[FIELDS_MAX];
	size_t cnt = window_row_column_cnt();
	struct window_row row;

	must(cnt <= FIELDS_MAX);
	if (clickhouse_split_row(line, len, fields, cnt))
		return;
	for (size_t i = 0; i < cnt; i++)
		must(fields[i].text >= line && fields[i].text + fields[i].len <= line + len &&
		     fields[i].text[fields[i].len] == '\0');
	if (window_row_decode(fields, &row) == 0)
		check_window(&row.window);
}

static void check_partial(const char *bytes, size_t len)
{
	static const struct otlp_partial nothing = { 0 };
	struct otlp_partial partial;

	if (otlp_answer_partial(bytes, len, &partial))
		check_line(partial.words, sizeof(partial.words));
	else
		must(partial.rejected_profiles == nothing.rejected_profiles && !partial.words[0]);
}

static void check_words(const char *body)
{
	char otlp[OTLP_ANSWER_WORDS], clickhouse[WORDS_MAX];

	otlp_answer_words(body, otlp);
	check_line(otlp, sizeof(otlp));
	clickhouse_error_words(body, clickhouse, sizeof(clickhouse));
	check_line(clickhouse, sizeof(clickhouse));
	(void)clickhouse_error_code(body);
}

/* As a server reads it. */
static void check_quoted(const char *text, size_t len)
{
	struct strbuf quoted = STRBUF_INIT;
	size_t at = 1;

	clickhouse_quote(&quoted, text, len);
	must(strbuf_error(&quoted) == 0 && quoted.data[0] == '\'');
	for (size_t i = 0; i < len; i++) {
		bool is_escaped = quoted.data[at] == '\\';

		at += is_escaped;
		must(is_escaped || quoted.data[at] != '\'');
		must(quoted.data[at] == (text[i] ? text[i] : '0') && quoted.data[at]);
		at++;
	}
	must(quoted.len == at + 1 && quoted.data[at] == '\'');
	strbuf_release(&quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text;

	if (!len)
		return 0;
	/* Of its own, so that ASan sees its end; rows are changed in place. */
	text = malloc(len);
	must(text != NULL);
	memcpy(text, data + 1, len - 1);
	text[len - 1] = '\0';
	switch (data[0] & 3) {
	case 0:
		check_row(text, len - 1);
		break;
	case 1:
		check_partial(text, len - 1);
		break;
	case 2:
		check_words(text);
		break;
	default:
		check_quoted(text, len - 1);
	}
	free(text);
	return 0;
}
