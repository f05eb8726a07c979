// SPDX-License-Identifier: Apache-2.0
/*
 * See landlock.h. Numbers of include/uapi/linux/landlock.h, which libc's headers may not have yet.
 * The kernel takes a longer structure than it knows when the part that it does not know is 0.
 */
#include "user/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/util/cleanup.h"

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH      1
#define RULE_NET_PORT	       2

#define FS_EXECUTE   (1ull << 0)
#define FS_READ_FILE (1ull << 2)
#define FS_READ	     (3ull << 2)	/* files and directories */
#define FS_VERSION1  ((1ull << 13) - 1) /* ... to make a symbolic link */
#define FS_REFER     (1ull << 13)	/* version 2 */
#define FS_TRUNCATE  (1ull << 14)	/* version 3 */
#define FS_IOCTL     (1ull << 15)	/* version 5: on devices */
#define NET_TCP	     3ull		/* version 4: bind and connect */
#define NET_CONNECT  2ull
#define SCOPE_ALL    3ull /* version 6: abstract sockets and signals */

struct ruleset {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_rule {
	uint64_t allowed;
	int32_t dir_fd;
} __attribute__((packed));

struct port_rule {
	uint64_t allowed;
	uint64_t port;
};

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return version < 0 ? -errno : (int)version;
}

static struct ruleset ruleset_of(int version)
{
	struct ruleset ruleset = { .handled_fs = FS_VERSION1 | FS_REFER };

	if (version >= 3)
		ruleset.handled_fs |= FS_TRUNCATE;
	if (version >= 4)
		ruleset.handled_net = NET_TCP;
	if (version >= 5)
		ruleset.handled_fs |= FS_IOCTL;
	if (version >= 6)
		ruleset.scoped = SCOPE_ALL;
	return ruleset;
}

static int allow_below(int ruleset_fd, uint64_t allowed, const char *dir)
{
	__cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct path_rule rule = { .allowed = allowed, .dir_fd = fd };

	if (fd < 0)
		return -errno;
	return syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

static int restrict_below(struct ruleset *ruleset, uint64_t allowed, const char *dir)
{
	int err = 0;

	__cleanup_fd int fd =
		(int)syscall(SYS_landlock_create_ruleset, ruleset, sizeof(*ruleset), 0);

	if (fd < 0)
		return -errno;
	if (dir)
		err = allow_below(fd, ruleset->handled_fs & allowed, dir);
	if (!err && syscall(SYS_landlock_restrict_self, fd, 0))
		err = -errno;
	return err;
}

/* A directory with what is below it, or a file. What is not there stays out of reach. */
static int allow_reading(int ruleset_fd, const char *path)
{
	__cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
	struct path_rule rule = { .allowed = FS_READ, .dir_fd = fd };
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed = FS_READ_FILE;
	return syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

static int allow_port(int ruleset_fd, uint16_t port)
{
	const struct port_rule rule = { .allowed = NET_CONNECT, .port = port };

	return syscall(SYS_landlock_add_rule, ruleset_fd, RULE_NET_PORT, &rule, 0) ? -errno : 0;
}

int landlock_client_of(const struct landlock_client *client)
{
	int version = landlock_version(), err = 0;
	struct ruleset ruleset = ruleset_of(version);

	if (version < 2)
		return version < 0 ? version : -EOPNOTSUPP;

	__cleanup_fd int fd =
		(int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);

	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < LANDLOCK_PATHS_MAX && client->paths[i] && !err; i++)
		err = allow_reading(fd, client->paths[i]);
	if (!err && ruleset.handled_net)
		err = allow_port(fd, client->port);
	if (!err && syscall(SYS_landlock_restrict_self, fd, 0))
		err = -errno;
	return err;
}

int landlock_only_below(const char *dir)
{
	int version = landlock_version();
	struct ruleset ruleset = ruleset_of(version);

	if (version < 2)
		return version < 0 ? version : -EOPNOTSUPP;
	return restrict_below(&ruleset, ~FS_EXECUTE, dir);
}

int landlock_read_only_below(const char *dir)
{
	int version = landlock_version();
	struct ruleset ruleset = ruleset_of(version);

	if (version < 2)
		return version < 0 ? version : -EOPNOTSUPP;
	return restrict_below(&ruleset, FS_READ, dir);
}

int landlock_write_only_below(const char *dir)
{
	int version = landlock_version();
	struct ruleset ruleset = ruleset_of(version);

	if (version < 2)
		return version < 0 ? version : -EOPNOTSUPP;
	ruleset.handled_fs &= ~(FS_READ | FS_IOCTL);
	ruleset.scoped = 0; /* a child that was forked before may have to be ended */
	return restrict_below(&ruleset, ~FS_EXECUTE, dir);
}
