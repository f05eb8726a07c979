// SPDX-License-Identifier: Apache-2.0
/* Nameless, then named, then renamed; see compact_output.h. */
#include "user/store/compact/compact_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* In the tree of segments, so that a rename reaches every place in it; no segment's name. */
#define OUTPUT_NAME ".compact.tmp"

static bool cannot_be_nameless(int err)
{
	return err == EOPNOTSUPP || err == EISDIR || err == ENOENT || err == EINVAL;
}

int compact_output_open(int tree_fd, struct compact_output *out)
{
	*out = (struct compact_output){ .tree_fd = tree_fd, .fd = -1 };
	if (unlinkat(tree_fd, OUTPUT_NAME, 0) && errno != ENOENT)
		return -errno;
	out->fd = openat(tree_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, SEGMENT_TREE_FILE_MODE);
	if (out->fd >= 0)
		return 0;
	if (!cannot_be_nameless(errno))
		return -errno;
	out->fd = openat(tree_fd, OUTPUT_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 SEGMENT_TREE_FILE_MODE);
	if (out->fd < 0)
		return -errno;
	out->has_name = true;
	return 0;
}

void compact_output_release(struct compact_output *output)
{
	if (output->fd < 0)
		return;
	if (output->has_name)
		(void)unlinkat(output->tree_fd, OUTPUT_NAME, 0);
	close(output->fd);
	output->fd = -1;
}

int compact_output_publish(struct compact_output *output, const struct segment_file *file)
{
	char path[SEGMENT_PATH_BYTES];
	char fd_path[32];

	if (fsync(output->fd))
		return -errno;
	if (!output->has_name) {
		(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", output->fd);
		if (linkat(AT_FDCWD, fd_path, output->tree_fd, OUTPUT_NAME, AT_SYMLINK_FOLLOW))
			return -errno;
		output->has_name = true;
	}
	segment_path(file, path);
	if (renameat(output->tree_fd, OUTPUT_NAME, output->tree_fd, path))
		return -errno;
	output->has_name = false;
	return segment_tree_sync_parent(output->tree_fd, file);
}
