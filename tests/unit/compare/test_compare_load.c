// SPDX-License-Identifier: Apache-2.0
/* Windows become blocks: by when they begin, over all streams, and with the truth about time and losses. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "user/compare/compare_load.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define SECOND	 1000000000ull
#define BLOCK_S	 300
#define START_S	 1700000100ull /* a multiple of BLOCK_S */
#define STACK	 "java;a.B.run_[j];a.B.c_[j]"
#define OTHER	 "java;a.B.run_[j];write_[k]"
#define COLD	 "java;a.B.run_[0];a.B.c_[0]"
#define NO_BLOCK UINT32_MAX

struct world {
	struct selection selection;
	struct compare_load what;
	struct diff_catalog *catalog;
	struct compare_loader *loader;
	struct compare_loaded loaded;
	bool has_no_warm_up;
};

static void world_begin(struct world *world, uint64_t since_s, uint64_t until_s)
{
	world->what = (struct compare_load){
		.selection = &world->selection,
		.labels = world->what.labels,
		.others = world->what.others,
		.since_unix_ns = since_s * SECOND,
		.until_unix_ns = until_s * SECOND,
		.block_ns = BLOCK_S * SECOND,
		.warm_up_s = world->has_no_warm_up ? 0 : 600,
		.wants_streams = true,
	};
	world->catalog = diff_catalog__new();
	assert_non_null(world->catalog);
	assert_int_equal(compare_loader__new(&world->what, world->catalog, &world->loader), 0);
}

static void world_end(struct world *world)
{
	compare_loaded_release(&world->loaded);
	compare_loader__free(world->loader);
	diff_catalog__free(world->catalog);
}

static struct window window_at(uint64_t start_s, uint32_t pid, uint64_t samples)
{
	return (struct window){
		.start_unix_ns = start_s * SECOND,
		.duration_ns = 10 * SECOND,
		.frequency_hz = 100,
		.cpu_cnt = 2,
		.pid = pid,
		.counts = { .samples = samples, .frames = 3 * samples },
	};
}

/* Like the store: asks, then hands in the text. */
static bool give(struct world *world, const struct window *window, const char *text)
{
	if (!compare_loader__want(world->loader, window))
		return false;
	assert_int_equal(compare_loader__add(world->loader, window, text, strlen(text)), 0);
	return true;
}

static const struct diff_block *finish(struct world *world, size_t block_cnt)
{
	assert_int_equal(compare_loader__finish(world->loader, &world->loaded), 0);
	assert_int_equal(diff_side__block_count(world->loaded.side), block_cnt);
	return block_cnt ? diff_side__block(world->loaded.side, 0) : NULL;
}

/* How often a method by itself was seen in a block. */
static uint32_t count_of(const struct world *world, size_t block, enum frame_kind kind,
			 const char *method)
{
	uint32_t item = diff_catalog__find(world->catalog, DIFF_KIND_METHOD_SELF, kind, method,
					   strlen(method));
	size_t cnt = 0;
	const struct diff_count *counts = diff_side__counts(world->loaded.side, block, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (counts[i].item == item)
			return counts[i].count;
	return 0;
}

static void windows_go_to_the_block_in_which_they_begin(void **state)
{
	struct world world = { 0 };
	struct window last = window_at(START_S + BLOCK_S - 1, 1, 5); /* straddles */
	struct window first = window_at(START_S, 1, 2);
	struct window next = window_at(START_S + BLOCK_S, 1, 7);
	struct window early = window_at(START_S - 1, 1, 9);
	struct window late = window_at(START_S + 2 * BLOCK_S, 1, 9);

	(void)state;
	world_begin(&world, START_S, START_S + 2 * BLOCK_S);
	assert_true(give(&world, &next, STACK " 7\n"));
	assert_true(give(&world, &first, STACK " 2\n"));
	assert_true(give(&world, &last, STACK " 5\n"));
	assert_false(give(&world, &early, STACK " 9\n"));
	assert_false(give(&world, &late, STACK " 9\n"));

	const struct diff_block *block = finish(&world, 2);

	assert_int_equal(block[0].samples, 7);
	assert_int_equal(block[0].start_unix_ns, START_S * SECOND);
	assert_int_equal(count_of(&world, 0, FRAME_KIND_JIT, "a.B.c"), 7);
	assert_int_equal(count_of(&world, 1, FRAME_KIND_JIT, "a.B.c"), 7);
	assert_int_equal(world.loaded.first_unix_ns, START_S * SECOND);
	assert_int_equal(world.loaded.last_unix_ns, (START_S + BLOCK_S + 10) * SECOND);
	world_end(&world);
}

static void a_side_may_begin_in_the_midst_of_a_block(void **state)
{
	struct world world = { 0 };
	struct window window = window_at(START_S + 100, 1, 3);

	(void)state;
	world_begin(&world, START_S + 50, START_S + 200);
	assert_true(give(&world, &window, STACK " 3\n"));
	assert_int_equal(finish(&world, 1)->start_unix_ns, START_S * SECOND);
	world_end(&world);
}

static void processes_add_up_and_their_time_does_not(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	for (uint32_t pid = 1; pid <= 2; pid++) {
		for (uint64_t at = 0; at < 3; at++) {
			struct window window = window_at(START_S + 10 * at, pid, 100);

			assert_true(give(&world, &window, STACK " 60\n" OTHER " 40\n"));
		}
	}

	const struct diff_block *block = finish(&world, 1);

	assert_int_equal(block->length_ns, 30 * SECOND);
	assert_int_equal(block->samples, 600);
	assert_int_equal(block->frames, 1800);
	assert_true(fabs(block->cpu_s - 6) < 1e-9);
	assert_int_equal(count_of(&world, 0, FRAME_KIND_JIT, "a.B.c"), 360);
	assert_int_equal(count_of(&world, 0, FRAME_KIND_KERNEL, "write"), 240);
	assert_int_equal(world.loaded.streams.cnt, 2);
	world_end(&world);
}

static void the_hosts_records_say_how_long_was_recorded(void **state)
{
	struct world world = { 0 };
	struct window busy = window_at(START_S, 1, 10);

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	for (uint64_t at = 0; at < 20; at++) {
		struct window host = window_at(START_S + 10 * at, 0, 50);

		assert_false(give(&world, &host, ""));
	}
	assert_true(give(&world, &busy, STACK " 10\n"));
	/* The process slept most of the time; it was watched all the same. */
	assert_int_equal(finish(&world, 1)->length_ns, 200 * SECOND);
	world_end(&world);
}

/* A roll-out in the midst of a block: the host goes on being recorded with the next image. */
static void time_before_and_behind_a_sides_processes_is_not_theirs(void **state)
{
	static const struct {
		uint64_t pause_s; /* of the process, within the side */
		uint64_t length_s[3];
	} rows[] = {
		{ 0, { 100, 300, 120 } },
		{ 100, { 100, 300, 120 } },
		{ 180, { 100, 300, 300 } }, /* it may sleep that long */
		{ 210, { 300, 300, 300 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world world = { 0 };

		world_begin(&world, START_S, START_S + 4 * BLOCK_S);
		for (uint64_t at = 0; at < 4 * BLOCK_S; at += 10) {
			struct window host = window_at(START_S + at, 0, 50);
			struct window busy = window_at(START_S + at, 1, 10);
			bool is_pause = at >= 310 && at < 310 + rows[i].pause_s;

			assert_false(give(&world, &host, ""));
			if (at >= 200 && at < 720 && !is_pause)
				assert_true(give(&world, &busy, STACK " 10\n"));
		}
		(void)finish(&world, 3);
		for (size_t b = 0; b < ARRAY_SIZE(rows[i].length_s); b++)
			assert_int_equal(diff_side__block(world.loaded.side, b)->length_ns,
					 rows[i].length_s[b] * SECOND);
		world_end(&world);
	}
}

static void merged_windows_tell_their_time_without_gaps(void **state)
{
	struct world world = { 0 };
	struct window host = window_at(START_S, 0, 50);
	struct window busy = window_at(START_S, 1, 10);

	(void)state;
	host.duration_ns = busy.duration_ns = BLOCK_S * SECOND;
	host.window_cnt = busy.window_cnt = 6;
	host.recorded_ns = 60 * SECOND;
	busy.recorded_ns = 20 * SECOND;
	world_begin(&world, START_S, START_S + BLOCK_S);
	assert_false(give(&world, &host, ""));
	assert_true(give(&world, &busy, STACK " 10\n"));
	assert_int_equal(finish(&world, 1)->length_ns, 60 * SECOND);
	world_end(&world);
}

static void a_block_is_no_longer_than_it_is(void **state)
{
	struct world world = { 0 };
	struct window window = window_at(START_S + 280, 1, 10);

	(void)state;
	window.duration_ns = 3600 * SECOND;
	world_begin(&world, START_S, START_S + 2 * BLOCK_S);
	assert_true(give(&world, &window, STACK " 10\n"));
	window = window_at(START_S + BLOCK_S, 1, 10);
	assert_true(give(&world, &window, STACK " 10\n"));

	const struct diff_block *block = finish(&world, 2);

	assert_int_equal(block[0].length_ns, BLOCK_S * SECOND);
	world_end(&world);
}

static void losses_of_the_host_are_shared_by_samples(void **state)
{
	struct world world = { 0 };
	struct window host = window_at(START_S, 0, 400);
	struct window window = window_at(START_S, 1, 100);

	(void)state;
	host.lost[WINDOW_LOSS_COUNTS_FULL] = 30;
	host.lost[WINDOW_LOSS_STORE] = 10;
	host.lost[WINDOW_LOSS_NOTICES] = 1000; /* no samples */
	world_begin(&world, START_S, START_S + BLOCK_S);
	give(&world, &host, "");
	give(&world, &window, STACK " 100\n");
	assert_int_equal(finish(&world, 1)->lost_samples, 10);
	assert_int_equal(world.loaded.lost_samples, 10);
	world_end(&world);
}

static void young_jvms_are_left_out_stream_by_stream(void **state)
{
	static const struct {
		uint32_t is_jvm;
		uint64_t process_start_s, boot_s;
		bool is_left_out;
	} cases[] = {
		{ 1, 1000, 1000, true },  { 1, 1000, 1599, true }, { 1, 1000, 1600, false },
		{ 1, 1000, 990, true }, /* began within the window */
		{ 0, 1000, 1000, false }, { 1, 0, 1000, false },   { 1, 1000, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world world = { 0 };
		struct window young = window_at(START_S, 1, 100);
		struct window old = window_at(START_S, 2, 50);

		young.is_jvm = cases[i].is_jvm;
		young.process_start_ns = cases[i].process_start_s * SECOND;
		young.start_boot_ns = cases[i].boot_s * SECOND;
		world_begin(&world, START_S, START_S + BLOCK_S);
		assert_true(give(&world, &young, COLD " 100\n"));
		assert_true(give(&world, &old, STACK " 50\n"));
		assert_int_equal(finish(&world, 1)->samples, cases[i].is_left_out ? 50 : 150);
		assert_int_equal(world.loaded.warm_up_samples, cases[i].is_left_out ? 100 : 0);
		assert_int_equal(world.loaded.counts.samples, 150);
		world_end(&world);
	}
}

/* A deployment waits for no clock: what a young JVM runs says whether it is warm. */
static void a_young_jvm_counts_as_soon_as_its_code_is_compiled(void **state)
{
	static const struct {
		const char *text;
		uint64_t kept;
	} cases[] = {
		{ STACK " 100\n", 100 },
		{ STACK " 90\n" COLD " 10\n", 100 },
		{ STACK " 89\n" COLD " 11\n", 0 },
		{ STACK " 89\njava;a.B.run_[j];a.B.d_[1] 11\n", 0 },
		{ STACK " 95\njava;CompileBroker::compiler_thread_loop();C2Compiler::compile 5\n",
		  100 },
		{ STACK " 94\njava;CompileBroker::compiler_thread_loop();C2Compiler::compile 6\n",
		  0 },
		/* Too little in Java code to tell. */
		{ STACK " 49\n" OTHER " 51\n", 0 },
		{ STACK " 50\n" OTHER " 50\n", 100 },
		{ "no stack\n" STACK " 100\n", 100 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world world = { 0 };
		struct window young = window_at(START_S, 1, 100);

		young.is_jvm = 1;
		young.process_start_ns = young.start_boot_ns = 1000 * SECOND;
		world_begin(&world, START_S, START_S + BLOCK_S);
		assert_true(give(&world, &young, cases[i].text));

		const struct diff_block *block = finish(&world, cases[i].kept != 0);

		assert_int_equal(diff_side__young_count(world.loaded.side), !cases[i].kept);
		if (block)
			assert_int_equal(block->samples, cases[i].kept);
		assert_int_equal(world.loaded.warm_up_samples, 100 - cases[i].kept);
		world_end(&world);
	}
}

/* What waits has no tier, and belongs to the CPU time beside it. */
static void waiting_of_a_young_jvm_is_left_out(void **state)
{
	struct world world = { 0 };
	struct window young = window_at(START_S, 1, 100);

	(void)state;
	young.is_jvm = 1;
	young.process_start_ns = young.start_boot_ns = 1000 * SECOND;
	world_begin(&world, START_S, START_S + BLOCK_S);
	compare_loader__free(world.loader);
	world.what.event = EVENT_OFF_CPU;
	assert_int_equal(compare_loader__new(&world.what, world.catalog, &world.loader), 0);
	assert_false(give(&world, &young, STACK " 100\n"));
	finish(&world, 0);
	assert_int_equal(world.loaded.warm_up_samples, 100);
	world_end(&world);
}

struct process {
	uint32_t is_jvm;
	uint64_t age_s; /* when the block began */
	uint64_t samples;
};

#define UNKNOWN_AGE UINT64_MAX
#define BOOT_S	    100000

/* From one block to the end of another, a window every 100 seconds. */
static void give_process(struct world *world, const struct process *process, uint32_t pid,
			 uint64_t first_s, uint64_t until_s)
{
	for (uint64_t at = first_s; process->samples && at < until_s; at += 100) {
		struct window window = window_at(START_S + at, pid, process->samples);
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;

		window.is_jvm = process->is_jvm;
		window.start_boot_ns = (BOOT_S + at) * SECOND;
		if (process->age_s != UNKNOWN_AGE)
			window.process_start_ns = (BOOT_S - process->age_s) * SECOND;
		strbuf_printf(&text, STACK " %u\n", (unsigned)process->samples);
		(void)give(world, &window, strbuf_str(&text));
	}
}

/* In its other half the JVM is old enough: all the block's time with half of its CPU time. */
static void a_block_that_began_with_young_jvms_is_left_out(void **state)
{
	static const struct {
		struct process processes[2];
		uint64_t kept; /* of the first block; 0 = it is left out */
	} cases[] = {
		{ { { 1, 400, 10 } }, 0 },
		{ { { 1, 0, 10 } }, 0 },
		{ { { 1, 599, 10 } }, 0 },
		{ { { 1, 600, 10 } }, 30 },
		{ { { 1, UNKNOWN_AGE, 10 } }, 30 },
		{ { { 1, 400, 10 }, { 1, 300, 10 } }, 0 },
		/* One of many that was started again says nothing of the others. */
		{ { { 1, 400, 10 }, { 1, 5000, 10 } }, 40 },
		{ { { 1, 400, 10 }, { 1, UNKNOWN_AGE, 10 } }, 40 },
		/* A shell beside the JVM; a JVM beside a database. */
		{ { { 1, 400, 10 }, { 0, 400, 1 } }, 0 },
		{ { { 1, 400, 10 }, { 0, 400, 20 } }, 70 },
		{ { { 0, 0, 10 } }, 30 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world world = { 0 };
		uint64_t all = 0;
		uint64_t blocks = cases[i].kept ? 3 : 2;

		world_begin(&world, START_S, START_S + 4 * BLOCK_S);
		for (uint32_t p = 0; p < 2; p++) {
			/* The last two blocks are of the old in any case. */
			give_process(&world, &cases[i].processes[p], 1 + p, 0, BLOCK_S);
			give_process(&world, &cases[i].processes[p], 1 + p, 2 * BLOCK_S,
				     4 * BLOCK_S);
			all += 3 * cases[i].processes[p].samples;
		}

		const struct diff_block *block = finish(&world, blocks);

		if (cases[i].kept)
			assert_int_equal(block->samples, cases[i].kept);
		assert_int_equal(diff_side__young_count(world.loaded.side), !cases[i].kept);
		assert_int_equal(world.loaded.warm_up_samples, all - cases[i].kept);
		world_end(&world);
	}
}

static void young_blocks_are_better_than_none(void **state)
{
	static const struct process process = { 1, 400, 10 };
	struct world world = { 0 };

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	give_process(&world, &process, 1, 0, BLOCK_S);
	assert_int_equal(finish(&world, 1)->samples, 10);
	assert_int_equal(diff_side__young_count(world.loaded.side), 0);
	assert_int_equal(world.loaded.warm_up_samples, 20);
	world_end(&world);
	/* Of this one nothing is left to compare. */
	world_begin(&world, START_S, START_S + BLOCK_S);
	give_process(&world, &process, 1, 0, 200);
	finish(&world, 0);
	assert_int_equal(diff_side__young_count(world.loaded.side), 1);
	world_end(&world);
}

/* A side that begins in the midst of a block knows nothing of the time before. */
static void the_age_counts_from_where_the_side_begins(void **state)
{
	static const struct process process = { 1, 500, 10 };
	struct world world = { 0 };

	(void)state;
	world_begin(&world, START_S + 100, START_S + 4 * BLOCK_S);
	give_process(&world, &process, 1, 0, 4 * BLOCK_S);
	assert_int_equal(finish(&world, 4)->samples, 20);
	assert_int_equal(diff_side__young_count(world.loaded.side), 0);
	world_end(&world);
}

static void no_warm_up_leaves_nothing_out(void **state)
{
	static const struct process process = { 1, 0, 10 };
	struct world world = { .has_no_warm_up = true };

	(void)state;
	world_begin(&world, START_S, START_S + 4 * BLOCK_S);
	give_process(&world, &process, 1, 0, 4 * BLOCK_S);
	finish(&world, 4);
	assert_int_equal(diff_side__young_count(world.loaded.side), 0);
	world_end(&world);
}

/* A canary against the rest: it is on its own side only. */
static void what_is_of_the_other_group_is_left_out(void **state)
{
	static const char *const all[SELECT_BY_CNT] = { [SELECT_BY_HOST] = "web-*" };
	static const char *const canary[SELECT_BY_CNT] = { [SELECT_BY_HOST] = "web-7" };
	struct world world = { .what = { .labels = all, .others = canary } };
	struct window window = window_at(START_S, 1, 10);
	struct window record = { .start_unix_ns = START_S * SECOND,
				 .duration_ns = 10 * SECOND,
				 .frequency_hz = 49,
				 .counts.samples = 10,
				 .lost = { [WINDOW_LOSS_COUNTS_FULL] = 90 } };

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	window.labels[WINDOW_LABEL_HOST] = "web-7";
	assert_false(give(&world, &window, STACK " 10\n"));
	window.labels[WINDOW_LABEL_HOST] = "db-1";
	assert_false(give(&world, &window, STACK " 10\n"));
	window.labels[WINDOW_LABEL_HOST] = "web-1";
	assert_true(give(&world, &window, STACK " 10\n"));
	record.labels[WINDOW_LABEL_HOST] = "db-1";
	assert_false(compare_loader__want(world.loader, &record));

	const struct diff_block *block = finish(&world, 1);

	assert_int_equal(block->samples, 10);
	assert_int_equal(block->lost_samples, 0);
	world_end(&world);
}

static void selectors_images_and_kinds_are_obeyed(void **state)
{
	static const char *const shop_labels[SELECT_BY_CNT] = { [SELECT_BY_IMAGE] = "shop:1.*" };
	struct world world = { .selection = { .service = "shop", .kind = SELECT_KIND_KERNEL },
			       .what.labels = shop_labels };
	struct window window = window_at(START_S, 1, 100);

	(void)state;
	window.counts.unknown_frames = 20;
	window.counts.truncated_samples = 10;
	world_begin(&world, START_S, START_S + BLOCK_S);
	window.labels[WINDOW_LABEL_SERVICE] = "shop";
	assert_false(give(&world, &window, STACK " 100\n")); /* no image known */
	window.labels[WINDOW_LABEL_IMAGE] = "shop:2.0";
	assert_false(give(&world, &window, STACK " 100\n"));
	window.labels[WINDOW_LABEL_IMAGE] = "shop:1.7";
	window.labels[WINDOW_LABEL_SERVICE] = "till";
	assert_false(give(&world, &window, STACK " 100\n"));
	window.labels[WINDOW_LABEL_SERVICE] = "shop";
	assert_true(give(&world, &window, STACK " 60\n" OTHER " 40\n"));

	const struct diff_block *block = finish(&world, 1);

	assert_int_equal(block->samples, 40);
	assert_int_equal(block->frames, 120);
	assert_int_equal(block->unknown_frames, 8);
	assert_int_equal(block->truncated_samples, 4);
	assert_int_equal(count_of(&world, 0, FRAME_KIND_JIT, "a.B.c"), 0);
	assert_int_equal(count_of(&world, 0, FRAME_KIND_KERNEL, "write"), 40);
	world_end(&world);
}

/* Line 0 is of pool-# 45, main 15; line 1 of main. */
static void samples_of_other_threads_are_left_out(void **state)
{
	static const uint8_t code[] = "\2\4main\0\6pool-#\0\2\2\1\1\0\1\17";
	static const struct {
		const char *thread;
		bool is_old;
		uint64_t samples;
	} cases[] = {
		{ "main", false, 55 }, { "pool-*", false, 45 },		  { "GC*", false, 0 },
		{ "main", true, 0 },   { "[unknown thread]", true, 100 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world world = { .selection = { .thread = cases[i].thread } };
		struct window window = window_at(START_S, 1, 100);
		const struct diff_block *block;

		if (!cases[i].is_old) {
			window.threads = code;
			window.threads_len = sizeof(code) - 1;
		}
		world_begin(&world, START_S, START_S + BLOCK_S);
		assert_true(give(&world, &window, STACK " 60\n" OTHER " 40\n"));
		block = finish(&world, cases[i].samples ? 1 : 0);
		if (block)
			assert_int_equal(block->samples, cases[i].samples);
		assert_int_equal(world.loaded.counts.samples, cases[i].samples);
		assert_int_equal(world.loaded.bad_line_cnt, 0);
		world_end(&world);
	}
}

static void wall_counts_samples_of_equal_weight(void **state)
{
	struct window cpu = window_at(START_S, 1, 25), waits = window_at(START_S, 1, 7);
	struct window host = window_at(START_S, 0, 32);
	struct world world = { 0 };
	const struct diff_block *block;
	uint32_t run_delay, jit, kernel;

	(void)state;
	waits.event = host.event = EVENT_OFF_CPU;
	waits.frequency_hz = 0;
	waits.period = SECOND / 5;
	world_begin(&world, START_S, START_S + BLOCK_S);
	world.what.event = EVENT_WALL;
	compare_loader__free(world.loader);
	assert_int_equal(compare_loader__new(&world.what, world.catalog, &world.loader), 0);
	assert_true(give(&world, &cpu, STACK " 14\n" OTHER " 11\n"));
	assert_true(give(&world, &waits,
			 STACK
			 " 2\njava;[idle];a 5\n"
			 "java;java.util.concurrent.ThreadPoolExecutor.getTask_[j];park 9\n"));
	waits.counts = (struct window_counts){ .run_delay_ns = 3 * SECOND / 20 };
	assert_true(give(&world, &waits, ""));
	assert_false(give(&world, &host, ""));
	block = finish(&world, 1);
	/* 140 and 110 ms of CPU time, 400 of waiting, 150 for a CPU: what is left goes to another stack. */
	run_delay = count_of(&world, 0, FRAME_KIND_NATIVE, "[waiting for a CPU]");
	jit = count_of(&world, 0, FRAME_KIND_JIT, "a.B.c");
	kernel = count_of(&world, 0, FRAME_KIND_KERNEL, "write");
	assert_int_equal(block->samples, 8);
	assert_int_equal(block->frequency_hz, 10);
	assert_in_range(run_delay, 1, 2);
	assert_in_range(jit, 5, 6);
	assert_in_range(kernel, 1, 2);
	assert_int_equal(run_delay + jit + kernel, block->samples);
	assert_int_equal(block->length_ns, 10 * SECOND);
	world_end(&world);
}

static void damaged_lines_are_counted(void **state)
{
	struct world world = { 0 };
	struct window window = window_at(START_S, 1, 10);

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	assert_true(give(&world, &window,
			 STACK " 10\n\nnonsense\nx 0\n 5\na;b 1x\na;b 18446744073709551616"));
	assert_int_equal(finish(&world, 1)->samples, 10);
	assert_int_equal(world.loaded.bad_line_cnt, 6);
	world_end(&world);
}

static void counts_saturate(void **state)
{
	struct world world = { 0 };
	struct window window = window_at(START_S, 1, 10);

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	assert_true(give(&world, &window, STACK " 4294967290\n" STACK " 4294967290\n"));
	finish(&world, 1);
	assert_int_equal(count_of(&world, 0, FRAME_KIND_JIT, "a.B.c"), UINT32_MAX);
	world_end(&world);
}

static void nothing_makes_an_empty_side(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, START_S, START_S + BLOCK_S);
	finish(&world, 0);
	assert_int_equal(world.loaded.last_unix_ns, 0);
	world_end(&world);
}

/* Merged hours come stream by stream, all blocks of one and then all of the next. */
static void the_order_of_windows_does_not_matter(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct world world = { 0 };

		world_begin(&world, START_S, START_S + 4 * BLOCK_S);
		for (uint32_t i = 0; i < 12; i++) {
			uint32_t pid = order ? 1 + i % 3 : 1 + i / 4;
			uint32_t at = order ? i / 3 : i % 4;
			struct window window = window_at(START_S + BLOCK_S * at, pid, pid);

			assert_true(give(&world, &window,
					 pid == 1 ? STACK " 1\n" :
					 pid == 2 ? STACK " 1\n" OTHER " 1\n" :
						    OTHER " 3\n"));
		}
		finish(&world, 4);
		for (size_t block = 0; block < 4; block++) {
			assert_int_equal(count_of(&world, block, FRAME_KIND_JIT, "a.B.c"), 2);
			assert_int_equal(count_of(&world, block, FRAME_KIND_KERNEL, "write"), 4);
		}
		world_end(&world);
	}
}

static void the_time_of_day_is_that_of_the_host(void **state)
{
	struct world world = { 0 };
	struct window window = window_at(START_S, 1, 1);

	(void)state;
	assert_int_equal(setenv("TZ", "JBPF-05:45", 1), 0);
	tzset();
	world_begin(&world, START_S, START_S + BLOCK_S);
	give(&world, &window, STACK " 1\n");
	assert_int_equal(finish(&world, 1)->time_of_day_s, (START_S + 5 * 3600 + 45 * 60) % 86400);
	world_end(&world);
	assert_int_equal(setenv("TZ", "UTC0", 1), 0);
	tzset();
}

static void labels_that_differ_are_several(void **state)
{
	struct world world = { 0 };
	struct window one = window_at(START_S, 1, 1);
	struct window two = window_at(START_S, 2, 1);
	struct diff_output_side side = { 0 };

	(void)state;
	one.labels[WINDOW_LABEL_IMAGE] = two.labels[WINDOW_LABEL_IMAGE] = "shop:1";
	one.labels[WINDOW_LABEL_JVM_VERSION] = "17.0.1";
	two.labels[WINDOW_LABEL_JVM_VERSION] = "21.0.1";
	world_begin(&world, START_S, START_S + BLOCK_S);
	give(&world, &one, STACK " 1\n");
	give(&world, &two, STACK " 1\n");
	finish(&world, 1);
	compare_loaded_describe(&world.loaded, &side);
	assert_string_equal(side.jvm_version, "several");
	assert_string_equal(side.image, "shop:1");
	assert_int_equal(side.stream_cnt, 2);
	assert_int_equal(side.counts.samples, 2);
	world_end(&world);
}

static void ranges_that_make_no_sense_are_refused(void **state)
{
	static const struct selection any;
	static const struct compare_load cases[] = {
		{ .selection = &any, .since_unix_ns = 5, .until_unix_ns = 5, .block_ns = SECOND },
		{ .selection = &any, .since_unix_ns = 6, .until_unix_ns = 5, .block_ns = SECOND },
		{ .selection = &any, .until_unix_ns = SECOND, .block_ns = 0 },
		{ .selection = &any, .until_unix_ns = SECOND, .block_ns = SECOND + 1 },
		{ .selection = &any, .until_unix_ns = SECOND, .block_ns = 86401 * SECOND },
		{ .selection = &any, .until_unix_ns = UINT64_MAX, .block_ns = 86400 * SECOND },
		{ .selection = &any, .until_unix_ns = 65536 * SECOND, .block_ns = SECOND },
	};
	struct compare_loader *loader = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(compare_loader__new(&cases[i], NULL, &loader), -EINVAL);
	assert_null(loader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_go_to_the_block_in_which_they_begin),
		cmocka_unit_test(a_side_may_begin_in_the_midst_of_a_block),
		cmocka_unit_test(processes_add_up_and_their_time_does_not),
		cmocka_unit_test(the_hosts_records_say_how_long_was_recorded),
		cmocka_unit_test(time_before_and_behind_a_sides_processes_is_not_theirs),
		cmocka_unit_test(merged_windows_tell_their_time_without_gaps),
		cmocka_unit_test(a_block_is_no_longer_than_it_is),
		cmocka_unit_test(losses_of_the_host_are_shared_by_samples),
		cmocka_unit_test(young_jvms_are_left_out_stream_by_stream),
		cmocka_unit_test(a_young_jvm_counts_as_soon_as_its_code_is_compiled),
		cmocka_unit_test(waiting_of_a_young_jvm_is_left_out),
		cmocka_unit_test(a_block_that_began_with_young_jvms_is_left_out),
		cmocka_unit_test(young_blocks_are_better_than_none),
		cmocka_unit_test(the_age_counts_from_where_the_side_begins),
		cmocka_unit_test(no_warm_up_leaves_nothing_out),
		cmocka_unit_test(what_is_of_the_other_group_is_left_out),
		cmocka_unit_test(selectors_images_and_kinds_are_obeyed),
		cmocka_unit_test(samples_of_other_threads_are_left_out),
		cmocka_unit_test(wall_counts_samples_of_equal_weight),
		cmocka_unit_test(damaged_lines_are_counted),
		cmocka_unit_test(counts_saturate),
		cmocka_unit_test(nothing_makes_an_empty_side),
		cmocka_unit_test(the_order_of_windows_does_not_matter),
		cmocka_unit_test(the_time_of_day_is_that_of_the_host),
		cmocka_unit_test(labels_that_differ_are_several),
		cmocka_unit_test(ranges_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
