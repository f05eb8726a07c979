// SPDX-License-Identifier: Apache-2.0
/* By whose rules a file is walked: its own, or those of its debug file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/elf/debug_file.h"
#include "tests/unit/symbols/unwind/unwind_testing.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

static const uint8_t id[20] = "0123456789abcdefghi";
static const uint8_t other_id[20] = "0123456789abcdefghj";

/* The file that is there, in all places; none: len 0. */
static struct {
	uint8_t bytes[TINY_ELF_MAX];
	size_t len;
	size_t asked_cnt;
} debug;

static int open_debug(void *ctx, const struct debug_file_wanted *wanted, uint64_t *size_out)
{
	int fd;

	(void)ctx;
	(void)wanted;
	debug.asked_cnt++;
	if (!debug.len)
		return -ENOENT;
	fd = memfd_create("debug", MFD_CLOEXEC);
	if (fd < 0 || fs_write_all(fd, debug.bytes, debug.len))
		return -EIO;
	*size_out = debug.len;
	return fd;
}

/* One function of `size` bytes, whose CFA is sp + 8 * words; 0 bytes: no section. */
static size_t put_file(const uint8_t *build_id, bool is_debug, uint64_t size, uint8_t words,
		       uint8_t *bytes)
{
	const uint8_t code[] = { 0x0e, (uint8_t)(8 * words) };
	struct tiny_eh eh = { .is_debug = is_debug };
	struct tiny_elf elf = { .build_id = build_id };

	if (size) {
		tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
		tiny_eh_fde(&eh, 0, size, code, sizeof(code));
		elf.extra = eh.bytes;
		elf.extra_len = eh.len;
		elf.extra_name = is_debug ? ".debug_frame" : ".eh_frame";
	}
	return tiny_elf_write(&elf, bytes);
}

static int find(uint64_t own_size, struct unwind_table *out)
{
	const struct debug_file_opener opener = { .open = open_debug };
	static uint8_t bytes[TINY_ELF_MAX];
	struct elf_file file;
	int err;

	debug.asked_cnt = 0;
	*out = (struct unwind_table){ .words = NULL };
	err = elf_file_open_bytes(bytes, put_file(id, false, own_size, 2, bytes), &file);
	if (!err)
		err = unwind_table_find(&file, &opener, out);
	elf_file_release(&file);
	return err;
}

static void put_debug(const uint8_t *build_id, uint64_t size)
{
	debug.len = put_file(build_id, true, size, 3, debug.bytes);
}

/* Each row: bytes of the file's own rules, what debug file there is, and whose rules are taken. */
static void a_debug_file_serves_where_the_file_says_next_to_nothing(void **state)
{
	static const struct {
		uint64_t own_size;
		const uint8_t *debug_id; /* NULL: there is none */
		uint64_t debug_size;
		uint8_t words; /* of the rule at the first byte; 0: none at all */
		bool is_asked;
	} rows[] = {
		{ TINY_TEXT_BYTES, id, TINY_TEXT_BYTES, 2, false },
		{ TINY_TEXT_BYTES / 8, id, TINY_TEXT_BYTES, 2, false },
		{ TINY_TEXT_BYTES / 8 - 1, id, TINY_TEXT_BYTES, 3, true },
		{ 0, id, TINY_TEXT_BYTES, 3, true },
		{ 0, NULL, 0, 0, true },
		{ 16, NULL, 0, 2, true },
		{ 0, other_id, TINY_TEXT_BYTES, 0, true },
		{ 16, other_id, TINY_TEXT_BYTES, 2, true },
		/* One without rules of its own, and one for other code. */
		{ 0, id, 0, 0, true },
		{ 16, id, 0, 2, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unwind_table table;
		int err;

		debug.len = 0;
		if (rows[i].debug_id)
			put_debug(rows[i].debug_id, rows[i].debug_size);
		err = find(rows[i].own_size, &table);
		if (err != (rows[i].words ? 0 : -ENODATA) ||
		    (debug.asked_cnt > 0) != rows[i].is_asked)
			fail_msg("row %zu: %d, asked %zu times", i, err, debug.asked_cnt);
		if (!err) {
			assert_true(unwind_table_is_valid(&table));
			assert_int_equal(rule(&table, 0), ROW(SP, 0, rows[i].words));
		}
		unwind_table_release(&table);
	}
}

static void a_damaged_debug_file_leaves_what_the_file_says(void **state)
{
	struct unwind_table table;

	(void)state;
	put_debug(id, TINY_TEXT_BYTES);
	for (size_t len = 0; len < debug.len; len += 7) {
		size_t whole = debug.len;

		debug.len = len;
		assert_int_equal(find(16, &table), 0);
		assert_int_equal(rule(&table, 0), ROW(SP, 0, 2));
		unwind_table_release(&table);
		debug.len = whole;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debug_file_serves_where_the_file_says_next_to_nothing),
		cmocka_unit_test(a_damaged_debug_file_leaves_what_the_file_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
