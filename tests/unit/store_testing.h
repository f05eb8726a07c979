/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the store share: a temporary store, windows whose content follows from their
 * number, and a collector that checks what a reader hands out.
 */
#ifndef JBPF_TESTS_STORE_TESTING_H
#define JBPF_TESTS_STORE_TESTING_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/remove_tree.h"
#include "user/store/format/format.h"
#include "user/store/store.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define HOUR_NS	    (3600ull * CLOCK_NS_PER_S)
#define TEST_HOUR_S 1795262400ull /* 2026-11-21T12:00:00Z */
#define TEST_HOUR   "v1/cpu/2026/11/21/12"
#define TEST_FILE   TEST_HOUR ".zst"
#define TEST_NS	    (TEST_HOUR_S * CLOCK_NS_PER_S)
#define WINDOW_NS   (10 * CLOCK_NS_PER_S)

struct test_store {
	char dir[64];
};

static inline void test_store_make(struct test_store *store)
{
	strcpy(store->dir, "/tmp/jbpf-store-test.XXXXXX");
	assert_non_null(mkdtemp(store->dir));
}

static inline void test_store_remove(struct test_store *store)
{
	(void)remove_tree(store->dir);
}

static inline const char *test_path(const struct test_store *store, const char *name,
				    char path[static 256])
{
	assert_true(snprintf(path, 256, "%s/%s", store->dir, name) < 256);
	return path;
}

static inline bool test_exists(const struct test_store *store, const char *name)
{
	char path[256];

	return access(test_path(store, name, path), F_OK) == 0;
}

static inline void test_read(const struct test_store *store, const char *name, struct strbuf *out)
{
	char path[256];

	strbuf_clear(out);
	assert_int_equal(fs_read_file(AT_FDCWD, test_path(store, name, path), 1 << 26, out), 0);
}

/* Makes missing directories, replaces the file. */
static inline void test_write(const struct test_store *store, const char *name, const void *bytes,
			      size_t len)
{
	char path[256], parent[256];
	int fd;

	test_path(store, name, path);
	strcpy(parent, path);
	*strrchr(parent, '/') = '\0';
	assert_int_equal(fs_mkdir_all(parent, 0755), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, bytes, len), 0);
	close(fd);
}

/* Offset and length of record number `wanted`, from 0 on, of those of this type in the file. */
static inline size_t test_find_record(const struct strbuf *bytes, enum format_type type, int wanted,
				      size_t *len_out)
{
	for (size_t at = 0; at + FORMAT_RECORD_MIN_BYTES < bytes->len; at++) {
		struct format_record record;

		if (format_decode_record((const uint8_t *)bytes->data + at, bytes->len - at,
					 &record) ||
		    record.type != type || wanted-- > 0)
			continue;
		*len_out = record.frame_len;
		return at;
	}
	*len_out = 0;
	fail();
	return 0;
}

/* What may become of record `wanted` of a type in TEST_FILE; where it is, or was. */
enum test_harm {
	TEST_HARM_CHANGE, /* a bit of it */
	TEST_HARM_BEFORE, /* the bytes in front of it, which end another one */
	TEST_HARM_CUT,	  /* it is not there */
};

struct test_place {
	size_t at, len;
};

static inline struct test_place test_harm(const struct test_store *store, enum test_harm harm,
					  enum format_type type, int wanted)
{
	struct strbuf bytes = STRBUF_INIT;
	struct test_place place;

	test_read(store, TEST_FILE, &bytes);
	place.at = test_find_record(&bytes, type, wanted, &place.len);
	if (harm == TEST_HARM_CHANGE)
		bytes.data[place.at + place.len / 2] ^= 1;
	if (harm == TEST_HARM_BEFORE)
		memset(bytes.data + place.at - 8, 0xee, 8);
	if (harm == TEST_HARM_CUT) {
		bytes.len -= place.len;
		memmove(bytes.data + place.at, bytes.data + place.at + place.len,
			bytes.len - place.at);
	}
	test_write(store, TEST_FILE, bytes.data, bytes.len);
	strbuf_release(&bytes);
	return place;
}

/* ---- windows that follow from a number ---- */

static inline void number_to_text(uint32_t number, struct strbuf *out)
{
	strbuf_clear(out);
	for (uint32_t i = 0; i < 3 + number % 3; i++)
		strbuf_printf(out, "java;Main.main_[j];work_%u_%u_[j] %u\n", number, i,
			      number + i + 1);
}

static inline struct window number_to_window(uint32_t number)
{
	return (struct window){
		.start_unix_ns = TEST_NS + number * WINDOW_NS,
		.duration_ns = WINDOW_NS,
		.pid = 1000 + number,
		.counts.samples = 7 * number + 1,
		.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_CONTAINER] = "shop" },
	};
}

static inline struct store_writer *test_writer(const struct test_store *store)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer;

	assert_int_equal(store_writer__open(store->dir, &options, &writer), 0);
	return writer;
}

static inline void test_add(struct store_writer *writer, uint32_t number)
{
	struct strbuf text = STRBUF_INIT;
	struct window window = number_to_window(number);

	number_to_text(number, &text);
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
	strbuf_release(&text);
}

static inline void test_commit(struct store_writer *writer)
{
	uint64_t lost = 77;

	assert_int_equal(store_writer__commit(writer, &lost), 0);
	assert_int_equal(lost, 0);
}

/* Windows [first, last), one commit each. */
static inline void test_fill(const struct test_store *store, uint32_t first, uint32_t last)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t number = first; number < last; number++) {
		test_add(writer, number);
		test_commit(writer);
	}
	store_writer__free(writer);
}

/* ---- reading ---- */

#define GOT_MAX 512

struct got {
	uint32_t numbers[GOT_MAX];
	size_t cnt;
	struct store_damage damages[16]; /* path is not kept */
	size_t damage_cnt;
	size_t wrong_cnt; /* windows that nobody has written */
};

static inline int got_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct got *got = ctx;
	uint32_t number = window->pid - 1000;
	struct window expected = number_to_window(number);
	struct strbuf expected_text = STRBUF_INIT;

	number_to_text(number, &expected_text);
	if (window->start_unix_ns != expected.start_unix_ns ||
	    window->counts.samples != expected.counts.samples || len != expected_text.len ||
	    memcmp(text, expected_text.data, len) != 0 ||
	    strcmp(window_label(window, WINDOW_LABEL_CONTAINER), "shop") != 0)
		got->wrong_cnt++;
	else if (got->cnt < GOT_MAX)
		got->numbers[got->cnt++] = number;
	strbuf_release(&expected_text);
	return 0;
}

static inline void got_damage(void *ctx, const struct store_damage *damage)
{
	struct got *got = ctx;

	if (got->damage_cnt < 16)
		got->damages[got->damage_cnt] = *damage;
	got->damage_cnt++;
}

/* visitor->ctx begins with a struct got. */
static inline void test_visit_with(const struct test_store *store, uint64_t since_ns,
				   uint64_t until_ns, const struct store_visitor *visitor)
{
	const struct got *got = visitor->ctx;
	struct store_reader *reader;

	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, since_ns, until_ns, visitor), 0);
	store_reader__free(reader);
	assert_int_equal(got->wrong_cnt, 0);
}

static inline void test_visit(const struct test_store *store, uint64_t since_ns, uint64_t until_ns,
			      struct got *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.window = got_window,
		.damage = got_damage,
	};

	memset(got, 0, sizeof(*got));
	test_visit_with(store, since_ns, until_ns, &visitor);
}

static inline void test_visit_all(const struct test_store *store, struct got *got)
{
	test_visit(store, 0, UINT64_MAX, got);
}

/* Exactly the windows [first, last), in order. */
static inline void assert_got_range(const struct got *got, uint32_t first, uint32_t last)
{
	assert_int_equal(got->cnt, last - first);
	for (uint32_t i = 0; i < got->cnt; i++)
		assert_int_equal(got->numbers[i], first + i);
}

#endif
