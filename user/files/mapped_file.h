/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind a mapping, also when it has been replaced or deleted since. */
#ifndef JBPF_FILES_MAPPED_FILE_H
#define JBPF_FILES_MAPPED_FILE_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/host/procmaps.h"

struct opener;

struct mapped_file_request {
	int proc_fd;
	struct opener *opener; /* opens its path */
	uint32_t pid;
	uint64_t start_unix_ns; /* of the process: a file changed later may not be the mapped one */
	const struct procmap *map;
	const char *path; /* of the mapping, as the container sees it */
};

/*
 * O_PATH descriptor of the mapped file: /proc/PID/map_files (needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN), else its path below /proc/PID/root when it is the same file as far as can be
 * told. To be read through opener__reopen(). fd; -ESTALE another file has that name now;
 * -errno.
 */
__must_check int mapped_file_open(const struct mapped_file_request *request);

#endif
