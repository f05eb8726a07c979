// SPDX-License-Identifier: Apache-2.0
/* File helpers; see fs.h. */
#include "user/util/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/cleanup.h"

#define FS_READ_STEP_BYTES 16384

int fs_read_fd(int fd, size_t max_bytes, struct strbuf *out)
{
	size_t room = max_bytes;

	for (;;) {
		/* One byte past the cap tells "exactly full" from "more to come". */
		size_t want = room < FS_READ_STEP_BYTES ? room + 1 : FS_READ_STEP_BYTES;
		ssize_t got;
		int err = strbuf_reserve(out, want);

		if (err)
			return err;
		got = read(fd, out->data + out->len, want);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if ((size_t)got > room) {
			out->len += room;
			out->data[out->len] = '\0';
			return -EFBIG;
		}
		out->len += (size_t)got;
		out->data[out->len] = '\0';
		room -= (size_t)got;
		if (got == 0)
			return 0;
	}
}

int fs_read_file(int dir_fd, const char *path, size_t max_bytes, struct strbuf *out)
{
	__cleanup_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return fs_read_fd(fd, max_bytes, out);
}

int fs_read_filef(int dir_fd, size_t max_bytes, struct strbuf *out, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	return fs_read_file(dir_fd, path, max_bytes, out);
}

int fs_bind_socket(int fd, const struct sockaddr *address, socklen_t len, mode_t mode)
{
	mode_t old = umask(~mode & 0777);
	int err = bind(fd, address, len) ? -errno : 0;

	umask(old);
	return err;
}

ssize_t fs_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int fs_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t written = write(fd, at, len);

		if (written < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		at += written;
		len -= (size_t)written;
	}
	return 0;
}

/* Into `parent`: the directory of a path. */
static int parent_of(const char *path, char parent[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);

	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(parent, len ? path : ".", len ? len : 1);
	parent[len ? len : 1] = '\0';
	return 0;
}

static int fs_sync_parent(int dir_fd, const char *path)
{
	char parent[PATH_MAX];
	int err = parent_of(path, parent);

	if (err)
		return err;

	__cleanup_fd int fd = openat(dir_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fsync(fd) ? -errno : 0;
}

/*
 * Process ids repeat: soon in a container, where they begin anew, and after a boot. What one of the same
 * id left when it was killed would be in the way of all that follow. In a sticky directory another
 * user's file stays, and the error.
 */
static int create_temp(int dir_fd, const char *temp, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir_fd, temp, flags, mode);

	if (fd < 0 && errno == EEXIST) {
		if (unlinkat(dir_fd, temp, 0))
			return -EEXIST;
		fd = openat(dir_fd, temp, flags, mode);
	}
	return fd < 0 ? -errno : fd;
}

/*
 * Gives a new file, which its owner alone may read, the owner and permissions of the one whose place it
 * takes, as far as that is allowed. Never more: what is left of a group that cannot be kept is nothing.
 */
static void take_access(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & ACCESSPERMS;
	struct stat st;

	if (fstat(fd, &st))
		return;
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid) &&
	    st.st_gid != old->st_gid)
		mode &= ~(mode_t)S_IRWXG;
	/* Where a sandbox refuses it the file stays as narrow as it is. */
	(void)fchmod(fd, mode);
}

/* `old` as in take_access(), instead of `mode`; NULL = a new file. */
static int write_atomic(int dir_fd, const char *path, mode_t mode, const struct stat *old,
			const void *bytes, size_t len)
{
	char temp[PATH_MAX];
	int err;

	if ((size_t)snprintf(temp, sizeof(temp), "%s.tmp%d", path, (int)getpid()) >= sizeof(temp))
		return -ENAMETOOLONG;

	__cleanup_fd int fd = create_temp(dir_fd, temp, old ? S_IRUSR | S_IWUSR : mode);

	if (fd < 0)
		return fd;
	if (old)
		take_access(fd, old);
	err = fs_write_all(fd, bytes, len);
	if (!err && fsync(fd))
		err = -errno;
	if (!err && renameat(dir_fd, temp, dir_fd, path))
		err = -errno;
	if (err) {
		(void)unlinkat(dir_fd, temp, 0);
		return err;
	}
	return fs_sync_parent(dir_fd, path);
}

int fs_write_atomic(int dir_fd, const char *path, mode_t mode, const void *bytes, size_t len)
{
	return write_atomic(dir_fd, path, mode, NULL, bytes, len);
}

/*
 * Somebody else put it there, where everybody may. A link or a FIFO may lead to any file of whoever runs
 * this, and a file would stay its owner's. The kernel says the same where fs.protected_symlinks,
 * fs.protected_fifos and fs.protected_regular are on.
 */
static bool is_a_trap(int dir_fd, const char *path, const struct stat *st)
{
	char parent[PATH_MAX];
	struct stat dir;

	if (st->st_uid == geteuid() || parent_of(path, parent))
		return false;
	return fstatat(dir_fd, parent, &dir, 0) == 0 && (dir.st_mode & S_IWOTH) &&
	       st->st_uid != dir.st_uid;
}

int fs_write_output(int dir_fd, const char *path, mode_t mode, const void *bytes, size_t len)
{
	struct stat st;
	int err;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return fs_write_atomic(dir_fd, path, mode, bytes, len);
	if (S_ISREG(st.st_mode))
		return write_atomic(dir_fd, path, mode, is_a_trap(dir_fd, path, &st) ? NULL : &st,
				    bytes, len);
	if ((S_ISLNK(st.st_mode) || S_ISFIFO(st.st_mode)) && is_a_trap(dir_fd, path, &st))
		return -EACCES;

	__cleanup_fd int fd = openat(dir_fd, path,
				     O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC |
					     (S_ISLNK(st.st_mode) ? 0 : O_NOFOLLOW),
				     mode);

	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, bytes, len);
	/* A full disk may show at the end only. */
	if (close(take_fd(&fd)) && !err)
		err = -errno;
	return err;
}

int fs_mkdir_all(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len == 0)
		return -ENOENT;
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		struct stat st;
		int err;

		if (i < len && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, mode) == 0)
			continue;
		/* EROFS or EACCES on a directory that exists is no obstacle. */
		err = errno;
		if (err != EEXIST && (stat(part, &st) || !S_ISDIR(st.st_mode)))
			return -err;
	}
	return 0;
}
