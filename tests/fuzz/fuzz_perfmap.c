// SPDX-License-Identifier: Apache-2.0
/*
 * Perf map text of any bytes. The table is in order, without overlap, no larger than the text
 * allows, and answers at every edge what a slow reader that keeps all lines and asks the last one
 * that covers an address answers.
 *
 * Input: the text.
 */
#include "symbols/perfmap/perfmap.h"
#include "symbols/perfmap/perfmap_wire.h"
#include "tests/fuzz/fuzz.h"

#define LINES_MAX  128 /* for the slow reader */
#define PAGE_BYTES 4096u
#define NAME_BYTES (16u << 10)

struct line {
	uint64_t start, end;
	const char *name;
	size_t name_len;
};

/* "[0x]HEX" of at most 64 bits. */
static bool take_hex(const char **at, const char *end, uint64_t *out)
{
	size_t len = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	*out = 0;
	for (; *at < end && **at && strchr("0123456789abcdefABCDEF", **at); (*at)++, len++) {
		const char digit[] = { **at, '\0' };

		if (__builtin_mul_overflow(*out, 16, out))
			return false;
		*out += strtoul(digit, NULL, 16);
	}
	return len > 0;
}

static bool take_blanks(const char **at, const char *end)
{
	const char *begin = *at;

	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	return *at > begin;
}

static bool read_line(const char *at, const char *end, struct line *out)
{
	uint64_t size;

	if (end > at && end[-1] == '\r')
		end--;
	(void)take_blanks(&at, end);
	if (!take_hex(&at, end, &out->start) || !take_blanks(&at, end) ||
	    !take_hex(&at, end, &size) || !take_blanks(&at, end))
		return false;
	if (at == end || (size_t)(end - at) > NAME_BYTES || memchr(at, '\0', (size_t)(end - at)))
		return false;
	out->name = at;
	out->name_len = (size_t)(end - at);
	return !__builtin_add_overflow(out->start, size, &out->end);
}

/* Size 0 reaches to the next start, or to the end of its page. */
static void close_open_end(struct line *lines, size_t cnt, size_t idx, const uint64_t *starts)
{
	uint64_t next = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (starts[i] > lines[idx].start && (!next || starts[i] < next))
			next = starts[i];
	}
	if (!next)
		next = lines[idx].start / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;
	lines[idx].end = next ? next : UINT64_MAX;
}

static const struct line *find(const struct line *lines, size_t cnt, uint64_t address)
{
	for (size_t i = cnt; i-- > 0;) {
		if (address >= lines[i].start && address < lines[i].end)
			return &lines[i];
	}
	return NULL;
}

static void compare_at(const struct perfmap *map, const struct line *lines, size_t cnt,
		       uint64_t address)
{
	const struct line *wanted = find(lines, cnt, address);
	struct perfmap_symbol found;
	int err = perfmap__lookup(map, address, &found);

	must(err == (wanted ? 0 : -ENOENT));
	if (!wanted)
		return;
	must(found.start <= address && address < found.end);
	must(found.name_len == wanted->name_len);
	must(memcmp(found.name, wanted->name, wanted->name_len) == 0);
}

/* How many lines were taken, or SIZE_MAX: too many to compare. */
static size_t read_lines(const char *text, size_t len, struct line *lines, size_t *line_cnt)
{
	const char *end = text + len;
	uint64_t starts[LINES_MAX];
	size_t cnt = 0;

	*line_cnt = 0;
	for (const char *at = text, *newline;
	     at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		if (cnt == LINES_MAX)
			return SIZE_MAX;
		(*line_cnt)++;
		if (read_line(at, newline, &lines[cnt])) {
			starts[cnt] = lines[cnt].start;
			cnt++;
		}
	}
	for (size_t i = 0; i < cnt; i++) {
		if (lines[i].end == lines[i].start)
			close_open_end(lines, cnt, i, starts);
	}
	return cnt;
}

struct walk {
	const struct perfmap *map;
	uint64_t end;
	size_t cnt;
};

static int on_range(void *ctx, const struct perfmap_symbol *symbol)
{
	struct walk *walk = ctx;
	struct perfmap_symbol found;

	must(symbol->start < symbol->end && symbol->start >= walk->end);
	must(symbol->name_len && !memchr(symbol->name, '\n', symbol->name_len));
	for (int i = 0; i < 2; i++) {
		must(perfmap__lookup(walk->map, i ? symbol->end - 1 : symbol->start, &found) == 0);
		must(found.start == symbol->start && found.end == symbol->end);
		must(found.name == symbol->name && found.name_len == symbol->name_len);
	}
	walk->end = symbol->end;
	walk->cnt++;
	return 0;
}

static int on_range_again(void *ctx, const struct perfmap_symbol *symbol)
{
	struct perfmap_symbol found;

	must(perfmap__lookup(ctx, symbol->start, &found) == 0);
	must(found.start == symbol->start && found.end == symbol->end);
	must(found.name_len == symbol->name_len);
	must(memcmp(found.name, symbol->name, symbol->name_len) == 0);
	return 0;
}

/* The map is the same on the other side of the border to the parser process. */
static void check_border(const struct perfmap *map, const struct perfmap_stats *stats)
{
	struct strbuf bytes __cleanup_strbuf = STRBUF_INIT;
	const struct wire_sink sink = fuzz_sink(&bytes);
	struct perfmap_stats other_stats;
	struct perfmap *other = NULL;

	must(perfmap__encode(map, stats, &sink) == 0);
	must(perfmap_decode(bytes.data, bytes.len, &other, &other_stats) == 0);
	must(memcmp(stats, &other_stats, sizeof(other_stats)) == 0);
	must(perfmap__each(map, on_range_again, other) == 0);
	perfmap__free(other);
	must(perfmap_decode(bytes.data, bytes.len - 1, &other, &other_stats) == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct line lines[LINES_MAX];
	struct perfmap_stats stats;
	struct perfmap *map = NULL;
	struct walk walk = { 0 };
	size_t cnt, line_cnt;

	must(perfmap__parse((const char *)data, len, &map, &stats) == 0);
	walk.map = map;
	must(perfmap__each(map, on_range, &walk) == 0);
	must(walk.cnt == stats.entry_cnt && stats.rejected_cnt <= stats.line_cnt);
	/* A line begins one range and splits one at most; names are never larger than the text. */
	must(stats.entry_cnt <= 2 * (stats.line_cnt - stats.rejected_cnt));
	must(perfmap__bytes(map) <= 128 + stats.entry_cnt * 24 + len);
	check_border(map, &stats);
	cnt = read_lines((const char *)data, len, lines, &line_cnt);
	if (cnt != SIZE_MAX) {
		must(stats.line_cnt == line_cnt && line_cnt - stats.rejected_cnt == cnt);
		for (size_t i = 0; i < cnt; i++) {
			compare_at(map, lines, cnt, lines[i].start);
			compare_at(map, lines, cnt, lines[i].start - 1);
			compare_at(map, lines, cnt, lines[i].end - 1);
			compare_at(map, lines, cnt, lines[i].end);
		}
	}
	perfmap__free(map);
	return 0;
}
