/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison to look at: two days of a made-up shop with the changes that a report must tell,
 * counted from real stack texts through the real statistics. The same every time.
 */
#ifndef JBPF_TESTS_UNIT_DIFF_SCENE_H
#define JBPF_TESTS_UNIT_DIFF_SCENE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/diff_sim.h"
#include "user/diff/diff_catalog.h"
#include "user/output/diff/diff_output.h"

#define SCENE_DAYS	  6u /* of history */
#define SCENE_BLOCK_S	  900u
#define SCENE_STACK_BYTES 512

#define SCENE_ROOT "java;java.lang.Thread.run_[j];org.apache.tomcat.SocketProcessor.run_[j];"
#define SCENE_CART SCENE_ROOT "com.example.shop.CartController.add_[j];"
#define SCENE_FIND SCENE_ROOT "com.example.search.SearchController.find_[j];"

struct scene_stack {
	const char *text;
	double rate;	   /* samples in a block, before */
	double after;	   /* factor of it after; negative: samples where there were none before */
	bool is_transient; /* only in the first three quarters of the day after */
};

/* What changed; the rest of the program is made by scene_quiet_stack(). */
static const struct scene_stack scene_stacks[] = {
	{ SCENE_CART "com.example.shop.Tax.compute_[i]", 900, 1.5, false },
	{ SCENE_CART "com.example.shop.Audit.write_[j];com.example.shop.Audit.encode_[j]", 0, -700,
	  false },
	{ SCENE_CART "com.example.shop.Price.round_[j]", 800, 0.4, false },
	{ SCENE_CART "com.example.shop.Price.roundHalfUp_[j]", 300, 2.6, false },
	{ SCENE_CART "com.example.shop.Basket.sum_[j]", 1500, 1, false },
	{ SCENE_FIND "com.example.search.Index.lookup_[j]", 2500, 0.6, false },
	{ SCENE_FIND "com.example.search.Index.lookup_[j];java.util.HashMap.get_[i]", 1200, 1,
	  false },
	{ SCENE_FIND "com.example.legacy.XmlCodec.parse_[j];com.example.legacy.XmlCodec.text_[j]",
	  500, 0, false },
	{ SCENE_FIND "com.example.legacy.XmlCodec.parse_[j];read;sys_read_[k]", 250, 0, false },
	{ SCENE_FIND "com.example.cache.Warmer.load_[0]", 400, 2.5, true },
	{ SCENE_ROOT "com.example.web.Json.print_[j];write;sys_write_[k];tcp_sendmsg_[k]", 1800, 1,
	  false },
	{ "java;GangWorker::run;G1ParEvacuateFollowersClosure::do_void", 1600, 1, false },
	{ "java;CompileBroker::compiler_thread_loop;[libjvm.so]", 300, 1, false },
};

#define SCENE_CHANGED (sizeof(scene_stacks) / sizeof(scene_stacks[0]))

enum scene_kind {
	SCENE_HISTORY = 0, /* six quiet days before it */
	SCENE_PAIR,	   /* two days and nothing else */
	SCENE_SHORT,	   /* three blocks on a side: descriptive */
	SCENE_EMPTY,	   /* nothing after */
	SCENE_NOTHING,	   /* nothing at all */
};

struct scene {
	struct sim sim; /* for its random numbers */
	size_t quiet_cnt;
	const char *const *extra; /* stacks of 50 samples on both sides, or NULL */
	size_t extra_cnt;
	struct diff_catalog *catalog;
	struct diff_side *days[SCENE_DAYS + 2];
	struct diff_history_set sets[SCENE_DAYS];
	struct diff_options options;
	struct diff_result *result;
	struct diff_output output;
};

/* The i-th stack of the rest: packages, classes, and leaves in the kernel. */
static inline double scene_quiet_stack(size_t i, char *text)
{
	static const char *const leaves[] = { "", ";java.lang.String.hashCode_[i]",
					      ";java.util.ArrayList.add_[i];memmove" };
	size_t group = i % 9;

	snprintf(text, SCENE_STACK_BYTES,
		 SCENE_ROOT "com.example.part%zu.Service%zu.call_[j];"
			    "com.example.part%zu.Worker%zu.step%zu_[j]%s",
		 group, i / 9 % 7, group, i / 9 % 31, i, leaves[i % 3]);
	return 20 + 9000.0 / (double)(i + 12);
}

static inline uint64_t scene_count(struct scene *scene, struct diff_side *side, const char *stack,
				   double mean)
{
	uint64_t count = mean > 0 ? sim_poisson(&scene->sim, mean) : 0;

	if (count && diff_catalog__add(scene->catalog, side, stack, strlen(stack), count))
		abort();
	return count;
}

static inline uint64_t scene_changed(struct scene *scene, struct diff_side *side, double load,
				     uint32_t part, bool is_after)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < SCENE_CHANGED; i++) {
		const struct scene_stack *at = &scene_stacks[i];
		bool is_over = at->is_transient && part >= 3;
		double mean = at->rate;

		if (is_after && !is_over)
			mean = at->after < 0 ? -at->after : at->rate * at->after;
		samples += scene_count(scene, side, at->text, load * mean);
	}
	return samples;
}

/* Blocks of one day; `day` 0 is the oldest. */
static inline void scene_day(struct scene *scene, uint32_t day, uint32_t block_cnt, bool is_after)
{
	struct diff_side *side = scene->days[day];
	char text[SCENE_STACK_BYTES];

	for (uint32_t b = 0; b < block_cnt; b++) {
		double load = 1 + 0.3 * sin(2 * M_PI * b / 96) + (is_after ? 0.2 : 0);
		struct diff_block block = {
			.start_unix_ns =
				(1795132800ull + day * 86400ull + b * SCENE_BLOCK_S) * 1000000000,
			.length_ns = SCENE_BLOCK_S * 1000000000ull,
			.time_of_day_s = b * SCENE_BLOCK_S,
			.frequency_hz = 49,
		};

		block.samples = scene_changed(scene, side, load, 4 * b / block_cnt, is_after);
		for (size_t i = 0; i < scene->quiet_cnt; i++) {
			double mean = load * scene_quiet_stack(i, text);

			block.samples += scene_count(scene, side, text, mean);
		}
		for (size_t i = 0; i < scene->extra_cnt; i++)
			block.samples += scene_count(scene, side, scene->extra[i], 50);
		block.frames = block.samples * 6;
		block.unknown_frames = block.samples / 50;
		if (diff_side__close_block(side, &block))
			abort();
	}
}

static inline void scene_history(struct scene *scene, uint32_t item_cnt)
{
	for (uint32_t day = 0; day < SCENE_DAYS; day++) {
		struct diff_history_row *rows = NULL;

		if (diff_history_measure_day(day ? scene->days[day - 1] : NULL, scene->days[day],
					     item_cnt, 0.0001, &rows, &scene->sets[day].row_cnt))
			abort();
		scene->sets[day].rows = rows;
	}
}

static inline void scene_describe(struct scene *scene, enum scene_kind kind)
{
	static const char *const notes[] = { "the daily series starts 2026-11-13" };
	const struct diff_side *sides[2] = { scene->days[SCENE_DAYS], scene->days[SCENE_DAYS + 1] };
	struct diff_output_side *out[2] = { &scene->output.before, &scene->output.after };

	scene->output.title = "service shop";
	scene->output.subtitle = "namespace=prod host=node-7";
	scene->output.result = scene->result;
	scene->output.catalog = scene->catalog;
	scene->output.options = &scene->options;
	scene->output.notes = notes;
	scene->output.note_cnt = kind == SCENE_HISTORY;
	for (int s = 0; s < 2; s++) {
		size_t cnt = diff_side__block_count(sides[s]);

		out[s]->name = s ? "v2.8.0" : "v2.7.3";
		out[s]->image = s ? "registry/shop:2.8.0" : "registry/shop:2.7.3";
		out[s]->jvm_version = "17.0.13+11";
		out[s]->stream_cnt = cnt ? 2 : 0;
		for (size_t b = 0; b < cnt; b++) {
			const struct diff_block *block = diff_side__block(sides[s], b);

			if (b == 0)
				out[s]->since_unix_ns = block->start_unix_ns;
			out[s]->until_unix_ns = block->start_unix_ns + block->length_ns;
			out[s]->counts.samples += block->samples;
			out[s]->counts.frames += block->frames;
			out[s]->counts.unknown_frames += block->unknown_frames;
		}
	}
}

/* Set `quiet_cnt`, `extra` and `extra_cnt` first; end with scene_release(). */
static inline void scene_make(struct scene *scene, enum scene_kind kind)
{
	struct sim_config config = { .cores = 1, .frequency_hz = 49, .seed = 77 };
	uint32_t block_cnt = kind == SCENE_SHORT ? 3 : 96;
	struct diff_history history = { .kind = DIFF_HISTORY_DAYS, .sets = scene->sets };
	struct diff_input input = { .history = &history };

	sim_init(&scene->sim, &config);
	scene->options = diff_options_default();
	scene->catalog = diff_catalog__new();
	for (uint32_t day = 0; day < SCENE_DAYS + 2; day++) {
		bool is_after = day == SCENE_DAYS + 1;
		bool is_history = day < SCENE_DAYS;

		scene->days[day] = diff_side__new(1);
		if (!scene->catalog || !scene->days[day])
			abort();
		if ((is_history && kind != SCENE_HISTORY) || kind == SCENE_NOTHING ||
		    (is_after && kind == SCENE_EMPTY))
			continue;
		scene_day(scene, day, block_cnt, is_after);
	}
	input.items = diff_catalog__items(scene->catalog, &input.item_cnt);
	input.a = scene->days[SCENE_DAYS];
	input.b = scene->days[SCENE_DAYS + 1];
	if (kind == SCENE_HISTORY) {
		scene_history(scene, input.item_cnt);
		history.set_cnt = SCENE_DAYS;
	}
	if (diff_run(&input, &scene->options, &scene->result))
		abort();
	scene_describe(scene, kind);
}

static inline void scene_release(struct scene *scene)
{
	for (uint32_t day = 0; day < SCENE_DAYS + 2; day++)
		diff_side__free(scene->days[day]);
	for (uint32_t day = 0; day < SCENE_DAYS; day++)
		free((void *)scene->sets[day].rows);
	diff_result__free(scene->result);
	diff_catalog__free(scene->catalog);
}

/* The row of a method by its name; Java unless it is said to be something else. */
static inline uint32_t scene_item(const struct scene *scene, enum diff_kind kind,
				  enum frame_kind frame, const char *name)
{
	return diff_catalog__find(scene->catalog, kind, frame, name, strlen(name));
}

#endif
