// SPDX-License-Identifier: Apache-2.0
/*
 * Folded text of unknown origin; see diff_foreign.h. Every line is looked at by itself: what is no
 * "stack count" is named and skipped. Counts may have decimals (flamegraph.pl takes them), and may
 * be nanoseconds or bytes, far more than samples ever are: then both files are scaled down alike.
 */
#include "user/compare/diff_foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "user/diff/diff_spelling.h"
#include "user/model/profile.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/util/parse.h"

#define FILE_MAX_BYTES	(1024u << 20)
#define BAD_NAMED_MAX	3
#define TOTAL_MAX	(1u << 31) /* of a side's counts, which are 32 bits wide */
#define ROOT		"all"	   /* before stacks without a process */
#define DECIMALS_MAX	9
#define SECOND_PLACE_NS CLOCK_NS_PER_S /* any length; the file has none */

struct foreign_file {
	const char *path;
	struct profile *profile;
	size_t line_cnt; /* stacks */
	size_t bad_cnt;
	size_t two_column_cnt; /* stacks that end in a number themselves */
	size_t decimal_cnt;
	uint64_t frames;
	uint64_t unknown_frames;
};

struct foreign_line {
	const char *stack;
	size_t len;
	uint64_t count;
	bool has_decimals;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* "12" or "12.50"; rounds. */
static int parse_count(const char *text, size_t len, struct foreign_line *out)
{
	const char *dot = memchr(text, '.', len);
	size_t whole_len = dot ? (size_t)(dot - text) : len;
	size_t decimals = len - whole_len;
	uint64_t whole, rest = 0;
	int err = parse_u64_n(text, whole_len, 10, &whole);

	if (err)
		return err;
	/* "12." is a count, too. */
	if (decimals > 1 &&
	    (decimals > DECIMALS_MAX + 1 || parse_u64_n(dot + 1, decimals - 1, 10, &rest)))
		return -EINVAL;
	out->has_decimals = dot != NULL;
	out->count = whole + (decimals > 1 && dot[1] >= '5' && whole < UINT64_MAX);
	return 0;
}

/* Takes the last word off a line as its number. */
static bool split_number(const char *line, size_t len, struct foreign_line *out)
{
	size_t at;

	while (len && is_blank(line[len - 1]))
		len--;
	at = len;
	while (at && !is_blank(line[at - 1]))
		at--;
	if (!at || parse_count(line + at, len - at, out))
		return false;
	while (at && is_blank(line[at - 1]))
		at--;
	out->stack = line;
	out->len = at;
	return at > 0;
}

static void bad_line(struct foreign_file *file, size_t number)
{
	if (file->bad_cnt++ < BAD_NAMED_MAX)
		pr_warn("'%s' line %zu: no 'stack count', skipped\n", file->path, number);
}

static void count_frames(struct foreign_file *file, const char *stack, size_t len, uint64_t count)
{
	static const char unknown[] = "[unknown";
	struct stack_frame frame;
	bool is_first = !diff_spelling_begins_with_code(stack, len);

	for (; stack_text_next(&stack, &len, &frame); is_first = false) {
		if (is_first)
			continue;
		file->frames += count;
		if (frame.name_len >= strlen(unknown) &&
		    memcmp(frame.name, unknown, strlen(unknown)) == 0)
			file->unknown_frames += count;
	}
}

static int take_line(struct foreign_file *file, const char *text, size_t len, size_t number)
{
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	struct foreign_line line, column;

	while (len && is_blank(text[len - 1]))
		len--;
	if (!len || *text == '#')
		return 0;
	if (!split_number(text, len, &line) || line.len > STACK_TEXT_MAX_BYTES - strlen(ROOT ";")) {
		bad_line(file, number);
		return 0;
	}
	file->line_cnt++;
	file->two_column_cnt += split_number(line.stack, line.len, &column);
	file->decimal_cnt += line.has_decimals;
	if (!line.count)
		return 0;
	count_frames(file, line.stack, line.len, line.count);
	if (!diff_spelling_begins_with_code(line.stack, line.len))
		return profile__add(file->profile, line.stack, line.len, line.count);

	strbuf_puts(&stack, ROOT ";");
	strbuf_append(&stack, line.stack, line.len);

	int err = strbuf_error(&stack);

	return err ? err : profile__add(file->profile, stack.data, stack.len, line.count);
}

static int take_text(struct foreign_file *file, const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	size_t number = 0;
	int err = 0;

	while (!err && lines_next(&lines, &line))
		err = take_line(file, line.at, line.len, ++number);
	return err;
}

/* What people hand in by mistake, known by its first bytes. */
static const char *other_kind(const struct strbuf *text)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *what;
	} kinds[] = {
		{ "\x28\xb5\x2f\xfd", 4, "is compressed; unpack it with zstdcat first" },
		{ "\x1f\x8b", 2, "is compressed; unpack it with zcat first" },
		{ "PERFILE2", 8, "is raw data of perf; give it to perf script and stackcollapse" },
		{ "FLR\0", 4, "is a flight recording; convert it to folded text first" },
		{ "<!DOCTYPE", 9, "is a page; folded text is needed" },
		{ "<?xml", 5, "is a picture; folded text is needed" },
		{ "{", 1, "is JSON; folded text is needed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text->len >= kinds[i].len &&
		    memcmp(text->data, kinds[i].bytes, kinds[i].len) == 0)
			return kinds[i].what;
	return NULL;
}

static int say_unreadable(const char *path, int err)
{
	if (err == -EFBIG)
		pr_err("'%s' is larger than %u MiB; thin it out first\n", path,
		       FILE_MAX_BYTES >> 20);
	else
		pr_err("'%s' cannot be read: %s\n", path, errstr(err));
	return err;
}

static int read_file(struct foreign_file *file)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(AT_FDCWD, file->path, FILE_MAX_BYTES, &text);
	const char *other;

	if (err)
		return say_unreadable(file->path, err);
	other = text.len ? other_kind(&text) : NULL;
	if (other) {
		pr_err("'%s' %s\n", file->path, other);
		return -EINVAL;
	}
	file->profile = profile__new();
	err = file->profile ? take_text(file, strbuf_str(&text), text.len) : -ENOMEM;
	if (err)
		return say_unreadable(file->path, err);
	if (file->bad_cnt > BAD_NAMED_MAX)
		pr_warn("'%s': and %zu more such lines\n", file->path,
			file->bad_cnt - BAD_NAMED_MAX);
	if (file->bad_cnt && !file->line_cnt) {
		pr_err("'%s' is no folded text: no line of it is 'stack count'\n", file->path);
		return -EINVAL;
	}
	if (file->line_cnt && file->two_column_cnt == file->line_cnt) {
		pr_err("'%s' has two columns, it is a comparison already; give the two files it was made of\n",
		       file->path);
		return -EINVAL;
	}
	return 0;
}

/* By how much counts are divided so that they fit, the same for both files. */
static uint64_t divisor_of(const struct foreign_file *files)
{
	uint64_t most = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t total = profile__sample_count(files[i].profile);

		most = total > most ? total : most;
	}
	return most / TOTAL_MAX + 1;
}

static int fill(const struct foreign_file *file, struct diff_catalog *catalog, uint64_t divisor,
		struct diff_loaded *out)
{
	struct diff_loaded loaded = { .side = diff_side__new(DIFF_LOAD_EVENT_CPU) };
	struct diff_block block = {
		.length_ns = SECOND_PLACE_NS,
		.frames = file->frames / divisor,
		.unknown_frames = file->unknown_frames / divisor,
	};
	int err = loaded.side ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < profile__stack_count(file->profile); i++) {
		struct profile_stack stack = profile__stack(file->profile, i);
		uint64_t count = (stack.count + divisor / 2) / divisor;

		block.samples += count;
		err = diff_catalog__add(catalog, loaded.side, stack.text, stack.len, count);
	}
	if (!err && block.samples)
		err = diff_side__close_block(loaded.side, &block);
	if (err) {
		diff_loaded_release(&loaded);
		return err;
	}
	loaded.counts.samples = block.samples;
	loaded.counts.frames = block.frames;
	loaded.counts.unknown_frames = block.unknown_frames;
	loaded.bad_line_cnt = file->bad_cnt;
	*out = loaded;
	return 0;
}

static int add_notes(const struct foreign_file *files, uint64_t divisor, struct diff_notes *notes)
{
	int err = diff_notes_add(
		notes, "two files without times: shares only; no change in them is more than "
		       "a guess, so every verdict is unresolved");

	for (int i = 0; !err && i < 2; i++) {
		if (files[i].bad_cnt)
			err = diff_notes_add(notes, "'%s': %zu damaged line%s skipped",
					     files[i].path, files[i].bad_cnt,
					     files[i].bad_cnt == 1 ? " was" : "s were");
		if (!err && files[i].decimal_cnt)
			err = diff_notes_add(notes, "'%s': %zu count%s with decimals %s rounded",
					     files[i].path, files[i].decimal_cnt,
					     files[i].decimal_cnt == 1 ? "" : "s",
					     files[i].decimal_cnt == 1 ? "was" : "were");
	}
	if (!err && divisor > 1)
		err = diff_notes_add(notes,
				     "counts are too large for samples (nanoseconds? bytes?): all "
				     "were divided by %" PRIu64,
				     divisor);
	return err;
}

int diff_foreign_load(const char *path_before, const char *path_after, struct diff_catalog *catalog,
		      struct diff_notes *notes, struct diff_loaded *before,
		      struct diff_loaded *after)
{
	struct foreign_file files[2] = { { .path = path_before }, { .path = path_after } };
	struct diff_loaded sides[2] = { 0 };
	int err = 0;

	for (int i = 0; !err && i < 2; i++)
		err = read_file(&files[i]);
	if (!err) {
		uint64_t divisor = divisor_of(files);

		for (int i = 0; !err && i < 2; i++)
			err = fill(&files[i], catalog, divisor, &sides[i]);
		if (!err)
			err = add_notes(files, divisor, notes);
		if (err)
			pr_err("out of memory; compare smaller files\n");
	}
	for (int i = 0; i < 2; i++) {
		profile__free(files[i].profile);
		if (err)
			diff_loaded_release(&sides[i]);
	}
	if (err)
		return err;
	*before = sides[0];
	*after = sides[1];
	return 0;
}
