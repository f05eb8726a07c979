// SPDX-License-Identifier: Apache-2.0
/* Compressed sections: what was packed comes out, to the byte, and of damage nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "symbols/elf/elf_unpack.h"
#include "user/util/cleanup.h"

#define TEXT_BYTES   3000u
#define PACKED_MAX   4096u
#define TYPE_ZLIB    1u
#define TYPE_ZSTD    2u
#define TYPE_UNKNOWN 3u
#define PADDING	     5u /* bytes of the file in front of the section */

static char text[TEXT_BYTES];

/* A file that is one section. */
struct packed {
	uint8_t bytes[PACKED_MAX];
	size_t len;
	struct elf_file file;
	struct elf_section section;
};

static size_t put_header(uint8_t *at, uint32_t type, bool is_64, uint64_t size)
{
	const Elf64_Chdr wide = { .ch_type = type, .ch_size = size, .ch_addralign = 1 };
	const Elf32_Chdr narrow = { .ch_type = type,
				    .ch_size = (Elf32_Word)size,
				    .ch_addralign = 1 };

	if (is_64)
		memcpy(at, &wide, sizeof(wide));
	else
		memcpy(at, &narrow, sizeof(narrow));
	return is_64 ? sizeof(wide) : sizeof(narrow);
}

/* The text as such a section that says it is `size` bytes long. */
static void pack(struct packed *out, uint32_t type, bool is_64, uint64_t size)
{
	uLongf len;

	*out = (struct packed){ .len = PADDING };
	out->len += put_header(out->bytes + out->len, type, is_64, size);
	len = PACKED_MAX - out->len;
	if (type == TYPE_ZSTD)
		len = ZSTD_compress(out->bytes + out->len, len, text, sizeof(text), 3);
	else
		assert_int_equal(compress(out->bytes + out->len, &len, (const Bytef *)text,
					  sizeof(text)),
				 Z_OK);
	assert_true(len < PACKED_MAX);
	out->len += len;
	out->file = (struct elf_file){
		.fd = -1, .bytes = out->bytes, .size = out->len, .is_64 = is_64
	};
	out->section = (struct elf_section){ .type = SHT_PROGBITS,
					     .flags = SHF_COMPRESSED,
					     .offset = PADDING,
					     .size = out->len - PADDING };
}

/* What came out, when something did, is `size` bytes. */
static int unpack(const struct packed *packed, size_t max_bytes, bool *is_text_out)
{
	__cleanup_free char *bytes = NULL;
	size_t len = 0;
	int err = elf_unpack_section(&packed->file, &packed->section, max_bytes, &bytes, &len);

	assert_true(err ? !bytes : bytes && len <= max_bytes && bytes[len] == '\0');
	*is_text_out = !err && len == sizeof(text) && memcmp(bytes, text, len) == 0;
	return err;
}

static void what_was_packed_comes_out(void **state)
{
	static const uint32_t types[] = { TYPE_ZLIB, TYPE_ZSTD };
	struct packed packed;
	bool is_text;

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(types); i++) {
		pack(&packed, types[i / 2], i % 2, sizeof(text));
		assert_int_equal(unpack(&packed, sizeof(text), &is_text), 0);
		assert_true(is_text);
		assert_int_equal(unpack(&packed, sizeof(text) - 1, &is_text), -EFBIG);
	}
}

static void a_section_that_is_not_compressed_is_taken_as_it_is(void **state)
{
	struct packed packed;
	bool is_text;

	(void)state;
	pack(&packed, TYPE_ZLIB, true, sizeof(text));
	packed.file.bytes = (const uint8_t *)text;
	packed.file.size = sizeof(text);
	packed.section = (struct elf_section){ .type = SHT_PROGBITS, .size = sizeof(text) };
	assert_int_equal(unpack(&packed, sizeof(text), &is_text), 0);
	assert_true(is_text);
	assert_int_equal(unpack(&packed, sizeof(text) - 1, &is_text), -EFBIG);
	packed.section.type = SHT_NOBITS;
	assert_int_equal(unpack(&packed, sizeof(text), &is_text), -ENODATA);
}

static void a_section_that_lies_about_its_length_is_damage(void **state)
{
	static const uint64_t lies[] = { 0, 1, TEXT_BYTES - 1, TEXT_BYTES + 1, 2 * TEXT_BYTES };
	struct packed packed;
	bool is_text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		pack(&packed, TYPE_ZLIB, true, lies[i]);
		assert_int_equal(unpack(&packed, 4 * sizeof(text), &is_text), -ENOEXEC);
		pack(&packed, TYPE_ZSTD, true, lies[i]);
		assert_int_equal(unpack(&packed, 4 * sizeof(text), &is_text), -ENOEXEC);
	}
	/* More than there may be is not even tried. */
	pack(&packed, TYPE_ZSTD, true, UINT64_MAX);
	assert_int_equal(unpack(&packed, 4 * sizeof(text), &is_text), -EFBIG);
}

static void what_is_packed_otherwise_is_left(void **state)
{
	struct packed packed;
	bool is_text;

	(void)state;
	pack(&packed, TYPE_UNKNOWN, true, sizeof(text));
	assert_int_equal(unpack(&packed, sizeof(text), &is_text), -ENODATA);
}

/* Cut anywhere, or with any byte changed: an error, the text, or as many other bytes. */
static void damage_gives_nothing_longer_than_it_says(void **state)
{
	struct packed packed;
	bool is_text;

	(void)state;
	for (uint32_t type = TYPE_ZLIB; type <= TYPE_ZSTD; type++) {
		pack(&packed, type, true, sizeof(text));
		for (size_t len = packed.section.size; len-- > 0;) {
			packed.section.size = len;
			assert_int_equal(unpack(&packed, sizeof(text), &is_text), -ENOEXEC);
		}
		pack(&packed, type, true, sizeof(text));
		for (size_t at = PADDING; at < packed.len; at++) {
			packed.bytes[at] ^= 0x11;
			(void)unpack(&packed, sizeof(text), &is_text);
			packed.bytes[at] ^= 0x11;
		}
		packed.section.size++; /* behind the end of the file */
		assert_int_equal(unpack(&packed, sizeof(text), &is_text), -ENODATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_comes_out),
		cmocka_unit_test(a_section_that_is_not_compressed_is_taken_as_it_is),
		cmocka_unit_test(a_section_that_lies_about_its_length_is_damage),
		cmocka_unit_test(what_is_packed_otherwise_is_left),
		cmocka_unit_test(damage_gives_nothing_longer_than_it_says),
	};

	/* Neither one run nor noise. */
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i * i % 23 % (1 + i / 200));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
