// SPDX-License-Identifier: Apache-2.0
/*
 * Comparisons of stacks of any bytes and any counts. The statistics stay within what they mean
 * (chances between 0 and 1, intervals around their values, shares that add up to at most 1), only
 * what is sure raises an alarm, and each writer's text is read by somebody else, as in fuzz_output.c.
 *
 * Input: writers (a bit each), blocks before and after (1 byte each), then lines: how many samples a block before and
 * after (1 byte each), how they vary (1 byte), the stack.
 */
#include <math.h>

#include "tests/fuzz/fuzz_page.h"
#include "user/diff/diff_catalog.h"
#include "user/output/diff/diff_output.h"

#define BLOCKS_MAX 8
#define LINES_MAX  200
#define BLOCK_S	   900u
#define START_NS   (1795132800ull * 1000000000)

struct stack {
	char *text;
	uint8_t counts[2];
	uint8_t variation;
};

struct comparison {
	struct stack stacks[LINES_MAX];
	size_t cnt;
	struct diff_catalog *catalog;
	struct diff_side *sides[2];
	struct diff_options options;
	struct diff_result *result;
	struct diff_output output;
};

static char *reference_page;

static void comparison_read(struct comparison *comparison, struct fuzz_input *input)
{
	while (input->left && comparison->cnt < LINES_MAX) {
		struct stack *stack = &comparison->stacks[comparison->cnt++];

		stack->counts[0] = fuzz_u8(input);
		stack->counts[1] = fuzz_u8(input);
		stack->variation = fuzz_u8(input);
		stack->text = fuzz_text(input, '\n');
	}
}

static void comparison_fill(struct comparison *comparison, int side, size_t block_cnt)
{
	struct diff_output_side *out = side ? &comparison->output.after :
					      &comparison->output.before;

	comparison->sides[side] = diff_side__new(1);
	must(comparison->sides[side]);
	for (size_t b = 0; b < block_cnt; b++) {
		struct diff_block block = {
			.start_unix_ns =
				START_NS + ((uint64_t)side * 86400 + b * BLOCK_S) * 1000000000,
			.length_ns = BLOCK_S * 1000000000ull,
			.time_of_day_s = (uint32_t)b * BLOCK_S,
			.frequency_hz = 99,
		};

		for (size_t i = 0; i < comparison->cnt; i++) {
			const struct stack *stack = &comparison->stacks[i];
			uint64_t count = (uint64_t)stack->counts[side] * stack->counts[side] *
					 (16 + (stack->variation * (b + 1)) % 7);

			block.samples += count;
			must(diff_catalog__add(comparison->catalog, comparison->sides[side],
					       stack->text, strlen(stack->text), count) == 0);
		}
		block.frames = block.samples * 3;
		out->counts.samples += block.samples;
		must(diff_side__close_block(comparison->sides[side], &block) == 0);
	}
	out->since_unix_ns = START_NS + (uint64_t)side * 86400 * 1000000000;
	out->until_unix_ns = out->since_unix_ns + BLOCKS_MAX * BLOCK_S * 1000000000ull;
}

static void comparison_make(struct comparison *comparison, size_t before, size_t after)
{
	struct diff_input input = { .history = NULL };

	comparison->catalog = diff_catalog__new();
	comparison->options = diff_options_default();
	must(comparison->catalog);
	comparison_fill(comparison, 0, before);
	comparison_fill(comparison, 1, after);
	input.items = diff_catalog__items(comparison->catalog, &input.item_cnt);
	input.a = comparison->sides[0];
	input.b = comparison->sides[1];
	must(diff_run(&input, &comparison->options, &comparison->result) == 0);
	must(comparison->result->row_cnt == input.item_cnt);
	comparison->output.title = "a service";
	comparison->output.result = comparison->result;
	comparison->output.catalog = comparison->catalog;
	comparison->output.options = &comparison->options;
	/* Names of sides come from the store, too. */
	if (comparison->cnt) {
		comparison->output.subtitle = comparison->stacks[0].text;
		comparison->output.before.name = comparison->stacks[0].text;
		comparison->output.before.image = comparison->stacks[0].text;
		comparison->output.after.jvm_version = comparison->stacks[0].text;
	}
}

static void comparison_release(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->cnt; i++)
		free(comparison->stacks[i].text);
	diff_side__free(comparison->sides[0]);
	diff_side__free(comparison->sides[1]);
	diff_result__free(comparison->result);
	diff_catalog__free(comparison->catalog);
}

/* ---- statistics ---- */

static bool is_chance(double value)
{
	return isnan(value) || (value >= 0 && value <= 1);
}

static void check_interval(const struct diff_interval *interval)
{
	if (!isnan(interval->low) && !isnan(interval->value))
		must(interval->low <= interval->value && interval->value <= interval->high);
}

static void check_result(const struct comparison *comparison)
{
	const struct diff_summary *summary = &comparison->result->summary;
	uint32_t alarm_cnt = 0;

	check_interval(&summary->load);
	check_interval(&summary->scale);
	for (uint32_t i = 0; i < comparison->result->row_cnt; i++) {
		const struct diff_row *row = &comparison->result->rows[i];

		must(is_chance(row->p) && is_chance(row->q) && is_chance(row->p_any));
		must(is_chance(row->share_a) && is_chance(row->share_b));
		check_interval(&row->change);
		check_interval(&row->points);
		must(!row->is_alarm || (row->is_tested && summary->gates_passed));
		must(*diff_verdict_name(row->verdict));
		must(row->samples_a <= comparison->output.before.counts.samples);
		must(row->samples_b <= comparison->output.after.counts.samples);
		alarm_cnt += row->is_alarm;
	}
	must(alarm_cnt == summary->alarm_cnt);
}

/* ---- writers ---- */

static void check_table(const struct diff_output *output)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	must(diff_output_table(output, 20, &out) == 0);
	must(fuzz_is_clean(strbuf_str(&out), out.len, "\n"));
}

static void check_json(const struct diff_output *output)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	must(diff_output_json(output, &out) == 0);
	json_decref(page_read_json(strbuf_str(&out), out.len));
}

/* "stack 12 13" */
static void check_folded(const struct diff_output *output)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	must(diff_output_folded(output, &out) == 0);
	must(fuzz_is_clean(strbuf_str(&out), out.len, "\n"));
	for (const char *line = strbuf_str(&out); *line;) {
		size_t len = strcspn(line, "\n"), at = len;

		must(line[len] == '\n' && line[0] != '#');
		for (int i = 0; i < 2; i++) {
			size_t end = at;

			while (at && line[at - 1] >= '0' && line[at - 1] <= '9')
				at--;
			must(at > 1 && at < end && line[--at] == ' ');
		}
		line += len + 1;
	}
}

static void check_page(const struct diff_output *output)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	char *skeleton;
	json_t *json;

	must(diff_output_html(output, &out) == 0);
	skeleton = page_skeleton(&out, &json);
	must(!reference_page || strcmp(skeleton, reference_page) == 0);
	json_decref(json);
	if (reference_page)
		free(skeleton);
	else
		reference_page = skeleton;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct comparison comparison;

	(void)argc;
	(void)argv;
	comparison_make(&comparison, 1, 1);
	check_page(&comparison.output);
	comparison_release(&comparison);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };
	uint8_t writers = fuzz_u8(&input);
	size_t before = fuzz_u8(&input) % (BLOCKS_MAX + 1);
	size_t after = fuzz_u8(&input) % (BLOCKS_MAX + 1);
	struct comparison *comparison = calloc(1, sizeof(*comparison));

	must(comparison);
	comparison_read(comparison, &input);
	comparison_make(comparison, before, after);
	check_result(comparison);
	if (writers & 1)
		check_table(&comparison->output);
	if (writers & 2)
		check_json(&comparison->output);
	if (writers & 4)
		check_folded(&comparison->output);
	if (writers & 8)
		check_page(&comparison->output);
	comparison_release(comparison);
	free(comparison);
	return 0;
}
