// SPDX-License-Identifier: Apache-2.0
/*
 * Every window of a store, one per line, for tests that add up what was sampled, kept and lost:
 *
 *   host START_NS DURATION_NS START_BOOT_NS SAMPLES counts_full=N no_map=N ...
 *   stream START_NS DURATION_NS START_BOOT_NS SAMPLES pid=N exec_id=N text=N cells=N
 *
 * Times are Unix and CLOCK_BOOTTIME. `text` is the sum of the counts in the stacks' text, which must
 * be SAMPLES. Damage is a line "damage PATH OFFSET BYTES WHAT". Usage: store_windows DIR
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/log.h"

/* Sum of the numbers behind the last blank of each line. */
static uint64_t text_samples(const char *text, size_t len)
{
	uint64_t sum = 0;

	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line_len = newline ? (size_t)(newline - text) : len;
		uint64_t count = 0, unit = 1;

		for (size_t i = line_len; i-- && text[i] >= '0' && text[i] <= '9'; unit *= 10)
			count += (uint64_t)(text[i] - '0') * unit;
		sum += count;
		if (!newline)
			break;
		len -= line_len + 1;
		text = newline + 1;
	}
	return sum;
}

static int print_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, window->pid ? "stream" : "host",
	       window->start_unix_ns, window->duration_ns, window->start_boot_ns,
	       window->counts.samples);
	if (window->pid) {
		printf(" pid=%u exec_id=%u text=%" PRIu64 " cells=%u\n", window->pid,
		       window->exec_id, text_samples(text, len), window->cells_len);
		return 0;
	}
	for (int i = 0; i < WINDOW_LOSS_CNT; i++)
		printf(" %s=%" PRIu64, window_loss_name((enum window_loss)i), window->lost[i]);
	printf("\n");
	return 0;
}

static void print_damage(void *ctx, const struct store_damage *damage)
{
	(void)ctx;
	printf("damage %s %" PRIu64 " %" PRIu64 " %s\n", damage->path, damage->offset,
	       damage->bytes, damage->what);
}

int main(int argc, char **argv)
{
	const struct store_visitor visitor = {
		.wants_cells = true,
		.checks_all = true,
		.window = print_window,
		.damage = print_damage,
	};
	struct store_reader *reader;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: store_windows DIR\n");
		return 2;
	}
	err = store_reader__open(argv[1], &reader);
	if (!err) {
		err = store_reader__visit(reader, 0, UINT64_MAX, &visitor);
		store_reader__free(reader);
	}
	if (err)
		fprintf(stderr, "store_windows: '%s': %s\n", argv[1], errstr(err));
	return err ? 1 : 0;
}
