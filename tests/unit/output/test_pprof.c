// SPDX-License-Identifier: Apache-2.0
/*
 * What pprof, Pyroscope and Parca will see: every profile that is written is read back by a reader
 * of the test's own, which refuses what they refuse, and compared with the stacks that went in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "tests/unit/output_profiles.h"
#include "tests/unit/pprof_reader.h"
#include "user/output/protobuf.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define KNOWN_FILE  "tests/fixtures/pprof/known.folded"
#define GOLDEN_FILE "tests/fixtures/pprof/known.pb.gz"

/* Takes the profile over. */
static struct pprof_read write_and_read(struct profile *profile, const struct output_info *info)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct pprof_read read;

	assert_int_equal(output_pprof(profile, info, &out), 0);
	profile__free(profile);
	read = pprof_read(out.data, out.len);
	return read;
}

static void expect_same_stacks(struct profile *profile)
{
	__cleanup_strbuf struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
	struct pprof_read read;

	assert_int_equal(profile__to_folded(profile, &before), 0);
	read = write_and_read(profile, &output_profiles_info);
	pprof_folded(&read, &after);
	assert_string_equal(strbuf_str(&after), strbuf_str(&before));
	pprof_release(&read);
}

/* ---- protobuf ---- */

static void protobuf_writes_the_examples_of_its_specification(void **state)
{
	static const uint64_t packed[] = { 3, 270, 86942 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct protobuf message = { .out = &out };

	(void)state;
	protobuf_u64(&message, 1, 150);
	protobuf_bytes(&message, 2, "testing", 7);
	protobuf_packed(&message, 6, packed, 3);
	assert_int_equal(strbuf_error(&out), 0);
	assert_int_equal(out.len, 3 + 9 + 8);
	assert_memory_equal(out.data,
			    "\x08\x96\x01"
			    "\x12\x07testing"
			    "\x32\x06\x03\x8e\x02\x9e\xa7\x05",
			    out.len);
}

static void protobuf_numbers_of_every_length_are_read_back(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++) {
		const uint64_t values[] = { (1ull << bit) - 1, 1ull << bit, UINT64_MAX >> bit };
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct protobuf message = { .out = &out };
		struct pb_cursor cursor;
		struct pb_field field;

		protobuf_packed(&message, UINT32_MAX >> 3, values, 3);
		cursor = (struct pb_cursor){ (uint8_t *)out.data, (uint8_t *)out.data + out.len };
		assert_true(pb_next(&cursor, &field));
		assert_true(cursor.at == cursor.end);
		assert_int_equal(field.number, UINT32_MAX >> 3);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(pb_varint(&field.bytes), values[i]);
	}
}

static void protobuf_leaves_out_zero_and_none_but_not_empty(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct strbuf empty = STRBUF_INIT;
	struct protobuf message = { .out = &out };

	(void)state;
	protobuf_u64(&message, 1, 0);
	protobuf_packed(&message, 2, NULL, 0);
	assert_int_equal(out.len, 0);
	protobuf_bytes(&message, 3, "", 0);
	protobuf_buf(&message, 4, &empty);
	assert_int_equal(out.len, 4);
	assert_memory_equal(out.data, "\x1a\x00\x22\x00", 4);
}

/* ---- stacks ---- */

static void pprof_holds_the_same_stacks_as_folded_text(void **state)
{
	(void)state;
	expect_same_stacks(profile_of("java;A.run_[0];B.work_[j];C.leaf_[i] 40\n"
				      "java;A.run_[0];B.work_[j];B.work_[j];read_[k] 10\n"
				      "java;A.run_[1];D.idle_[1] 20\n"
				      "java;java;[unknown] 5\n"
				      "java;[libc.so.6];entry_[k] 1\n"
				      "java 3\n"));
	expect_same_stacks(profile_wide(20000));
	expect_same_stacks(profile_deep(10000));
}

static void pprof_of_nothing_is_valid(void **state)
{
	struct pprof_read read = write_and_read(profile_of(""), &output_profiles_info);

	(void)state;
	assert_int_equal(PPROF_CNT(&read, samples, struct pprof_sample), 0);
	assert_int_equal(PPROF_CNT(&read, locations, struct pprof_location), 0);
	pprof_release(&read);
}

/* pprof prints names to terminals as they are. */
static void pprof_strings_are_utf8_without_control_characters(void **state)
{
	struct pprof_read read = write_and_read(profile_hostile(), &output_profiles_info);

	(void)state;
	assert_true(PPROF_CNT(&read, strings, struct pprof_string) > 20);
	for (size_t i = 0; i < PPROF_CNT(&read, strings, struct pprof_string); i++) {
		const struct pprof_string *it = PPROF_AT(&read, strings, struct pprof_string, i);

		for (const char *at = it->text; *at; at++)
			assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
		assert_null(strstr(it->text, "\xe2\x80\xae"));
		assert_null(strstr(it->text, "\xc2\x9b"));
		assert_null(strstr(it->text, "\xff"));
	}
	pprof_release(&read);
}

static void pprof_survives_stacks_that_jbpf_would_not_write(void **state)
{
	struct pprof_read read = write_and_read(profile_of("; 1\n;; 2\na;;b_[k] 3\n_[k] 4\n"),
						&output_profiles_info);
	__cleanup_strbuf struct strbuf folded = STRBUF_INIT;

	(void)state;
	pprof_folded(&read, &folded);
	assert_string_equal(strbuf_str(&folded), "[unknown] 1\n"
						 "[unknown];[unknown] 2\n"
						 "_[k] 4\n"
						 "a;[unknown];b_[k] 3\n");
	pprof_release(&read);
}

/* ---- functions ---- */

static void pprof_tiers_of_a_method_are_one_function(void **state)
{
	struct pprof_read read = write_and_read(
		profile_of(
			"java;A.b_[0] 1\njava;A.b_[1] 2\njava;A.b_[j] 3\njava;C.d_[j];A.b_[i] 4\n"),
		&output_profiles_info);
	const char *file;

	(void)state;
	assert_int_equal(pprof_find(&read, "A.b", &file), 1);
	/* Four tiers, the process and C.d. */
	assert_int_equal(PPROF_CNT(&read, locations, struct pprof_location), 6);
	pprof_release(&read);
}

static void pprof_kernel_library_and_process_of_one_name_are_three_functions(void **state)
{
	struct pprof_read read =
		write_and_read(profile_of("memcpy;memcpy;memcpy_[k] 1\n"), &output_profiles_info);
	static const char *const files[] = { "[process]", "", "[kernel]" };

	(void)state;
	assert_int_equal(PPROF_CNT(&read, functions, struct pprof_function), 3);
	for (size_t i = 0; i < 3; i++) {
		struct pprof_function *it = PPROF_AT(&read, functions, struct pprof_function, i);

		assert_string_equal(pprof_text(&read, it->name), "memcpy");
		assert_string_equal(pprof_text(&read, it->filename), files[i]);
	}
	pprof_release(&read);
}

static void pprof_functions_have_the_file_that_their_lines_agree_on(void **state)
{
	static const char text[] = "a.B.one_[j];B.java:12 5\n"
				   "a.B.one_[1];B.java:13 1\n"
				   "a.B.two_[j];B.java:12 5\n"
				   "a.B.two_[j];Copy.java:12 4\n"
				   "a.B.two_[j];B.java:14 3\n"
				   "odd_[k];odd.c:1 3\n";
	struct source_lines *lines = source_lines__new(0);
	struct output_info info = output_profiles_info;
	size_t bad_cnt = 0;
	struct pprof_read read;
	const char *file;

	(void)state;
	assert_non_null(lines);
	assert_int_equal(source_lines__add_text(lines, text, strlen(text), &bad_cnt), 0);
	assert_int_equal(bad_cnt, 0);
	info.lines = lines;
	read = write_and_read(profile_of("java;a.B.one_[0];a.B.two_[j];a.B.three_[j];odd_[k] 1\n"),
			      &info);
	source_lines__free(lines);
	assert_int_equal(pprof_find(&read, "a.B.one", &file), 1);
	assert_string_equal(file, "B.java");
	assert_int_equal(pprof_find(&read, "a.B.two", &file), 1);
	assert_string_equal(file, "");
	assert_int_equal(pprof_find(&read, "a.B.three", &file), 1);
	assert_string_equal(file, "");
	assert_int_equal(pprof_find(&read, "odd", &file), 1);
	assert_string_equal(file, "[kernel]");
	pprof_release(&read);
}

/* ---- values ---- */

static void expect_type(const struct pprof_read *read, struct pprof_type type, const char *name,
			const char *unit)
{
	assert_string_equal(pprof_text(read, type.type), name);
	assert_string_equal(pprof_text(read, type.unit), unit);
}

static const uint64_t *sample_values(const struct pprof_read *read, size_t sample)
{
	return PPROF_AT(PPROF_AT(read, samples, struct pprof_sample, sample), values, uint64_t, 0);
}

static void pprof_values_are_samples_and_their_time(void **state)
{
	static const struct {
		uint32_t frequency_hz;
		uint64_t period_ns;
	} cases[] = { { 1, 1000000000 }, { 49, 20408163 }, { 99, 10101010 }, { 1500, 666667 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct output_info info = output_profiles_info;
		struct pprof_read read;

		info.frequency_hz = cases[i].frequency_hz;
		read = write_and_read(profile_of("a;b 3\na;c 5\n"), &info);
		assert_int_equal(read.type_cnt, 2);
		expect_type(&read, read.types[0], "samples", "count");
		expect_type(&read, read.types[1], "cpu", "nanoseconds");
		expect_type(&read, read.period_type, "cpu", "nanoseconds");
		assert_string_equal(pprof_text(&read, read.default_type), "cpu");
		assert_int_equal(read.period, cases[i].period_ns);
		assert_int_equal(sample_values(&read, 0)[0], 3);
		assert_int_equal(sample_values(&read, 0)[1], 3 * cases[i].period_ns);
		assert_int_equal(sample_values(&read, 1)[1], 5 * cases[i].period_ns);
		pprof_release(&read);
	}
}

static void pprof_of_mixed_frequencies_has_no_time(void **state)
{
	struct output_info info = output_profiles_info;
	struct pprof_read read;

	(void)state;
	info.frequency_hz = 0;
	read = write_and_read(profile_of("a;b 3\n"), &info);
	assert_int_equal(read.type_cnt, 1);
	expect_type(&read, read.types[0], "samples", "count");
	assert_string_equal(pprof_text(&read, read.default_type), "samples");
	assert_int_equal(read.period, 0);
	assert_int_equal(read.period_type.type, 0);
	pprof_release(&read);
}

static void pprof_values_saturate(void **state)
{
	static const char stack[] = "a;b";
	struct profile *profile = profile__new();
	struct pprof_read read;

	(void)state;
	assert_int_equal(profile__add(profile, stack, strlen(stack), UINT64_MAX), 0);
	read = write_and_read(profile, &output_profiles_info);
	assert_true(sample_values(&read, 0)[0] == INT64_MAX);
	assert_true(sample_values(&read, 0)[1] == INT64_MAX);
	pprof_release(&read);
}

/* ---- labels ---- */

static void expect_labels(const struct pprof_read *read, size_t sample, const char *expected)
{
	__cleanup_strbuf struct strbuf labels = STRBUF_INIT;

	pprof_labels(read, sample, &labels);
	assert_string_equal(strbuf_str(&labels), expected);
}

static void pprof_front_frames_become_labels(void **state)
{
	static const struct output_label labels[] = {
		{ .name = "container" },
		{ .name = "pid", .is_number = true },
	};
	struct output_info info = output_profiles_info;
	__cleanup_strbuf struct strbuf folded = STRBUF_INIT;
	struct pprof_read read;

	(void)state;
	info.labels = labels;
	info.label_cnt = 2;
	read = write_and_read(profile_of("(none);7;cron 1\n"
					 "cart-1;43;java;a.B.c_[j];read_[k] 2\n"
					 "shop-1;42;java;a.B.c_[j] 3\n"
					 "shop-1;forty;java;[libc.so] 4\n"),
			      &info);
	pprof_folded(&read, &folded);
	assert_string_equal(strbuf_str(&folded), "cron 1\n"
						 "java;a.B.c_[j];read_[k] 2\n"
						 "java;a.B.c_[j] 3\n"
						 "java;[libc.so] 4\n");
	expect_labels(&read, 0, "pid=#7 kind=native");
	expect_labels(&read, 1, "container=cart-1 pid=#43 kind=kernel");
	expect_labels(&read, 2, "container=shop-1 pid=#42 kind=java");
	expect_labels(&read, 3, "container=shop-1 pid=forty kind=native");
	pprof_release(&read);
}

static void pprof_threads_are_labels_behind_those_of_frames(void **state)
{
	static const struct output_label label = { .name = "container" };
	struct output_info info = output_profiles_info;
	__cleanup_strbuf struct strbuf folded = STRBUF_INIT;
	struct pprof_read read;

	(void)state;
	info.has_threads = true;
	read = write_and_read(profile_of(PROFILE_OF_THREADS), &info);
	pprof_folded(&read, &folded);
	assert_string_equal(strbuf_str(&folded), "java;a_[j] 2\njava;a_[j] 3\njava;b 5\n"
						 "java;b;c 1\njava;b;c 4\n");
	expect_labels(&read, 0, "thread=main kind=java");
	expect_labels(&read, 1, "thread=pool-# kind=java");
	expect_labels(&read, 2, "thread=GC Thread## kind=native");
	expect_labels(&read, 3, "kind=native");
	pprof_release(&read);
	info.labels = &label;
	info.label_cnt = 1;
	read = write_and_read(profile_of("shop;java;a_[j]\1main 2\n"), &info);
	expect_labels(&read, 0, "container=shop thread=main kind=java");
	pprof_release(&read);
}

static void pprof_kind_label_is_that_of_the_leaf(void **state)
{
	struct pprof_read read =
		write_and_read(profile_of("a;b_[0] 1\na;b_[1] 1\na;b_[i] 1\na;b_[j] 1\n"
					  "a;b_[j];c_[k] 1\na;b_[k];c 1\n"),
			       &output_profiles_info);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		expect_labels(&read, i, "kind=java");
	expect_labels(&read, 4, "kind=kernel");
	expect_labels(&read, 5, "kind=native");
	pprof_release(&read);
}

/* ---- the rest ---- */

static void pprof_comments_tell_what_was_recorded_and_lost(void **state)
{
	static const char *const expected[] = {
		"java in <shop> & \"co\"",
		"pod=a_[2Jb",
		"2026-11-21T13:20:00Z to 2026-11-21T13:30:00Z (10m)",
		"3 samples, 0.03 CPU seconds at 100 Hz, 2 processes",
		"unknown frames 2.00 %, truncated stacks 33.33 %, lost samples 7",
	};
	struct pprof_read read = write_and_read(profile_of("a;b 3\n"), &output_profiles_info);

	(void)state;
	assert_int_equal(PPROF_CNT(&read, comments, uint64_t), ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_string_equal(pprof_text(&read, *PPROF_AT(&read, comments, uint64_t, i)),
				    expected[i]);
	assert_int_equal(read.time_ns, output_profiles_info.since_unix_ns);
	assert_int_equal(read.duration_ns, 600ull * 1000000000);
	pprof_release(&read);
}

static void pprof_without_times_and_title_says_nothing_about_them(void **state)
{
	const struct output_info info = { .title = "#1", .frequency_hz = 99 };
	struct pprof_read read = write_and_read(profile_of("a;b 3\n"), &info);

	(void)state;
	assert_int_equal(PPROF_CNT(&read, comments, uint64_t), 2);
	assert_int_equal(read.time_ns, 0);
	assert_int_equal(read.duration_ns, 0);
	pprof_release(&read);
}

/* known.pb.gz was looked at with `go tool pprof`, see README.md there. */
static void pprof_of_the_golden_file_is_written_as_it_was(void **state)
{
	const struct output_info info = {
		.title = "CPU of java in container shop-1",
		.subtitle = "by container, by pid",
		.since_unix_ns = 1795267200ull * 1000000000,
		.until_unix_ns = 1795267800ull * 1000000000,
		.frequency_hz = 99,
		.lost_samples = 5,
		.counts = { .frames = 200, .unknown_frames = 1, .truncated_samples = 1 },
		.stream_cnt = 3,
		.labels = (const struct output_label[]){ { "container", false }, { "pid", true } },
		.label_cnt = 2,
	};
	__cleanup_strbuf struct strbuf folded = STRBUF_INIT, golden = STRBUF_INIT;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	__cleanup_strbuf struct strbuf expected = STRBUF_INIT, written = STRBUF_INIT;
	const char *write_to = getenv("JBPF_WRITE_PPROF");
	struct profile *profile;

	(void)state;
	assert_int_equal(fs_read_file(AT_FDCWD, KNOWN_FILE, 1 << 20, &folded), 0);
	profile = profile_of(folded.data);
	assert_int_equal(output_pprof(profile, &info, &out), 0);
	profile__free(profile);
	if (write_to)
		assert_int_equal(fs_write_output(AT_FDCWD, write_to, 0644, out.data, out.len), 0);
	assert_int_equal(fs_read_file(AT_FDCWD, GOLDEN_FILE, 1 << 20, &golden), 0);
	pprof_gunzip(golden.data, golden.len, &expected);
	pprof_gunzip(out.data, out.len, &written);
	assert_int_equal(written.len, expected.len);
	assert_memory_equal(written.data, expected.data, expected.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(protobuf_writes_the_examples_of_its_specification),
		cmocka_unit_test(protobuf_numbers_of_every_length_are_read_back),
		cmocka_unit_test(protobuf_leaves_out_zero_and_none_but_not_empty),
		cmocka_unit_test(pprof_holds_the_same_stacks_as_folded_text),
		cmocka_unit_test(pprof_of_nothing_is_valid),
		cmocka_unit_test(pprof_strings_are_utf8_without_control_characters),
		cmocka_unit_test(pprof_survives_stacks_that_jbpf_would_not_write),
		cmocka_unit_test(pprof_tiers_of_a_method_are_one_function),
		cmocka_unit_test(pprof_kernel_library_and_process_of_one_name_are_three_functions),
		cmocka_unit_test(pprof_functions_have_the_file_that_their_lines_agree_on),
		cmocka_unit_test(pprof_values_are_samples_and_their_time),
		cmocka_unit_test(pprof_of_mixed_frequencies_has_no_time),
		cmocka_unit_test(pprof_values_saturate),
		cmocka_unit_test(pprof_front_frames_become_labels),
		cmocka_unit_test(pprof_threads_are_labels_behind_those_of_frames),
		cmocka_unit_test(pprof_kind_label_is_that_of_the_leaf),
		cmocka_unit_test(pprof_comments_tell_what_was_recorded_and_lost),
		cmocka_unit_test(pprof_without_times_and_title_says_nothing_about_them),
		cmocka_unit_test(pprof_of_the_golden_file_is_written_as_it_was),
	};

	return cmocka_run_group_tests_name("output_pprof", tests, NULL, NULL);
}
