/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical frame names as ids. Raw C++ and Rust names are demangled once. */
#ifndef JBPF_NAMES_NAMES_H
#define JBPF_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/frame_kind.h"

/*
 * Names come from outside: beyond this many bytes, or what the account is given
 * (ACCOUNT_POOL_NAMES), new ones become "[too many names]".
 */
#define NAMES_MAX_BYTES (64u << 20)
/*
 * Longer names are cut when they come in, with "..." behind. Of Node's 78,590 names 187 are longer,
 * of LLVM's 34,327 40, of GCC's 28,904 none: templates of templates.
 */
#define NAMES_MAX_NAME_BYTES 1024u
/* Where names__is_large() begins to say so. */
#define NAMES_LARGE_BYTES (24u << 20)

struct account;
struct names;
struct parser;

/*
 * `parser` (see parser.h; may be NULL) demangles and is borrowed. `account` (may be NULL) is whose
 * names they are. 0 or -ENOMEM.
 */
__must_check int names__new(struct parser *parser, struct account *account, struct names **out);
void names__free(struct names *names); /* NULL is fine */
/* Forgets all; ids and texts handed out before are void. 0 or -ENOMEM (nothing is forgotten). */
__must_check int names__reset(struct names *names);

/* Text as it is; "[unknown]" for none, or one that holds a NUL. 0 or -ENOMEM; so are the others. */
__must_check int names__plain(struct names *names, const char *text, size_t len, uint32_t *id_out);
/* A symbol of an ELF file or of the kernel. */
__must_check int names__native(struct names *names, const char *raw, size_t len, uint32_t *id_out);
/* A name of a perf map. */
__must_check int names__jit(struct names *names, const char *raw, size_t len, bool is_hotspot,
			    uint32_t *id_out, enum frame_kind *kind_out);
/* "[libfoo.so]" for a path. */
__must_check int names__library(struct names *names, const char *path, uint32_t *id_out);

/* NUL-terminated; lives until names__reset() or names__free(). */
const char *names__text(const struct names *names, uint32_t id);
/* It stands for a name that was none or was not kept: the frame is to count as unknown. */
bool names__is_unknown(const struct names *names, uint32_t id);
/* Is it time for names__reset()? They are many, or names were refused, or others need the room. */
bool names__is_large(const struct names *names);
size_t names__bytes(const struct names *names);

#endif
