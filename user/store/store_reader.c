// SPDX-License-Identifier: Apache-2.0
/*
 * The reading side of the store: which files, in which order, and which of their windows. Files
 * are listed anew for each visit; those that vanish on the way were too old.
 */
#include "user/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/model/select.h"
#include "user/store/segment_reader.h"
#include "user/store/segment_tree.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

struct store_reader {
	int tree_fd;
	struct segment_reader *segment;
};

int store_reader__open(const char *dir, struct store_reader **out)
{
	char path[PATH_MAX];
	struct store_reader *reader;
	__cleanup_fd int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, SEGMENT_TREE_DIR) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->tree_fd = take_fd(&fd);
	reader->segment = segment_reader__new();
	if (!reader->segment) {
		store_reader__free(reader);
		return -ENOMEM;
	}
	*out = reader;
	return 0;
}

void store_reader__free(struct store_reader *reader)
{
	if (!reader)
		return;
	segment_reader__free(reader->segment);
	if (reader->tree_fd >= 0)
		close(reader->tree_fd);
	free(reader);
}

/* What the segment's visitor needs to know. */
struct visit {
	const struct store_visitor *visitor;
	struct selection range;
	const char *path;
};

static bool visit_want(void *ctx, const struct window *window)
{
	const struct visit *visit = ctx;

	return selection_covers(&visit->range, window) &&
	       (!visit->visitor->want || visit->visitor->want(visit->visitor->ctx, window));
}

static int visit_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	const struct visit *visit = ctx;

	return visit->visitor->window ?
		       visit->visitor->window(visit->visitor->ctx, window, text, len) :
		       0;
}

static void visit_damage(void *ctx, const char *path, uint64_t offset, uint64_t bytes,
			 const char *what)
{
	const struct visit *visit = ctx;
	const struct store_damage damage = {
		.path = path ? path : visit->path,
		.offset = offset,
		.bytes = bytes,
		.what = what,
	};

	if (visit->visitor->damage)
		visit->visitor->damage(visit->visitor->ctx, &damage);
}

static int visit_file(struct store_reader *reader, const struct segment_file *file,
		      struct visit *visit)
{
	const struct segment_visitor visitor = {
		.ctx = visit,
		.wants_lines = visit->visitor->wants_lines,
		.wants_cells = visit->visitor->wants_cells,
		.merge_ns = visit->visitor->merge_ns,
		.since_unix_ns = visit->range.since_unix_ns,
		.until_unix_ns = visit->range.until_unix_ns,
		.want = visit_want,
		.window = visit_window,
		.damage = visit_damage,
	};
	char path[sizeof(SEGMENT_TREE_DIR) + SEGMENT_PATH_BYTES];
	struct stat st;

	memcpy(path, SEGMENT_TREE_DIR "/", sizeof(SEGMENT_TREE_DIR));
	segment_path(file, path + sizeof(SEGMENT_TREE_DIR));

	__cleanup_fd int fd = openat(reader->tree_fd, path + sizeof(SEGMENT_TREE_DIR),
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	visit->path = path;
	return segment_reader__walk(reader->segment, fd, &visitor);
}

int store_reader__visit(struct store_reader *reader, uint64_t since_unix_ns, uint64_t until_unix_ns,
			const struct store_visitor *visitor)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	struct visit visit = {
		.visitor = visitor,
		.range = { .since_unix_ns = since_unix_ns, .until_unix_ns = until_unix_ns },
	};
	/* A window that began before `since` may reach into the range. */
	uint64_t first_ns =
		since_unix_ns > STORE_WINDOW_MAX_NS ? since_unix_ns - STORE_WINDOW_MAX_NS : 0;
	uint64_t until_s = until_unix_ns / CLOCK_NS_PER_S + (until_unix_ns % CLOCK_NS_PER_S != 0);
	int err = segment_tree_list(reader->tree_fd, segment_hour(first_ns), until_s, &list);

	for (size_t i = 0; i < list.cnt && !err; i++)
		err = visit_file(reader, &list.files[i], &visit);
	return err;
}
