/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of the vdso. All 64-bit processes of a host run the same one, so ours stands for all;
 * the vdso of 32-bit processes is another one, recognised by its place.
 */
#ifndef JBPF_ELF_VDSO_H
#define JBPF_ELF_VDSO_H

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/elf_symtab.h"

/* 0, -ENOENT when this process has no vdso, -ENOMEM, -ENOEXEC. */
__must_check int vdso_load(struct elf_symtab **out);

/* The file itself, in our own memory. As above; end with elf_file_release() in any case. */
__must_check int vdso_open(struct elf_file *out);

#endif
