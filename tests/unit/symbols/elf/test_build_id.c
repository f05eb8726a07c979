// SPDX-License-Identifier: Apache-2.0
/* Build ids and what is found through them: notes, debug file paths, MiniDebugInfo, debug links. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/elf/build_id.h"
#include "symbols/elf/debug_file.h"
#include "tests/unit/open_here.h"
#include "tests/unit/remove_tree.h"
#include "tests/unit/sweep.h"
#include "tests/unit/tiny_elf.h"

static const uint8_t right_id[20] = { 0xab, 0xcd, 0xef, 4, 5 };
static const uint8_t wrong_id[20] = { 0xab, 0xcd, 0xef, 4, 6 };

/* One note into `to`; returns its length with padding. */
static size_t put_note(uint8_t *to, const char *name, uint32_t type, const void *desc,
		       uint32_t desc_len, size_t align)
{
	uint32_t header[3] = { (uint32_t)strlen(name) + 1, desc_len, type };
	size_t name_len = (header[0] + align - 1) / align * align;
	size_t padded_len = (desc_len + align - 1) / align * align;

	memset(to, 0, 12 + name_len + padded_len);
	memcpy(to, header, 12);
	memcpy(to + 12, name, header[0]);
	memcpy(to + 12 + name_len, desc, desc_len);
	return 12 + name_len + padded_len;
}

static void build_id_is_found_among_other_notes(void **state)
{
	uint8_t notes[256];
	struct build_id id;

	(void)state;
	for (size_t align = 4; align <= 8; align += 4) {
		size_t len = put_note(notes, "GNU", NT_GNU_ABI_TAG, "12345678901234", 14, align);

		len += put_note(notes + len, "XYZ", NT_GNU_BUILD_ID, "no", 2, align);
		len += put_note(notes + len, "GNU", NT_GNU_BUILD_ID, right_id, 20, align);
		assert_int_equal(build_id_parse(notes, len, align, &id), 0);
		assert_int_equal(id.len, 20);
		assert_memory_equal(id.bytes, right_id, 20);
	}
}

static void build_id_broken_notes_give_none(void **state)
{
	uint8_t notes[256];
	size_t len = put_note(notes, "GNU", NT_GNU_BUILD_ID, right_id, 20, 4);
	static const uint8_t zeros[BUILD_ID_MAX_BYTES + 1];
	uint32_t huge = UINT32_MAX;
	struct build_id id;

	(void)state;
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(build_id_parse(notes, cut, 4, &id), -ENOENT);
	memcpy(notes, &huge, 4);
	assert_int_equal(build_id_parse(notes, len, 4, &id), -ENOENT);
	put_note(notes, "GNU", NT_GNU_BUILD_ID, right_id, 20, 4);
	memcpy(notes + 4, &huge, 4);
	assert_int_equal(build_id_parse(notes, len, 4, &id), -ENOENT);
	len = put_note(notes, "GNU", NT_GNU_BUILD_ID, right_id, 0, 4);
	assert_int_equal(build_id_parse(notes, len, 4, &id), -ENOENT);
	len = put_note(notes, "GNU", NT_GNU_BUILD_ID, zeros, sizeof(zeros), 4);
	assert_int_equal(build_id_parse(notes, len, 4, &id), -ENOENT);
}

static void build_id_none_equals_nothing(void **state)
{
	struct build_id none = { .len = 0 };
	struct build_id some = { .bytes = { 1, 2 }, .len = 2 };
	struct build_id longer = { .bytes = { 1, 2, 0 }, .len = 3 };

	(void)state;
	assert_false(build_id_equal(&none, &none));
	assert_false(build_id_equal(&none, &some));
	assert_false(build_id_equal(&longer, &some));
	assert_true(build_id_equal(&some, &some));
}

static void build_id_says_where_the_debug_file_is(void **state)
{
	struct build_id id = { .bytes = { 0xab, 0x01, 0xff }, .len = 3 };
	char path[64];

	(void)state;
	assert_int_equal(build_id_debug_path(&id, path, sizeof(path)), 0);
	assert_string_equal(path, "/usr/lib/debug/.build-id/ab/01ff.debug");
	for (size_t len = 0; len <= strlen("/usr/lib/debug/.build-id/ab/01ff.debug"); len++)
		assert_int_equal(build_id_debug_path(&id, path, len), -ENAMETOOLONG);
	id.len = 1;
	assert_int_equal(build_id_debug_path(&id, path, sizeof(path)), -ENOENT);
}

static size_t pack(const void *bytes, size_t len, uint8_t *out, size_t out_max)
{
	size_t out_len = 0;

	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, bytes, len, out,
						 &out_len, out_max),
			 LZMA_OK);
	return out_len;
}

static void debug_unpack_gives_back_what_was_packed(void **state)
{
	size_t len = 3000000;
	uint8_t *plain = calloc(1, len);
	static uint8_t packed[65536];
	size_t packed_len, unpacked_len;
	uint8_t *unpacked;

	(void)state;
	assert_non_null(plain);
	plain[len - 1] = 7;
	packed_len = pack(plain, len, packed, sizeof(packed));
	assert_int_equal(debug_file_unpack(packed, packed_len, len, &unpacked, &unpacked_len), 0);
	assert_int_equal(unpacked_len, len);
	assert_memory_equal(unpacked, plain, len);
	free(unpacked);
	assert_int_equal(debug_file_unpack(packed, packed_len, len - 1, &unpacked, &unpacked_len),
			 -E2BIG);
	for (size_t cut = 0; cut < packed_len; cut += sweep_step())
		assert_int_equal(debug_file_unpack(packed, cut, len, &unpacked, &unpacked_len),
				 -EBADMSG);
	packed[packed_len / 2] ^= 0x55;
	assert_int_equal(debug_file_unpack(packed, packed_len, len, &unpacked, &unpacked_len),
			 -EBADMSG);
	free(plain);
}

static void debug_link_is_a_plain_file_name(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool is_fine;
	} rows[] = {
		{ "libfoo.debug\0\0\0\0crc4", 20, true },
		{ "", 0, false },
		{ "\0\0\0\0", 4, false },
		{ "../../etc/x\0", 12, false },
		{ "/abs\0", 5, false },
		{ "..\0", 3, false },
		{ ".\0", 2, false },
		{ "unended", 7, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(debug_file_link_name(rows[i].bytes, rows[i].len) != NULL,
				 rows[i].is_fine);
}

/* A directory that stands for a container's root. */
static char tree[64];
static int root_fd;

static int tree_make(void **state)
{
	(void)state;
	strcpy(tree, "/tmp/jbpf-debug-XXXXXX");
	assert_non_null(mkdtemp(tree));
	root_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0;
}

static int tree_remove(void **state)
{
	(void)state;
	close(root_fd);
	return remove_tree(tree);
}

static void put_file(const char *path, const void *bytes, size_t len)
{
	char part[256];
	int fd;

	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i - 1, path + 1);
		(void)mkdirat(root_fd, part, 0755);
	}
	fd = openat(root_fd, path + 1, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static const struct tiny_symbol hidden = { .name = "hidden", .at = 0x20, .size = 16 };
static const struct tiny_symbol public = { .name = "public", .at = 0x40, .size = 16 };

static int open_in_root(void *ctx, const struct debug_file_wanted *wanted, uint64_t *size_out)
{
	const struct debug_file_roots roots = { .container_fd = root_fd,
						.host_fd = -1,
						.opener = opener_here() };

	(void)ctx;
	return debug_file_open(&roots, "/usr/lib/libx.so", wanted, size_out);
}

/* Name at `at` of a library whose own table has only "public", "-" when there is none. */
static void check_names(struct tiny_elf *library, const char *hidden_name)
{
	const struct debug_file_opener opener = { .open = open_in_root };
	static uint8_t bytes[TINY_ELF_MAX];
	struct elf_symtab_builder *builder;
	struct build_id id = { .len = 0 };
	struct elf_symbol symbol = { .name = "-" };
	struct elf_symtab *tab;
	struct elf_file file;

	library->symbols = &public;
	library->symbol_cnt = 1;
	assert_int_equal(elf_file_open_bytes(bytes, tiny_elf_write(library, bytes), &file), 0);
	(void)build_id_read(&file, &id);
	assert_int_equal(elf_symtab_builder__start(&file, &builder), 0);
	assert_int_equal(elf_symtab_builder__add(builder, &file), 0);
	assert_int_equal(debug_file_add(&file, &id, &opener, builder), 0);
	assert_int_equal(elf_symtab_builder__finish(builder, &tab), 0);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	(void)elf_symtab__lookup(tab, TINY_TEXT_ADDRESS + 0x20, &symbol);
	assert_string_equal(symbol.name, hidden_name);
	assert_int_equal(elf_symtab__lookup(tab, TINY_TEXT_ADDRESS + 0x40, &symbol), 0);
	assert_string_equal(symbol.name, "public");
	elf_symtab__free(tab);
}

static size_t write_debug_elf(const uint8_t *id, uint8_t *bytes)
{
	struct tiny_elf elf = { .symbols = &hidden, .symbol_cnt = 1, .build_id = id };

	return tiny_elf_write(&elf, bytes);
}

static void debug_names_come_from_minidebuginfo(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX], packed[TINY_ELF_MAX];
	size_t len = pack(bytes, write_debug_elf(NULL, bytes), packed, sizeof(packed));
	struct tiny_elf library = {
		.is_dynsym = true, .extra = packed, .extra_len = len, .extra_name = ".gnu_debugdata"
	};

	(void)state;
	check_names(&library, "hidden");
	/* Cut xz data is as good as none. */
	library.extra_len = len / 2;
	check_names(&library, "-");
	/* With a .symtab of its own a file needs no other. */
	library.extra_len = len;
	library.is_dynsym = false;
	check_names(&library, "-");
}

static void debug_names_come_from_the_file_of_the_build_id(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX];
	static const char path[] =
		"/usr/lib/debug/.build-id/ab/cdef0405000000000000000000000000000000.debug";
	struct tiny_elf library = { .is_dynsym = true, .build_id = right_id };

	(void)state;
	check_names(&library, "-");
	put_file(path, bytes, write_debug_elf(wrong_id, bytes));
	check_names(&library, "-");
	put_file(path, bytes, write_debug_elf(NULL, bytes));
	check_names(&library, "-");
	put_file(path, bytes, write_debug_elf(right_id, bytes));
	check_names(&library, "hidden");
	library.build_id = NULL;
	check_names(&library, "-");
}

static void debug_names_come_from_the_debug_link(void **state)
{
	static const char *const places[] = { "/usr/lib/x.debug", "/usr/lib/.debug/x.debug",
					      "/usr/lib/debug/usr/lib/x.debug" };
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_elf library = { .is_dynsym = true,
				    .build_id = right_id,
				    .extra = "x.debug\0crc4",
				    .extra_len = 12,
				    .extra_name = ".gnu_debuglink" };

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		put_file(places[i], bytes, write_debug_elf(wrong_id, bytes));
		check_names(&library, "-");
		put_file(places[i], bytes, write_debug_elf(right_id, bytes));
		check_names(&library, "hidden");
		assert_int_equal(unlinkat(root_fd, places[i] + 1, 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_id_is_found_among_other_notes),
		cmocka_unit_test(build_id_broken_notes_give_none),
		cmocka_unit_test(build_id_none_equals_nothing),
		cmocka_unit_test(build_id_says_where_the_debug_file_is),
		cmocka_unit_test(debug_unpack_gives_back_what_was_packed),
		cmocka_unit_test(debug_link_is_a_plain_file_name),
		cmocka_unit_test_setup_teardown(debug_names_come_from_minidebuginfo, tree_make,
						tree_remove),
		cmocka_unit_test_setup_teardown(debug_names_come_from_the_file_of_the_build_id,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(debug_names_come_from_the_debug_link, tree_make,
						tree_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
