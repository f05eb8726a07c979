// SPDX-License-Identifier: Apache-2.0
/*
 * The reading side of the store: which files, in which order, and which of their windows. Files
 * are listed for each visit; those that vanish on the way were too old.
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

#include "user/model/event_view.h"
#include "user/model/select.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/segment/segment_tree.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define DAY_OPEN_MAX  256 /* files held open at once; a day has 25 unless jbpfd keeps dying */
#define FOREIGN	      "not read: no regular file (a symbolic link is not followed)"
#define DAY_TRIES_MAX 16 /* for a directory that changes while its files are opened */

struct store_reader {
	enum event event;
	int tree_fd;
	struct segment_reader *segment;
	struct store_reader *next; /* of another source of the view; NULL: there is none */
};

int store_reader__open(const char *dir, struct store_reader **out)
{
	return store_reader__open_event(dir, EVENT_CPU, out);
}

bool store_window_is_cut(const struct window *window)
{
	return strcmp(window_label(window, WINDOW_LABEL_OVER_BUDGET), STORE_CUT_LABEL) == 0;
}

int store_events(const char *dir, uint32_t *events)
{
	*events = 0;
	for (int i = 0; i < EVENT_CNT; i++) {
		__cleanup_fd int fd = segment_tree_open(dir, (enum event)i);

		if (fd >= 0)
			*events |= EVENT_BIT(i);
		else if (fd != -ENOENT)
			return fd;
	}
	return 0;
}

static int open_source(const char *dir, enum event event, struct store_reader **out)
{
	__cleanup_fd int fd = segment_tree_open(dir, event);
	struct store_reader *reader;

	if (fd < 0)
		return fd;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->event = event;
	reader->tree_fd = take_fd(&fd);
	reader->segment = segment_reader__new();
	if (!reader->segment) {
		store_reader__free(reader);
		return -ENOMEM;
	}
	*out = reader;
	return 0;
}

int store_reader__open_event(const char *dir, enum event event, struct store_reader **out)
{
	uint32_t sources = event_sources(event);
	struct store_reader *first = NULL;
	int err = 0;

	/* From the last one on, so that they are visited in order. */
	for (int i = EVENT_CNT - 1; i >= 0 && !err; i--) {
		struct store_reader *reader;

		if (!(sources & EVENT_BIT(i)))
			continue;
		err = open_source(dir, (enum event)i, &reader);
		if (err)
			break;
		reader->next = first;
		first = reader;
	}
	if (err)
		store_reader__free(first);
	else
		*out = first;
	return err;
}

void store_reader__free(struct store_reader *reader)
{
	if (!reader)
		return;
	store_reader__free(reader->next);
	segment_reader__free(reader->segment);
	if (reader->tree_fd >= 0)
		close(reader->tree_fd);
	free(reader);
}

/* What the segment's visitor needs to know. */
struct visit {
	const struct store_visitor *visitor;
	struct selection range;
	enum event event;
	const char *path;
};

static bool visit_may_want(void *ctx, const struct window *window)
{
	const struct selection *selection = ((const struct visit *)ctx)->visitor->selection;

	return !selection || selection_takes(selection, window);
}

static bool visit_want(void *ctx, const struct window *window)
{
	const struct visit *visit = ctx;

	return selection_covers(&visit->range, window) && visit_may_want(ctx, window) &&
	       (!visit->visitor->want || visit->visitor->want(visit->visitor->ctx, window));
}

static int visit_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	const struct visit *visit = ctx;

	return visit->visitor->window(visit->visitor->ctx, window, text, len);
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
		/* With a path it is a note of long ago. */
		.is_unreadable = !path && strcmp(what, SEGMENT_UNREADABLE) == 0,
	};

	if (visit->visitor->damage)
		visit->visitor->damage(visit->visitor->ctx, &damage);
}

/* ---- the files of a day ---- */

/* Which path is looked at, for what is reported of it. */
static void visit_name(struct visit *visit, const struct segment_file *file,
		       char path[static SEGMENT_STORE_PATH_BYTES])
{
	segment_store_path(visit->event, file, path);
	visit->path = path;
}

/*
 * Of a file whose beginning cannot be read nobody knows whether others have taken it in, or it has
 * taken in others: it is left out, so that no window counts twice.
 */
static void visit_unreadable(const struct segment_file *file, int err, struct visit *visit)
{
	char path[SEGMENT_STORE_PATH_BYTES];
	const struct store_damage damage = {
		.path = path,
		.what = err == -ELOOP ? FOREIGN :
			err == -EIO   ? SEGMENT_UNREADABLE :
					errstr(err),
		.is_unreadable = true,
	};

	segment_store_path(visit->event, file, path);
	if (visit->visitor->damage)
		visit->visitor->damage(visit->visitor->ctx, &damage);
}

/* It is not about the file: others could not be opened either. */
static bool is_shortage(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

/*
 * Hours are merged into one file and days into another while we read. So the files of a day are
 * opened before any is read, and are taken when the directory looks the same after that; and what
 * another file says it has taken in is not read.
 */
struct day_files {
	struct segment_list list;
	/* Of the first DAY_OPEN_MAX files, or why there is none; the others are opened in their turn. */
	int *fds; /* or -errno; -ENOENT: it is gone */
	size_t fd_cnt;
	struct segment_identity *identities; /* of those */
};

static void day_release(struct day_files *day)
{
	for (size_t i = 0; i < day->fd_cnt; i++) {
		segment_identity_release(&day->identities[i]);
		if (day->fds[i] >= 0)
			close(day->fds[i]);
	}
	free(day->fds);
	free(day->identities);
	segment_list_release(&day->list);
	*day = (struct day_files){ .fds = NULL };
}

/* -ENOENT: gone meanwhile. -ELOOP: what has its name is no regular file. */
static int file_open(const struct store_reader *reader, const struct segment_file *file, int *out)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat st;

	segment_path(file, path);

	__cleanup_fd int fd =
		openat(reader->tree_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ELOOP;
	*out = take_fd(&fd);
	return 0;
}

static bool is_same_list(const struct segment_list *a, const struct segment_list *b)
{
	if (a->cnt != b->cnt)
		return false;
	for (size_t i = 0; i < a->cnt; i++) {
		if (a->files[i].hour_unix_s != b->files[i].hour_unix_s ||
		    a->files[i].index != b->files[i].index ||
		    a->files[i].is_day != b->files[i].is_day)
			return false;
	}
	return true;
}

/* Opens what is listed. *is_stable: it is all there was, from before to after. 0 or -errno. */
static int day_open_once(struct store_reader *reader, uint64_t from_s, uint64_t until_s,
			 struct day_files *day, bool *is_stable)
{
	__cleanup_segment_list struct segment_list again = { NULL, 0, 0 };
	int err = segment_tree_list(reader->tree_fd, from_s, until_s, &day->list);
	size_t cnt = day->list.cnt < DAY_OPEN_MAX ? day->list.cnt : DAY_OPEN_MAX;

	if (err)
		return err;
	*is_stable = true;
	day->fds = reallocarray(NULL, cnt + 1, sizeof(*day->fds));
	day->identities = calloc(cnt + 1, sizeof(*day->identities));
	if (!day->fds || !day->identities)
		return -ENOMEM;
	for (; day->fd_cnt < cnt; day->fd_cnt++) {
		int *fd = &day->fds[day->fd_cnt];

		*fd = -ENOENT;
		err = file_open(reader, &day->list.files[day->fd_cnt], fd);
		if (is_shortage(err))
			return err;
		if (err)
			*fd = err;
		if (err == -ENOENT)
			*is_stable = false;
	}
	err = segment_tree_list(reader->tree_fd, from_s, until_s, &again);
	*is_stable = *is_stable && is_same_list(&day->list, &again);
	return err;
}

static int day_open(struct store_reader *reader, uint64_t from_s, uint64_t until_s,
		    struct day_files *day)
{
	bool is_stable = false;
	int err = 0;

	for (int i = 0; i < DAY_TRIES_MAX && !err && !is_stable; i++) {
		day_release(day);
		err = day_open_once(reader, from_s, until_s, day, &is_stable);
	}
	for (size_t i = 0; i < day->fd_cnt && !err; i++) {
		if (day->fds[i] < 0)
			continue;
		err = segment_reader__identify(reader->segment, day->fds[i], &day->identities[i]);
		if (!err || err == -ENOMEM)
			continue;
		close(day->fds[i]);
		day->fds[i] = -EIO;
		err = 0;
	}
	return err;
}

/* Has another file of the day taken it in? Then it only waits for being deleted. */
static bool is_replaced(const struct day_files *day, size_t index,
			const struct segment_identity *identity)
{
	if (!identity->has_id)
		return false;
	for (size_t i = 0; i < day->fd_cnt; i++) {
		if (i != index &&
		    segment_identity_has_taken_in(&day->identities[i], identity->segment_id))
			return true;
	}
	return false;
}

static int visit_fd(struct store_reader *reader, const struct segment_file *file, int fd,
		    struct visit *visit)
{
	const struct segment_visitor visitor = {
		.ctx = visit,
		.wants_lines = visit->visitor->wants_lines,
		.wants_cells = visit->visitor->wants_cells,
		.wants_threads = visit->visitor->wants_threads,
		.wants_ticks = visit->visitor->wants_ticks,
		.checks_all = visit->visitor->checks_all,
		.merge_ns = visit->visitor->merge_ns,
		.since_unix_ns = visit->range.since_unix_ns,
		.until_unix_ns = visit->range.until_unix_ns,
		.may_want = visit_may_want,
		.want = visit_want,
		.window = visit->visitor->window ? visit_window : NULL,
		.damage = visit_damage,
	};
	char path[SEGMENT_STORE_PATH_BYTES];

	visit_name(visit, file, path);
	return segment_reader__walk(reader->segment, fd, &visitor);
}

static int visit_late(struct store_reader *reader, const struct day_files *day, size_t index,
		      struct visit *visit)
{
	__cleanup_segment_identity struct segment_identity identity = { .has_id = false };
	__cleanup_fd int fd = -1;
	int err = file_open(reader, &day->list.files[index], &fd);

	if (!err) {
		err = segment_reader__identify(reader->segment, fd, &identity);
		if (err && err != -ENOMEM)
			err = -EIO;
	}
	if (is_shortage(err))
		return err;
	if (err && err != -ENOENT)
		visit_unreadable(&day->list.files[index], err, visit);
	if (err)
		return 0;
	return is_replaced(day, index, &identity) ?
		       0 :
		       visit_fd(reader, &day->list.files[index], fd, visit);
}

static int visit_day(struct store_reader *reader, uint64_t from_s, uint64_t until_s,
		     struct visit *visit)
{
	struct day_files day = { .fds = NULL };
	int err = day_open(reader, from_s, until_s, &day);

	for (size_t i = 0; i < day.list.cnt && !err; i++) {
		if (i >= day.fd_cnt)
			err = visit_late(reader, &day, i, visit);
		else if (day.fds[i] < 0 && day.fds[i] != -ENOENT)
			visit_unreadable(&day.list.files[i], day.fds[i], visit);
		else if (day.fds[i] >= 0 && !is_replaced(&day, i, &day.identities[i]))
			err = visit_fd(reader, &day.list.files[i], day.fds[i], visit);
	}
	day_release(&day);
	return err;
}

/* Listed until nothing has moved: hours that become a day may be in neither place of one listing. */
static int list_days(struct store_reader *reader, uint64_t from_s, uint64_t until_s,
		     struct segment_list *out)
{
	struct segment_list again = { NULL, 0, 0 };
	int err = segment_tree_list(reader->tree_fd, from_s, until_s, out);

	for (int i = 0; i < DAY_TRIES_MAX && !err; i++) {
		bool is_same;

		err = segment_tree_list(reader->tree_fd, from_s, until_s, &again);
		if (err)
			break;
		is_same = is_same_list(out, &again);
		segment_list_release(out);
		*out = again;
		again = (struct segment_list){ NULL, 0, 0 };
		if (is_same)
			break;
	}
	return err;
}

static int visit_source(struct store_reader *reader, uint64_t since_unix_ns, uint64_t until_unix_ns,
			const struct store_visitor *visitor)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	struct visit visit = {
		.visitor = visitor,
		.event = reader->event,
		.range = { .since_unix_ns = since_unix_ns, .until_unix_ns = until_unix_ns },
	};
	/* A window that began before `since` may reach into the range. */
	uint64_t first_ns =
		since_unix_ns > STORE_WINDOW_MAX_NS ? since_unix_ns - STORE_WINDOW_MAX_NS : 0;
	uint64_t from_s = segment_hour(first_ns);
	uint64_t until_s = until_unix_ns / CLOCK_NS_PER_S + (until_unix_ns % CLOCK_NS_PER_S != 0);
	uint64_t day_s = 0;
	int err = list_days(reader, from_s, until_s, &list);

	for (size_t i = 0; i < list.cnt && !err; i++) {
		uint64_t file_day_s = segment_day(list.files[i].hour_unix_s);
		uint64_t day_end_s = file_day_s + SEGMENT_DAY_S;

		if (i && file_day_s == day_s)
			continue;
		day_s = file_day_s;
		err = visit_day(reader, day_s > from_s ? day_s : from_s,
				day_end_s < until_s ? day_end_s : until_s, &visit);
	}
	return err;
}

int store_reader__visit(struct store_reader *reader, uint64_t since_unix_ns, uint64_t until_unix_ns,
			const struct store_visitor *visitor)
{
	int err = 0;

	for (struct store_reader *source = reader; source && !err; source = source->next)
		err = visit_source(source, since_unix_ns, until_unix_ns, visitor);
	return err;
}
