/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical frame names as ids. Raw C++ and Rust names are demangled once.
 *
 * The room of what is shared or remembered of names: tables of names by number, symbol tables by file,
 * answers by address, the kernel's symbols. In: raw names, from symbols/elf and perf maps. Out: numbers
 * and, for a number, a text that the table keeps. The symbolizer owns them.
 */
#ifndef JBPF_NAMES_NAME_TABLE_H
#define JBPF_NAMES_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/frame_kind.h"

/*
 * Names come from outside: beyond this many bytes, or what the account is given
 * (ACCOUNT_POOL_NAMES), new ones become "[too many names]".
 */
#define NAME_TABLE_MAX_BYTES (64u << 20)
/*
 * Longer names are cut when they come in, with "..." behind. Of Node's 78,590 names 187 are longer,
 * of LLVM's 34,327 40, of GCC's 28,904 none: templates of templates.
 */
#define NAME_MAX_BYTES 1024u
/*
 * Those of methods are exact to the length that a frame of a stack's text may have. Longer ones lose
 * bytes in the middle: at the end is what tells two methods of a class apart.
 */
#define NAME_METHOD_MAX_BYTES 4096u
/* Where name_table__is_large() begins to say so. */
#define NAME_TABLE_LARGE_BYTES (24u << 20)

struct account;
struct name_table;
struct parser;

/*
 * `parser` demangles and is borrowed. `account` is whose
 * names they are. 0 or -ENOMEM.
 */
__must_check int name_table__new(struct parser *parser, struct account *account,
				 struct name_table **out) __no_null_at(1, 3);
void name_table__free(struct name_table *names); /* NULL is fine */
/* Forgets all; ids and texts handed out before are void. 0 or -ENOMEM (nothing is forgotten). */
__must_check int name_table__reset(struct name_table *names);

/* Text as it is; "[unknown]" for none, or one that holds a NUL. 0 or -ENOMEM; so are the others. */
__must_check int name_table__plain(struct name_table *names, const char *text, size_t len,
				   uint32_t *id_out);
/* A symbol of an ELF file or of the kernel. */
__must_check int name_table__native(struct name_table *names, const char *raw, size_t len,
				    uint32_t *id_out);
/* A name of a perf map. */
__must_check int name_table__jit(struct name_table *names, const char *raw, size_t len,
				 bool is_hotspot, uint32_t *id_out, enum frame_kind *kind_out);
/* Do methods in Java that name_table__jit() is given from here on keep their parameters? At first they do not. */
void name_table__keep_parameters(struct name_table *names, bool keeps_parameters);
/* A class as the JVM calls it, "[[B": "byte[][]". -EINVAL: no such name. */
__must_check int name_table__class(struct name_table *names, const char *raw, size_t len,
				   uint32_t *id_out);
/* "[libfoo.so]" for a path. */
__must_check int name_table__library(struct name_table *names, const char *path, uint32_t *id_out);
/* "libfoo.so+0x3a0": the function that begins there in the file of this path, as its segments say. */
__must_check int name_table__function(struct name_table *names, const char *path, uint64_t start,
				      uint32_t *id_out);

/* NUL-terminated; lives until name_table__reset() or name_table__free(). */
const char *name_table__text(const struct name_table *names, uint32_t id);
/* It stands for a name that was none or was not kept: the frame is to count as unknown. */
bool name_table__is_unknown(const struct name_table *names, uint32_t id);
/* Is it time for name_table__reset()? They are many, or names were refused, or others need the room. */
bool name_table__is_large(const struct name_table *names);
size_t name_table__bytes(const struct name_table *names);

#endif
