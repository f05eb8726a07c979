// SPDX-License-Identifier: Apache-2.0
/*
 * Appending to an hour file. The size that the file must have is known at all times; if anything
 * else is found, somebody else or a failing disk did that, and a new file is begun beside it.
 */
#include "user/store/segment/segment_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/store/format/format.h"
#include "user/store/segment/segment_header.h"
#include "user/store/segment/segment_reader.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/log.h"

/* A new file may be mistaken for one that a crash has left, but hardly twice. */
#define CREATE_TRIES 8

struct segment_writer {
	int tree_fd; /* borrowed */
	int fd;
	struct segment_file file;
	uint64_t size; /* of the file: the last record boundary */
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence; /* of the last record */
	bool is_created;   /* by us: may be removed while nothing is in it */
	bool is_usable;
};

/* Unlocks explicitly: a child that was forked just now may not have closed its copy yet. */
static void segment_close(struct segment_writer *writer)
{
	struct flock unlock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	if (writer->fd < 0)
		return;
	(void)fcntl(writer->fd, F_OFD_SETLK, &unlock);
	close(writer->fd);
	writer->fd = -1;
}

void segment_writer__free(struct segment_writer *writer)
{
	char path[SEGMENT_PATH_BYTES];

	if (!writer)
		return;
	if (writer->is_created && writer->size == 0) {
		segment_path(&writer->file, path);
		(void)unlinkat(writer->tree_fd, path, 0);
	}
	segment_close(writer);
	free(writer);
}

const uint8_t *segment_writer__id(const struct segment_writer *writer)
{
	return writer->segment_id;
}

uint64_t segment_writer__next_sequence(const struct segment_writer *writer)
{
	return writer->sequence + 1;
}

const struct segment_file *segment_writer__file(const struct segment_writer *writer)
{
	return &writer->file;
}

bool segment_writer__is_usable(const struct segment_writer *writer)
{
	struct stat st;

	return writer->is_usable && fstat(writer->fd, &st) == 0 && st.st_nlink > 0 &&
	       (uint64_t)st.st_size == writer->size;
}

/*
 * Tells readers that an incomplete tail is work in progress. A lock of the open file description:
 * it ends with this process and does not mind the reads of others. File systems without locks make
 * readers a little too suspicious, nothing else.
 */
static int segment_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EWOULDBLOCK : 0;
}

/* ---- a new file ---- */

/* -EAGAIN: a compaction came in between, which removes an empty file that nobody holds. */
static int segment_create_once(struct segment_writer *writer)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat st;
	int err;

	if (writer->file.index > SEGMENT_INDEX_MAX)
		return -EOVERFLOW;
	segment_path(&writer->file, path);
	writer->fd = openat(writer->tree_fd, path,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    SEGMENT_TREE_FILE_MODE);
	if (writer->fd < 0)
		return -errno;
	err = segment_lock(writer->fd);
	if (!err && fstat(writer->fd, &st))
		return -errno;
	if (err == -EWOULDBLOCK || (!err && st.st_nlink == 0))
		return -EAGAIN;
	writer->is_created = true;
	return err;
}

static int segment_create(struct segment_writer *writer)
{
	int err = segment_create_once(writer);

	for (int i = 1; i < CREATE_TRIES && (err == -EAGAIN || err == -ENOENT); i++) {
		segment_close(writer);
		/* Hours that became a day take their directory with them. */
		if (err == -EAGAIN)
			writer->file.index++;
		else
			(void)segment_tree_make_day(writer->tree_fd, writer->file.hour_unix_s);
		err = segment_create_once(writer);
	}
	if (!err)
		err = segment_tree_sync_parent(writer->tree_fd, &writer->file);
	if (!err && getrandom(writer->segment_id, FORMAT_ID_BYTES, 0) != FORMAT_ID_BYTES)
		err = -EIO;
	return err;
}

/* ---- the file that is there ---- */

/* The newest file of the hour; false when there is none. */
static int segment_find_newest(int tree_fd, uint64_t hour_unix_s, struct segment_file *out,
			       bool *found)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	int err = segment_tree_list(tree_fd, hour_unix_s, hour_unix_s + 1, &list);

	if (err)
		return err;
	/* No writer continues the file of a whole day. */
	*found = list.cnt > 0 && !list.files[list.cnt - 1].is_day;
	if (*found)
		*out = list.files[list.cnt - 1];
	return 0;
}

/*
 * Is what is in the file in a merged one already? A compaction that was killed has not deleted it
 * yet, and readers leave it out. -EUCLEAN when it is so.
 */
static int segment_check_leftover(const struct segment_writer *writer,
				  struct segment_reader *reader)
{
	const struct segment_file mergeds[] = {
		{ .hour_unix_s = writer->file.hour_unix_s },
		{ .hour_unix_s = segment_day(writer->file.hour_unix_s), .is_day = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(mergeds); i++) {
		__cleanup_segment_identity struct segment_identity identity = { .has_id = false };
		int err = segment_reader__identify_file(reader, writer->tree_fd, &mergeds[i],
							&identity);

		if (err)
			return err == -ENOMEM ? err : -EUCLEAN;
		if (segment_identity_has_taken_in(&identity, writer->segment_id))
			return -EUCLEAN;
	}
	return 0;
}

/*
 * Opens writer->file for appending when all of it is intact. -EUCLEAN when it is not, which is no
 * failure: it is left alone then.
 */
static int segment_continue(struct segment_writer *writer)
{
	char path[SEGMENT_PATH_BYTES];
	struct segment_reader *reader;
	struct segment_end end = { 0 };
	struct stat st;
	int fd, err;

	segment_path(&writer->file, path);
	fd = openat(writer->tree_fd, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -EUCLEAN;
	writer->fd = fd;
	/* Without a name any more: a merged hour has just taken its place. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || segment_lock(fd) || fstat(fd, &st) ||
	    st.st_nlink == 0)
		return -EUCLEAN;
	reader = segment_reader__new();
	if (!reader)
		return -ENOMEM;
	err = segment_reader__verify(reader, fd, &end);
	if (!err && (!end.is_clean || end.bytes != (uint64_t)st.st_size))
		err = -EUCLEAN;
	memcpy(writer->segment_id, end.segment_id, FORMAT_ID_BYTES);
	if (!err)
		err = segment_check_leftover(writer, reader);
	segment_reader__free(reader);
	if (err)
		return err == -ENOMEM ? err : -EUCLEAN;
	writer->size = end.bytes;
	writer->sequence = end.sequence;
	return 0;
}

static int segment_open(struct segment_writer *writer, uint32_t min_index)
{
	char path[SEGMENT_PATH_BYTES];
	struct segment_file newest;
	bool found = false;
	int err = segment_tree_make_day(writer->tree_fd, writer->file.hour_unix_s);

	if (!err)
		err = segment_find_newest(writer->tree_fd, writer->file.hour_unix_s, &newest,
					  &found);
	if (err)
		return err;
	writer->file.index = min_index;
	if (found && newest.index >= min_index) {
		writer->file.index = newest.index;
		err = segment_continue(writer);
		if (err != -EUCLEAN)
			return err;
		segment_close(writer);
		writer->file.index = newest.index + 1;
		segment_path(&newest, path);
		pr_info("store: '%s' cannot be continued: another file is begun beside it\n", path);
	}
	return segment_create(writer);
}

int segment_writer__open(int tree_fd, uint64_t hour_unix_s, uint32_t min_index,
			 struct segment_writer **out)
{
	struct segment_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return -ENOMEM;
	writer->tree_fd = tree_fd;
	writer->fd = -1;
	writer->file.hour_unix_s = hour_unix_s;
	err = segment_open(writer, min_index);
	if (err) {
		segment_writer__free(writer);
		return err;
	}
	writer->is_usable = true;
	*out = writer;
	return 0;
}

/* ---- appending ---- */

static int write_at(int fd, const void *bytes, size_t len, uint64_t offset)
{
	const char *at = bytes;

	while (len) {
		ssize_t written = pwrite(fd, at, len, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		at += written;
		offset += (uint64_t)written;
		len -= (size_t)written;
	}
	return 0;
}

int segment_writer__append(struct segment_writer *writer, const void *bytes, size_t len,
			   uint64_t record_cnt)
{
	__cleanup_strbuf struct strbuf header = STRBUF_INIT;
	bool is_synced = true;
	int err = 0;

	if (!segment_writer__is_usable(writer))
		return -ESTALE;
	if (writer->size == 0)
		err = segment_header_encode(writer->segment_id, &header);
	if (!err && header.len)
		err = write_at(writer->fd, header.data, header.len, 0);
	if (!err)
		err = write_at(writer->fd, bytes, len, writer->size + header.len);
	if (!err && fdatasync(writer->fd)) {
		err = -errno;
		is_synced = false;
	}
	if (!err) {
		writer->size += header.len + len;
		writer->sequence += record_cnt;
		return 0;
	}
	/*
	 * Only bytes of this call are cut off. After a failed sync the kernel has dropped the error
	 * of the dirty pages: what is on disk is unknown from then on, so nothing is added here
	 * again.
	 */
	if (ftruncate(writer->fd, (off_t)writer->size) || !is_synced)
		writer->is_usable = false;
	return err;
}
