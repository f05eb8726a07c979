// SPDX-License-Identifier: Apache-2.0
/*
 * The writers of a comparison: each tells the same truth, leaves nothing out of the machine's
 * version, lists no noise in the people's, and makes hostile names inert.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/unit/diff_scene.h"
#include "tests/unit/output_profiles.h"
#include "user/output/diff/diff_paths.h"

static const char *const hostile[] = { HOSTILE_NAMES };

#define HOSTILE_CNT (sizeof(hostile) / sizeof(hostile[0]))

static struct scene *scene_new(enum scene_kind kind, size_t quiet_cnt, const char *const *extra,
			       size_t extra_cnt)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->quiet_cnt = quiet_cnt;
	scene->extra = extra;
	scene->extra_cnt = extra_cnt;
	scene_make(scene, kind);
	return scene;
}

static void scene_end(struct scene *scene)
{
	scene_release(scene);
	free(scene);
}

static char *table_of(const struct scene *scene, size_t limit)
{
	struct strbuf out = STRBUF_INIT;

	assert_int_equal(diff_output_table(&scene->output, limit, &out), 0);
	assert_non_null(out.data);
	return out.data;
}

static json_t *json_of(const struct scene *scene)
{
	struct strbuf out = STRBUF_INIT;
	json_error_t error;
	json_t *root;

	assert_int_equal(diff_output_json(&scene->output, &out), 0);
	root = json_loads(strbuf_str(&out), JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("line %d: %s", error.line, error.text);
	strbuf_release(&out);
	return root;
}

static json_t *at(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		fail_msg("no member '%s'", key);
	return value;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
}

/* The line of the table that ends like that; NULL when there is none. The caller frees it. */
static char *line_ending(const char *table, const char *head, const char *end)
{
	for (const char *line = table; *line;) {
		size_t len = strcspn(line, "\n");

		if (len >= strlen(end) && strncmp(line, head, strlen(head)) == 0 &&
		    strncmp(line + len - strlen(end), end, strlen(end)) == 0)
			return strndup(line, len);
		line += len + (line[len] == '\n');
	}
	return NULL;
}

/* ---- table ---- */

static void the_table_lists_what_was_found_and_counts_the_rest(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 40, NULL, 0);
	char *table = table_of(scene, 100);
	static const struct {
		const char *head;
		const char *end;
	} lines[] = {
		{ "up          self", "com.example.shop.Tax.compute_[j]" },
		{ "down        self", "com.example.search.Index.lookup_[j]" },
		{ "new         self", "com.example.shop.Audit.encode_[j]" },
		{ "gone        self", "com.example.legacy.XmlCodec.text_[j]" },
		{ "moved       self",
		  "com.example.shop.Price.round_[j]  (to com.example.shop.Price.roundHalfUp_[j])" },
		{ "moved       self",
		  "com.example.shop.Price.roundHalfUp_[j]  (from com.example.shop.Price.round_[j])" },
		{ "transient   self", "com.example.cache.Warmer.load_[j]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *line = line_ending(table, lines[i].head, lines[i].end);

		if (!line)
			fail_msg("no line for %s in:\n%s", lines[i].end, table);
		free(line);
	}
	assert_has(table, "\nALARMS\n");
	assert_has(table, "Gates           all passed");
	assert_has(table, "by 5 earlier pairs");
	assert_has(table, "rows are the same or unresolved");
	assert_has(table, "Could have seen changes of ");
	assert_has(table, "image registry/shop:2.8.0");
	assert_has_not(table, "JVM 17"); /* the same on both sides */
	assert_has_not(table, "Basket.sum_");
	assert_has_not(table, "com.example.part");
	free(table);
	scene_end(scene);
}

static void the_numbers_of_the_table_are_those_of_the_result(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 40, NULL, 0);
	uint32_t item = scene_item(scene, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
				   "com.example.shop.Tax.compute");
	const struct diff_row *row = &scene->result->rows[item];
	char *table = table_of(scene, 100);
	char *line = line_ending(table, "up          self", "com.example.shop.Tax.compute_[j]");
	char interval[64];
	char detectable[32];
	char expected[256];

	(void)state;
	snprintf(interval, sizeof(interval), "%+.1f %% to %+.1f %%",
		 100 * diff_relative(row->change.low), 100 * diff_relative(row->change.high));
	snprintf(detectable, sizeof(detectable), ">= %.1f %%", 100 * row->detectable);
	snprintf(expected, sizeof(expected),
		 "up          self   %7.2f  %7.2f  %+7.1f %%  %24s  <0.0001  %10s  %9.4f  %9.4f  ",
		 100 * row->share_a, 100 * (row->share_a + row->points.value),
		 100 * diff_relative(row->change.value), interval, detectable, row->cores_a,
		 row->cores_b);
	assert_non_null(line);
	assert_int_equal(strncmp(line, expected, strlen(expected)), 0);
	free(line);
	free(table);
	scene_end(scene);
}

static void without_a_limit_the_table_lists_every_method(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 40, NULL, 0);
	char *table = table_of(scene, 0);
	char *line = line_ending(table, "same        total", "java.lang.Thread.run_[j]");

	(void)state;
	assert_non_null(line);
	assert_has_not(table, "not shown");
	free(line);
	free(table);
	table = table_of(scene, 3);
	assert_has(table, "more rows not shown\n");
	free(table);
	scene_end(scene);
}

static void alarms_come_first_then_what_is_surest_and_largest(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 40, NULL, 0);
	char *table = table_of(scene, 1);

	(void)state;
	/* Larger changes than this one are down, new and gone. */
	assert_has(table, "METHOD\nup          self");
	free(table);
	for (uint32_t i = 0; i < scene->result->row_cnt; i++)
		scene->result->rows[i].is_alarm = false;
	table = table_of(scene, 1);
	assert_has(table, "METHOD\ndown        self");
	assert_has_not(table, "ALARMS");
	free(table);
	scene_end(scene);
}

static void a_leaf_is_one_row_and_not_two(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 40, NULL, 0);
	char *table = table_of(scene, 0);
	char *line = line_ending(table, "up          total", "com.example.shop.Tax.compute_[j]");

	(void)state;
	assert_null(line);
	/* It calls something: both. */
	line = line_ending(table, "down        total", "com.example.search.Index.lookup_[j]");
	assert_non_null(line);
	free(line);
	free(table);
	scene_end(scene);
}

static void what_cannot_be_judged_is_said_and_shown_as_shares(void **state)
{
	static const struct {
		enum scene_kind kind;
		const char *says;
	} cases[] = {
		{ SCENE_SHORT,
		  "! Gate            blocks failed: too few blocks of time to judge: 3 "
		  "before, 3 after, needed are 8 on each side\n" },
		{ SCENE_EMPTY, "96 before, 0 after, needed" },
		{ SCENE_NOTHING, "0 before, 0 after, needed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene *scene = scene_new(cases[i].kind, 10, NULL, 0);
		char *table = table_of(scene, 10);

		assert_has(table, cases[i].says);
		assert_has(table, "! Mode            descriptive only");
		assert_has_not(table, "ALARMS");
		assert_has_not(table, "\nup ");
		assert_has_not(table, "nan");
		assert_has_not(table, "inf");
		if (cases[i].kind != SCENE_NOTHING)
			assert_has(
				table,
				"\nOF     BEFORE%   AFTER%   POINTS     CHANGE  CORES BEF  CORES AFT  METHOD\n");
		free(table);
		scene_end(scene);
	}
}

static void one_pair_of_days_is_said_to_be_one(void **state)
{
	struct scene *scene = scene_new(SCENE_PAIR, 40, NULL, 0);
	char *table = table_of(scene, 10);

	(void)state;
	assert_has(table, "! Calibration     calibrated from this pair only");
	assert_has(table, "so no alarm is raised");
	assert_has_not(table, "ALARMS");
	free(table);
	scene_end(scene);
}

static void every_gate_that_failed_is_told_with_its_values(void **state)
{
	static const struct {
		enum diff_gate gate;
		const char *says;
	} cases[] = {
		{ DIFF_GATE_EVENT, "event failed: the sides count different kinds of events" },
		{ DIFF_GATE_BLOCKS, "blocks failed: too few blocks of time to judge: 0 before, 0" },
		{ DIFF_GATE_FREQUENCY, "sampling frequency: 0 Hz before, 0 Hz after" },
		{ DIFF_GATE_LOST_A, "lost_before failed: samples lost: 25.00 % before, 12.50 %" },
		{ DIFF_GATE_LOST_B, "lost_after failed: samples lost: 25.00 % before, 12.50 %" },
		{ DIFF_GATE_UNKNOWN, "unknown_gap failed: frames without a name: 25.00 % before" },
		{ DIFF_GATE_TRUNCATED, "truncated_gap failed: truncated stacks: 25.00 % before" },
		{ DIFF_GATE_UNKNOWN_LEVEL, "after, at most 5 %" },
		{ DIFF_GATE_OTHER_STACKS, "other_stacks failed: samples of stacks beyond the" },
		{ DIFF_GATE_TIME_OF_DAY, "time_of_day failed: the sides are of different times" },
	};
	struct scene *scene = scene_new(SCENE_HISTORY, 10, NULL, 0);
	struct diff_summary *summary = &scene->result->summary;

	(void)state;
	_Static_assert(sizeof(cases) / sizeof(cases[0]) == DIFF_GATE_CNT, "every gate has words");
	summary->gates_passed = false;
	for (size_t i = 0; i < DIFF_GATE_CNT; i++) {
		struct diff_gate_result *gate = &summary->gates[cases[i].gate];
		char *table;

		*gate = (struct diff_gate_result){
			.passed = false, .a = 0.25, .b = 0.125, .limit = 0.05
		};
		table = table_of(scene, 1);
		assert_has(table, cases[i].says);
		assert_has_not(table, "all passed");
		free(table);
		gate->passed = true;
	}
	scene_end(scene);
}

/* ---- JSON ---- */

static void assert_members(json_t *object, const char *const *keys)
{
	size_t cnt = 0;

	for (; keys[cnt]; cnt++)
		(void)at(object, keys[cnt]);
	assert_int_equal(json_object_size(object), cnt);
}

static void the_json_is_complete(void **state)
{
	static const char *const top[] = { "format",   "version", "title",	    "subtitle",
					   "before",   "after",	  "options",	    "notes",
					   "summary",  "rows",	  "paths_left_out", "event",
					   "sentence", NULL };
	static const char *const summary[] = {
		"mode",		  "calibration",   "history_pairs",   "gates_passed",
		"is_paired",	  "units",	   "blocks_before",   "blocks_after",
		"warm_up_before", "warm_up_after", "unpaired_before", "unpaired_after",
		"days_before",	  "days_after",	   "samples_before",  "samples_after",
		"cores_before",	  "cores_after",   "work_before",     "work_after",
		"load",		  "composition",   "scale",	      "scale_methods",
		"gates",	  "families",	   "alarms",	      NULL
	};
	static const char *const row[] = { "item",
					   "kind",
					   "name",
					   "frame_kind",
					   "group",
					   "method",
					   "parent",
					   "verdict",
					   "is_alarm",
					   "is_tested",
					   "samples_before",
					   "samples_after",
					   "share_before",
					   "share_after",
					   "cores_before",
					   "cores_after",
					   "work_before",
					   "work_after",
					   "change",
					   "relative",
					   "points",
					   "error",
					   "error_within",
					   "df",
					   "relevant",
					   "p_any",
					   "p",
					   "q",
					   "detectable",
					   "moved_with",
					   "origin",
					   NULL };
	struct scene *scene = scene_new(SCENE_HISTORY, 20, NULL, 0);
	json_t *root = json_of(scene);
	json_t *value;
	size_t i;

	(void)state;
	assert_members(root, top);
	assert_string_equal(json_string_value(at(root, "format")), "jbpf-diff");
	assert_int_equal(json_integer_value(at(root, "version")), 1);
	assert_members(at(root, "summary"), summary);
	assert_int_equal(json_array_size(at(at(root, "summary"), "gates")), DIFF_GATE_CNT);
	assert_int_equal(json_array_size(at(at(root, "summary"), "families")), DIFF_KIND_CNT - 1);
	assert_int_equal(json_array_size(at(root, "notes")), 1);
	json_array_foreach(at(root, "rows"), i, value) assert_members(value, row);
	assert_int_equal(json_array_size(at(root, "rows")) +
				 (size_t)json_integer_value(at(root, "paths_left_out")),
			 scene->result->row_cnt);
	json_decref(root);
	scene_end(scene);
}

static void assert_number(json_t *object, const char *key, double expected)
{
	json_t *value = at(object, key);

	if (!isfinite(expected))
		assert_true(json_is_null(value));
	else if (fabs(json_number_value(value) - expected) > 1e-9 * (1 + fabs(expected)))
		fail_msg("%s: %.17g, not %.17g", key, json_number_value(value), expected);
}

static void assert_link(json_t *object, const char *key, uint32_t expected)
{
	if (expected == DIFF_NONE)
		assert_true(json_is_null(at(object, key)));
	else
		assert_int_equal(json_integer_value(at(object, key)), expected);
}

static void the_json_holds_the_numbers_of_the_result(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 20, NULL, 0);
	const struct diff_result *result = scene->result;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(scene->catalog, &item_cnt);
	json_t *root = json_of(scene);
	json_t *value;
	size_t i;

	(void)state;
	assert_number(at(root, "summary"), "cores_after", result->summary.cores_b);
	assert_number(at(at(root, "summary"), "scale"), "low", result->summary.scale.low);
	assert_number(at(root, "options"), "q_alarm", scene->options.q_alarm);
	json_array_foreach(at(root, "rows"), i, value)
	{
		uint32_t item = (uint32_t)json_integer_value(at(value, "item"));
		const struct diff_row *row = &result->rows[item];
		struct diff_catalog_name name = diff_catalog__name(scene->catalog, item);

		assert_string_equal(json_string_value(at(value, "name")), name.text);
		assert_string_equal(json_string_value(at(value, "verdict")),
				    diff_verdict_name(row->verdict));
		assert_int_equal(json_is_true(at(value, "is_alarm")), row->is_alarm);
		assert_int_equal(json_integer_value(at(value, "samples_before")), row->samples_a);
		assert_int_equal(json_integer_value(at(value, "samples_after")), row->samples_b);
		assert_number(value, "share_before", row->share_a);
		assert_number(value, "cores_after", row->cores_b);
		assert_true(json_is_null(at(value, "work_after")));
		assert_number(at(value, "change"), "high", row->change.high);
		assert_number(at(value, "points"), "low", row->points.low);
		assert_number(value, "df", row->df);
		assert_number(value, "q", row->q);
		assert_number(value, "detectable", row->detectable);
		assert_link(value, "origin", row->origin);
		assert_link(value, "moved_with", row->moved_with);
		assert_link(value, "parent", items[item].parent);
	}
	json_decref(root);
	scene_end(scene);
}

static void the_json_of_nothing_is_json(void **state)
{
	static const enum scene_kind kinds[] = { SCENE_SHORT, SCENE_EMPTY, SCENE_NOTHING };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct scene *scene = scene_new(kinds[i], 5, NULL, 0);
		json_t *root = json_of(scene);

		assert_string_equal(json_string_value(at(at(root, "summary"), "mode")),
				    "descriptive");
		json_decref(root);
		scene_end(scene);
	}
}

static void paths_in_the_json_lead_to_the_root(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 300, NULL, 0);
	bool *seen = calloc(scene->result->row_cnt, sizeof(*seen));
	json_t *root;
	json_t *value;
	size_t i;

	(void)state;
	/* As if hardly anything could have been tested. */
	for (uint32_t row = 0; row < scene->result->row_cnt; row++)
		scene->result->rows[row].is_tested = row % 50 == 0;
	root = json_of(scene);
	assert_true(json_integer_value(at(root, "paths_left_out")) > 100);
	json_array_foreach(at(root, "rows"), i, value)
		seen[json_integer_value(at(value, "item"))] = true;
	json_array_foreach(at(root, "rows"), i, value)
	{
		if (!json_is_null(at(value, "parent")))
			assert_true(seen[json_integer_value(at(value, "parent"))]);
		if (!json_is_null(at(value, "origin")))
			assert_true(seen[json_integer_value(at(value, "origin"))]);
	}
	free(seen);
	json_decref(root);
	scene_end(scene);
}

/* ---- folded ---- */

static void folded_lines_are_sorted_and_have_one_total(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 100, NULL, 0);
	struct strbuf out = STRBUF_INIT;
	unsigned long long before = 0;
	unsigned long long after = 0;
	unsigned long long lines = 0;
	const char *last = "";
	size_t last_len = 0;

	(void)state;
	assert_int_equal(diff_output_folded(&scene->output, &out), 0);
	for (const char *line = out.data; *line;) {
		size_t len = strcspn(line, "\n");
		const char *second = memrchr(line, ' ', len);
		const char *first = memrchr(line, ' ', (size_t)(second - line));
		size_t text_len = (size_t)(first - line);
		int order = memcmp(last, line, last_len < text_len ? last_len : text_len);

		assert_true(order < 0 || (order == 0 && last_len < text_len));
		before += strtoull(first, NULL, 10);
		after += strtoull(second, NULL, 10);
		last = line;
		last_len = text_len;
		line += len + 1;
		lines++;
	}
	assert_int_equal(after, scene->output.after.counts.samples);
	/* Scaled to the same total; each line may be rounded by half a sample. */
	assert_true(scene->output.before.counts.samples + lines < after);
	assert_true(before + lines / 2 >= after && before <= after + lines / 2);
	/* A caller's own samples are told apart from its callee's. */
	assert_has(out.data, "com.example.search.Index.lookup_[j] ");
	assert_has(out.data, "com.example.search.Index.lookup_[j];java.util.HashMap.get_[j] ");
	assert_has(out.data, "Audit.encode_[j] 0 ");
	strbuf_release(&out);
	scene_end(scene);
}

static void folded_text_of_nothing_is_empty(void **state)
{
	struct scene *scene = scene_new(SCENE_NOTHING, 5, NULL, 0);
	struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(diff_output_folded(&scene->output, &out), 0);
	assert_int_equal(out.len, 0);
	scene_end(scene);
}

static void folded_stacks_stay_within_a_line(void **state)
{
	size_t name_len = 4000;
	char *stack = malloc(40 * (name_len + 1) + 8);
	const char *extra[1] = { stack };
	struct scene *scene;
	struct strbuf out = STRBUF_INIT;
	char *at_char = stack;

	(void)state;
	assert_non_null(stack);
	at_char += sprintf(at_char, "java");
	for (int i = 0; i < 40; i++) {
		*at_char++ = ';';
		memset(at_char, 'a' + i % 26, name_len);
		at_char += name_len;
	}
	*at_char = '\0';
	scene = scene_new(SCENE_SHORT, 3, extra, 1);
	assert_int_equal(diff_output_folded(&scene->output, &out), 0);
	for (const char *line = out.data; *line;) {
		size_t len = strcspn(line, "\n");

		assert_true(len < 64 * 1024);
		line += len + 1;
	}
	assert_has(out.data, ";[truncated] ");
	strbuf_release(&out);
	scene_end(scene);
	free(stack);
}

/* ---- page ---- */

static char *page_of(const struct scene *scene)
{
	struct strbuf out = STRBUF_INIT;

	assert_int_equal(diff_output_html(&scene->output, &out), 0);
	return out.data;
}

/* The JSON in the page. */
static json_t *page_data(const char *page)
{
	static const char open[] = "<script type=\"application/json\" id=\"data\">";
	const char *start = strstr(page, open);
	json_error_t error;
	json_t *root;

	assert_non_null(start);
	start += strlen(open);
	root = json_loadb(start, (size_t)(strstr(start, "</script>") - start),
			  JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("line %d: %s", error.line, error.text);
	return root;
}

static void the_page_is_filled_and_small(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 60, NULL, 0);
	char *page = page_of(scene);
	json_t *data = page_data(page);

	(void)state;
	assert_has_not(page, "{{");
	assert_has(page, "default-src 'none'");
	assert_has(page, "<noscript><pre>service shop got faster: ");
	assert_has_not(page, "http://");
	assert_has_not(page, "https://");
	assert_true(strlen(page) < 150000);
	assert_true(json_is_true(at(data, "isJudged")));
	assert_int_equal(json_array_size(at(data, "verdicts")), DIFF_VERDICT_CNT);
	assert_int_equal(json_array_size(at(data, "names")),
			 json_string_length(at(data, "frameKinds")));
	json_decref(data);
	free(page);
	scene_end(scene);
}

/* Rates of the others are in millions of events. */
static void the_page_says_whether_rates_are_of_time(void **state)
{
	static const enum event events[] = { EVENT_CPU, EVENT_OFF_CPU, EVENT_WALL, EVENT_ALLOC };

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct scene *scene = scene_new(SCENE_HISTORY, 5, NULL, 0);
		char *page;
		json_t *data;

		scene->output.event = events[i];
		page = page_of(scene);
		data = page_data(page);
		assert_int_equal(json_is_true(at(data, "isTime")), events[i] != EVENT_ALLOC);
		json_decref(data);
		free(page);
		scene_end(scene);
	}
}

static void the_page_has_a_budget(void **state)
{
	struct scene *scene = scene_new(SCENE_SHORT, 30000, NULL, 0);
	char *page = page_of(scene);
	json_t *data = page_data(page);

	(void)state;
	assert_true(strlen(page) < 2000000);
	assert_true(json_array_size(at(data, "names")) < 20000);
	assert_true(json_number_value(json_array_get(at(data, "leftOut"), 1)) > 1000);
	json_decref(data);
	free(page);
	scene_end(scene);
}

static void a_page_of_nothing_is_a_page(void **state)
{
	static const enum scene_kind kinds[] = { SCENE_EMPTY, SCENE_NOTHING };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct scene *scene = scene_new(kinds[i], 5, NULL, 0);
		char *page = page_of(scene);
		json_t *data = page_data(page);

		assert_false(json_is_true(at(data, "isJudged")));
		json_decref(data);
		free(page);
		scene_end(scene);
	}
}

/* ---- hostile names ---- */

static void hostile_names_are_inert(void **state)
{
	char stacks[HOSTILE_CNT][256];
	const char *extra[HOSTILE_CNT];
	struct strbuf folded = STRBUF_INIT;
	struct scene *scene;
	char *table;

	(void)state;
	for (size_t i = 0; i < HOSTILE_CNT; i++) {
		snprintf(stacks[i], sizeof(stacks[i]), "%s;%s;%s_[j]", hostile[i], hostile[i],
			 hostile[i]);
		extra[i] = stacks[i];
	}
	scene = scene_new(SCENE_SHORT, 3, extra, HOSTILE_CNT);
	scene->output.title = hostile[7];
	scene->output.before.name = hostile[7];
	scene->output.after.image = hostile[14];
	table = table_of(scene, 0);
	for (const char *c = table; *c; c++)
		assert_true((unsigned char)*c >= 0x20 || *c == '\n');
	assert_has_not(table, "\x7f");
	assert_has_not(table, "\xe2\x80\xae");
	json_decref(json_of(scene));
	assert_int_equal(diff_output_folded(&scene->output, &folded), 0);
	for (const char *c = folded.data; *c; c++)
		assert_true((unsigned char)*c >= 0x20 || *c == '\n');
	strbuf_release(&folded);
	free(table);
	table = page_of(scene);
	assert_has_not(table, "<img");
	assert_has_not(table, "<script>alert");
	json_decref(page_data(table));
	free(table);
	scene_end(scene);
}

/* ---- the tree behind the pictures ---- */

static void a_pruned_tree_keeps_its_sums_and_what_was_found(void **state)
{
	struct scene *scene = scene_new(SCENE_HISTORY, 400, NULL, 0);
	struct diff_paths paths = { 0 };
	size_t found_cnt = 0;
	size_t hidden_cnt = 0;
	size_t kept_cnt = 0;

	(void)state;
	for (uint32_t i = 0; i < scene->result->row_cnt; i++) {
		uint32_t cnt;
		const struct diff_item *items = diff_catalog__items(scene->catalog, &cnt);

		found_cnt += items[i].kind == DIFF_KIND_PATH &&
			     scene->result->rows[i].verdict > DIFF_VERDICT_SAME;
	}
	assert_int_equal(diff_paths_make(&scene->output, &paths), 0);
	size_t all_cnt = paths.tree.node_cnt;
	assert_int_equal(diff_paths_prune(&paths, 60), 0);
	for (size_t i = 0; i < paths.tree.node_cnt; i++) {
		const struct diff_paths_sum *total = &paths.totals[i];
		struct diff_paths_sum sum = paths.selfs[i];
		uint32_t item = diff_paths_item(&paths, i);

		for (size_t child = i + 1; child < paths.tree.node_cnt; child++) {
			if (paths.tree.nodes[child].parent != i)
				continue;
			for (int s = 0; s < DIFF_PATHS_SIDES; s++) {
				sum.samples[s] += paths.totals[child].samples[s];
				sum.share[s] += paths.totals[child].share[s];
			}
		}
		for (int s = 0; s < DIFF_PATHS_SIDES; s++) {
			assert_int_equal(sum.samples[s], total->samples[s]);
			assert_true(fabs(sum.share[s] - total->share[s]) < 1e-9);
		}
		hidden_cnt += paths.tree.nodes[i].hidden_cnt;
		kept_cnt += item != DIFF_NONE &&
			    scene->result->rows[item].verdict > DIFF_VERDICT_SAME;
	}
	assert_true(found_cnt > 5 && found_cnt < 50);
	assert_int_equal(kept_cnt, found_cnt);
	assert_int_equal(hidden_cnt, all_cnt - 60);
	assert_int_equal(paths.totals[0].samples[DIFF_PATHS_AFTER],
			 scene->output.after.counts.samples);
	diff_paths_release(&paths);
	scene_end(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_lists_what_was_found_and_counts_the_rest),
		cmocka_unit_test(the_numbers_of_the_table_are_those_of_the_result),
		cmocka_unit_test(without_a_limit_the_table_lists_every_method),
		cmocka_unit_test(alarms_come_first_then_what_is_surest_and_largest),
		cmocka_unit_test(a_leaf_is_one_row_and_not_two),
		cmocka_unit_test(what_cannot_be_judged_is_said_and_shown_as_shares),
		cmocka_unit_test(one_pair_of_days_is_said_to_be_one),
		cmocka_unit_test(every_gate_that_failed_is_told_with_its_values),
		cmocka_unit_test(the_json_is_complete),
		cmocka_unit_test(the_json_holds_the_numbers_of_the_result),
		cmocka_unit_test(the_json_of_nothing_is_json),
		cmocka_unit_test(paths_in_the_json_lead_to_the_root),
		cmocka_unit_test(folded_lines_are_sorted_and_have_one_total),
		cmocka_unit_test(folded_text_of_nothing_is_empty),
		cmocka_unit_test(folded_stacks_stay_within_a_line),
		cmocka_unit_test(the_page_is_filled_and_small),
		cmocka_unit_test(the_page_says_whether_rates_are_of_time),
		cmocka_unit_test(the_page_has_a_budget),
		cmocka_unit_test(a_page_of_nothing_is_a_page),
		cmocka_unit_test(hostile_names_are_inert),
		cmocka_unit_test(a_pruned_tree_keeps_its_sums_and_what_was_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
