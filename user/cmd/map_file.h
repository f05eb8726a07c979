/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a file where everybody may put files: /tmp. The name may be taken by a link, a FIFO or
 * somebody else's file, and the disk may be full; no link is followed, nothing half-written is ever
 * seen under the name, and what is not ours stays, unless the user insists.
 */
#ifndef JBPF_CMD_MAP_FILE_H
#define JBPF_CMD_MAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct map_file {
	int dir_fd;
	const char *name;  /* within the directory, without slashes */
	bool is_forced;	   /* replace whatever is there, but for a directory */
	bool may_be_jvms;  /* the process sees this directory under the same name: */
	uid_t process_uid; /* ... what this user has there may be the process's own work */
};

/*
 * Why the name cannot be taken, as a static text for people; NULL when it can. Only to be told
 * before the work is done: map_file_write() looks again.
 */
const char *map_file_obstacle(const struct map_file *file);

/*
 * Writes a temporary file beside it, mode 0644, and renames it to the name. -EEXIST: there is an
 * obstacle; else -errno (-ENOSPC, -EROFS, -EACCES). On error nothing is left behind and what was
 * there is as it was.
 */
int map_file_write(const struct map_file *file, const void *bytes, size_t len);

#endif
