// SPDX-License-Identifier: Apache-2.0
/*
 * Writes prepared windows as jbpfd does: each has a host record and some streams, what cannot be added is one
 * stream's loss, what cannot be committed the window's, and the next window is tried all the same. Says what
 * it believes to have written, one stream a line: "written PID START_S SAMPLES". Exit code 0 when that is
 * everything, 1 when something was lost (one line about each), 2 when it could not begin.
 * Usage: write_windows DIR
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define WINDOWS	   4
#define STREAMS	   3		 /* with the host record, number 0 */
#define START_S	   1700006380ull /* the third window begins the next hour */
#define WINDOW_S   10
#define FIRST_PID  100
#define TEXT_LINES 40

struct lines {
	struct strbuf text; /* what the window is believed to have written */
	bool is_all;
};

static int make_text(unsigned window, unsigned stream, struct strbuf *out)
{
	strbuf_clear(out);
	for (unsigned i = 10; i < 10 + TEXT_LINES; i++)
		strbuf_printf(out, "java;Main.main_[j];work_%u_%u_%u_[j] %u\n", i, stream, window,
			      1 + i % 3);
	return strbuf_error(out);
}

/* All lines of one thread. */
static const uint8_t *make_threads(uint64_t *len)
{
	static uint8_t code[8 + TEXT_LINES + 1] = "\1\4main\0\50";

	for (size_t i = 0; i < TEXT_LINES; i++)
		code[8 + i] = 1;
	*len = sizeof(code);
	return code;
}

_Static_assert(TEXT_LINES == 050, "as the code says");

static int add_stream(struct store_writer *writer, unsigned number, unsigned stream,
		      struct strbuf *said)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct window window = {
		.start_unix_ns = (START_S + number * WINDOW_S) * CLOCK_NS_PER_S,
		.duration_ns = WINDOW_S * CLOCK_NS_PER_S,
		.frequency_hz = 49,
		.pid = stream ? FIRST_PID + stream : 0,
		.counts.samples = 7 + stream,
		.labels = { [WINDOW_LABEL_COMM] = "java" },
	};
	int err = stream ? make_text(number, stream, &text) : 0;

	if (stream) {
		window.lines = "work;Work.java:1 5\n";
		window.lines_len = strlen(window.lines);
		window.threads = make_threads(&window.threads_len);
	}
	strbuf_printf(said, "written %u %" PRIu64 " %" PRIu64 "\n", window.pid,
		      (uint64_t)(window.start_unix_ns / CLOCK_NS_PER_S), window.counts.samples);
	if (!err)
		err = strbuf_error(said);
	if (!err)
		err = store_writer__add(writer, &window, strbuf_str(&text), text.len);
	return err;
}

static void write_window(struct store_writer *writer, unsigned number, struct lines *lines)
{
	uint64_t lost = 0;
	int err;

	strbuf_clear(&lines->text);
	for (unsigned stream = 0; stream < STREAMS; stream++) {
		size_t before = lines->text.len;

		err = add_stream(writer, number, stream, &lines->text);
		if (!err)
			continue;
		strbuf_truncate(&lines->text, before);
		pr_err("window %u: stream %u is lost: %s\n", number, stream, errstr(err));
		lines->is_all = false;
	}
	err = store_writer__commit(writer, &lost);
	if (err) {
		pr_err("window %u: %" PRIu64 " samples are lost: %s\n", number, lost, errstr(err));
		lines->is_all = false;
	} else {
		fputs(strbuf_str(&lines->text), stdout);
	}
}

int main(int argc, char **argv)
{
	const struct store_writer_options options = {
		.keep_age_ns = 30 * 24 * STORE_WINDOW_MAX_NS,
		.keep_bytes = 1 << 30,
		.reserve_bytes = 1 << 16,
		.keeps_ticks = true,
	};
	struct lines lines = { STRBUF_INIT, true };
	struct store_writer *writer;
	int err;

	log_set_program("write_windows");
	if (argc != 2) {
		fprintf(stderr, "usage: write_windows DIR\n");
		return 2;
	}
	err = store_writer__open(argv[1], &options, &writer);
	if (err) {
		pr_err("'%s': %s\n", argv[1], errstr(err));
		return 2;
	}
	for (unsigned number = 0; number < WINDOWS; number++)
		write_window(writer, number, &lines);
	store_writer__free(writer);
	strbuf_release(&lines.text);
	return fflush(stdout) || !lines.is_all ? 1 : 0;
}
