/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables of the files that processes map, shared between processes and containers.
 *
 * An object is one file (device, inode, size, times). Its table is shared with every object whose
 * table has the same content, which is how the same library in many images costs memory once. The
 * content decides, not the build id alone: a container can put any build id on any symbols, and
 * must not be able to name the frames of another container.
 *
 * So an object is everybody's who maps the file, as long as nothing but the file and the host's debug
 * files was read for it. What was read with a debug file of a container's own, also that it could not
 * be parsed, is kept in another object, of that account alone: a user who is the first to map a library
 * of the host must not say what it is called for others. That costs another reading for each account
 * with such a file; not for all of them, since the services of a host share dozens of libraries, and
 * few have debug files that the host has not.
 *
 * Likewise files of devices without a disk (FUSE, overlay, tmpfs, btrfs, NFS) are each account's own,
 * since such a device's number may have been another's. Containers on overlays have a device each and
 * share no object anyway; where the host's root is a btrfs the libraries that its services share are
 * read once for each account. Tables and unwind tables are shared by their content all the same.
 *
 * Objects are kept while processes use them and some time longer; tables are dropped least
 * recently used first when all together grow past a cap, and read again when they are needed. Those
 * of accounts that hold more than their share go first: a table is on the account that brought it.
 *
 * In: a file's descriptor, borrowed, and who pays. Out: the function at a byte of it, borrowed until its table
 * is dropped. The symbolizer owns the cache, its processes use the objects.
 */
#ifndef JBPF_NAMES_OBJECT_CACHE_H
#define JBPF_NAMES_OBJECT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "user/util/attributes.h"
#include "symbols/elf/debug_file.h"
#include "symbols/elf/elf_symtab.h"
#include "symbols/unwind/unwind_cache.h"

#define OBJECT_CACHE_MAX_BYTES	 (24u << 20) /* of tables */
#define OBJECT_CACHE_MAX_OBJECTS 4096u	     /* unused ones beyond that are forgotten */

struct account;
struct object;
struct object_cache;
struct parser;

/* NULL only when memory is short. `max_bytes` 0 = OBJECT_CACHE_MAX_BYTES. `parser` is borrowed. */
struct object_cache *object_cache__new(size_t max_bytes, struct parser *parser) __no_null;
void object_cache__free(struct object_cache *cache); /* NULL is fine */

/*
 * The object of a file, made when new, with one more user: that of the account alone if there is one,
 * else everybody's. NULL when memory is short.
 */
struct object *object_cache__get(struct object_cache *cache, const struct stat *st,
				 const struct account *account);
/* One user less. NULL is fine. */
void object_cache__put(struct object_cache *cache, struct object *object);

/* Must object_cache__load() be called before the next lookup? */
bool object_needs_load(const struct object *object);
/*
 * In place of *object, of which the caller is a user: the object of this file that is the account's alone,
 * if there is one.
 */
void object_cache__find_own(struct object_cache *cache, struct object **object,
			    const struct account *account);
/*
 * The same, made when there is none: it has the symbols that are known of the file by now, and no unwind
 * table. 0 or -ENOMEM.
 */
__must_check int object_cache__make_own(struct object_cache *cache, struct object **object,
					const struct account *account);
/*
 * Reads the symbols from `fd` at the cost of `account`, for *object or, in its place, the account's
 * own. `path` is where the container has it, for debug files. A file that is no ELF file, or cannot
 * be parsed, is remembered as such. 0;
 * -EAGAIN the parser rests, or has no more time for this account; another one's may do it;
 * -ENOTRECOVERABLE it failed just now; -ENOMEM, or an error of reading.
 */
__must_check int object_cache__load(struct object_cache *cache, struct object **object, int fd,
				    const char *path, const struct debug_file_roots *roots,
				    struct account *account);

/* The function at a byte of the file. 0; -ENOENT; -EAGAIN when it must be loaded (again). */
__must_check int object_cache__lookup(struct object_cache *cache, struct object *object,
				      uint64_t file_offset, struct elf_symbol *out);

bool object_is_elf(const struct object *object);
/* A libjvm.so, or what has it linked in, with the tables of HotSpot's Serviceability Agent. */
bool object_is_hotspot(const struct object *object);

/* Is it the object of the file of which these facts are? */
bool object_is_file(const struct object *object, const struct stat *st);
/* What is known of its unwind table; lives as long as the object has users. */
struct unwind_file *object_unwind(struct object *object);
/*
 * Learns where its code lies, for its unwind table. 0; -ENODATA there is none, or it is no ELF file; -EAGAIN
 * when it must be loaded (again).
 */
__must_check int object_learn_segments(struct object *object);

/* As elf_symtab__find(). -EAGAIN when it must be loaded (again). */
__must_check int object_find_function(const struct object *object, const char *prefix,
				      uint64_t *file_offset_out);

size_t object_cache__bytes(const struct object_cache *cache);

#endif
