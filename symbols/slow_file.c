// SPDX-License-Identifier: Apache-2.0
/* Requests that a thread of their own works on; see slow_file.h. */
#include "symbols/slow_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/deadline_call.h"
#include "user/util/log.h"

#define TIMEOUT_NS (CLOCK_NS_PER_S)
#define REST_NS	   (60 * CLOCK_NS_PER_S)
#define PLACES_MAX 16u

enum slow_what {
	SLOW_REOPEN,
	SLOW_FILE,
	SLOW_LIBRARY,
	SLOW_PATH,
};

struct slow_request {
	enum slow_what what;
	int at_fd; /* its own */
	char path[PATH_MAX];
	struct container_file_rules rules;
	bool wants_head;

	int result; /* fd or -errno */
	struct stat st;
	struct slow_file_head head;
};

/* Where somebody waited in vain: a file system, or paths of one root. */
struct slow_place {
	dev_t device;
	ino_t inode; /* 0 = all of the file system */
	uint64_t until_boot_ns;
};

/* Only the thread that asks looks at these. */
static struct slow_place places[PLACES_MAX];
static size_t next_place;

/* ---- on the thread ---- */

static int request_open(struct slow_request *request)
{
	switch (request->what) {
	case SLOW_REOPEN:
		return container_file_reopen(request->at_fd, &request->rules, &request->st);
	case SLOW_FILE:
		return container_file_open(request->at_fd, request->path, &request->rules,
					   &request->st);
	case SLOW_LIBRARY:
		return container_library_open(request->at_fd, request->path, &request->rules,
					      &request->st);
	case SLOW_PATH:
	default:
		return container_path_open(request->at_fd, request->path);
	}
}

static void request_run(void *ctx)
{
	struct slow_request *request = ctx;
	ssize_t got;

	request->result = request_open(request);
	if (request->result < 0 || !request->wants_head)
		return;
	got = pread(request->result, request->head.bytes, sizeof(request->head.bytes), 0);
	request->head.len = got > 0 ? (size_t)got : 0;
}

static void request_free(void *ctx)
{
	struct slow_request *request = ctx;

	if (request->at_fd >= 0)
		close(request->at_fd);
	if (request->result >= 0)
		close(request->result);
	free(request);
}

static const struct deadline_work request_work = { .run = request_run, .release = request_free };

/* ---- where it hangs ---- */

static bool place_rests(const struct slow_place *place)
{
	uint64_t now_ns = clock_boot_ns();

	for (size_t i = 0; i < PLACES_MAX; i++)
		if (places[i].until_boot_ns > now_ns && places[i].device == place->device &&
		    places[i].inode == place->inode)
			return true;
	return false;
}

static void place_note(const struct slow_place *place)
{
	places[next_place] = *place;
	places[next_place].until_boot_ns = clock_boot_ns() + REST_NS;
	next_place = (next_place + 1) % PLACES_MAX;
	pr_warn_limited(
		"symbols: the server of a file system (%u:%u) does not answer: files there stay without names\n",
		major(place->device), minor(place->device));
}

/* 0 or -errno. */
static int place_of(const struct slow_request *request, struct slow_place *out)
{
	struct stat st;
	int err = container_file_stat(request->at_fd, &st);

	if (err)
		return err;
	*out = (struct slow_place){
		.device = st.st_dev,
		.inode = request->what == SLOW_REOPEN ? 0 : st.st_ino,
	};
	return 0;
}

/* ---- asking ---- */

static struct slow_request *request_new(enum slow_what what, int at_fd, const char *path,
					const struct container_file_rules *rules)
{
	struct slow_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->what = what;
	request->result = -1;
	if (rules)
		request->rules = *rules;
	snprintf(request->path, sizeof(request->path), "%s", path);
	request->at_fd = fcntl(at_fd, F_DUPFD_CLOEXEC, 0);
	return request;
}

/* Takes the request over. fd or -errno. */
static int request_ask(struct slow_request *request, struct stat *st_out,
		       struct slow_file_head *head_out)
{
	struct slow_place place;
	int err = request->at_fd < 0 ? -EBADF : place_of(request, &place);
	int fd;

	if (!err && place_rests(&place))
		err = -ETIMEDOUT;
	if (err) {
		request_free(request);
		return err;
	}
	err = deadline_call(&request_work, request, TIMEOUT_NS);
	if (err == -ETIMEDOUT)
		place_note(&place);
	if (err)
		return err;
	fd = request->result;
	request->result = -1;
	if (fd >= 0 && st_out)
		*st_out = request->st;
	if (fd >= 0 && head_out)
		*head_out = request->head;
	request_free(request);
	return fd;
}

int slow_file_reopen(int path_fd, const struct container_file_rules *rules, struct stat *st_out)
{
	struct slow_request *request = request_new(SLOW_REOPEN, path_fd, "", rules);

	return request ? request_ask(request, st_out, NULL) : -ENOMEM;
}

static int ask_for_path(enum slow_what what, int root_fd, const char *path,
			const struct container_file_rules *rules, struct stat *st_out,
			struct slow_file_head *head_out)
{
	struct slow_request *request;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	request = request_new(what, root_fd, path, rules);
	if (!request)
		return -ENOMEM;
	request->wants_head = head_out != NULL;
	return request_ask(request, st_out, head_out);
}

int slow_file_open(int root_fd, const char *path, const struct container_file_rules *rules,
		   struct stat *st_out, struct slow_file_head *head_out)
{
	return ask_for_path(SLOW_FILE, root_fd, path, rules, st_out, head_out);
}

int slow_library_open(int root_fd, const char *path, const struct container_file_rules *rules,
		      struct stat *st_out, struct slow_file_head *head_out)
{
	return ask_for_path(SLOW_LIBRARY, root_fd, path, rules, st_out, head_out);
}

int slow_path_open(int root_fd, const char *path)
{
	return ask_for_path(SLOW_PATH, root_fd, path, NULL, NULL, NULL);
}
