/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole-file reads with caps, and writes that either happen completely or not at all. Every path
 * is relative to a directory fd, so that tests can hand in a fake /proc and life hands in the real
 * one. Nothing here may be used below /proc/PID/root: see user/files/container_file.h for that.
 */
#ifndef JBPF_UTIL_FS_H
#define JBPF_UTIL_FS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends the rest of `fd` to `out`, which grows by at most `max_bytes`. 0, -EFBIG when there is
 * more than that (what fitted is appended), -ENOMEM, or the error of read().
 */
__must_check int fs_read_fd(int fd, size_t max_bytes, struct strbuf *out);

/* The same for a file; opened O_RDONLY|O_CLOEXEC|O_NOCTTY relative to `dir_fd`. */
int fs_read_file(int dir_fd, const char *path, size_t max_bytes, struct strbuf *out);

/* fs_read_file with printf-style path, for /proc/<pid>/... */
int fs_read_filef(int dir_fd, size_t max_bytes, struct strbuf *out, const char *format, ...)
	__printf_like(4, 5);

/*
 * Binds a Unix socket, whose file has this mode from the first moment. The umask is another one
 * meanwhile: no other thread may make files. 0 or -errno.
 */
__must_check int fs_bind_socket(int fd, const struct sockaddr *address, socklen_t len, mode_t mode);

/*
 * The `len` bytes at `offset`, fewer only at the end of the file; retries short reads and EINTR. How
 * many, or -errno.
 */
__must_check ssize_t fs_read_at(int fd, void *buf, size_t len, uint64_t offset);

/* All bytes or an error; retries short writes and EINTR. 0 or -errno. */
__must_check int fs_write_all(int fd, const void *bytes, size_t len);

/*
 * Writes a temporary file beside `path` with `mode`, syncs it, renames it over `path` and syncs
 * the directory. On error nothing is left behind and `path` is as it was. What a killed process of
 * the same id left behind is replaced: two pid namespaces must not write one path at once.
 */
int fs_write_atomic(int dir_fd, const char *path, mode_t mode, const void *bytes, size_t len);

/*
 * For a path that a person typed. A regular file, or one that is not there yet, is written
 * atomically as above; one that is there keeps its permissions, and its owner where that is allowed,
 * but for another user's in a directory that everybody may write to. What is there and is something
 * else (/dev/null, /dev/stdout, a FIFO, a link) is written to and stays what it is. A link or FIFO
 * that another user put into such a directory is refused with -EACCES. 0 or -errno.
 */
__must_check int fs_write_output(int dir_fd, const char *path, mode_t mode, const void *bytes,
				 size_t len);

/* mkdir -p with `mode`; 0 when it is there already. */
int fs_mkdir_all(const char *path, mode_t mode);

#endif
