// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a store with known content, so that tests can compare what the commands print byte by
 * byte. Reads a script on stdin:
 *
 *     window start=1700000000 pid=42 samples=7 comm=java container=shop-1
 *     	java;a.B.c_[j] 7
 *     	+0 7 main
 *     	@a.B.c_[j];B.java:12 5
 *     commit
 *
 *     	~3 7
 *
 * Numbers are those of struct window, times in seconds; any other key is a label or a loss. Text
 * lines begin with a tab, source lines with a tab and an @, threads with a tab and a + (number of
 * the text's line, samples, name; all lines or none), cells with a tab and a ~ (of 20 ms since the
 * window's begin, samples), moments of stacks with a tab and a * (milliseconds since the window's
 * begin, number of the text's line). %XX stands for a byte. Usage: mkstore DIR
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"
#include "user/util/vec.h"

struct script {
	struct store_writer *writer;
	struct window window;
	char *labels[WINDOW_LABEL_CNT]; /* owned; window.labels points to them */
	struct strbuf text;
	struct strbuf lines;
	struct thread_counts *threads;
	struct cells_sum *cells;
	struct tick *ticks;
	size_t tick_cnt;
	size_t tick_cap;
	bool has_window;
};

/* %XX to bytes, in place. */
static void decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		uint64_t byte;

		if (*at == '%' && at[1] && at[2] && parse_u64_n(at + 1, 2, 16, &byte) == 0) {
			*to++ = (char)byte;
			at += 2;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static int set_label(struct script *script, const char *key, const char *value)
{
	enum window_label label = window_label_by_name(key, strlen(key));

	if (label == WINDOW_LABEL_CNT)
		return -EINVAL;
	free(script->labels[label]);
	script->labels[label] = strdup(value);
	script->window.labels[label] = script->labels[label];
	return script->labels[label] ? 0 : -ENOMEM;
}

/* Of window_fields, by their names but for these. */
static int set_number(struct window *window, const char *key, uint64_t value)
{
	static const struct {
		const char *key;
		const char *name;
		uint64_t factor;
	} others[] = {
		{ "start", "start_ns", CLOCK_NS_PER_S },
		{ "duration", "duration_ns", CLOCK_NS_PER_S },
		{ "start_boot", "start_boot_ns", CLOCK_NS_PER_S },
		{ "process_start", "process_start_ns", 1 },
		{ "unit", "period_unit", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(others[i].key, key) != 0)
			continue;
		key = others[i].name;
		value *= others[i].factor;
		break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		const struct window_field *field = &window_fields[i];

		if (strcmp(field->name, key) == 0)
			return window_number_set(window, field->offset, field->bytes, value) ?
				       0 :
				       -EINVAL;
	}
	for (int i = 0; i < WINDOW_LOSS_CNT; i++) {
		if (strcmp(window_loss_name((enum window_loss)i), key) == 0) {
			window->lost[i] = value;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_field(struct script *script, char *pair)
{
	char *value = strchr(pair, '=');
	uint64_t number;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	decode(value);
	if (parse_u64(value, &number) == 0 && set_number(&script->window, pair, number) == 0)
		return 0;
	return set_label(script, pair, value);
}

/* "0 7 main" */
static int add_thread(struct script *script, const char *text)
{
	char *end;
	unsigned long line = strtoul(text, &end, 10);
	uint64_t samples = strtoull(end, &end, 10);

	if (*end != ' ' || line > UINT32_MAX)
		return -EINVAL;
	return thread_counts__add(script->threads, (uint32_t)line, end + 1, strlen(end + 1),
				  samples);
}

/* "3 7" */
static int add_cell(struct script *script, const char *text)
{
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	char *end;
	const struct cell cell = {
		.index = (uint32_t)strtoul(text, &end, 10),
		.count = (uint32_t)strtoul(end, &end, 10),
	};
	int err = *end ? -EINVAL : cells_encode(&cell, 1, &code);

	return err ? err :
		     cells_sum__add(script->cells, script->window.start_unix_ns,
				    (const uint8_t *)code.data, code.len);
}

/* "120 0" */
static int add_tick(struct script *script, const char *text)
{
	int err = vec_room(script->ticks, script->tick_cnt, script->tick_cap, 64);
	char *end;

	if (err)
		return err;
	script->ticks[script->tick_cnt++] = (struct tick){
		.ms = (uint32_t)strtoul(text, &end, 10),
		.line = (uint32_t)strtoul(end, &end, 10),
	};
	return *end ? -EINVAL : 0;
}

static int encode_ticks(struct script *script, struct strbuf *out)
{
	uint32_t line_cnt = 0;
	int err = 0;

	for (size_t i = 0; i < script->text.len; i++)
		line_cnt += script->text.data[i] == '\n';
	if (script->tick_cnt) {
		qsort(script->ticks, script->tick_cnt, sizeof(*script->ticks), ticks_compare);
		err = ticks_encode(script->ticks, script->tick_cnt, line_cnt, out);
	}
	script->tick_cnt = 0;
	return err;
}

static int end_window(struct script *script)
{
	__cleanup_strbuf struct strbuf threads = STRBUF_INIT, cells = STRBUF_INIT,
				       ticks = STRBUF_INIT;
	int err = thread_counts__encode(script->threads, NULL, &threads);

	if (!err)
		err = cells_sum__take(script->cells, script->window.start_unix_ns, &cells);
	if (!err)
		err = encode_ticks(script, &ticks);
	script->window.ticks = (const uint8_t *)ticks.data;
	script->window.ticks_len = ticks.len;
	script->window.cells = (const uint8_t *)cells.data;
	script->window.cells_len = cells.len;
	thread_counts__clear(script->threads);
	script->window.threads = (const uint8_t *)threads.data;
	script->window.threads_len = threads.len;
	script->window.lines = script->lines.data;
	script->window.lines_len = script->lines.len;
	if (script->has_window && !err)
		err = store_writer__add(script->writer, &script->window, strbuf_str(&script->text),
					script->text.len);
	script->has_window = false;
	strbuf_clear(&script->text);
	strbuf_clear(&script->lines);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		free(script->labels[i]);
		script->labels[i] = NULL;
	}
	return err;
}

static int begin_window(struct script *script, char *pairs)
{
	char *save = NULL;
	int err = end_window(script);

	script->window = (struct window){
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.frequency_hz = 99,
		.cpu_cnt = 2,
		.jit_age_ms = UINT32_MAX,
	};
	script->has_window = true;
	for (char *pair = strtok_r(pairs, " ", &save); !err && pair;
	     pair = strtok_r(NULL, " ", &save))
		err = set_field(script, pair);
	return err;
}

static int run_line(struct script *script, char *line)
{
	uint64_t lost = 0;
	int err;

	line[strcspn(line, "\n")] = '\0';
	if (*line == '\0' || *line == '#')
		return 0;
	if (*line == '\t') {
		struct strbuf *to = line[1] == '@' ? &script->lines : &script->text;
		char *text = line + (line[1] == '@' ? 2 : 1);

		decode(text);
		if (*text == '+')
			return add_thread(script, text + 1);
		if (*text == '~')
			return add_cell(script, text + 1);
		if (*text == '*')
			return add_tick(script, text + 1);
		strbuf_puts(to, text);
		strbuf_putc(to, '\n');
		return strbuf_error(to);
	}
	if (strncmp(line, "window ", strlen("window ")) == 0)
		return begin_window(script, line + strlen("window "));
	if (strcmp(line, "commit") != 0)
		return -EINVAL;
	err = end_window(script);
	return err ? err : store_writer__commit(script->writer, &lost);
}

int main(int argc, char **argv)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct script script = { .text = STRBUF_INIT };
	char *line = NULL;
	size_t cap = 0;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: mkstore DIR < SCRIPT\n");
		return 2;
	}
	script.threads = thread_counts__new(0);
	script.cells = cells_sum__new();
	err = script.threads && script.cells ?
		      store_writer__open(argv[1], &options, &script.writer) :
		      -ENOMEM;
	while (!err && getline(&line, &cap, stdin) >= 0) {
		err = run_line(&script, line);
		if (err)
			fprintf(stderr, "mkstore: '%s': %s\n", line, strerror(-err));
	}
	free(line);
	if (script.threads && script.cells)
		(void)end_window(&script);
	thread_counts__free(script.threads);
	cells_sum__free(script.cells);
	free(script.ticks);
	strbuf_release(&script.text);
	strbuf_release(&script.lines);
	store_writer__free(script.writer);
	return err ? 1 : 0;
}
