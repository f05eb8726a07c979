// SPDX-License-Identifier: Apache-2.0
/* ELF headers, read and checked; see elf_file.h. */
#include "symbols/elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define ELF_SECTION_NAMES_MAX_BYTES (1u << 20)

struct elf_header {
	uint64_t segments_at;
	uint64_t sections_at;
	uint16_t segment_size;
	uint16_t segment_cnt;
	uint16_t section_size;
	uint16_t section_cnt;
	uint16_t names_index;
};

int elf_file_read(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	ssize_t got;

	if (offset > file->size || len > file->size - offset)
		return -ENODATA;
	if (len == 0)
		return 0;
	if (file->fd < 0) {
		memcpy(buf, file->bytes + offset, len);
		return 0;
	}
	got = fs_read_at(file->fd, buf, len, offset);
	if (got < 0)
		return (int)got;
	/* Fewer: it became shorter since it was looked at. */
	return (size_t)got == len ? 0 : -ENODATA;
}

/* An address or offset: 8 bytes or 4. */
static uint64_t elf_word(const struct elf_file *file, struct byte_reader *reader)
{
	return file->is_64 ? byte_reader_u64(reader) : byte_reader_u32(reader);
}

static int elf_read_header(struct elf_file *file, struct elf_header *out)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	size_t len = sizeof(Elf64_Ehdr);
	struct byte_reader reader;
	int err;

	err = elf_file_read(file, 0, bytes, sizeof(Elf32_Ehdr));
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	if (memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_DATA] != ELFDATA2LSB ||
	    (bytes[EI_CLASS] != ELFCLASS64 && bytes[EI_CLASS] != ELFCLASS32))
		return -ENOEXEC;
	file->is_64 = bytes[EI_CLASS] == ELFCLASS64;
	if (!file->is_64)
		len = sizeof(Elf32_Ehdr);
	err = elf_file_read(file, 0, bytes, len);
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;

	reader = byte_reader_init(bytes, len);
	byte_reader_take(&reader, EI_NIDENT + 2); /* e_type */
	file->machine = byte_reader_u16(&reader);
	byte_reader_u32(&reader); /* e_version */
	elf_word(file, &reader);  /* e_entry */
	out->segments_at = elf_word(file, &reader);
	out->sections_at = elf_word(file, &reader);
	byte_reader_take(&reader, 6); /* e_flags, e_ehsize */
	out->segment_size = byte_reader_u16(&reader);
	out->segment_cnt = byte_reader_u16(&reader);
	out->section_size = byte_reader_u16(&reader);
	out->section_cnt = byte_reader_u16(&reader);
	out->names_index = byte_reader_u16(&reader);
	return reader.failed ? -ENOEXEC : 0;
}

static struct elf_segment elf_parse_segment(const struct elf_file *file, struct byte_reader reader)
{
	struct elf_segment segment = { .type = byte_reader_u32(&reader) };

	if (file->is_64)
		segment.flags = byte_reader_u32(&reader);
	segment.offset = elf_word(file, &reader);
	segment.address = elf_word(file, &reader);
	elf_word(file, &reader); /* physical address */
	segment.file_size = elf_word(file, &reader);
	segment.memory_size = elf_word(file, &reader);
	if (!file->is_64)
		segment.flags = byte_reader_u32(&reader);
	segment.align = elf_word(file, &reader);
	return segment;
}

static struct elf_section elf_parse_section(const struct elf_file *file, struct byte_reader reader,
					    uint32_t *name_at)
{
	struct elf_section section = { .name = "" };

	*name_at = byte_reader_u32(&reader);
	section.type = byte_reader_u32(&reader);
	section.flags = elf_word(file, &reader);
	section.address = elf_word(file, &reader);
	section.offset = elf_word(file, &reader);
	section.size = elf_word(file, &reader);
	section.link = byte_reader_u32(&reader);
	return section;
}

/* A table of `cnt` records of `size` bytes each; the caller frees. */
static int elf_read_table(const struct elf_file *file, uint64_t at, size_t cnt, size_t size,
			  uint8_t **out)
{
	__cleanup_free uint8_t *table = NULL;
	int err;

	/* Checked before the allocation: a table that the file does not have costs no memory. */
	if (at > file->size || cnt * size > file->size - at)
		return -ENODATA;
	table = reallocarray(NULL, cnt, size);
	if (!table)
		return -ENOMEM;
	err = elf_file_read(file, at, table, cnt * size);
	if (err)
		return err;
	*out = take_ptr(table);
	return 0;
}

static int elf_read_segments(struct elf_file *file, const struct elf_header *header)
{
	size_t wanted = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	size_t cnt = header->segment_cnt;
	__cleanup_free uint8_t *table = NULL;
	int err;

	if (cnt == 0 || header->segments_at == 0)
		return 0;
	if (header->segment_size < wanted || header->segment_size > ELF_FILE_MAX_RECORD_BYTES ||
	    cnt > ELF_FILE_MAX_SEGMENTS)
		return -ENOEXEC;
	err = elf_read_table(file, header->segments_at, cnt, header->segment_size, &table);
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	file->segments = calloc(cnt, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		file->segments[i] = elf_parse_segment(
			file, byte_reader_init(table + i * header->segment_size, wanted));
	file->segment_cnt = cnt;
	return 0;
}

/* The names of all sections. Without any a file is whole, with broken ones it is of no use here. */
static int elf_name_sections(struct elf_file *file, size_t names_index, const uint32_t *names)
{
	size_t len;
	int err;

	if (names_index == SHN_UNDEF)
		return 0;
	if (names_index >= file->section_cnt)
		return -ENODATA;
	err = elf_file_section_bytes(file, &file->sections[names_index],
				     ELF_SECTION_NAMES_MAX_BYTES, &file->section_names, &len);
	if (err)
		return err;
	for (size_t i = 0; i < file->section_cnt; i++)
		if (names[i] < len)
			file->sections[i].name = file->section_names + names[i];
	return 0;
}

static int elf_read_sections(struct elf_file *file, const struct elf_header *header)
{
	size_t wanted = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	size_t cnt = header->section_cnt;
	size_t names_index = header->names_index;
	__cleanup_free uint8_t *table = NULL;
	__cleanup_free uint32_t *names = NULL;
	uint32_t name_at;
	int err;

	if (header->sections_at == 0 || header->section_size < wanted ||
	    header->section_size > ELF_FILE_MAX_RECORD_BYTES)
		return 0;
	/* With more than 65279 sections the true numbers are in the first section's record. */
	if (cnt == 0 || names_index == SHN_XINDEX) {
		struct elf_section first;

		err = elf_read_table(file, header->sections_at, 1, header->section_size, &table);
		if (err)
			return err;
		first = elf_parse_section(file, byte_reader_init(table, wanted), &name_at);
		if (cnt == 0)
			cnt = first.size < ELF_FILE_MAX_SECTIONS ? (size_t)first.size : 0;
		if (names_index == SHN_XINDEX)
			names_index = first.link;
		free(take_ptr(table));
	}
	if (cnt == 0)
		return 0;
	err = elf_read_table(file, header->sections_at, cnt, header->section_size, &table);
	if (err)
		return err;
	file->sections = calloc(cnt, sizeof(*file->sections));
	names = calloc(cnt, sizeof(*names));
	if (!file->sections || !names)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		file->sections[i] = elf_parse_section(
			file, byte_reader_init(table + i * header->section_size, wanted),
			&names[i]);
	file->section_cnt = cnt;
	return elf_name_sections(file, names_index, names);
}

static int elf_file_open(struct elf_file *file)
{
	struct elf_header header = { 0 };
	int err = elf_read_header(file, &header);

	if (!err)
		err = elf_read_segments(file, &header);
	if (err)
		return err;
	err = elf_read_sections(file, &header);
	if (err == -ENODATA) {
		free(file->sections);
		file->sections = NULL;
		file->section_cnt = 0;
		return 0;
	}
	return err;
}

int elf_file_open_sized(int fd, uint64_t size, struct elf_file *out)
{
	*out = (struct elf_file){ .fd = fd, .size = size };
	return elf_file_open(out);
}

int elf_file_open_bytes(const void *bytes, size_t len, struct elf_file *out)
{
	*out = (struct elf_file){ .fd = -1, .bytes = bytes, .size = len };
	return elf_file_open(out);
}

void elf_file_release(struct elf_file *file)
{
	free(file->segments);
	free(file->sections);
	free(file->section_names);
	*file = (struct elf_file){ .fd = -1 };
}

const struct elf_section *elf_file_section(const struct elf_file *file, const char *name)
{
	for (size_t i = 0; i < file->section_cnt; i++)
		if (strcmp(file->sections[i].name, name) == 0)
			return &file->sections[i];
	return NULL;
}

const struct elf_section *elf_file_section_of_type(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->section_cnt; i++)
		if (file->sections[i].type == type)
			return &file->sections[i];
	return NULL;
}

int elf_file_section_bytes(const struct elf_file *file, const struct elf_section *section,
			   size_t max_bytes, char **bytes_out, size_t *len_out)
{
	size_t len = section->size < max_bytes ? (size_t)section->size : max_bytes;
	__cleanup_free char *bytes = NULL;
	int err;

	/* Checked before the allocation: a size that the file does not have costs no memory. */
	if (section->type == SHT_NOBITS || section->type == SHT_NULL ||
	    section->offset > file->size || len > file->size - section->offset)
		return -ENODATA;
	bytes = malloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file_read(file, section->offset, bytes, len);
	if (err)
		return err;
	bytes[len] = '\0';
	*bytes_out = take_ptr(bytes);
	*len_out = len;
	return 0;
}
