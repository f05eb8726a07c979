/* SPDX-License-Identifier: Apache-2.0 */
/* The GNU build id: what says that a debug file and a program belong together. */
#ifndef JBPF_ELF_BUILD_ID_H
#define JBPF_ELF_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"

#define BUILD_ID_MAX_BYTES 64u

struct build_id {
	uint8_t bytes[BUILD_ID_MAX_BYTES];
	size_t len; /* 0 = none */
};

/* From the notes of an ELF file. 0, -ENOENT when it has none, -ENOMEM or an error of reading. */
__must_check int build_id_read(const struct elf_file *file, struct build_id *out);
/* From the bytes of a note section or segment whose notes are aligned to `align` (4 or 8). */
__must_check int build_id_parse(const void *notes, size_t len, size_t align, struct build_id *out);

/* False when either has none. */
bool build_id_equal(const struct build_id *a, const struct build_id *b);

/* "/usr/lib/debug/.build-id/ab/cdef....debug". 0, -ENOENT when the id is too short, -ENAMETOOLONG. */
__must_check int build_id_debug_path(const struct build_id *id, char *path, size_t path_len);

#endif
