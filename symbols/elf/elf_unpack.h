/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a section of an ELF file, of one that is compressed (SHF_COMPRESSED; System V gABI, chapter
 * "Sections", Elf64_Chdr) what it unpacks to: linkers and objcopy --compress-debug-sections do that to debug
 * files. The file is hostile: a section says how long it is unpacked, and that must be so to the byte.
 */
#ifndef JBPF_ELF_ELF_UNPACK_H
#define JBPF_ELF_ELF_UNPACK_H

#include "symbols/elf/elf_file.h"

/*
 * All bytes of a section with a NUL behind, at most `max_bytes` of them; the caller frees. 0; -EFBIG: it has more; -ENODATA: it has none in the file, or is compressed by
 * something else than zlib and zstd; -ENOEXEC: damaged; -ENOMEM; an error of reading.
 */
__must_check int elf_unpack_section(const struct elf_file *file, const struct elf_section *section,
				    size_t max_bytes, char **bytes_out, size_t *len_out);

#endif
