/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a container's files although their server may not answer: a FUSE or NFS server that hangs
 * holds for ever whoever opens a file of it or walks a path through it, and a container may bring
 * its own. As the functions of container_file.h that are named alike; each waits for 1 s at most,
 * and for a minute asks nobody again where it waited in vain: -ETIMEDOUT. -EBUSY: too many calls
 * hang already.
 *
 * What still asks the server: following /proc/PID/map_files on NFS, and reading a JVM's memory where
 * a page of a mapped file is not in memory.
 */
#ifndef JBPF_SYMBOLS_SLOW_FILE_H
#define JBPF_SYMBOLS_SLOW_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/container_file.h"

#define SLOW_FILE_HEAD_BYTES 256u

/* The first bytes of a file, which reading may wait for, too. */
struct slow_file_head {
	uint8_t bytes[SLOW_FILE_HEAD_BYTES];
	size_t len;
};

int slow_file_reopen(int path_fd, const struct container_file_rules *rules, struct stat *st_out);
/* `head_out` may be NULL. */
int slow_file_open(int root_fd, const char *path, const struct container_file_rules *rules,
		   struct stat *st_out, struct slow_file_head *head_out);
int slow_library_open(int root_fd, const char *path, const struct container_file_rules *rules,
		      struct stat *st_out, struct slow_file_head *head_out);
int slow_path_open(int root_fd, const char *path);

#endif
