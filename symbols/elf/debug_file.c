// SPDX-License-Identifier: Apache-2.0
/* Where the symbols of stripped programs are; see debug_file.h. */
#include "symbols/elf/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "user/files/opener.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

#define DEBUG_FILE_PACKED_MAX_BYTES (16u << 20)
#define DEBUG_FILE_UNPACK_STEP	    (256u * 1024)
#define DEBUG_FILE_XZ_MEMORY_BYTES  (80u << 20) /* what "xz -9" needs to unpack, and some */
#define DEBUG_FILE_LINK_MAX_BYTES   4096u

static int unpack_grow(uint8_t **bytes, size_t *cap, size_t max_bytes)
{
	size_t want = *cap + DEBUG_FILE_UNPACK_STEP + *cap / 2;
	uint8_t *grown;

	if (*cap >= max_bytes)
		return -E2BIG;
	want = want < max_bytes ? want : max_bytes;
	grown = realloc(*bytes, want);
	if (!grown)
		return -ENOMEM;
	*bytes = grown;
	*cap = want;
	return 0;
}

int debug_file_unpack(const void *packed, size_t packed_len, size_t max_bytes, uint8_t **out,
		      size_t *len_out)
{
	__cleanup_free uint8_t *bytes = NULL;
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret ret = LZMA_OK;
	size_t cap = 0;
	int err = 0;

	if (lzma_stream_decoder(&stream, DEBUG_FILE_XZ_MEMORY_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = packed_len;
	while (ret == LZMA_OK) {
		if (stream.avail_out == 0) {
			/* One more than allowed tells "exactly full" from "more to come". */
			err = unpack_grow(&bytes, &cap, max_bytes + 1);
			if (err)
				break;
			stream.next_out = bytes + stream.total_out;
			stream.avail_out = cap - (size_t)stream.total_out;
		}
		ret = lzma_code(&stream, LZMA_FINISH);
	}
	if (!err && stream.total_out > max_bytes)
		err = -E2BIG;
	if (!err && ret != LZMA_STREAM_END)
		err = ret == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	if (!err) {
		*out = take_ptr(bytes);
		*len_out = (size_t)stream.total_out;
	}
	lzma_end(&stream);
	return err;
}

const char *debug_file_link_name(const char *bytes, size_t len)
{
	size_t name_len = strnlen(bytes, len);

	if (name_len == 0 || name_len == len || name_len > NAME_MAX || strchr(bytes, '/') ||
	    strcmp(bytes, ".") == 0 || strcmp(bytes, "..") == 0)
		return NULL;
	return bytes;
}

static int debug_file_add_mini(const struct elf_file *file, struct elf_symtab_builder *builder)
{
	const struct elf_section *section = elf_file_section(file, ".gnu_debugdata");
	__cleanup_free char *packed = NULL;
	__cleanup_free uint8_t *bytes = NULL;
	struct elf_file mini;
	size_t packed_len, len;
	int err;

	if (!section || section->size > DEBUG_FILE_PACKED_MAX_BYTES)
		return -ENOENT;
	err = elf_file_section_bytes(file, section, DEBUG_FILE_PACKED_MAX_BYTES, &packed,
				     &packed_len);
	if (!err)
		err = debug_file_unpack(packed, packed_len, DEBUG_FILE_MINI_MAX_BYTES, &bytes,
					&len);
	if (err)
		return err;
	err = elf_file_open_bytes(bytes, len, &mini);
	if (!err)
		err = elf_symtab_builder__add(builder, &mini);
	elf_file_release(&mini);
	return err;
}

/* ---- opening ---- */

/* Is it the header of something with symbols? A core dump or any other file is nobody's business. */
static bool debug_file_is_program(const struct opener_head *head)
{
	struct byte_reader type = byte_reader_init(head->bytes + EI_NIDENT, 2);
	uint16_t value;

	if (head->len < EI_NIDENT + 2 || memcmp(head->bytes, ELFMAG, SELFMAG) != 0)
		return false;
	value = byte_reader_u16(&type);
	return value == ET_EXEC || value == ET_DYN || value == ET_REL;
}

static int debug_file_path(const char *path, const struct debug_file_wanted *wanted, char *out,
			   size_t out_len)
{
	static const char *const forms[DEBUG_FILE_PLACE_CNT] = {
		[DEBUG_FILE_BESIDE] = "%.*s/%s",
		[DEBUG_FILE_DOT_DEBUG] = "%.*s/.debug/%s",
		[DEBUG_FILE_USR_LIB] = "/usr/lib/debug%.*s/%s",
	};
	const char *slash = strrchr(path, '/');
	int written;

	if (wanted->place == DEBUG_FILE_BY_BUILD_ID)
		return build_id_debug_path(wanted->id, out, out_len);
	if (!slash || path[0] != '/' || !forms[wanted->place])
		return -ENOENT;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	written = snprintf(out, out_len, forms[wanted->place], (int)(slash - path), path,
			   wanted->link_name);
#pragma GCC diagnostic pop
	return written > 0 && (size_t)written < out_len ? 0 : -ENAMETOOLONG;
}

int debug_file_open(const struct debug_file_roots *roots, const char *path,
		    const struct debug_file_wanted *wanted, uint64_t *size_out)
{
	static const struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER };
	int root_fd = wanted->root == DEBUG_FILE_IN_HOST ? roots->host_fd : roots->container_fd;
	struct opener_head head;
	char candidate[PATH_MAX];
	struct stat st;
	int err;

	/* The path and the link's name are the container's: no file of the host is opened by them. */
	if (wanted->root == DEBUG_FILE_IN_HOST && wanted->place != DEBUG_FILE_BY_BUILD_ID)
		return -ENOENT;
	err = debug_file_path(path, wanted, candidate, sizeof(candidate));
	if (err)
		return err;
	if (root_fd < 0)
		return -ENOENT;

	__cleanup_fd int fd =
		opener__library(roots->opener, root_fd, candidate, &rules, &st, &head);

	if (fd < 0)
		return fd;
	if (!debug_file_is_program(&head))
		return -ENOEXEC;
	/* Where it is parsed it may do what it likes, also when it turns out to be of another program. */
	if (wanted->root == DEBUG_FILE_IN_CONTAINER && roots->own_was_used)
		*roots->own_was_used = true;
	*size_out = (uint64_t)st.st_size;
	return take_fd(&fd);
}

/* ---- looking ---- */

struct search {
	const struct debug_file_opener *opener;
	debug_file_use_fn use;
	void *ctx;
};

/* One candidate. 0 when it was the right file and has been used. */
static int debug_file_try(const struct search *search, const struct debug_file_wanted *wanted)
{
	struct build_id found = { .len = 0 };
	struct elf_file file;
	uint64_t size;
	__cleanup_fd int fd = search->opener->open(search->opener->ctx, wanted, &size);
	int err;

	if (fd < 0)
		return fd;
	err = elf_file_open_sized(fd, size, &file);
	if (!err)
		err = build_id_read(&file, &found);
	if (!err && !build_id_equal(&found, wanted->id))
		err = -ENOENT;
	if (!err)
		err = search->use(search->ctx, &file);
	elf_file_release(&file);
	return err;
}

/* The host's first: only root can have put it there, and all that have the program share what it says. */
static int debug_file_try_roots(const struct search *search, struct debug_file_wanted *wanted)
{
	int err = -ENOENT;

	if (wanted->place == DEBUG_FILE_BY_BUILD_ID) {
		wanted->root = DEBUG_FILE_IN_HOST;
		err = debug_file_try(search, wanted);
	}
	if (err && err != -ENOMEM) {
		wanted->root = DEBUG_FILE_IN_CONTAINER;
		err = debug_file_try(search, wanted);
	}
	return err;
}

static int debug_file_try_link(const struct elf_file *file, struct debug_file_wanted *wanted,
			       const struct search *search)
{
	const struct elf_section *section = elf_file_section(file, ".gnu_debuglink");
	__cleanup_free char *bytes = NULL;
	size_t len;
	int err;

	if (!section)
		return -ENOENT;
	err = elf_file_section_bytes(file, section, DEBUG_FILE_LINK_MAX_BYTES, &bytes, &len);
	if (err)
		return err;
	wanted->link_name = debug_file_link_name(bytes, len);
	if (!wanted->link_name)
		return -ENOENT;
	err = -ENOENT;
	for (int place = DEBUG_FILE_BESIDE; place < DEBUG_FILE_PLACE_CNT && err && err != -ENOMEM;
	     place++) {
		wanted->place = (enum debug_file_place)place;
		err = debug_file_try_roots(search, wanted);
	}
	return err;
}

int debug_file_find(const struct elf_file *file, const struct build_id *id,
		    const struct debug_file_opener *opener, debug_file_use_fn use, void *ctx)
{
	const struct search search = { .opener = opener, .use = use, .ctx = ctx };
	struct debug_file_wanted wanted = { .place = DEBUG_FILE_BY_BUILD_ID, .id = id };
	int err;

	if (id->len == 0)
		return -ENOENT;
	err = debug_file_try_roots(&search, &wanted);
	if (err && err != -ENOMEM)
		err = debug_file_try_link(file, &wanted, &search);
	return err;
}

static int add_symbols(void *ctx, const struct elf_file *debug)
{
	struct elf_symtab_builder *builder = ctx;

	return elf_symtab_builder__add(builder, debug);
}

int debug_file_add(const struct elf_file *file, const struct build_id *id,
		   const struct debug_file_opener *opener, struct elf_symtab_builder *builder)
{
	const struct elf_section *symtab = elf_file_section_of_type(file, SHT_SYMTAB);
	int err;

	if (symtab && symtab->size > 0)
		return 0;
	err = debug_file_add_mini(file, builder);
	if (err == 0 || err == -ENOMEM)
		return err;
	err = debug_file_find(file, id, opener, add_symbols, builder);
	return err == -ENOMEM ? err : 0;
}
