// SPDX-License-Identifier: Apache-2.0
/*
 * How long it takes to merge one hour of one JVM out of the store: 360 windows, about 400 stacks
 * of about 1 kB in each, as in the broker the store's design was measured on. Prints one JSON line.
 * Usage: bench_dump_merge [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/remove_tree.h"
#include "user/model/profile.h"
#include "user/store/store.h"
#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define WINDOWS	       360
#define STACKS	       400
#define POOL	       6000 /* distinct stacks of the hour, drawn with a long tail */
#define FRAMES	       22
#define START_S	       1795262400ull
#define ROUNDS_DEFAULT 5

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Stacks share beginnings, as real ones do: each continues a cut-off earlier one. */
static int make_stack(char **pool, size_t at)
{
	struct strbuf stack = STRBUF_INIT;
	int depth = 0;

	strbuf_puts(&stack, "java");
	if (at) {
		const char *parent = pool[next_random() % at];
		int keep = 3 + (int)(next_random() % FRAMES);

		strbuf_clear(&stack);
		for (const char *end = parent; depth < keep && *end; depth++) {
			const char *next = strchr(end + 1, ';');

			next = next ? next : end + strlen(end);
			strbuf_append(&stack, end, (size_t)(next - end));
			end = next;
		}
	}
	for (; depth < FRAMES; depth++)
		strbuf_printf(&stack, ";org.example.broker.network.Handler%u.process%u_[j]",
			      (unsigned)(next_random() % 400), (unsigned)(next_random() % 40));
	pool[at] = stack.data;
	return strbuf_error(&stack);
}

static int make_text(char **pool, struct strbuf *text, uint64_t *samples)
{
	struct profile *profile = profile__new();
	int err = profile ? 0 : -1;

	while (!err && profile__stack_count(profile) < STACKS) {
		uint64_t a = next_random() % POOL, b = next_random() % POOL,
			 c = next_random() % POOL;
		const char *stack = pool[a * b / POOL * c / POOL];

		err = profile__add(profile, stack, strlen(stack), 1);
	}
	strbuf_clear(text);
	if (!err)
		err = profile__to_folded(profile, text);
	*samples = profile__sample_count(profile);
	profile__free(profile);
	return err;
}

static int fill(const char *dir, uint64_t *text_bytes)
{
	static char *pool[POOL];
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer;
	struct strbuf text = STRBUF_INIT;
	int err = store_writer__open(dir, &options, &writer);

	if (err)
		return err;
	for (size_t i = 0; i < POOL && !err; i++)
		err = make_stack(pool, i);
	for (uint64_t i = 0; i < WINDOWS && !err; i++) {
		struct window window = {
			.start_unix_ns = (START_S + i * 10) * CLOCK_NS_PER_S,
			.duration_ns = 10 * CLOCK_NS_PER_S,
			.pid = 1,
			.labels = { [WINDOW_LABEL_COMM] = "java" },
		};

		err = make_text(pool, &text, &window.counts.samples);
		if (!err)
			err = store_writer__add(writer, &window, text.data, text.len);
		if (!err)
			err = store_writer__commit(writer, NULL);
		*text_bytes += text.len;
	}
	for (size_t i = 0; i < POOL; i++)
		free(pool[i]);
	strbuf_release(&text);
	store_writer__free(writer);
	return err;
}

static int merge_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)window;
	return profile__add_folded(ctx, text, len, NULL);
}

static int count_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)window;
	(void)text;
	*(uint64_t *)ctx += len;
	return 0;
}

/* Milliseconds of one pass over the store; the profile goes to *out unless that is NULL. */
static double pass(const char *dir, struct profile **out)
{
	uint64_t bytes = 0, start_ns = clock_monotonic_ns();
	struct profile *profile = profile__new();
	const struct store_visitor visitor = {
		.ctx = out ? (void *)profile : &bytes,
		.window = out ? merge_window : count_window,
	};
	struct strbuf text = STRBUF_INIT;
	struct store_reader *reader;
	double ms;

	if (!profile || store_reader__open(dir, &reader) ||
	    store_reader__visit(reader, 0, UINT64_MAX, &visitor) ||
	    profile__to_folded(profile, &text))
		exit(1);
	store_reader__free(reader);
	ms = (double)(clock_monotonic_ns() - start_ns) / (double)CLOCK_NS_PER_MS;
	strbuf_release(&text);
	if (out)
		*out = profile;
	else
		profile__free(profile);
	return ms;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/jbpf-bench.XXXXXX";
	double best_ms = 1e9, best_read_ms = 1e9;
	uint32_t rounds = ROUNDS_DEFAULT;
	struct profile *profile = NULL;
	uint64_t text_bytes = 0;

	if ((argc > 1 && parse_u32_range(argv[1], 1, 1000, &rounds)) || !mkdtemp(dir))
		return 2;
	if (fill(dir, &text_bytes))
		return 1;
	for (uint32_t i = 0; i < rounds; i++) {
		double read_ms = pass(dir, NULL);
		double ms;

		profile__free(profile);
		ms = pass(dir, &profile);
		best_ms = ms < best_ms ? ms : best_ms;
		best_read_ms = read_ms < best_read_ms ? read_ms : best_read_ms;
	}
	printf("{\"bench\":\"dump_merge_1h\",\"windows\":%d,\"stacks\":%zu,\"samples\":%llu,"
	       "\"text_mb\":%.1f,\"read_ms\":%.1f,\"merge_ms\":%.1f,\"text_mb_per_s\":%.0f}\n",
	       WINDOWS, profile__stack_count(profile),
	       (unsigned long long)profile__sample_count(profile), (double)text_bytes / 1e6,
	       best_read_ms, best_ms, (double)text_bytes / 1e3 / best_ms);
	profile__free(profile);
	(void)remove_tree(dir);
	return 0;
}
