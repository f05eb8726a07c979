/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that jbpf wants to know of one mapped ELF file, from every source there is: its own symbols,
 * those of its procedure linkage table, what libc leaves out, debug files. Reads what is opened for
 * it and opens nothing, so that it can be done where nothing can be opened; see parser.h.
 *
 * In: a descriptor of a file that anybody may have written. Out: a symbol table that the caller owns.
 */
#ifndef JBPF_ELF_ELF_OBJECT_H
#define JBPF_ELF_ELF_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/debug_file.h"
#include "symbols/elf/elf_symtab.h"

struct elf_object {
	struct elf_symtab *symtab;
	bool is_hotspot; /* it has the tables of HotSpot's Serviceability Agent */
};

/*
 * Reads the regular file `fd` of `size` bytes, which is all that counts: not its path. 0 and
 * *out, whose symtab the caller frees; -ENOEXEC not an ELF file that is understood; -ENOMEM; -errno
 * of reading.
 */
__must_check int elf_object_read(int fd, uint64_t size, const struct debug_file_opener *opener,
				 struct elf_object *out);

#endif
