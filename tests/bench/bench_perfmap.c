// SPDX-License-Identifier: Apache-2.0
/*
 * Perf map reader: MB/s of text parsed and lookups per second on a map like that of a large
 * service (50,000 lines, HotSpot's spelling, unsorted), and the worst case for overlaps (a million
 * nested ranges). The aim: 500 MB/s and 10 M lookups/s. Median of five rounds, CPU
 * time: other load on the host does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/perfmap/perfmap.h"
#include "user/util/clock.h"
#include "user/util/strbuf.h"

#define LINE_CNT   50000u
#define NESTED_CNT 1000000u
#define LOOKUP_CNT 4000000u
#define ROUND_CNT  5
#define CODE_BASE  0x7f3a4c4b1c80ull
#define SLOT_BYTES 0x1200u

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_perfmap: %s\n", what);
	exit(1);
}

/* Every slot once, in random order: a JVM's code cache is written heap by heap, unsorted. */
static void text_like_hotspot(struct strbuf *text)
{
	uint32_t *order = malloc(LINE_CNT * sizeof(*order));

	if (!order)
		die("out of memory");
	for (uint32_t i = 0; i < LINE_CNT; i++)
		order[i] = i;
	for (uint32_t i = LINE_CNT - 1; i > 0; i--) {
		uint32_t other = (uint32_t)(random_next() % (i + 1));
		uint32_t slot = order[i];

		order[i] = order[other];
		order[other] = slot;
	}
	for (uint32_t i = 0; i < LINE_CNT; i++) {
		strbuf_printf(text,
			      "0x%016llx 0x%016llx java.lang.Object com.example.pkg%u."
			      "Service%u.method%u(java.lang.Object, long)\n",
			      CODE_BASE + (unsigned long long)order[i] * SLOT_BYTES,
			      0x200ull + random_next() % 0x1000, order[i] % 97, order[i] % 1013,
			      order[i]);
	}
	if (strbuf_error(text))
		die("out of memory");
	free(order);
}

static void text_nested(struct strbuf *text)
{
	for (uint32_t i = 0; i < NESTED_CNT; i++)
		strbuf_printf(text, "%x %x n%u\n", i, 2 * NESTED_CNT - 2 * i, i);
	if (strbuf_error(text))
		die("out of memory");
}

static struct perfmap *parse(const struct strbuf *text, uint64_t *ns_out)
{
	struct perfmap_stats stats;
	struct perfmap *map;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (perfmap__parse(text->data, text->len, &map, &stats))
		die("parse failed");
	*ns_out = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	if (stats.rejected_cnt)
		die("lines rejected");
	return map;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t parse_median_ns(const struct strbuf *text, size_t *bytes_out)
{
	uint64_t times_ns[ROUND_CNT];

	for (int round = 0; round < ROUND_CNT; round++) {
		struct perfmap *map = parse(text, &times_ns[round]);

		*bytes_out = perfmap__bytes(map);
		perfmap__free(map);
	}
	qsort(times_ns, ROUND_CNT, sizeof(times_ns[0]), compare_u64);
	return times_ns[ROUND_CNT / 2];
}

static uint64_t lookup_median_ns(const struct strbuf *text, uint64_t *found_out)
{
	uint64_t *addresses = malloc(LOOKUP_CNT * sizeof(*addresses));
	uint64_t times_ns[ROUND_CNT], parse_ns;
	struct perfmap *map = parse(text, &parse_ns);

	if (!addresses)
		die("out of memory");
	for (uint32_t i = 0; i < LOOKUP_CNT; i++)
		addresses[i] = CODE_BASE + random_next() % ((uint64_t)LINE_CNT * SLOT_BYTES);
	for (int round = 0; round < ROUND_CNT; round++) {
		uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		struct perfmap_symbol symbol;

		*found_out = 0;
		for (uint32_t i = 0; i < LOOKUP_CNT; i++)
			*found_out += perfmap__lookup(map, addresses[i], &symbol) == 0;
		times_ns[round] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	}
	qsort(times_ns, ROUND_CNT, sizeof(times_ns[0]), compare_u64);
	perfmap__free(map);
	free(addresses);
	return times_ns[ROUND_CNT / 2];
}

int main(int argc, char **argv)
{
	struct strbuf text = STRBUF_INIT;
	struct strbuf nested = STRBUF_INIT;
	uint64_t found, parse_ns, lookup_ns, nested_ns;
	size_t bytes, nested_bytes;

	text_like_hotspot(&text);
	text_nested(&nested);
	parse_ns = parse_median_ns(&text, &bytes);
	lookup_ns = lookup_median_ns(&text, &found);
	nested_ns = parse_median_ns(&nested, &nested_bytes);

	if (argc > 1 && strcmp(argv[1], "--json") == 0)
		printf("{\"parse_mb_per_s\":%.0f,\"lookups_per_s\":%.0f}\n",
		       (double)text.len * 1e3 / (double)parse_ns,
		       LOOKUP_CNT * 1e9 / (double)lookup_ns);
	else
		printf("| perf map, %u lines, %.1f MB | %.0f MB/s parsed | %.1f M lookups/s (%.0f %% hit) | "
		       "%.1f MB held | %u nested ranges: %.0f ms |\n",
		       LINE_CNT, (double)text.len / 1e6, (double)text.len * 1e3 / (double)parse_ns,
		       LOOKUP_CNT * 1e3 / (double)lookup_ns, (double)found * 100 / LOOKUP_CNT,
		       (double)bytes / 1e6, NESTED_CNT, (double)nested_ns / 1e6);
	strbuf_release(&text);
	strbuf_release(&nested);
	return 0;
}
