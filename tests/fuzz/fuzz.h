/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fuzz targets share: claims that abort with their place, taking an input apart, and files for
 * code that insists on reading one. A target is a file fuzz_X.c with LLVMFuzzerTestOneInput();
 * README.md says how to run it.
 */
#ifndef JBPF_TESTS_FUZZ_H
#define JBPF_TESTS_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/wire_sink.h"
#include "tests/fuzz/must.h"
#include "user/util/strbuf.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The rest of an input that is taken apart from its front. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* The next byte; 0 when there is none. */
static inline uint8_t fuzz_u8(struct fuzz_input *input)
{
	if (!input->left)
		return 0;
	input->left--;
	return *input->at++;
}

static inline uint64_t fuzz_uint(struct fuzz_input *input, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)fuzz_u8(input) << 8 * i;
	return value;
}

/* Bytes up to `separator` or the end, as a NUL-terminated copy of just that size. NULs end it. */
static inline char *fuzz_text(struct fuzz_input *input, char separator)
{
	const uint8_t *end = input->left ? memchr(input->at, separator, input->left) : NULL;
	size_t len = end ? (size_t)(end - input->at) : input->left;
	char *text = strndup(len ? (const char *)input->at : "", len);

	must(text);
	input->at += len + (end != NULL);
	input->left -= len + (end != NULL);
	return text;
}

/* A file without a name that holds these bytes, at its beginning. The caller closes it. */
static inline int fuzz_file(const void *bytes, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0);
	must(!len || write(fd, bytes, len) == (ssize_t)len);
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static inline int fuzz_sink_write(void *ctx, const void *bytes, size_t len)
{
	strbuf_append((struct strbuf *)ctx, bytes, len);
	return strbuf_error(ctx);
}

/* What crosses the border out of the parser process lands in `out`. */
static inline struct wire_sink fuzz_sink(struct strbuf *out)
{
	return (struct wire_sink){ .write = fuzz_sink_write, .ctx = out };
}

/* ---- files with names ---- */

/* libFuzzer calls back without a context, and atexit() does, too. */
static char fuzz_dir_path[PATH_MAX];

static inline int fuzz_dir_unlink(const char *path, const struct stat *st, int kind,
				  struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static inline void fuzz_dir_remove(void)
{
	(void)nftw(fuzz_dir_path, fuzz_dir_unlink, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Makes a directory below TMPDIR that goes when the program ends well. Once per program. */
static inline int fuzz_dir(void)
{
	const char *parent = getenv("TMPDIR");
	int fd;

	(void)snprintf(fuzz_dir_path, sizeof(fuzz_dir_path), "%s/jbpf-fuzz.XXXXXX",
		       parent && *parent ? parent : "/tmp");
	must(mkdtemp(fuzz_dir_path));
	(void)atexit(fuzz_dir_remove);
	fd = open(fuzz_dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

/* Replaces the content of `path` below `dir_fd`; its parent directories are made when missing. */
static inline void fuzz_dir_put(int dir_fd, const char *path, const void *bytes, size_t len)
{
	char part[PATH_MAX];
	int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	for (const char *slash = strchr(path, '/'); fd < 0 && slash;
	     slash = strchr(slash + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdirat(dir_fd, part, 0755);
	}
	if (fd < 0)
		fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd >= 0);
	must(!len || write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

/* ---- text ---- */

/* Length of the well-formed UTF-8 character at `text`, 0 when there is none (RFC 3629). */
static inline size_t fuzz_utf8(const char *text, size_t len, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *at = (const uint8_t *)text;
	size_t size = at[0] < 0x80	     ? 1 :
		      (at[0] & 0xe0) == 0xc0 ? 2 :
		      (at[0] & 0xf0) == 0xe0 ? 3 :
		      (at[0] & 0xf8) == 0xf0 ? 4 :
					       0;

	if (!size || size > len)
		return 0;
	*code = size == 1 ? at[0] : at[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	if (size > 1 && (*code < least[size] || *code > 0x10ffff || (*code & ~0x7ffu) == 0xd800))
		return 0;
	return size;
}

/* Well-formed UTF-8 without control characters, but for those in `allowed`. */
static inline bool fuzz_is_clean(const char *text, size_t len, const char *allowed)
{
	for (size_t at = 0; at < len;) {
		uint32_t code;
		size_t size = fuzz_utf8(text + at, len - at, &code);

		if (!size || code == 0 || code == 0x7f || (code >= 0x80 && code < 0xa0) ||
		    (code < 0x20 && !strchr(allowed, (int)code)))
			return false;
		at += size;
	}
	return true;
}

#endif
