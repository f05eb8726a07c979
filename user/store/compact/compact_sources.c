// SPDX-License-Identifier: Apache-2.0
/*
 * Locks of the open file description, as the writer's: our read lock makes the writer begin the
 * next file of the hour, and its write lock keeps ours out. Readers take no locks; they learn from
 * a write lock whether a file is being written.
 */
#include "user/store/compact/compact_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/log.h"

static void source_close(struct compact_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	segment_identity_release(&source->identity);
	source->fd = -1;
}

void compact_sources_release(struct compact_sources *sources)
{
	for (size_t i = 0; i < sources->cnt; i++)
		source_close(&sources->items[i]);
	free(sources->items);
	*sources = (struct compact_sources){ NULL, 0 };
}

static int source_lock(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EWOULDBLOCK : -errno;
}

static int source_open(int tree_fd, struct segment_reader *reader, const struct segment_file *file,
		       struct compact_source *source)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat st;
	int err;

	*source = (struct compact_source){ .file = *file };
	segment_path(file, path);
	source->fd = openat(tree_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (source->fd < 0)
		return errno == ENOENT ? -EWOULDBLOCK : -errno;
	err = source_lock(source->fd);
	if (err)
		return err;
	if (fstat(source->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* Deleted between its opening and the lock. */
	if (st.st_nlink == 0)
		return -EWOULDBLOCK;
	source->bytes = (uint64_t)st.st_size;
	source->device = st.st_dev;
	source->inode = st.st_ino;
	return segment_reader__identify(reader, source->fd, &source->identity);
}

int compact_sources_open(int tree_fd, struct segment_reader *reader,
			 const struct segment_file *files, size_t cnt, struct compact_sources *out)
{
	if (cnt > COMPACT_SOURCES_MAX)
		return -E2BIG;
	out->items = calloc(COMPACT_SOURCES_MAX, sizeof(*out->items));
	if (!out->items)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		int err = source_open(tree_fd, reader, &files[i], &out->items[i]);

		out->cnt = i + 1;
		if (err) {
			compact_sources_release(out);
			return err;
		}
	}
	return 0;
}

/* Deletes only the very file that was read: the name may belong to another one by now. */
static int source_delete(int tree_fd, const struct compact_source *source)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat st;

	segment_path(&source->file, path);
	if (fstatat(tree_fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (st.st_dev != source->device || st.st_ino != source->inode)
		return 0;
	return segment_tree_delete(tree_fd, &source->file);
}

static bool is_leftover(const struct compact_sources *sources, const struct segment_identity *day,
			size_t index)
{
	const struct compact_source *source = &sources->items[index];
	const struct segment_identity *identity = &source->identity;

	if (source->bytes == 0)
		return true;
	if (!identity->has_id)
		return false;
	for (size_t i = 0; i < sources->cnt; i++) {
		if (i != index && segment_identity_has_taken_in(&sources->items[i].identity,
								identity->segment_id))
			return true;
	}
	return !source->file.is_day && segment_identity_has_taken_in(day, identity->segment_id);
}

/* The directory of the files' day; none if there is no such day. */
static int identify_day(int tree_fd, struct segment_reader *reader,
			const struct compact_sources *sources, struct segment_identity *out)
{
	struct segment_file day = { .is_day = true };

	if (!sources->cnt)
		return 0;
	day.hour_unix_s = segment_day(sources->items[0].file.hour_unix_s);
	return segment_reader__identify_file(reader, tree_fd, &day, out);
}

/* After deletions in a directory that may be gone with them. */
static int sync_parent(int tree_fd, const struct segment_file *file)
{
	int err = segment_tree_sync_parent(tree_fd, file);

	return err == -ENOENT ? 0 : err;
}

int compact_sources_drop_leftovers(int tree_fd, struct segment_reader *reader,
				   struct compact_sources *sources)
{
	__cleanup_segment_identity struct segment_identity day = { .has_id = false };
	bool is_dropped[COMPACT_SOURCES_MAX] = { false };
	size_t kept = 0;
	int day_err = identify_day(tree_fd, reader, sources, &day);

	if (day_err)
		return day_err;
	for (size_t i = 0; i < sources->cnt; i++)
		is_dropped[i] = is_leftover(sources, &day, i);
	/*
	 * From the last to the first: a file that shows that others are leftovers stands in front
	 * of them, and goes later.
	 */
	for (size_t i = sources->cnt; i-- > 0;) {
		struct compact_source *source = &sources->items[i];
		int err = 0;

		if (is_dropped[i])
			err = source_delete(tree_fd, source);
		if (!err && is_dropped[i])
			err = sync_parent(tree_fd, &source->file);
		if (err)
			return err;
	}
	for (size_t i = 0; i < sources->cnt; i++) {
		if (is_dropped[i])
			source_close(&sources->items[i]);
		else
			sources->items[kept++] = sources->items[i];
	}
	sources->cnt = kept;
	return 0;
}

int compact_sources_keep_damaged(int tree_fd, const struct compact_sources *sources,
				 uint64_t *cnt_out)
{
	char path[SEGMENT_PATH_BYTES], kept_path[SEGMENT_PATH_BYTES];

	for (size_t i = 0; i < sources->cnt; i++) {
		const struct compact_source *source = &sources->items[i];
		struct segment_file kept;
		int err;

		if (!source->is_damaged)
			continue;
		err = segment_tree_keep_damaged(tree_fd, &source->file, &kept);
		if (!err)
			err = segment_tree_sync_parent(tree_fd, &source->file);
		if (err)
			return err;
		segment_path(&source->file, path);
		segment_path(&kept, kept_path);
		pr_warn("store: '%s' is damaged: what could be read is merged, and the file is kept as '%s'\n",
			path, kept_path);
		(*cnt_out)++;
	}
	return 0;
}

int compact_sources_delete(int tree_fd, struct compact_sources *sources,
			   const struct segment_file *kept)
{
	const struct compact_source *last = NULL;
	int err = 0;

	for (size_t i = 0; i < sources->cnt; i++) {
		const struct compact_source *source = &sources->items[i];
		int delete_err;

		if (segment_file_compare(&source->file, kept) == 0)
			continue;
		delete_err = source_delete(tree_fd, source);
		if (!err)
			err = delete_err;
		last = source;
	}
	/* All but a day's own file are in one directory. */
	if (!err && last)
		err = sync_parent(tree_fd, &last->file);
	return err;
}

uint64_t compact_sources_bytes(const struct compact_sources *sources)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < sources->cnt; i++)
		bytes += sources->items[i].bytes;
	return bytes;
}
