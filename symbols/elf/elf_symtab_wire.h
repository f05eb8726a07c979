/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of functions as bytes, on its way from the parser process to the profiler: both are the
 * same program, so numbers are in the machine's own order. The reader trusts nothing of it.
 */
#ifndef JBPF_ELF_ELF_SYMTAB_WIRE_H
#define JBPF_ELF_ELF_SYMTAB_WIRE_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_symtab.h"
#include "user/util/wire_sink.h"

int elf_symtab__encode(const struct elf_symtab *tab, const struct wire_sink *sink);

/*
 * The table in `len` bytes, whose memory is the caller's and does not change meanwhile. 0; -EBADMSG
 * when it is not one that elf_symtab_builder__finish() could have made: ranges ascend without
 * overlaps, every name lies inside and ends, nothing is missing or left over; -ENOMEM.
 */
__must_check int elf_symtab_decode(const void *bytes, size_t len, struct elf_symtab **out);

#endif
