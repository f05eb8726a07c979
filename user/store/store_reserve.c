// SPDX-License-Identifier: Apache-2.0
/* Room that is put by; see store_reserve.h. */
#include "user/store/store_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "user/store/segment/segment_tree.h"
#include "user/util/cleanup.h"

#define RESERVE_PATH "../.reserve" /* v1/.reserve, from the tree v1/cpu */

/* A file that was copied may have a size and no blocks. */
static uint64_t allocated_bytes(const struct stat *st)
{
	uint64_t blocks = (uint64_t)st->st_blocks * 512;

	return blocks < (uint64_t)st->st_size ? blocks : (uint64_t)st->st_size;
}

int store_reserve_open(int tree_fd, uint64_t target_bytes, struct store_reserve *out)
{
	struct stat st;

	*out = (struct store_reserve){ .fd = -1 };
	if (!target_bytes)
		return unlinkat(tree_fd, RESERVE_PATH, 0) && errno != ENOENT ? -errno : 0;

	__cleanup_fd int fd = openat(tree_fd, RESERVE_PATH,
				     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
				     SEGMENT_TREE_FILE_MODE);

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return -EINVAL;
	/* A smaller one is wanted now. */
	if ((uint64_t)st.st_size > target_bytes) {
		if (ftruncate(fd, (off_t)target_bytes))
			return -errno;
		if (fstat(fd, &st))
			return -errno;
	}
	*out = (struct store_reserve){
		.fd = take_fd(&fd),
		.target_bytes = target_bytes,
		.bytes = allocated_bytes(&st),
	};
	(void)store_reserve_fill(out);
	return 0;
}

void store_reserve_close(struct store_reserve *reserve)
{
	if (reserve->fd >= 0)
		close(reserve->fd);
	*reserve = (struct store_reserve){ .fd = -1 };
}

static uint64_t free_bytes(const struct statvfs *fs)
{
	return (uint64_t)fs->f_bavail * fs->f_frsize;
}

static bool has_room(const struct store_reserve *reserve)
{
	struct statvfs fs;

	return fstatvfs(reserve->fd, &fs) == 0 && free_bytes(&fs) / 2 >= reserve->target_bytes;
}

/* One that makes inodes as it needs them (XFS) has none left when its blocks are used up: room helps it. */
bool store_reserve_lacks_inodes(const struct store_reserve *reserve, uint64_t bytes)
{
	struct statvfs fs;

	return reserve->fd >= 0 && fstatvfs(reserve->fd, &fs) == 0 && fs.f_files && !fs.f_favail &&
	       free_bytes(&fs) / 2 >= bytes;
}

bool store_reserve_fill(struct store_reserve *reserve)
{
	if (reserve->fd < 0 || reserve->bytes >= reserve->target_bytes || !has_room(reserve))
		return false;
	if (fallocate(reserve->fd, 0, 0, (off_t)reserve->target_bytes)) {
		/* Somebody was faster, or the file system cannot: nothing of it is to stay. */
		(void)ftruncate(reserve->fd, (off_t)reserve->bytes);
		return false;
	}
	reserve->bytes = reserve->target_bytes;
	return true;
}

bool store_reserve_release(struct store_reserve *reserve, uint64_t bytes)
{
	uint64_t left = bytes < reserve->bytes ? reserve->bytes - bytes : 0;

	if (reserve->fd < 0 || !reserve->bytes || ftruncate(reserve->fd, (off_t)left))
		return false;
	reserve->bytes = left;
	return true;
}
