/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of an ELF file that symbol lookup needs: segments, sections, their bytes. The file is
 * hostile: every offset and count is checked against the file's size, and nothing is mapped,
 * because a mapped file that its owner shortens kills the reader with SIGBUS. Little-endian only,
 * 32 and 64 bits.
 */
#ifndef JBPF_ELF_ELF_FILE_H
#define JBPF_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define ELF_FILE_MAX_SECTIONS 65536u
#define ELF_FILE_MAX_SEGMENTS 256u
/* Of one record of the tables of segments and sections; longer ones than ELF's 64 are not seen. */
#define ELF_FILE_MAX_RECORD_BYTES 256u

struct elf_section {
	const char *name; /* "" when it has none that is valid */
	uint32_t type;
	uint32_t link;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
};

struct elf_segment {
	uint32_t type;
	uint32_t flags;
	uint64_t offset;
	uint64_t address;
	uint64_t file_size;
	uint64_t memory_size;
	uint64_t align;
};

struct elf_file {
	int fd;		      /* borrowed; -1 when the bytes are in memory */
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
	bool is_64;
	uint16_t machine; /* EM_* */
	struct elf_segment *segments;
	size_t segment_cnt;
	struct elf_section *sections;
	size_t section_cnt;
	char *section_names;
};

/*
 * Reads headers from a descriptor that the caller knows to be a regular file of `size` bytes, or
 * from memory; both must outlive `out`. 0; -ENOEXEC not an
 * ELF file that is understood; -ENOMEM; -errno of reading. A file whose section table is broken
 * gives one without sections. End with elf_file_release() in any case.
 */
__must_check int elf_file_open_sized(int fd, uint64_t size, struct elf_file *out);
__must_check int elf_file_open_bytes(const void *bytes, size_t len, struct elf_file *out);
void elf_file_release(struct elf_file *file);

/* Exactly `len` bytes at `offset`, or -ENODATA when they are not all there. */
__must_check int elf_file_read(const struct elf_file *file, uint64_t offset, void *buf, size_t len);

/* First section of this name, or of this type; NULL when there is none. */
const struct elf_section *elf_file_section(const struct elf_file *file, const char *name);
const struct elf_section *elf_file_section_of_type(const struct elf_file *file, uint32_t type);

/*
 * Bytes of a section, at most `max_bytes` of them, with a NUL behind. The caller frees. 0,
 * -ENODATA when the section has no bytes in the file or lies outside of it, -ENOMEM.
 */
__must_check int elf_file_section_bytes(const struct elf_file *file,
					const struct elf_section *section, size_t max_bytes,
					char **bytes_out, size_t *len_out);

#endif
