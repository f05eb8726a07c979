// SPDX-License-Identifier: Apache-2.0
/*
 * The profiler's side; see opener.h. One request at a time: send, wait, take the answer. A process
 * that does not answer is killed, and later answers are never read; its socket is kept because it
 * closes when the process has ended after all.
 *
 * A server that did not answer is not asked again for a minute: a file system for all accounts,
 * since mapped files of it are opened by the inode, or the paths of one root for one account.
 */
#include "user/files/opener.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "user/files/opener_child.h"
#include "user/files/opener_internal.h"
#include "user/files/opener_wire.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fd_message.h"
#include "user/util/log.h"

#define REST_NS	   (60 * CLOCK_NS_PER_S)
#define MAX_PLACES 64u
#define MAX_TRIES  2 /* one that ended meanwhile, as it does when it is idle, is started again */
#define ERRNO_MAX  4095

static const struct opener_limits default_limits = {
	.start = { HELPER_LIMITS_NO_CPU, .tick_ms = 100, .max_ticks = 50, .max_all_ticks = 100 },
	.work = { HELPER_LIMITS_NO_CPU, .tick_ms = 100, .max_ticks = 10, .max_all_ticks = 60 },
};

/* A place whose server did not answer in time. */
struct place {
	dev_t device;
	ino_t inode;	     /* 0 = all of the file system */
	uint64_t account_id; /* with an inode: the account that must not open it */
	uint64_t until_boot_ns;
};

/* Somebody's request. */
struct work {
	struct place place;
	struct account *account; /* a user of it */
};

/* A process that was given up and has not ended. */
struct hanging {
	int socket_fd;
	struct account *account; /* a user of it */
};

struct opener {
	struct helper helper;
	struct opener_limits limits;
	uint64_t last_id;
	struct account *account; /* for whom files are opened; a user of it */
	struct work work;	 /* a request that it has answered and not finished */
	bool is_free;
	bool is_lacking; /* there was none to be had, and it was said */
	struct hanging hanging[OPENER_MAX_HANGING];
	size_t hanging_cnt;
	struct place places[MAX_PLACES]; /* a ring */
	size_t next_place;
};

/* ---- life ---- */

struct opener *opener__new_with(const struct child_starter *starter,
				const struct opener_limits *limits)
{
	struct opener *opener = calloc(1, sizeof(*opener));

	if (!opener)
		return NULL;
	opener->helper = helper_of(starter);
	opener->limits = *limits;
	return opener;
}

struct opener *opener__new(const struct child_starter *starter)
{
	return opener__new_with(starter, &default_limits);
}

void opener__charge(struct opener *opener, struct account *account)
{
	if (opener->account == account)
		return;
	account__put(opener->account);
	opener->account = account__ref(account);
}

void opener__stats(const struct opener *opener, struct opener_stats *out)
{
	*out = (struct opener_stats){
		.pid = opener->helper.pid,
		.start_cnt = opener->helper.start_cnt,
		.hanging_cnt = opener->hanging_cnt,
	};
}

/* ---- processes ---- */

static void work_clear(struct opener *opener)
{
	account__put(opener->work.account);
	opener->work.account = NULL;
	opener->is_free = true;
}

static void hanging_release(struct hanging *hanging)
{
	close(hanging->socket_fd);
	account__note_answered(hanging->account);
	account__put(hanging->account);
}

/* Ends it where no account is to blame. */
static void process_drop(struct opener *opener)
{
	(void)helper_end(&opener->helper, NULL);
	work_clear(opener);
}

void opener__forget_process(struct opener *opener)
{
	helper_forget(&opener->helper);
	work_clear(opener);
}

void opener__free(struct opener *opener)
{
	if (!opener)
		return;
	process_drop(opener);
	for (size_t i = 0; i < opener->hanging_cnt; i++)
		hanging_release(&opener->hanging[i]);
	account__put(opener->account);
	free(opener);
}

/* Hanging openers that have ended after all count no longer. */
static void drop_ended(struct opener *opener)
{
	size_t kept = 0;

	for (size_t i = 0; i < opener->hanging_cnt; i++) {
		struct pollfd end = { .fd = opener->hanging[i].socket_fd };

		if (poll(&end, 1, 0) > 0)
			hanging_release(&opener->hanging[i]);
		else
			opener->hanging[kept++] = opener->hanging[i];
	}
	opener->hanging_cnt = kept;
}

/* Its next message; *fd_out is -1 without a descriptor. 0, -ETIMEDOUT, -EPIPE: it has ended, -EBADMSG. */
static int process_receive(const struct opener *opener, const struct helper_limits *limits,
			   struct opener_reply *reply, int *fd_out)
{
	struct helper_watch watch = helper_watch_begin(&opener->helper, limits);
	size_t len, fd_cnt = 0;
	int err = helper_await(&opener->helper, &watch);

	if (!err)
		err = fd_message_receive(opener->helper.socket_fd, MSG_DONTWAIT, reply,
					 sizeof(*reply), &len, fd_out, 1, &fd_cnt);
	if (err)
		return err;
	if (!fd_cnt)
		*fd_out = -1;
	if (len == sizeof(*reply))
		return 0;
	close_fd(fd_out);
	return -EBADMSG;
}

/* Starts it where it does not run. 0 or -errno. */
static int process_start(struct opener *opener)
{
	struct opener_reply reply;
	int fd = -1, err;

	if (opener->helper.pid)
		return 0;
	if (opener->hanging_cnt == OPENER_MAX_HANGING)
		return -EBUSY;
	err = helper_start(&opener->helper);
	if (!err) {
		opener->is_free = true;
		err = process_receive(opener, &opener->limits.start, &reply, &fd);
		cleanup_fd_(&fd);
		if (!err && reply.says != OPENER_IS_READY)
			err = -EBADMSG;
	}
	if (!err) {
		opener->is_lacking = false;
		return 0;
	}
	process_drop(opener);
	if (opener->is_lacking)
		return -EBUSY;
	opener->is_lacking = true;
	pr_warn_limited(
		"symbols: the process that opens files of containers cannot be started: %s; new ones stay without names\n",
		err == -EBUSY  ? "too many of them hang" :
		err == -EAGAIN ? "no more processes can be started on this host" :
				 errstr(err));
	return -EBUSY;
}

/* ---- where it hangs ---- */

static bool place_rests(const struct opener *opener, const struct place *place)
{
	uint64_t now_ns = clock_boot_ns();

	for (size_t i = 0; i < MAX_PLACES; i++) {
		const struct place *known = &opener->places[i];

		if (known->until_boot_ns > now_ns && known->device == place->device &&
		    known->inode == place->inode && known->account_id == place->account_id)
			return true;
	}
	return false;
}

static void place_note(struct opener *opener, const struct place *place)
{
	struct place *noted = &opener->places[opener->next_place++ % MAX_PLACES];

	*noted = *place;
	noted->until_boot_ns = clock_boot_ns() + REST_NS;
	pr_warn_limited(
		"symbols: the server of a file system (%u:%u) does not answer: files there stay without names\n",
		major(place->device), minor(place->device));
}

/* 0 or -errno. */
static int place_of(const struct opener *opener, enum opener_what what, int at_fd,
		    struct place *out)
{
	struct stat st;
	int err = container_file_stat(at_fd, &st);

	if (err)
		return err;
	*out = (struct place){ .device = st.st_dev };
	if (what != OPENER_REOPEN) {
		out->inode = st.st_ino;
		out->account_id = account__id(opener->account);
	}
	return 0;
}

/* It did not answer in time: it is left behind, with any later answer. */
static void give_up(struct opener *opener)
{
	struct hanging hanging = { .account = opener->work.account };
	uint64_t now_ns = clock_boot_ns();

	place_note(opener, &opener->work.place);
	account__note_failure(hanging.account, now_ns);
	(void)helper_end(&opener->helper, &hanging.socket_fd);
	if (hanging.socket_fd >= 0) {
		account__note_hanging(hanging.account);
		opener->hanging[opener->hanging_cnt++] = hanging;
		opener->work.account = NULL; /* hanging's now */
	}
	work_clear(opener);
}

/* ---- asking ---- */

/* Waits until it has done with the last file, at the cost of that one. */
static void await_free(struct opener *opener)
{
	struct opener_reply reply;
	int fd = -1, err;

	if (!opener->helper.pid || opener->is_free)
		return;
	err = process_receive(opener, &opener->limits.work, &reply, &fd);
	cleanup_fd_(&fd);
	if (!err && reply.says == OPENER_IS_FREE)
		work_clear(opener);
	else if (err == -ETIMEDOUT)
		give_up(opener);
	else
		process_drop(opener);
}

/*
 * 0 and the answer: a descriptor, or the -errno of the file. -EPIPE: it has ended; -ETIMEDOUT;
 * -EBADMSG: it answers nonsense; -errno of sending.
 */
static int converse(const struct opener *opener, const struct opener_request *request, int at_fd,
		    struct opener_reply *reply, int *answer_out)
{
	size_t len = offsetof(struct opener_request, path) + strlen(request->path) + 1;
	int fd = -1;
	int err = fd_message_send(opener->helper.socket_fd, request, len, &at_fd, 1);

	if (!err)
		err = process_receive(opener, &opener->limits.work, reply, &fd);
	if (err)
		return err == -ECONNRESET ? -EPIPE : err;
	if (reply->id == request->id && reply->says == OPENER_HAS_OPENED && reply->err <= 0 &&
	    reply->err >= -ERRNO_MAX && (reply->err == 0) == (fd >= 0) &&
	    reply->head.len <= OPENER_HEAD_BYTES) {
		*answer_out = fd >= 0 ? fd : reply->err;
		return 0;
	}
	cleanup_fd_(&fd);
	return -EBADMSG;
}

/* fd or -errno, as of opener__file(). */
static int work_on(struct opener *opener, struct opener_request *request, const struct place *place,
		   int at_fd, struct opener_reply *reply)
{
	int answer, err = 0;

	for (int i = 0; i < MAX_TRIES; i++) {
		err = process_start(opener);
		if (err)
			return err;
		request->id = ++opener->last_id;
		opener->work =
			(struct work){ .place = *place, .account = account__ref(opener->account) };
		opener->is_free = false;
		err = converse(opener, request, at_fd, reply, &answer);
		if (!err)
			return answer;
		if (err == -ETIMEDOUT) {
			give_up(opener);
			return err;
		}
		process_drop(opener);
		if (err != -EPIPE)
			break;
	}
	if (err != -EPIPE && err != -EBADMSG)
		return err;
	account__note_failure(opener->account, clock_boot_ns());
	pr_warn_limited(
		"symbols: the process that opens files of containers %s; a file stays without names\n",
		err == -EPIPE ? "ended over one" : "answered nonsense");
	return -EIO;
}

static int ask_process(struct opener *opener, struct opener_request *request, int at_fd,
		       struct opener_reply *reply)
{
	struct place place;
	int err = place_of(opener, request->what, at_fd, &place);

	if (err)
		return err;
	drop_ended(opener);
	await_free(opener);
	if (place_rests(opener, &place))
		return -ETIMEDOUT;
	if (!account__may_open(opener->account, clock_boot_ns()))
		return -EBUSY;
	return work_on(opener, request, &place, at_fd, reply);
}

static int ask(struct opener *opener, struct opener_request *request, int at_fd,
	       struct stat *st_out, struct opener_head *head_out)
{
	struct opener_reply reply = { .id = 0 };
	int fd;

	request->wants_head = head_out != NULL;
	fd = ask_process(opener, request, at_fd, &reply);
	if (fd >= 0 && st_out)
		*st_out = reply.st;
	if (fd >= 0 && head_out)
		*head_out = reply.head;
	return fd;
}

int opener__reopen(struct opener *opener, int path_fd, const struct container_file_rules *rules,
		   struct stat *st_out)
{
	struct opener_request request = { .what = OPENER_REOPEN, .rules = *rules };

	return ask(opener, &request, path_fd, st_out, NULL);
}

static int ask_for_path(struct opener *opener, struct opener_request *request, int root_fd,
			const char *path, struct stat *st_out, struct opener_head *head_out)
{
	size_t len = strlen(path);

	if (len >= sizeof(request->path))
		return -ENAMETOOLONG;
	memcpy(request->path, path, len + 1);
	return ask(opener, request, root_fd, st_out, head_out);
}

int opener__file(struct opener *opener, int root_fd, const char *path,
		 const struct container_file_rules *rules, struct stat *st_out,
		 struct opener_head *head_out)
{
	struct opener_request request = { .what = OPENER_FILE, .rules = *rules };

	return ask_for_path(opener, &request, root_fd, path, st_out, head_out);
}

int opener__library(struct opener *opener, int root_fd, const char *path,
		    const struct container_file_rules *rules, struct stat *st_out,
		    struct opener_head *head_out)
{
	struct opener_request request = { .what = OPENER_LIBRARY, .rules = *rules };

	return ask_for_path(opener, &request, root_fd, path, st_out, head_out);
}

int opener__path(struct opener *opener, int root_fd, const char *path)
{
	struct opener_request request = { .what = OPENER_PATH };

	return ask_for_path(opener, &request, root_fd, path, NULL, NULL);
}
