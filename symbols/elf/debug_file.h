/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that were taken out of a program: MiniDebugInfo (.gnu_debugdata, xz), the debug file of
 * its build id, and .gnu_debuglink. Looked for in the container's own file system, by its build id in
 * the host's first; a file counts only when its build id is the program's. Any file can have that: what
 * one of a container says holds for that container alone, not for others that have the same program.
 */
#ifndef JBPF_ELF_DEBUG_FILE_H
#define JBPF_ELF_DEBUG_FILE_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "symbols/elf/build_id.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/elf_symtab.h"

#define DEBUG_FILE_MINI_MAX_BYTES (32u << 20) /* of MiniDebugInfo, unpacked */

#define DEBUG_FILE_MAX_WANTED 8u /* candidates of one program */

struct opener;

struct debug_file_roots {
	int container_fd;      /* O_PATH of /proc/PID/root; -1 = cannot be reached */
	int host_fd;	       /* the same of pid 1; -1 = cannot be reached */
	struct opener *opener; /* opens files there */
	bool *own_was_used; /* set when a file of the container is handed out; NULL: not asked for */
};

/* gdb's places for a debug file. The numbers cross the border to the parser process. */
enum debug_file_place {
	DEBUG_FILE_BY_BUILD_ID = 0, /* /usr/lib/debug/.build-id/ab/cdef....debug */
	DEBUG_FILE_BESIDE = 1,	    /* by .gnu_debuglink: beside the program */
	DEBUG_FILE_DOT_DEBUG = 2,   /* in .debug beside it */
	DEBUG_FILE_USR_LIB = 3,	    /* below /usr/lib/debug */
	DEBUG_FILE_PLACE_CNT = 4,
};

enum debug_file_root {
	DEBUG_FILE_IN_CONTAINER = 0,
	DEBUG_FILE_IN_HOST = 1,
};

/* One file that may have the symbols. */
struct debug_file_wanted {
	enum debug_file_place place;
	enum debug_file_root root;
	const struct build_id *id;
	const char *link_name; /* of .gnu_debuglink; not used with a build id */
};

/*
 * How the files are opened: where they are parsed nothing can be. fd, which the caller closes, and
 * its size; or -errno.
 */
typedef int (*debug_file_open_fn)(void *ctx, const struct debug_file_wanted *wanted,
				  uint64_t *size_out);

struct debug_file_opener {
	debug_file_open_fn open;
	void *ctx;
};

/* A debug_file_open_fn's work for a program whose path in the container is `path`. Only what is the
 * beginning of a program, library or object is handed out. */
int debug_file_open(const struct debug_file_roots *roots, const char *path,
		    const struct debug_file_wanted *wanted, uint64_t *size_out);

/* What is done with a debug file; 0: it was the one, -ENOMEM: the end, anything else: the next one. */
typedef int (*debug_file_use_fn)(void *ctx, const struct elf_file *debug);

/*
 * Looks for the debug file of `file`, whose build id is `id`, and has it used: one after the other, of
 * those that have that build id. 0; -ENOMEM; -errno of the last: none was used.
 */
__must_check int debug_file_find(const struct elf_file *file, const struct build_id *id,
				 const struct debug_file_opener *opener, debug_file_use_fn use,
				 void *ctx);

/*
 * Adds what debug files know about `file`. Does nothing when the file has its own .symtab. 0, also
 * when nothing was found; -ENOMEM.
 */
__must_check int debug_file_add(const struct elf_file *file, const struct build_id *id,
				const struct debug_file_opener *opener,
				struct elf_symtab_builder *builder);

/* Unpacks xz bytes; the caller frees. 0, -EBADMSG broken, -E2BIG past max_bytes, -ENOMEM. */
__must_check int debug_file_unpack(const void *packed, size_t packed_len, size_t max_bytes,
				   uint8_t **out, size_t *len_out);

/* The file name in the bytes of a .gnu_debuglink section; NULL when it is not a plain name. */
const char *debug_file_link_name(const char *bytes, size_t len);

#endif
