// SPDX-License-Identifier: Apache-2.0
/* Files of daily series; see series_file.h. */
#include "user/store/series/series_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"

static int read_bytes(int dir_fd, const char *name, struct strbuf *out)
{
	__cleanup_fd int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return fs_read_fd(fd, SERIES_FORMAT_FILE_MAX, out);
}

/*
 * Under a second name: it stays in its place until series_file_write() replaces it, else what is intact in it would be
 * forgotten by whoever is killed before that, or finds the disk full. Where there are no hard links it is moved.
 */
static int keep_aside(int dir_fd, const char *name)
{
	char aside[NAME_MAX + 1];

	if ((size_t)snprintf(aside, sizeof(aside), "%s" SERIES_FILE_DAMAGED_SUFFIX, name) >=
	    sizeof(aside))
		return -ENAMETOOLONG;
	if (unlinkat(dir_fd, aside, 0) && errno != ENOENT)
		return -errno;
	if (linkat(dir_fd, name, dir_fd, aside, 0) == 0)
		return 0;
	if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK)
		return -errno;
	return renameat(dir_fd, name, dir_fd, aside) ? -errno : 0;
}

int series_file_read(int dir_fd, const char *name, const char *key, struct series **out,
		     struct series_file_state *state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct series_file_state found = { .is_damaged = false };
	struct series *series = series__new();
	int result = series ? read_bytes(dir_fd, name, &bytes) : -ENOMEM;

	if (!result) {
		result = series_format_decode(bytes.data, bytes.len, key, series, &found.damage);
		if (result == 1) {
			found.is_damaged = true;
			result = keep_aside(dir_fd, name);
		}
	} else if (result == -ENOENT) {
		result = 0;
	} else if (result == -EFBIG) {
		found.is_damaged = true;
		found.damage = (struct series_damage){ .offset = bytes.len, .what = "too large" };
		result = keep_aside(dir_fd, name);
	}
	if (result) {
		series__free(series);
		return result;
	}
	*out = series;
	*state = found;
	return 0;
}

int series_file_write(int dir_fd, const char *name, const char *key, const struct series *series)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	int err = series_format_encode(series, key, &bytes);

	return err ? err : fs_write_atomic(dir_fd, name, SERIES_FILE_MODE, bytes.data, bytes.len);
}
