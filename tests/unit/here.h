/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files opened and parsed in this process, with all that it may do: what the opener and the parser
 * do apart. For tests to compare with, and, through parse_here.h, to do without helpers. No program
 * that is shipped has any of it.
 */
#ifndef JBPF_TESTS_HERE_H
#define JBPF_TESTS_HERE_H

#include <errno.h>

#include "symbols/parser/parser.h"
#include "symbols/parser/parser_wire.h"
#include "user/files/container_file.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

struct here_ctx {
	const char *path;
	const struct debug_file_roots *roots;
};

static inline int debug_file_here(void *ctx, const struct debug_file_wanted *wanted,
				  uint64_t *size_out)
{
	const struct here_ctx *here = ctx;

	return debug_file_open(here->roots, here->path, wanted, size_out);
}

static inline int size_here(int fd, uint64_t *out)
{
	struct stat st;
	int err = container_file_stat(fd, &st);

	if (err)
		return err;
	*out = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode) ? 0 : -ENOEXEC;
}

static inline int elf_here(int fd, const char *path, const struct debug_file_roots *roots,
			   struct elf_object *out)
{
	struct here_ctx here = { .path = path, .roots = roots };
	const struct debug_file_opener opener = { .open = debug_file_here, .ctx = &here };
	uint64_t size;
	int err = size_here(fd, &size);

	return err ? err : elf_object_read(fd, size, &opener, out);
}

static inline int libjvm_here(int fd, const struct libjvm_mapping *mapping, struct vm_symbols *out)
{
	struct elf_file file = { 0 };
	uint64_t size;
	int err = size_here(fd, &size);

	if (!err)
		err = elf_file_open_sized(fd, size, &file);
	if (!err)
		err = libjvm_symbols_file(&file, mapping, out);
	elf_file_release(&file);
	return err == -ENOEXEC ? -ENOTSUP : err;
}

static inline int unwind_here(int fd, const char *path, const struct debug_file_roots *roots,
			      struct unwind_table *out)
{
	struct here_ctx here = { .path = path, .roots = roots };
	const struct debug_file_opener opener = { .open = debug_file_here, .ctx = &here };
	struct elf_file file = { 0 };
	uint64_t size;
	int err = size_here(fd, &size);

	if (!err)
		err = elf_file_open_sized(fd, size, &file);
	if (!err)
		err = unwind_table_find(&file, &opener, out);
	elf_file_release(&file);
	return err;
}

static inline int perfmap_here(int fd, struct perfmap **out, struct perfmap_stats *stats)
{
	uint64_t size;
	int err = size_here(fd, &size);

	return err ? (err == -ENOEXEC ? -EINVAL : err) : perfmap_read(fd, size, out, stats);
}

static inline int container_here(int fd, enum container_json_kind kind, const char *id,
				 struct container_json *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_fd(fd, PARSER_CONTAINER_MAX_BYTES, &text);

	if (!err)
		container_json_read(kind, strbuf_str(&text), text.len, id, out);
	return err;
}

#endif
