// SPDX-License-Identifier: Apache-2.0
/*
 * Folded text of unknown origin; see compare_foreign.h. Every line is looked at by itself: what is no
 * "stack count" is named and skipped. Counts may have decimals and exponents (flamegraph.pl and
 * difffolded.pl take and print them), and may be nanoseconds or bytes, far more than samples ever
 * are: what is compared is shares, so a file is scaled until its total fits, and nothing is dropped
 * for being small.
 */
#include "user/compare/compare_foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "user/compare/foreign_count.h"
#include "user/compare/foreign_match.h"
#include "user/diff/diff_spelling.h"
#include "user/model/profile.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/util/strtab.h"
#include "user/compare/unpack.h"

#define FILE_MAX_BYTES	(1024u << 20)
#define STACKS_MAX	500000u /* of a file; each takes some 2 KB until it is compared */
#define BAD_NAMED_MAX	3
#define TOTAL_MAX	(1u << 31) /* of a side's counts, which are 32 bits wide */
#define SUM_MAX		0x1p62L	   /* of a file's counts as they are added up */
#define UNIT_RATIO_MAX	1000	   /* totals that differ by more are of different units */
#define CUT		";" STACK_LINE_TRUNCATED
#define GROWTH_BYTES	5 /* of a frame: its separator, and the suffix that it may get */
#define BOM		"\xef\xbb\xbf"
#define SECOND_PLACE_NS CLOCK_NS_PER_S /* any length; the file has none */

struct foreign_file {
	const char *path;
	struct profile *profile; /* counts are in units of 10^place */
	int place;
	bool has_no_processes; /* in front of its stacks */
	size_t line_cnt;       /* stacks */
	size_t bad_cnt;
	size_t two_column_cnt; /* stacks that end in a number themselves */
	size_t cut_cnt;	       /* lines that lost frames at their root */
	long double frames;    /* in the counts' units */
	long double unknown_frames;
};

struct foreign_line {
	const char *stack;
	size_t len;
	struct foreign_count count;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
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
	if (!at || foreign_count_parse(line + at, len - at, &out->count))
		return false;
	while (at && is_blank(line[at - 1]))
		at--;
	out->stack = line;
	out->len = at;
	return at > 0;
}

static void bad_line(struct foreign_file *file, size_t number, const char *why)
{
	if (file->bad_cnt++ < BAD_NAMED_MAX)
		pr_warn("'%s' line %zu: %s, skipped\n", file->path, number, why);
}

/* `has_process`: the first frame is none. */
static void count_frames(struct foreign_file *file, const char *stack, size_t len, bool has_process,
			 uint64_t count)
{
	static const char unknown[] = "[unknown";
	struct stack_frame frame;

	for (bool is_process = has_process; stack_text_next(&stack, &len, &frame);
	     is_process = false) {
		if (is_process)
			continue;
		file->frames += count;
		if (frame.name_len >= strlen(unknown) &&
		    memcmp(frame.name, unknown, strlen(unknown)) == 0)
			file->unknown_frames += count;
	}
}

/*
 * A stack that is longer than one may be loses frames at its root, as the recorder's own do. -E2BIG: its first or
 * its last frame alone is too long.
 */
static int append_cut(const char *stack, size_t len, struct strbuf *out)
{
	const char *first_end = memchr(stack, ';', len);
	size_t room = STACK_TEXT_MAX_BYTES - out->len - strlen(CUT) - 2 * GROWTH_BYTES;
	size_t first_len = first_end ? (size_t)(first_end - stack) : len;
	size_t from = len;

	if (first_len >= room)
		return -E2BIG;
	room -= first_len;
	while (from > first_len) {
		const char *separator = memrchr(stack + first_len, ';', from - first_len);
		size_t frame_len = from - (size_t)(separator - stack) + GROWTH_BYTES;

		if (frame_len > room)
			break;
		room -= frame_len;
		from = (size_t)(separator - stack);
	}
	if (from == len)
		return -E2BIG;
	strbuf_append(out, stack, first_len);
	strbuf_puts(out, CUT);
	strbuf_append(out, stack + from, len - from);
	return strbuf_error(out);
}

/* Lines are told apart from comments by what follows: "#<Class:0x1>#call 10" is a stack of Ruby. */
static bool is_comment(const char *text, size_t len)
{
	return *text == '#' && (len == 1 || is_blank(text[1]) || text[1] == '#' || text[1] == '!');
}

/* Whether a line is a stack with a count; *why_out when it should be and is not, else NULL. */
static bool split_line(const char *text, size_t len, struct foreign_line *out, const char **why_out)
{
	*why_out = NULL;
	while (len && is_blank(text[len - 1]))
		len--;
	if (!len || is_comment(text, len))
		return false;
	if (memchr(text, '\0', len))
		*why_out = "a NUL byte is in it";
	else if (!split_number(text, len, out))
		*why_out = "no 'stack count'";
	return !*why_out;
}

static int add_stack(struct foreign_file *file, const struct foreign_line *line, bool has_process,
		     uint64_t count, size_t number)
{
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	int err = 0;

	if (!has_process)
		strbuf_puts(&stack, FOREIGN_ROOT ";");
	if (stack.len + line->len > STACK_TEXT_MAX_BYTES) {
		err = append_cut(line->stack, line->len, &stack);
		if (err == -E2BIG) {
			bad_line(file, number, "a frame of it is too long");
			return 0;
		}
		file->cut_cnt++;
	} else if (!has_process) {
		strbuf_append(&stack, line->stack, line->len);
	}
	if (!err)
		err = strbuf_error(&stack);
	if (err)
		return err;
	if (stack.len)
		return profile__add(file->profile, stack.data, stack.len, count);
	return profile__add(file->profile, line->stack, line->len, count);
}

static int take_line(struct foreign_file *file, const struct foreign_line *line, size_t number)
{
	struct foreign_line column;
	uint64_t count = foreign_count_at(&line->count, file->place);
	bool has_process;
	int err;

	file->line_cnt++;
	file->two_column_cnt += split_number(line->stack, line->len, &column);
	if (!count)
		return 0;
	has_process = !file->has_no_processes &&
		      !diff_spelling_begins_with_code(line->stack, line->len);
	count_frames(file, line->stack, line->len, has_process, count);
	err = add_stack(file, line, has_process, count, number);
	if (err)
		return err;
	return profile__stack_count(file->profile) > STACKS_MAX ? -E2BIG : 0;
}

/* The place of the last digit that any count has, as far as the sum of all has room for it. */
static int find_place(const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	struct foreign_line split;
	const char *why;
	long double total = 0;
	int place = 0;

	while (lines_next(&lines, &line)) {
		if (!split_line(line.at, line.len, &split, &why))
			continue;
		total += foreign_count_value(&split.count);
		if (split.count.place < place)
			place = split.count.place;
	}
	while (total > SUM_MAX * powl(10, place))
		place++;
	return place;
}

/*
 * Profilers of one process write none in front of any stack: "start_thread" and "Main.work" of no package, which
 * alone could be names of processes, are code where another stack begins with what can only be.
 */
static bool has_no_processes(const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	struct line line;

	while (lines_next(&lines, &line))
		if (diff_spelling_begins_with_java(line.at, line.len) &&
		    memchr(line.at, ';', line.len))
			return true;
	return false;
}

static int take_text(struct foreign_file *file, const char *text, size_t len)
{
	struct lines lines;
	struct line line;
	struct foreign_line split;
	size_t number = 0;
	int err = 0;

	if (len >= strlen(BOM) && memcmp(text, BOM, strlen(BOM)) == 0) {
		text += strlen(BOM);
		len -= strlen(BOM);
	}
	file->place = find_place(text, len);
	file->has_no_processes = has_no_processes(text, len);
	lines = lines_init(text, len);
	while (!err && lines_next(&lines, &line)) {
		const char *why;

		number++;
		if (split_line(line.at, line.len, &split, &why))
			err = take_line(file, &split, number);
		else if (why)
			bad_line(file, number, why);
	}
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
		{ "\xff\xfe", 2, "is no folded text but UTF-16; convert it with iconv first" },
		{ "\xfe\xff", 2, "is no folded text but UTF-16; convert it with iconv first" },
		{ "\xfd"
		  "7zXZ",
		  5, "is compressed; unpack it with xzcat first" },
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
	else if (err == -E2BIG)
		pr_err("'%s' has more than %u different stacks; thin it out first\n", path,
		       STACKS_MAX);
	else if (err == -EBADMSG)
		pr_err("'%s' is compressed and damaged: it cannot be unpacked\n", path);
	else
		pr_err("'%s' cannot be read: %s\n", path, errstr(err));
	return err;
}

static int read_file(struct foreign_file *file)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(AT_FDCWD, file->path, FILE_MAX_BYTES, &text);
	const char *other;

	if (!err)
		err = unpack(&text, FILE_MAX_BYTES);
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

/* What one unit of a file's counts is in samples. */
struct foreign_scale {
	long double factor;
	bool is_shared; /* by both files */
};

static long double total_of(const struct foreign_file *file)
{
	return (long double)profile__sample_count(file->profile) * powl(10, file->place);
}

/* So that the last digit of each count is a sample, as far as the total has room for that. */
static long double samples_per_one(long double total, int place)
{
	long double samples = place < 0 ? powl(10, -place) : 1;

	if (total * samples > TOTAL_MAX)
		samples /= floorl(total * samples / TOTAL_MAX) + 1;
	return samples;
}

/* Files of one unit are scaled alike, so that their counts can be compared as well. */
static void find_scales(const struct foreign_file *files, struct foreign_scale *scales)
{
	long double totals[2] = { total_of(&files[0]), total_of(&files[1]) };
	long double most = fmaxl(totals[0], totals[1]);
	long double least = fminl(totals[0], totals[1]);
	bool is_shared = least <= 0 || most / least <= UNIT_RATIO_MAX;
	int place = files[0].place < files[1].place ? files[0].place : files[1].place;

	for (int i = 0; i < 2; i++)
		scales[i] = (struct foreign_scale){
			.factor = is_shared ? samples_per_one(most, place) :
					      samples_per_one(totals[i], files[i].place),
			.is_shared = is_shared,
		};
}

/* `at`: 0 before, 1 after. */
static int fill(const struct foreign_file *file, struct foreign_match *match, int at,
		struct diff_catalog *catalog, const struct foreign_scale *scale,
		struct compare_loaded *out)
{
	struct compare_loaded loaded = { .side = diff_side__new(COMPARE_LOAD_EVENT_CPU) };
	long double factor = scale->factor * powl(10, file->place), sum = 0;
	struct diff_block block = {
		.length_ns = SECOND_PLACE_NS,
		.frames = (uint64_t)(file->frames * factor),
		.unknown_frames = (uint64_t)(file->unknown_frames * factor),
	};
	int err = loaded.side ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < profile__stack_count(file->profile); i++) {
		struct profile_stack stack = profile__stack(file->profile, i);
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		uint64_t before = block.samples;

		/* The sum is what is rounded: many small counts make as much as they are together. */
		sum += (long double)stack.count * factor;
		block.samples = (uint64_t)roundl(sum);
		err = foreign_match__append(match, at, &stack, &text);
		if (!err)
			err = diff_catalog__add(catalog, loaded.side, strbuf_str(&text), text.len,
						block.samples - before);
	}
	if (!err && block.samples)
		err = diff_side__close_block(loaded.side, &block);
	if (err) {
		compare_loaded_release(&loaded);
		return err;
	}
	loaded.counts.samples = block.samples;
	loaded.counts.frames = block.frames;
	loaded.counts.unknown_frames = block.unknown_frames;
	loaded.bad_line_cnt = file->bad_cnt;
	*out = loaded;
	return 0;
}

static int note_scale(const struct foreign_file *file, const struct foreign_scale *scale,
		      struct compare_notes *notes)
{
	const char *whose = scale->is_shared ? "both files" : file->path;

	if (scale->factor > 1)
		return compare_notes_add(notes,
					 "%s: counts have decimals: all were multiplied by %.6Lg",
					 whose, scale->factor);
	if (scale->factor < 1)
		return compare_notes_add(
			notes,
			"%s: counts are too large for samples (nanoseconds? bytes?): "
			"all were divided by %.6Lg",
			whose, 1 / scale->factor);
	return 0;
}

static int note_scales(const struct foreign_file *files, const struct foreign_scale *scales,
		       struct compare_notes *notes)
{
	int err = 0;

	if (!scales[0].is_shared)
		err = compare_notes_add(notes,
					"one file's counts are more than %d times the other's: "
					"other units? each was scaled by itself",
					UNIT_RATIO_MAX);
	for (int i = 0; !err && i < (scales[0].is_shared ? 1 : 2); i++)
		err = note_scale(&files[i], &scales[i], notes);
	return err;
}

/* What of each stack is not compared, as the other file has nothing like it. */
static int note_match(const struct foreign_file *file, const struct foreign_match_side *facts,
		      struct compare_notes *notes)
{
	const struct {
		bool applies;
		const char *text;
	} cases[] = {
		{ facts->loses_parameters,
		  "has the parameters of methods: they are left out, and methods of one name are one" },
		{ facts->loses_native_parameters,
		  "has the parameters of functions: they are left out, and functions of one name are one" },
		{ facts->loses_kernel_marks,
		  "marks functions of the kernel: the marks are left out" },
		{ facts->loses_dashes,
		  "has '-' in front of the kernel's functions: it is left out" },
		{ facts->loses_libraries,
		  "has libraries in front of functions: they are left out" },
		{ facts->loses_processes,
		  "has processes or threads in front of stacks: they are left out" },
		{ facts->loses_roots,
		  "has the JVM's code in front of the first method: it is left out" },
		{ facts->loses_clone, "has clone() in front of start_thread(): it is left out" },
		{ facts->loses_stubs, "tells the JVM's stubs apart: all are " FOREIGN_STUBS },
		{ facts->loses_stub_groups,
		  "has the JVM's stubs in groups: all are " FOREIGN_STUBS },
		{ facts->has_nameless_interpreted && !facts->names_some_interpreted,
		  "has no names for methods that are interpreted: '" FOREIGN_INTERPRETER
		  "' stands for them" },
		{ facts->has_nameless_interpreted && facts->names_some_interpreted,
		  "has no names for some methods that are interpreted: '" FOREIGN_INTERPRETER
		  "' stands for them" },
	};
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(cases); i++)
		if (cases[i].applies)
			err = compare_notes_add(notes, "'%s' alone %s", file->path, cases[i].text);
	return err;
}

static int note_lines(const struct foreign_file *file, struct compare_notes *notes)
{
	int err = 0;

	if (file->bad_cnt)
		err = compare_notes_add(notes, "'%s': %zu damaged line%s skipped", file->path,
					file->bad_cnt, file->bad_cnt == 1 ? " was" : "s were");
	if (!err && file->cut_cnt)
		err = compare_notes_add(
			notes,
			"'%s': %zu line%s of more than %d KiB, which lost the frames "
			"at the root",
			file->path, file->cut_cnt, file->cut_cnt == 1 ? "" : "s",
			FOLDED_LINE_MAX_BYTES >> 10);
	return err;
}

static int add_notes(const struct foreign_file *files, const struct foreign_scale *scales,
		     const struct foreign_match *match, struct compare_notes *notes)
{
	int err = compare_notes_add(
		notes,
		"two files without times, so nothing tells a change from chance: shares are shown, "
		"the largest change first, and nothing is judged");

	for (int i = 0; !err && i < 2; i++) {
		err = note_lines(&files[i], notes);
		if (!err)
			err = note_match(&files[i], foreign_match__side(match, i), notes);
	}
	return err ? err : note_scales(files, scales, notes);
}

static int fill_both(const struct foreign_file *files, struct diff_catalog *catalog,
		     struct compare_notes *notes, struct compare_loaded *sides)
{
	struct foreign_match *match = NULL;
	struct foreign_scale scales[2];
	int err = foreign_match__new(files[0].profile, files[1].profile, &match);

	find_scales(files, scales);
	for (int i = 0; !err && i < 2; i++)
		if (foreign_match__side(match, i)->loses_parameters)
			diff_catalog__leave_out_parameters(catalog);
	for (int i = 0; !err && i < 2; i++)
		err = fill(&files[i], match, i, catalog, &scales[i], &sides[i]);
	if (!err)
		err = add_notes(files, scales, match, notes);
	foreign_match__free(match);
	return err;
}

int compare_foreign_load(const char *path_before, const char *path_after,
			 struct diff_catalog *catalog, struct compare_notes *notes,
			 struct compare_loaded *before, struct compare_loaded *after)
{
	struct foreign_file files[2] = { { .path = path_before }, { .path = path_after } };
	struct compare_loaded sides[2] = { 0 };
	int err = 0;

	for (int i = 0; !err && i < 2; i++)
		err = read_file(&files[i]);
	if (!err) {
		err = fill_both(files, catalog, notes, sides);
		if (err)
			pr_err("out of memory; compare smaller files\n");
	}
	for (int i = 0; i < 2; i++) {
		profile__free(files[i].profile);
		if (err)
			compare_loaded_release(&sides[i]);
	}
	if (err)
		return err;
	*before = sides[0];
	*after = sides[1];
	return 0;
}
