// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/kallsyms of any bytes. Each function ends where the next begins at the latest, and an
 * address is never given to a function that a slow reader of the same lines would not give it to.
 *
 * Input: the text, less than 64 KiB.
 */
#include "symbols/names/kallsyms.h"
#include "tests/fuzz/fuzz.h"

#define LINES_MAX     256
#define TEXT_MAX      65535
#define LAST_MAX_SIZE 65536 /* of a function with nothing near behind it */

struct line {
	uint64_t start;
	char name[512];
};

static int dir_fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	dir_fd = fuzz_dir();
	return 0;
}

/* "ffffffff81000000 t name\t[module]" with a type that stands for code. */
static bool read_line(const char *line, size_t len, struct line *out)
{
	size_t digits = 0, name_len;

	while (digits < len && line[digits] && strchr("0123456789abcdef", line[digits]))
		digits++;
	if (!digits || digits > 16 || len - digits < 4 || line[digits] != ' ' ||
	    !line[digits + 1] || !strchr("tTwW", line[digits + 1]) || line[digits + 2] != ' ')
		return false;
	out->start = strtoull(line, NULL, 16);
	line += digits + 3;
	len -= digits + 3;
	for (name_len = 0; name_len < len && line[name_len] != '\t';)
		name_len++;
	(void)snprintf(out->name, sizeof(out->name), "%.*s",
		       (int)(name_len < sizeof(out->name) ? name_len : sizeof(out->name) - 1),
		       line);
	return out->start && name_len;
}

/* The lines that count, or 0 when there are too many of them to compare. */
static size_t read_lines(const char *text, size_t len, struct line *lines)
{
	const char *end = text + len, *newline;
	size_t cnt = 0;

	for (; text < end && (newline = memchr(text, '\n', (size_t)(end - text)));
	     text = newline + 1) {
		if (cnt == LINES_MAX)
			return 0;
		cnt += read_line(text, (size_t)(newline - text), &lines[cnt]);
	}
	return cnt;
}

static bool is_left_out(const char *name)
{
	return strncmp(name, "__pfx_", 6) == 0 || strncmp(name, "__cfi_", 6) == 0;
}

static void check_at(struct kallsyms *syms, const struct line *lines, size_t cnt, uint64_t address)
{
	struct kallsym found;
	bool is_known = false;

	if (kallsyms__read_and_lookup(syms, address, 1, &found) != 0)
		return;
	must(found.start <= address && address < found.end);
	for (size_t i = 0; i < cnt; i++) {
		if (is_left_out(lines[i].name))
			continue;
		/* Nothing begins in between. */
		must(lines[i].start <= found.start || lines[i].start >= found.end);
		if (lines[i].start == found.start && strncmp(lines[i].name, found.name, 511) == 0)
			is_known = true;
	}
	must(!cnt || is_known);
	must(strlen(found.module) < TEXT_MAX && !strchr(found.module, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct line lines[LINES_MAX + 1];
	struct kallsyms *syms;
	size_t cnt;

	len = len < TEXT_MAX ? len : TEXT_MAX;
	fuzz_dir_put(dir_fd, "kallsyms", data, len);
	cnt = read_lines((const char *)data, len, lines);
	must(kallsyms__open(dir_fd, &syms) == 0);
	for (size_t i = 0; i < cnt; i++) {
		struct kallsym found;

		/* All that begins below the last 64 KiB is found where it begins. */
		if (!is_left_out(lines[i].name) && lines[i].start < UINT64_MAX - LAST_MAX_SIZE)
			must(kallsyms__read_and_lookup(syms, lines[i].start, 1, &found) == 0);
		check_at(syms, lines, cnt, lines[i].start);
		check_at(syms, lines, cnt, lines[i].start - 1);
		check_at(syms, lines, cnt, lines[i].start + LAST_MAX_SIZE - 1);
	}
	check_at(syms, lines, cnt, UINT64_MAX);
	kallsyms__free(syms);
	return 0;
}
