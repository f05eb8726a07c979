// SPDX-License-Identifier: Apache-2.0
/* The daily series: what was put in comes out, days are replaced and bounded, damage is seen. */
#include <endian.h>
#include <errno.h>
#include <math.h>

#include "tests/unit/store_testing.h"
#include "user/store/format/crc32c.h"
#include "user/store/series/series_file.h"
#include "user/util/cleanup.h"

#define KEY	    "service=shop"
#define NAME	    "shop.series"
#define GOLDEN	    "tests/fixtures/store/series-1.series"
#define GOLDEN_TOLD "tests/fixtures/store/series-1-told.series"
#define FIRST_DAY   20000u

/* Rows that follow from the day and the number; one in three items is missing on a day. */
static void put_day(struct series *series, uint32_t number, uint32_t row_cnt)
{
	__cleanup_free struct series_row *rows = calloc(row_cnt + 1, sizeof(*rows));
	struct series_day day = {
		.day = number,
		.length_s = 86400,
		.start_unix_s = number * 86400ull,
		.recorded_s = 86000,
		.cpu_ms = 123456789,
		.samples = 1000000 + number,
		.lost_samples = 7,
		.frames = 30000000,
		.unknown_frames = 1234,
		.truncated_samples = 99,
		.blocks = 96,
		.frequency_hz = 99,
		.left_out = 3,
		.is_judged = number % 3 == 0,
		.jvm_version = "17.0.13+11",
		.image = number % 2 ? "shop:1.4" : "",
		.rows = rows,
	};

	assert_non_null(rows);
	for (uint32_t i = 0; i < row_cnt; i++) {
		char name[64];
		uint32_t id;

		(void)snprintf(name, sizeof(name), "com.example.shop.Class%u.method%u", i / 6, i);
		assert_int_equal(series__item_id(series, (uint8_t)(1 + i % 2), 2, name,
						 strlen(name), &id),
				 0);
		if ((i + number) % 3 == 0)
			continue;
		rows[day.row_cnt++] = (struct series_row){
			.item = id,
			.value = -0.5f - (float)i / 100 - (float)(number * 31 % 17) / 1000,
			.variance = 1e-6f * (float)(1 + (i * number) % 97),
		};
	}
	assert_int_equal(series__put(series, &day), 0);
}

static struct series *make(uint32_t day_cnt, uint32_t row_cnt)
{
	struct series *series = series__new();

	assert_non_null(series);
	for (uint32_t i = 0; i < day_cnt; i++)
		put_day(series, FIRST_DAY + i, row_cnt);
	return series;
}

/* Of some of the days that were judged it is known what was told. */
static void tell_days(struct series *series)
{
	size_t cnt = 0;
	const struct series_day *days = series__days(series, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		struct series_day day = days[i];

		if (!day.is_judged || day.day % 2)
			continue;
		day.told_p_max = 0.01f / (float)(1 + day.day % 70);
		assert_int_equal(series__put(series, &day), 0);
		days = series__days(series, &cnt);
	}
}

static bool has_row(const struct series *series, const struct series_day *day,
		    const struct series_item *item, const struct series_row *wanted)
{
	for (size_t i = 0; i < day->row_cnt; i++) {
		struct series_item found = series__item(series, day->rows[i].item);

		if (found.item_kind == item->item_kind && found.frame_kind == item->frame_kind &&
		    found.name_len == item->name_len &&
		    memcmp(found.name, item->name, item->name_len) == 0)
			return day->rows[i].value == wanted->value &&
			       day->rows[i].variance == wanted->variance;
	}
	return false;
}

static bool is_same_day(const struct series *a, const struct series_day *left,
			const struct series *b, const struct series_day *right)
{
	bool is_same = left->day == right->day && left->length_s == right->length_s &&
		       left->start_unix_s == right->start_unix_s &&
		       left->recorded_s == right->recorded_s && left->cpu_ms == right->cpu_ms &&
		       left->samples == right->samples &&
		       left->lost_samples == right->lost_samples && left->frames == right->frames &&
		       left->unknown_frames == right->unknown_frames &&
		       left->truncated_samples == right->truncated_samples &&
		       left->blocks == right->blocks && left->frequency_hz == right->frequency_hz &&
		       left->left_out == right->left_out && left->is_judged == right->is_judged &&
		       left->told_p_max == right->told_p_max && left->row_cnt == right->row_cnt &&
		       strcmp(left->jvm_version, right->jvm_version) == 0 &&
		       strcmp(left->image, right->image) == 0;

	for (size_t i = 0; is_same && i < left->row_cnt; i++) {
		struct series_item item = series__item(a, left->rows[i].item);

		is_same = has_row(b, right, &item, &left->rows[i]);
	}
	return is_same;
}

/* Every day of `part` is in `whole`, as it is there. */
static void assert_part_of(const struct series *part, const struct series *whole)
{
	size_t cnt = 0;
	const struct series_day *days = series__days(part, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		const struct series_day *other = series__find(whole, days[i].day);

		assert_non_null(other);
		assert_true(is_same_day(part, &days[i], whole, other));
	}
}

static size_t day_count(const struct series *series)
{
	size_t cnt = 0;

	(void)series__days(series, &cnt);
	return cnt;
}

static int decode(const char *bytes, size_t len, const char *key, struct series **out)
{
	struct series_damage damage = { .what = NULL };
	int result;

	*out = series__new();
	assert_non_null(*out);
	result = series_format_decode(bytes, len, key, *out, &damage);
	assert_true((damage.what != NULL) == (result == 1));
	if (result == 1)
		assert_true(damage.offset <= len);
	return result;
}

static void what_was_encoded_is_decoded(void **state)
{
	static const struct {
		uint32_t days;
		uint32_t rows;
	} cases[] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 33, 20 }, { 100, 50 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		__cleanup_strbuf struct strbuf again = STRBUF_INIT;
		struct series *series = make(cases[i].days, cases[i].rows);
		struct series *copy;

		tell_days(series);
		assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
		assert_int_equal(decode(bytes.data, bytes.len, KEY, &copy), 0);
		assert_int_equal(day_count(copy), cases[i].days);
		assert_part_of(series, copy);
		assert_part_of(copy, series);
		assert_int_equal(series_format_encode(copy, KEY, &again), 0);
		assert_int_equal(again.len, bytes.len);
		series__free(copy);
		series__free(series);
	}
}

static void a_day_that_is_measured_again_is_replaced(void **state)
{
	struct series *series = make(40, 10);
	const struct series_day *day;
	struct series_day again;

	(void)state;
	put_day(series, FIRST_DAY + 20, 10);
	assert_int_equal(day_count(series), 40);
	day = series__find(series, FIRST_DAY + 20);
	again = *day;
	again.rows = NULL;
	again.row_cnt = 0;
	again.samples = 5;
	again.jvm_version = "";
	again.image = "";
	assert_int_equal(series__put(series, &again), 0);
	assert_int_equal(day_count(series), 40);
	assert_int_equal(series__find(series, FIRST_DAY + 20)->samples, 5);
	/* Days in any order come out in order of time. */
	put_day(series, FIRST_DAY - 5, 3);
	assert_int_equal(series__days(series, &(size_t){ 0 })[0].day, FIRST_DAY - 5);
	assert_null(series__find(series, FIRST_DAY - 4));
	series__free(series);
}

static void the_newest_400_days_are_kept_and_are_small(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct series *series = make(SERIES_DAYS_MAX + 37, 300);
	struct series *copy;

	(void)state;
	assert_int_equal(day_count(series), SERIES_DAYS_MAX);
	assert_int_equal(series__days(series, &(size_t){ 0 })[0].day, FIRST_DAY + 37);
	assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
	assert_true(bytes.len < SERIES_DAYS_MAX * 200 * 12);
	assert_int_equal(decode(bytes.data, bytes.len, KEY, &copy), 0);
	assert_int_equal(day_count(copy), SERIES_DAYS_MAX);
	series__free(copy);
	series__free(series);
}

/* The worst that a hostile process can do: all rows, all names long, all new every day. */
static void hostile_names_cannot_make_it_large(void **state)
{
	struct series *series = series__new();
	__cleanup_free struct series_row *rows = calloc(SERIES_ROWS_MAX, sizeof(*rows));
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	char name[SERIES_NAME_MAX + 2];

	(void)state;
	assert_non_null(series);
	assert_non_null(rows);
	memset(name, 'x', sizeof(name));
	for (uint32_t d = 0; d < 40; d++) {
		struct series_day day = { .day = d,
					  .jvm_version = "",
					  .image = "",
					  .rows = rows,
					  .row_cnt = SERIES_ROWS_MAX };

		for (uint32_t i = 0; i < SERIES_ROWS_MAX; i++) {
			char number[16];

			(void)snprintf(number, sizeof(number), "%08x", d * SERIES_ROWS_MAX + i);
			memcpy(name, number, 8);
			assert_int_equal(series__item_id(series, 1, 2, name, SERIES_NAME_MAX,
							 &rows[i].item),
					 0);
		}
		assert_int_equal(series__put(series, &day), 0);
	}
	assert_in_range(day_count(series), 20, 32);
	assert_non_null(series__find(series, 39));
	assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
	assert_true(bytes.len < SERIES_FORMAT_FILE_MAX);
	series__free(series);
}

static void what_makes_no_sense_is_refused(void **state)
{
	struct series *series = make(2, 10);
	struct series_row rows[] = { { .item = 0, .value = -1 }, { .item = 1, .value = -1 } };
	const struct series_day good = {
		.day = 7, .jvm_version = "", .image = "", .rows = rows, .row_cnt = 2
	};
	const float no_p[] = { -0.001f, 1.001f, NAN, INFINITY };
	struct series_day long_label = good;
	char label[SERIES_LABEL_MAX + 2];
	char name[SERIES_NAME_MAX + 2] = "a";
	uint32_t id = 77;

	(void)state;
	assert_int_equal(series__put(series, &good), 0);
	rows[1].item = 0;
	assert_int_equal(series__put(series, &good), -EINVAL);
	rows[1].item = 10;
	assert_int_equal(series__put(series, &good), -EINVAL);
	rows[1] = (struct series_row){ .item = 1, .value = 0.5f };
	assert_int_equal(series__put(series, &good), -EINVAL);
	rows[1].value = NAN;
	assert_int_equal(series__put(series, &good), -EINVAL);
	rows[1] = (struct series_row){ .item = 1, .value = -1, .variance = -1e-9f };
	assert_int_equal(series__put(series, &good), -EINVAL);
	rows[1].variance = INFINITY;
	assert_int_equal(series__put(series, &good), -EINVAL);
	rows[1].variance = 0;
	memset(label, 'l', sizeof(label));
	label[sizeof(label) - 1] = '\0';
	long_label.image = label;
	for (size_t i = 0; i < ARRAY_SIZE(no_p); i++) {
		struct series_day day = good;

		day.told_p_max = no_p[i];
		assert_int_equal(series__put(series, &day), -EINVAL);
	}
	assert_int_equal(series__put(series, &long_label), -EINVAL);
	assert_int_equal(day_count(series), 3);

	memset(name, 'n', sizeof(name));
	assert_int_equal(series__item_id(series, 1, 0, name, SERIES_NAME_MAX + 1, &id), -EINVAL);
	assert_int_equal(series__item_id(series, 1, 0, name, 0, &id), -EINVAL);
	assert_int_equal(series__item_id(series, 1, 0, "a\0b", 3, &id), -EINVAL);
	assert_int_equal(id, 77);
	/* Control bytes are bytes: whoever shows names escapes them. */
	assert_int_equal(series__item_id(series, 1, 0, "\x1b[2J\n;\xff", 7, &id), 0);
	assert_memory_equal(series__item(series, id).name, "\x1b[2J\n;\xff", 8);
	series__free(series);
}

static void a_flipped_byte_anywhere_is_seen_and_nothing_wrong_comes_out(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct series *series = make(70, 6);

	(void)state;
	assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
	for (size_t i = 0; i < bytes.len; i++) {
		struct series *rest;

		bytes.data[i] ^= (char)(1 << (i % 8));
		assert_int_equal(decode(bytes.data, bytes.len, KEY, &rest), 1);
		assert_part_of(rest, series);
		assert_true(day_count(rest) < 70);
		series__free(rest);
		bytes.data[i] ^= (char)(1 << (i % 8));
	}
	series__free(series);
}

static void a_file_cut_anywhere_is_seen_and_gives_what_is_whole(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct series *series = make(70, 6);
	size_t most = 0;

	(void)state;
	assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
	for (size_t len = 0; len < bytes.len; len++) {
		struct series *rest;

		assert_int_equal(decode(bytes.data, len, KEY, &rest), 1);
		assert_part_of(rest, series);
		assert_true(day_count(rest) >= most);
		most = day_count(rest);
		series__free(rest);
	}
	assert_in_range(most, 32, 69);
	strbuf_puts(&bytes, "x");

	struct series *all;

	assert_int_equal(decode(bytes.data, bytes.len, KEY, &all), 1);
	assert_int_equal(day_count(all), 70);
	series__free(all);
	series__free(series);
}

static void one_damaged_section_does_not_cost_the_others(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct series *series =
		make(100, 6); /* sections of 32, the first begins on day 20000 = 625 * 32 */
	struct series *rest;

	(void)state;
	assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
	bytes.data[60] ^= 1; /* in the first section's frame */
	assert_int_equal(decode(bytes.data, bytes.len, KEY, &rest), 1);
	assert_int_equal(day_count(rest), 68);
	assert_null(series__find(rest, FIRST_DAY + 31));
	assert_non_null(series__find(rest, FIRST_DAY + 32));
	series__free(rest);
	series__free(series);
}

static void another_service_and_a_newer_version_are_refused(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct series *series = make(3, 3);
	struct series *other = NULL;
	struct series_file_state file;
	char long_key[SERIES_LABEL_MAX + 2];
	uint32_t crc;
	int dir;

	(void)state;
	test_store_make(&store);
	dir = open(store.dir, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	assert_int_equal(series_file_write(dir, NAME, KEY, series), 0);
	assert_int_equal(series_file_read(dir, NAME, "service=other", &other, &file), -EEXIST);
	assert_null(other);
	assert_int_equal(faccessat(dir, NAME, F_OK, 0), 0);
	memset(long_key, 'k', sizeof(long_key));
	long_key[sizeof(long_key) - 1] = '\0';
	assert_int_equal(series_file_write(dir, NAME, long_key, series), -EINVAL);

	/* A header that is right and says version 2. */
	assert_int_equal(series_format_encode(series, KEY, &bytes), 0);
	bytes.data[7] = 2;
	crc = htole32(crc32c(bytes.data, 24));
	memcpy(bytes.data + 24, &crc, sizeof(crc));
	assert_int_equal(fs_write_atomic(dir, NAME, 0600, bytes.data, bytes.len), 0);
	assert_int_equal(series_file_read(dir, NAME, KEY, &other, &file), -EPROTO);
	assert_int_equal(faccessat(dir, NAME, F_OK, 0), 0);
	close(dir);
	test_store_remove(&store);
	series__free(series);
}

static void a_damaged_file_is_kept_aside_until_and_after_it_is_replaced(void **state)
{
	struct test_store store;
	struct series *series = make(70, 5);
	struct series *rest = NULL;
	struct series_file_state file;
	char path[256];
	int dir, fd;

	(void)state;
	test_store_make(&store);
	dir = open(store.dir, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	/* Not there yet: an empty one. */
	assert_int_equal(series_file_read(dir, NAME, KEY, &rest, &file), 0);
	assert_false(file.is_damaged);
	assert_int_equal(day_count(rest), 0);
	series__free(rest);

	assert_int_equal(series_file_write(dir, NAME, KEY, series), 0);
	fd = open(test_path(&store, NAME, path), O_WRONLY);
	assert_int_equal(pwrite(fd, "\xff\xff", 2, 40), 2);
	close(fd);
	assert_int_equal(series_file_read(dir, NAME, KEY, &rest, &file), 0);
	assert_true(file.is_damaged);
	assert_int_equal(file.damage.offset, 0);
	assert_int_equal(day_count(rest), 38);
	/* Killed here, or no room for the new one: the next time it is the same. */
	for (int i = 0; i < 2; i++) {
		series__free(rest);
		assert_int_equal(series_file_read(dir, NAME, KEY, &rest, &file), 0);
		assert_true(file.is_damaged);
		assert_int_equal(day_count(rest), 38);
	}
	assert_int_equal(faccessat(dir, NAME SERIES_FILE_DAMAGED_SUFFIX, F_OK, 0), 0);
	assert_int_equal(series_file_write(dir, NAME, KEY, rest), 0);
	series__free(rest);
	assert_int_equal(series_file_read(dir, NAME, KEY, &rest, &file), 0);
	assert_false(file.is_damaged);
	assert_int_equal(day_count(rest), 38);
	series__free(rest);
	assert_int_equal(series_file_read(dir, NAME SERIES_FILE_DAMAGED_SUFFIX, KEY, &rest, &file),
			 0);
	assert_true(file.is_damaged);
	series__free(rest);

	/* What is no plain file is not followed. */
	assert_int_equal(symlinkat(NAME, dir, "link.series"), 0);
	assert_int_equal(series_file_read(dir, "link.series", KEY, &rest, &file), -ELOOP);
	close(dir);
	test_store_remove(&store);
	series__free(series);
}

/*
 * tests/fixtures/store/series-1.series was written by the first version and is never changed: it
 * must be read for ever. JBPF_WRITE_GOLDEN=FILE writes such a file.
 */
static void the_golden_file_is_read(void **state)
{
	const char *write_to = getenv("JBPF_WRITE_GOLDEN");
	const char *const files[] = { GOLDEN, GOLDEN_TOLD };
	struct series *series = make(40, 12);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct series *golden = NULL;
		struct series_file_state file;

		if (i)
			tell_days(series);
		if (write_to)
			assert_int_equal(series_file_write(AT_FDCWD, write_to, KEY, series), 0);
		assert_int_equal(series_file_read(AT_FDCWD, files[i], KEY, &golden, &file), 0);
		assert_false(file.is_damaged);
		assert_int_equal(day_count(golden), 40);
		assert_part_of(golden, series);
		series__free(golden);
	}
	series__free(series);
}

static void garbage_is_no_series(void **state)
{
	uint64_t dice = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char bytes[200];
		struct series *series;
		size_t len = (size_t)i % sizeof(bytes);

		for (size_t j = 0; j < len; j++) {
			dice ^= dice << 13;
			dice ^= dice >> 7;
			dice ^= dice << 17;
			bytes[j] = (char)dice;
		}
		memcpy(bytes, "JBPFSER\x01", len < 8 ? len : 8);
		assert_int_equal(decode(bytes, len, KEY, &series), 1);
		assert_int_equal(day_count(series), 0);
		series__free(series);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_encoded_is_decoded),
		cmocka_unit_test(a_day_that_is_measured_again_is_replaced),
		cmocka_unit_test(the_newest_400_days_are_kept_and_are_small),
		cmocka_unit_test(hostile_names_cannot_make_it_large),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(a_flipped_byte_anywhere_is_seen_and_nothing_wrong_comes_out),
		cmocka_unit_test(a_file_cut_anywhere_is_seen_and_gives_what_is_whole),
		cmocka_unit_test(one_damaged_section_does_not_cost_the_others),
		cmocka_unit_test(another_service_and_a_newer_version_are_refused),
		cmocka_unit_test(a_damaged_file_is_kept_aside_until_and_after_it_is_replaced),
		cmocka_unit_test(the_golden_file_is_read),
		cmocka_unit_test(garbage_is_no_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
