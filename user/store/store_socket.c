// SPDX-License-Identifier: Apache-2.0
/* See store_socket.h. Addresses go by the directory's descriptor: sun_path has 108 bytes, a store's path more. */
#include "user/store/store_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define BACKLOG	    16
#define SOCKET_MODE 0660

static struct sockaddr_un address_below(int dir_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" STORE_SOCKET_NAME, dir_fd);
	return address;
}

static int open_dir(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int remove_old(int dir_fd)
{
	struct stat st;

	if (fstatat(dir_fd, STORE_SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlinkat(dir_fd, STORE_SOCKET_NAME, 0) ? -errno : 0;
}

/* Whoever may read the directory's files by its group. Without the right to say so it stays with ours. */
static int give_to_group(int dir_fd)
{
	struct stat dir, own;

	if (fstat(dir_fd, &dir) || fstatat(dir_fd, STORE_SOCKET_NAME, &own, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (own.st_gid == dir.st_gid)
		return 0;
	if (fchownat(dir_fd, STORE_SOCKET_NAME, (uid_t)-1, dir.st_gid, AT_SYMLINK_NOFOLLOW) &&
	    errno != EPERM)
		return -errno;
	return 0;
}

int store_socket_listen(const char *dir)
{
	__cleanup_fd int dir_fd = open_dir(dir);
	__cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int err = dir_fd < 0 ? dir_fd : fd < 0 ? -errno : remove_old(dir_fd);

	if (err)
		return err;
	address = address_below(dir_fd);
	/* There are no other threads yet. */
	err = fs_bind_socket(fd, (const struct sockaddr *)&address, sizeof(address), SOCKET_MODE);
	if (!err)
		err = give_to_group(dir_fd);
	if (!err && listen(fd, BACKLOG))
		err = -errno;
	return err ? err : take_fd(&fd);
}

void store_socket_remove(const char *dir)
{
	__cleanup_fd int dir_fd = open_dir(dir);

	if (dir_fd >= 0)
		(void)unlinkat(dir_fd, STORE_SOCKET_NAME, 0);
}

int store_socket_connect(const char *dir)
{
	__cleanup_fd int dir_fd = open_dir(dir);
	__cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (dir_fd < 0 || fd < 0)
		return dir_fd < 0 ? dir_fd : -errno;
	address = address_below(dir_fd);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return take_fd(&fd);
}
