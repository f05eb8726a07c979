// SPDX-License-Identifier: Apache-2.0
/* Numbered windows, written and read; see crash_store.h. */
#include "tests/crash/crash_store.h"
#include "tests/unit/remove_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/model/cells.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define COMMON_SAMPLES 5
#define FILLER_STACKS  20
#define OWN_PREFIX     "w;run;own_"
#define STEPS_EVERY    25

void crash_die_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

uint32_t crash_random(uint64_t *state, uint32_t below)
{
	/* splitmix64 */
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) >> 16) % below;
}

uint64_t crash_time_s(const struct crash_clock *clock, uint32_t number)
{
	static const int offset_h[] = { 0, 1, 0, -1 };
	uint64_t time_s = CRASH_T0_S + (uint64_t)number * CRASH_STEP_S;

	if (!clock->steps)
		return time_s;
	return time_s + (uint64_t)(offset_h[number / STEPS_EVERY % 4] * 3600);
}

uint32_t crash_own_samples(uint32_t number)
{
	return 1 + number % 7;
}

uint32_t crash_samples(uint32_t number)
{
	return COMMON_SAMPLES + FILLER_STACKS + crash_own_samples(number);
}

/* ---- writing ---- */

static void must(int err)
{
	if (err)
		crash_die("errno %d", -err);
}

static void make_text(uint32_t number, struct strbuf *out)
{
	strbuf_printf(out, "w;run;common_[j] %d\n", COMMON_SAMPLES);
	for (int i = 0; i < FILLER_STACKS; i++)
		strbuf_printf(out,
			      "w;run;org.example.shop.pages.Filler.a_method_with_a_name_%02d_"
			      "[j];of.several.frames.Call_%u_[j] 1\n",
			      i, (number * 7 + (unsigned)i) % 50);
	strbuf_printf(out, OWN_PREFIX "%05u %u\n", number, crash_own_samples(number));
	must(strbuf_error(out));
}

void crash_add(struct store_writer *writer, const struct crash_clock *clock, uint32_t number)
{
	struct strbuf text = STRBUF_INIT, lines = STRBUF_INIT, cells = STRBUF_INIT;
	const struct cell cell = { .index = number % 400, .count = crash_samples(number) };
	struct window window = {
		.start_unix_ns = crash_time_s(clock, number) * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.frequency_hz = 99,
		.pid = 100 + number % CRASH_STREAMS,
		.process_start_ns = 1 + number % CRASH_STREAMS,
		.counts.samples = crash_samples(number),
		.labels = { [WINDOW_LABEL_COMM] = "w", [WINDOW_LABEL_CONTAINER] = "crash" },
	};
	const struct window host = {
		.start_unix_ns = window.start_unix_ns,
		.duration_ns = window.duration_ns,
		.lost = { [WINDOW_LOSS_NOTICES] = 1 },
	};

	make_text(number, &text);
	strbuf_printf(&lines, "own_[j];Own.java:%u %u\n", 1 + number % 50,
		      crash_own_samples(number));
	must(cells_encode(&cell, 1, &cells));
	window.lines = lines.data;
	window.lines_len = lines.len;
	window.cells = (const uint8_t *)cells.data;
	window.cells_len = (uint32_t)cells.len;
	must(store_writer__add(writer, &window, text.data, text.len));
	must(store_writer__add(writer, &host, "", 0));
	strbuf_release(&text);
	strbuf_release(&lines);
	strbuf_release(&cells);
}

/* ---- reading ---- */

static uint64_t sum_lines(struct crash_seen *seen, const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t sum = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *blank = newline ? memrchr(text, ' ', (size_t)(newline - text)) : NULL;
		uint64_t count, number;

		if (!blank || parse_u64_n(blank + 1, (size_t)(newline - blank - 1), 10, &count))
			crash_die("a line that is none: '%.*s'", (int)(end - text), text);
		sum += count;
		if (seen && strncmp(text, OWN_PREFIX, strlen(OWN_PREFIX)) == 0) {
			const char *digits = text + strlen(OWN_PREFIX);

			must(parse_u64_n(digits, (size_t)(blank - digits), 10, &number));
			if (number >= CRASH_NUMBERS_MAX)
				crash_die("window %" PRIu64, number);
			seen->own[number] += (uint32_t)count;
		}
		text = newline + 1;
	}
	return sum;
}

static int see_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	uint32_t window_cnt = window->window_cnt ? window->window_cnt : 1;
	struct cells_reader reader = cells_reader_init(window->cells, window->cells_len);
	struct crash_seen *seen = ctx;
	struct cell cell;

	if (!window->pid) {
		seen->host_windows += window_cnt;
		if (window->lost[WINDOW_LOSS_NOTICES] != window_cnt)
			crash_die("losses of %u windows: %" PRIu64, window_cnt,
				  window->lost[WINDOW_LOSS_NOTICES]);
		return 0;
	}
	if (strcmp(window_label(window, WINDOW_LABEL_CONTAINER), "crash") != 0 ||
	    window->pid - 100 >= CRASH_STREAMS)
		crash_die("a window of pid %u", window->pid);
	seen->windows += window_cnt;
	seen->samples += window->counts.samples;
	seen->text_samples += sum_lines(seen, text, len);
	seen->line_samples += sum_lines(NULL, window->lines, (size_t)window->lines_len);
	while (cells_next(&reader, &cell))
		seen->cell_samples += cell.count;
	return 0;
}

static void see_damage(void *ctx, const struct store_damage *damage)
{
	struct crash_seen *seen = ctx;

	if (seen->damage_cnt++ == 0)
		snprintf(seen->damage, sizeof(seen->damage),
			 "%s: byte %" PRIu64 ", %" PRIu64 " bytes: %s", damage->path,
			 damage->offset, damage->bytes, damage->what);
}

int crash_read(const char *dir, uint64_t merge_ns, struct crash_seen *seen)
{
	const struct store_visitor visitor = {
		.ctx = seen,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = true,
		.merge_ns = merge_ns,
		.window = see_window,
		.damage = see_damage,
	};
	struct store_reader *reader;
	int err;

	memset(seen, 0, sizeof(*seen));
	seen->has_cells = !merge_ns; /* more than an hour in one window has none */
	err = store_reader__open(dir, &reader);
	if (err)
		return err;
	err = store_reader__visit(reader, 0, UINT64_MAX, &visitor);
	store_reader__free(reader);
	return err;
}

bool crash_is_exactly(const struct crash_seen *seen, uint32_t first, uint32_t last)
{
	uint64_t samples = 0, own = 0;

	for (uint32_t number = 0; number < CRASH_NUMBERS_MAX; number++) {
		bool is_expected = number >= first && number < last;
		uint32_t expected = is_expected ? crash_own_samples(number) : 0;

		if (seen->own[number] != expected) {
			fprintf(stderr, "window %u: %u samples of its own, %u expected\n", number,
				seen->own[number], expected);
			return false;
		}
		own += expected;
		samples += is_expected ? crash_samples(number) : 0;
	}
	if (seen->windows == last - first &&
	    seen->host_windows + seen->cut_commits == last - first && seen->samples == samples &&
	    seen->text_samples == samples && (!seen->has_cells || seen->cell_samples == samples) &&
	    seen->line_samples == own)
		return true;
	fprintf(stderr,
		"windows [%u, %u): %" PRIu64 " and %" PRIu64
		" of the host, %u were cut off; samples %" PRIu64 ", in stacks %" PRIu64
		", in cells %" PRIu64 " (%" PRIu64 " expected), in lines %" PRIu64 " (%" PRIu64
		" expected)\n",
		first, last, seen->windows, seen->host_windows, seen->cut_commits, seen->samples,
		seen->text_samples, seen->cell_samples, samples, seen->line_samples, own);
	return false;
}

/* ---- processes ---- */

struct crash_shared *crash_shared_make(void)
{
	struct crash_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		crash_die("mmap: %s", strerror(errno));
	return shared;
}

pid_t crash_fork(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		crash_die("fork: %s", strerror(errno));
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

void crash_sleep_us(uint32_t us)
{
	const struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000 };

	(void)nanosleep(&time, NULL);
}

void crash_compact(const char *dir, uint64_t now_s, uint64_t day_age_s)
{
	const struct store_compaction how = {
		.now_unix_ns = now_s * CLOCK_NS_PER_S,
		.keep_ticks_ns = STORE_KEEP_TICKS_NS,
		.day_age_ns = day_age_s * CLOCK_NS_PER_S,
		.is_clock_sure = true,
		.compression_level = 1,
	};
	struct store_compaction_stats stats;
	int err = store_compact(dir, &how, &stats);

	if (err && err != -EWOULDBLOCK && err != -ENOENT)
		crash_die("compaction: %s", strerror(-err));
}

/* ---- directories ---- */

void crash_make_dir(char dir[static CRASH_DIR_BYTES])
{
	const char *parent = getenv("TMPDIR");

	if (snprintf(dir, CRASH_DIR_BYTES, "%s/store-crash.XXXXXX",
		     parent && *parent ? parent : "/tmp") >= CRASH_DIR_BYTES ||
	    !mkdtemp(dir))
		crash_die("%s: %s", dir, strerror(errno));
}

void crash_remove(const char *dir)
{
	(void)remove_tree(dir);
}
