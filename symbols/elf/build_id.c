// SPDX-License-Identifier: Apache-2.0
/*
 * GNU build ids; see build_id.h. Looked for in note segments first, since those are what the
 * kernel maps, then in note sections: debug files and objects have no segments to speak of.
 */
#include "symbols/elf/build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

#define BUILD_ID_NOTES_MAX_BYTES (64u * 1024)

static size_t align_up(size_t value, size_t align)
{
	return (value + align - 1) & ~(align - 1);
}

int build_id_parse(const void *notes, size_t len, size_t align, struct build_id *out)
{
	struct byte_reader reader = byte_reader_init(notes, len);

	if (align != 8)
		align = 4;
	while (reader.left) {
		uint32_t name_len = byte_reader_u32(&reader);
		uint32_t desc_len = byte_reader_u32(&reader);
		uint32_t type = byte_reader_u32(&reader);
		/* Both fit into size_t with room for the padding. */
		const char *name = byte_reader_take(&reader, align_up(name_len, align));
		const void *desc = byte_reader_take(&reader, desc_len);
		size_t padding = align_up(desc_len, align) - desc_len;

		if (reader.failed)
			break;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0 &&
		    desc_len > 0 && desc_len <= BUILD_ID_MAX_BYTES) {
			memcpy(out->bytes, desc, desc_len);
			out->len = desc_len;
			return 0;
		}
		/* The last note need not be padded. */
		byte_reader_take(&reader, padding < reader.left ? padding : reader.left);
	}
	return -ENOENT;
}

static int build_id_from_section(const struct elf_file *file, const struct elf_section *section,
				 size_t align, struct build_id *out)
{
	__cleanup_free char *notes = NULL;
	size_t len;
	int err = elf_file_section_bytes(file, section, BUILD_ID_NOTES_MAX_BYTES, &notes, &len);

	if (err)
		return err == -ENODATA ? -ENOENT : err;
	return build_id_parse(notes, len, align, out);
}

int build_id_read(const struct elf_file *file, struct build_id *out)
{
	int err = -ENOENT;

	for (size_t i = 0; i < file->segment_cnt && err == -ENOENT; i++) {
		const struct elf_segment *segment = &file->segments[i];
		struct elf_section as_section = {
			.type = SHT_NOTE,
			.offset = segment->offset,
			.size = segment->file_size,
		};

		if (segment->type == PT_NOTE)
			err = build_id_from_section(file, &as_section, segment->align, out);
	}
	for (size_t i = 0; i < file->section_cnt && err == -ENOENT; i++) {
		const struct elf_section *section = &file->sections[i];

		if (section->type == SHT_NOTE)
			err = build_id_from_section(file, section, 4, out);
	}
	return err;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->len > 0 && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

int build_id_debug_path(const struct build_id *id, char *path, size_t path_len)
{
	int len;

	if (id->len < 2)
		return -ENOENT;
	len = snprintf(path, path_len, "/usr/lib/debug/.build-id/%02x/", id->bytes[0]);
	for (size_t i = 1; i < id->len && len > 0 && (size_t)len < path_len; i++)
		len += snprintf(path + len, path_len - (size_t)len, "%02x", id->bytes[i]);
	if (len > 0 && (size_t)len < path_len)
		len += snprintf(path + len, path_len - (size_t)len, ".debug");
	return len > 0 && (size_t)len < path_len ? 0 : -ENAMETOOLONG;
}
