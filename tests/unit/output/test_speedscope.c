// SPDX-License-Identifier: Apache-2.0
/*
 * What speedscope will see: the JSON is read by a library and held against the rules of its file
 * format (frames, samples root first, weights of the same number), then against the stacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>

#include "tests/unit/output_profiles.h"
#include "user/util/cleanup.h"
#include "user/util/version.h"

struct speedscope {
	json_t *root;
	json_t *profiles;
	json_t *frames;
	json_t *profile;
	json_t *samples;
	json_t *weights;
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		fail_msg("no text '%s'", key);
	return text;
}

static uint64_t number_of(const json_t *object, const char *key)
{
	const json_t *number = json_object_get(object, key);

	assert_true(json_is_integer(number));
	return (uint64_t)json_integer_value(number);
}

/* Every index is that of a frame; weights add up to the end. */
static void check(const struct speedscope *read)
{
	size_t frame_cnt = json_array_size(read->frames), i, j;
	json_t *sample, *frame, *weight;
	uint64_t total = 0;

	json_array_foreach(read->frames, i, frame)
		assert_string_not_equal(text_of(frame, "name"), "");
	assert_int_equal(json_array_size(read->samples), json_array_size(read->weights));
	json_array_foreach(read->samples, i, sample)
	{
		assert_true(json_array_size(sample) > 0);
		json_array_foreach(sample, j, frame)
			assert_true(json_is_integer(frame) && json_integer_value(frame) >= 0 &&
				    (size_t)json_integer_value(frame) < frame_cnt);
	}
	json_array_foreach(read->weights, i, weight) total += (uint64_t)json_integer_value(weight);
	assert_int_equal(number_of(read->profile, "startValue"), 0);
	assert_int_equal(number_of(read->profile, "endValue"), total);
}

static void choose(struct speedscope *read, size_t index)
{
	read->profile = json_array_get(read->profiles, index);
	assert_string_equal(text_of(read->profile, "type"), "sampled");
	read->samples = json_object_get(read->profile, "samples");
	read->weights = json_object_get(read->profile, "weights");
	assert_true(json_is_array(read->frames) && json_is_array(read->samples));
	check(read);
}

/* Takes the profile over. The first of the file's profiles is chosen. */
static struct speedscope write_and_read(struct profile *profile, const struct output_info *info)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct speedscope read;
	json_error_t error;

	assert_int_equal(output_speedscope(profile, info, &out), 0);
	profile__free(profile);
	assert_int_equal(out.data[out.len - 1], '\n');
	read.root = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &error);
	if (!read.root)
		fail_msg("line %d: %s", error.line, error.text);
	assert_string_equal(text_of(read.root, "$schema"),
			    "https://www.speedscope.app/file-format-schema.json");
	read.profiles = json_object_get(read.root, "profiles");
	if (!info->has_threads)
		assert_int_equal(json_array_size(read.profiles), 1);
	read.frames = json_object_get(json_object_get(read.root, "shared"), "frames");
	choose(&read, 0);
	return read;
}

/* "java;A.b 3" per sample; speedscope has no kinds. */
static void folded_of(const struct speedscope *read, uint64_t unit, struct strbuf *out)
{
	json_t *sample, *frame;
	size_t i, j;

	json_array_foreach(read->samples, i, sample)
	{
		uint64_t weight = (uint64_t)json_integer_value(json_array_get(read->weights, i));

		json_array_foreach(sample, j, frame)
		{
			json_t *it =
				json_array_get(read->frames, (size_t)json_integer_value(frame));

			strbuf_printf(out, "%s%s", j ? ";" : "", text_of(it, "name"));
		}
		assert_int_equal(weight % unit, 0);
		strbuf_printf(out, " %llu\n", (unsigned long long)(weight / unit));
	}
}

static void expect_folded(const struct speedscope *read, uint64_t unit, const char *expected)
{
	__cleanup_strbuf struct strbuf folded = STRBUF_INIT;

	folded_of(read, unit, &folded);
	assert_string_equal(strbuf_str(&folded), expected);
}

static void speedscope_has_all_threads_and_each_by_itself(void **state)
{
	struct output_info info = output_profiles_info;
	struct speedscope read;

	(void)state;
	info.has_threads = true;
	read = write_and_read(profile_of(PROFILE_OF_THREADS), &info);
	assert_int_equal(json_array_size(read.profiles), 4);
	expect_folded(&read, 10000000, "java;a 5\njava;b 5\njava;b;c 5\n");
	choose(&read, 1);
	assert_string_equal(text_of(read.profile, "name"), "main");
	expect_folded(&read, 10000000, "java;a 2\njava;b;c 4\n");
	choose(&read, 2);
	assert_string_equal(text_of(read.profile, "name"), "pool-#");
	expect_folded(&read, 10000000, "java;a 3\n");
	choose(&read, 3);
	assert_string_equal(text_of(read.profile, "name"), "GC Thread##");
	expect_folded(&read, 10000000, "java;b 5\n");
	json_decref(read.root);
}

static void speedscope_holds_the_stacks_root_first_without_their_kinds(void **state)
{
	struct speedscope read = write_and_read(
		profile_of("java;A.run_[0];B.work_[j];C.leaf_[i] 40\njava;A.run_[j];read_[k] 10\n"
			   "java;[unknown] 5\ncron 2\n"),
		&output_profiles_info);

	(void)state;
	expect_folded(
		&read, 10000000,
		"cron 2\njava;A.run;B.work;C.leaf 40\njava;A.run;read 10\njava;[unknown] 5\n");
	assert_string_equal(text_of(read.root, "name"), output_profiles_info.title);
	assert_string_equal(text_of(read.profile, "name"), output_profiles_info.title);
	assert_string_equal(text_of(read.profile, "unit"), "nanoseconds");
	assert_memory_equal(text_of(read.root, "exporter"), "jbpf ", 5);
	assert_string_equal(text_of(read.root, "exporter") + 5, jbpf_version);
	json_decref(read.root);
}

static void speedscope_of_mixed_frequencies_counts_samples(void **state)
{
	struct output_info info = output_profiles_info;
	struct speedscope read;

	(void)state;
	info.frequency_hz = 0;
	read = write_and_read(profile_of("a;b 3\na;c 4\n"), &info);
	assert_string_equal(text_of(read.profile, "unit"), "none");
	expect_folded(&read, 1, "a;b 3\na;c 4\n");
	json_decref(read.root);
}

static void speedscope_frames_are_functions_whatever_the_tier(void **state)
{
	static const char *const expected[][2] = {
		{ "memcpy", "[process]" }, { "A.b", "" }, { "memcpy", "[kernel]" }, { "memcpy", "" }
	};
	struct speedscope read = write_and_read(
		profile_of(
			"memcpy;A.b_[0] 1\nmemcpy;A.b_[j];memcpy_[k] 1\nmemcpy;A.b_[1];memcpy 1\n"),
		&output_profiles_info);

	(void)state;
	assert_int_equal(json_array_size(read.frames), ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		size_t found = 0, j;
		json_t *frame;

		json_array_foreach(read.frames, j, frame)
		{
			const char *file = json_string_value(json_object_get(frame, "file"));

			found += strcmp(text_of(frame, "name"), expected[i][0]) == 0 &&
				 strcmp(file ? file : "", expected[i][1]) == 0;
		}
		assert_int_equal(found, 1);
	}
	json_decref(read.root);
}

static void speedscope_frames_have_source_files(void **state)
{
	struct source_lines *lines = source_lines__new(0);
	struct output_info info = output_profiles_info;
	struct speedscope read;

	(void)state;
	assert_int_equal(source_lines__add(lines, "a.B.c", FRAME_KIND_JIT, "B.java", 12, 3), 0);
	info.lines = lines;
	read = write_and_read(profile_of("java;a.B.c_[0] 1\n"), &info);
	source_lines__free(lines);
	assert_string_equal(text_of(json_array_get(read.frames, 1), "file"), "B.java");
	json_decref(read.root);
}

/* Behind a label comes the process, which is not the function of that name. */
static void speedscope_keeps_labels_in_front(void **state)
{
	static const struct output_label labels[] = { { .name = "container" } };
	struct output_info info = output_profiles_info;
	struct speedscope read;

	(void)state;
	info.labels = labels;
	info.label_cnt = 1;
	read = write_and_read(profile_of("shop;java;java 3\n"), &info);
	expect_folded(&read, 10000000, "shop;java;java 3\n");
	assert_int_equal(json_array_size(read.frames), 3);
	json_decref(read.root);
}

static void speedscope_takes_any_size_and_any_name(void **state)
{
	struct profile *(*const makers[])(size_t) = { profile_deep, profile_wide };
	struct speedscope read;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		read = write_and_read(makers[i](10000), &output_profiles_info);
		assert_int_equal(json_array_size(read.samples), i ? 10000 : 1);
		json_decref(read.root);
	}
	read = write_and_read(profile_hostile(), &output_profiles_info);
	json_decref(read.root);
	read = write_and_read(profile_of(""), &output_profiles_info);
	assert_int_equal(json_array_size(read.samples), 0);
	json_decref(read.root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speedscope_holds_the_stacks_root_first_without_their_kinds),
		cmocka_unit_test(speedscope_has_all_threads_and_each_by_itself),
		cmocka_unit_test(speedscope_of_mixed_frequencies_counts_samples),
		cmocka_unit_test(speedscope_frames_are_functions_whatever_the_tier),
		cmocka_unit_test(speedscope_frames_have_source_files),
		cmocka_unit_test(speedscope_keeps_labels_in_front),
		cmocka_unit_test(speedscope_takes_any_size_and_any_name),
	};

	return cmocka_run_group_tests_name("output_speedscope", tests, NULL, NULL);
}
