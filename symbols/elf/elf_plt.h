/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the stubs of a procedure linkage table: "memcpy@plt". */
#ifndef JBPF_ELF_ELF_PLT_H
#define JBPF_ELF_ELF_PLT_H

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/elf_symtab.h"

#define ELF_PLT_MAX_BYTES (4u << 20) /* of stubs, of relocations, of names */

/* Adds the stubs of .plt and .plt.sec. x86-64 and aarch64; does nothing for others. 0 or -ENOMEM. */
__must_check int elf_plt_add(const struct elf_file *file, struct elf_symtab_builder *builder);

#endif
