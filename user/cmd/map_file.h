/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a file to a directory that all users may write to: /tmp. The name may be taken by a link, a
 * FIFO or another user's file, and the disk may be full. No link is followed, the name never shows a
 * half-written file, and files of others stay unless the user insists.
 */
#ifndef JBPF_CMD_MAP_FILE_H
#define JBPF_CMD_MAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "user/util/attributes.h"

struct map_file {
	int dir_fd;
	const char *name;  /* within the directory, without slashes */
	bool is_forced;	   /* replace anything but a directory */
	bool may_be_jvms;  /* the process sees this directory under the same name: */
	uid_t process_uid; /* ... a file of this user there may be the process's own */
};

/*
 * Why the name cannot be taken, as a static text for people; NULL when it can. It saves work:
 * map_file_write() checks again.
 */
const char *map_file_obstacle(const struct map_file *file);

/*
 * Writes a temporary file beside it, mode 0644, and renames it to the name. -EEXIST: there is an
 * obstacle; else -errno (-ENOSPC, -EROFS, -EACCES). On error the directory is as it was.
 */
__must_check int map_file_write(const struct map_file *file, const void *bytes, size_t len);

#endif
