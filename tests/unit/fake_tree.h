/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary directory that stands for /proc, for cgroup mounts or for a container's /tmp. Include
 * after cmocka. Every helper asserts that it worked.
 */
#ifndef JBPF_TESTS_UNIT_FAKE_TREE_H
#define JBPF_TESTS_UNIT_FAKE_TREE_H

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"

struct fake_tree {
	char path[64];
	int fd;
};

static inline void fake_tree_make(struct fake_tree *tree)
{
	strcpy(tree->path, "/tmp/jbpf-test-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
}

static inline void fake_tree_remove(struct fake_tree *tree)
{
	close(tree->fd);
	assert_int_equal(remove_tree(tree->path), 0);
}

/* Writes (over) a file; directories on the way are made. */
static inline void fake_tree_write(const struct fake_tree *tree, const char *path, const char *text)
{
	char part[PATH_MAX];
	int fd;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		(void)mkdirat(tree->fd, part, 0755);
	}
	fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static inline void fake_tree_writef(const struct fake_tree *tree, const char *path,
				    const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline void fake_tree_writef(const struct fake_tree *tree, const char *path,
				    const char *format, ...)
{
	char text[4096];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof(text));
	fake_tree_write(tree, path, text);
}

#endif
