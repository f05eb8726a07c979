/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that were taken out of a program: MiniDebugInfo (.gnu_debugdata, xz), the debug file of
 * its build id, and .gnu_debuglink. Looked for in the container's own file system first, then in
 * the host's; a file counts only when its build id is the program's.
 */
#ifndef JBPF_SYMBOLS_DEBUG_FILE_H
#define JBPF_SYMBOLS_DEBUG_FILE_H

#include "symbols/build_id.h"
#include "symbols/elf_file.h"
#include "symbols/elf_symtab.h"

#define DEBUG_FILE_MINI_MAX_BYTES (32u << 20) /* of MiniDebugInfo, unpacked */

struct debug_file_roots {
	int container_fd; /* O_PATH of /proc/PID/root; -1 = cannot be reached */
	int host_fd;	  /* the same of pid 1; -1 = cannot be reached */
};

/*
 * Adds what debug files know about `file`, whose path in the container is `path`. Does nothing
 * when the file has its own .symtab. 0, also when nothing was found; -ENOMEM.
 */
int debug_file_add(const struct elf_file *file, const char *path, const struct build_id *id,
		   const struct debug_file_roots *roots, struct elf_symtab_builder *builder);

/* Unpacks xz bytes; the caller frees. 0, -EBADMSG broken, -E2BIG past max_bytes, -ENOMEM. */
int debug_file_unpack(const void *packed, size_t packed_len, size_t max_bytes, uint8_t **out,
		      size_t *len_out);

/* The file name in the bytes of a .gnu_debuglink section; NULL when it is not a plain name. */
const char *debug_file_link_name(const char *bytes, size_t len);

#endif
