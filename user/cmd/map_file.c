// SPDX-License-Identifier: Apache-2.0
/*
 * Between the check of the name and the rename another user may put something else there. That does
 * no harm: rename() replaces the name itself and never follows it, and fails on a directory.
 */
#include "user/cmd/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/sandbox/daemon_sandbox.h"
#include "user/sandbox/capabilities.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define MAP_FILE_MODE  0644 /* as HotSpot's own: perf may run as another user */
#define TEMP_NAME_LEN  48
#define TEMP_MAX_TRIES 8 /* names are random: a second try is rare already */

const char *map_file_obstacle(const struct map_file *file)
{
	struct stat st;

	if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW))
		return NULL; /* not there, or the write will fail with the reason */
	if (S_ISDIR(st.st_mode))
		return "a directory has this name; remove it";
	if (file->is_forced)
		return NULL;
	if (!S_ISREG(st.st_mode))
		return "something that is not a regular file has this name; remove it, or give --force";
	if (st.st_uid == 0 || st.st_uid == geteuid())
		return NULL;
	if (file->may_be_jvms && st.st_uid == file->process_uid)
		return "it may be the JVM's own map, which perf reads as well; give --force to replace it";
	return "a file of another user has this name; remove it, or give --force";
}

/* A new file with a random name, which nobody can take before. The descriptor or -errno. */
static int create_temp(int dir_fd, char name[static TEMP_NAME_LEN])
{
	for (int i = 0; i < TEMP_MAX_TRIES; i++) {
		uint64_t number[2];
		int fd;

		if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
			return -EIO;
		(void)snprintf(name, TEMP_NAME_LEN, ".jbpf-%016" PRIx64 "%016" PRIx64, number[0],
			       number[1]);
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Some file systems report only at close that there was no room. */
static int fill_temp(int temp_fd, const void *bytes, size_t len)
{
	__cleanup_fd int fd = temp_fd;
	int err = fs_write_all(fd, bytes, len);

	if (!err && fchmod(fd, MAP_FILE_MODE)) /* the umask does not count */
		err = -errno;
	if (!err && fsync(fd))
		err = -errno;
	if (close(take_fd(&fd)) && !err)
		err = -errno;
	return err;
}

static int write_and_rename(const struct map_file *file, const void *bytes, size_t len)
{
	char temp[TEMP_NAME_LEN];
	int fd = create_temp(file->dir_fd, temp);
	int err;

	if (fd < 0)
		return fd;
	err = fill_temp(fd, bytes, len);
	if (!err && map_file_obstacle(file))
		err = -EEXIST;
	if (!err && renameat(file->dir_fd, temp, file->dir_fd, file->name))
		err = -errno;
	if (err)
		(void)unlinkat(file->dir_fd, temp, 0);
	return err;
}

int map_file_write(const struct map_file *file, const void *bytes, size_t len)
{
	struct capabilities privileges;
	sigset_t ends, before;
	int err;

	if (map_file_obstacle(file))
		return -EEXIST;
	/* An impatient Ctrl-C waits until the temporary file is gone. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	err = capabilities_raise(DAEMON_SANDBOX_WRITING, &privileges);
	if (!err) {
		err = write_and_rename(file, bytes, len);
		(void)capabilities_restore(&privileges);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
