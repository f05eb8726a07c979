/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that takes another's place at once or not at all. Until then it has no name where the file
 * system allows that, so that nothing is left of it when the process is killed.
 */
#ifndef JBPF_COMPACT_COMPACT_OUTPUT_H
#define JBPF_COMPACT_COMPACT_OUTPUT_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "user/store/segment/segment_tree.h"

struct compact_output {
	int tree_fd; /* borrowed */
	int fd;
	bool has_name; /* that is removed again */
};

#define __cleanup_compact_output __attribute__((cleanup(compact_output_release)))

/* Also removes what a killed process left. One at a time: the caller holds a lock. 0 or -errno. */
__must_check int compact_output_open(int tree_fd, struct compact_output *out);
void compact_output_release(struct compact_output *output);

/* Syncs it and gives it the name of `file`, in place of what has that name. 0 or -errno. */
__must_check int compact_output_publish(struct compact_output *output,
					const struct segment_file *file);

#endif
