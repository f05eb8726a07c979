/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening files inside a container's file system, which is hostile: openat2
 * with RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS for the directories, the last part O_NOFOLLOW |
 * O_NONBLOCK, then fstat: regular file, owner, size. All but container_file_stat() may ask the file's
 * server, which may not answer: see opener.h.
 *
 * In: the root of a container, borrowed, and a path in it. Out: a descriptor, which is the caller's.
 */
#ifndef JBPF_FILES_CONTAINER_FILE_H
#define JBPF_FILES_CONTAINER_FILE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "user/util/attributes.h"

#define CONTAINER_FILE_ANY_OWNER ((uid_t)-1)

struct container_file_rules {
	uid_t owner;	    /* must own it (root is accepted too), or CONTAINER_FILE_ANY_OWNER */
	uint64_t max_bytes; /* larger: -EFBIG; 0 = no cap */
};

/* O_PATH directory of /proc/<pid>/root. fd or -errno (-ENOENT/-ESRCH: gone, -EACCES: may not). */
__must_check int container_root_open(int proc_fd, uint32_t pid);

/* O_PATH directory `path` ("/tmp") inside the root; symlinks stay inside the root. fd or -errno. */
__must_check int container_dir_open(int root_fd, const char *path);

/*
 * Regular file `path` (absolute as the container sees it), opened O_RDONLY. fd or -errno: -ELOOP
 * the last part is a symlink, -EINVAL not a regular file (FIFO, device, directory), -EPERM wrong
 * owner, -EFBIG too large. `st_out` may be NULL.
 */
__must_check int container_file_open(int root_fd, const char *path,
				     const struct container_file_rules *rules, struct stat *st_out);

/* As container_file_open, but symlinks in the last part are followed, inside the root: for
 * libraries, which are commonly symlinked, never for files in world-writable directories. */
int container_library_open(int root_fd, const char *path, const struct container_file_rules *rules,
			   struct stat *st_out);

/*
 * Opens for reading what an O_PATH descriptor stands for, after checking the rules. A device node
 * is never opened: a container may create any (CAP_MKNOD), and opening some of them acts on the
 * host. `path_fd` stays the caller's. fd or -errno as above.
 */
__must_check int container_file_reopen(int path_fd, const struct container_file_rules *rules,
				       struct stat *st_out);

/*
 * fstat() that asks no file server: as far as the kernel knows it now (AT_STATX_DONT_SYNC; FUSE and
 * NFS answer from their caches). Device, inode, type, owner, size and times are filled in. 0 or -errno.
 */
__must_check int container_file_stat(int fd, struct stat *out);

/* O_PATH descriptor of `path` inside the root, symlinks followed; nothing is checked. fd or -errno. */
__must_check int container_path_open(int root_fd, const char *path);

#endif
