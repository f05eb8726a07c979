/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of opener.c: whoever is given this opener has files opened in the test's own process,
 * however long that takes. A program that includes it has no other opener.
 */
#ifndef JBPF_TESTS_OPEN_HERE_H
#define JBPF_TESTS_OPEN_HERE_H

#include <errno.h>
#include <string.h>

#include "user/files/opener.h"
#include "user/files/opener_child.h"

struct opener {
	char nothing;
};

static inline struct opener *opener_here(void)
{
	static struct opener here;

	return &here;
}

/* What opening any file gives, as when no opener can be started; 0: the file. */
static int open_here_err;

/* Where no process is started. */
static const struct child_starter starter_of_none;

struct opener *opener__new(const struct child_starter *starter)
{
	(void)starter;
	return opener_here();
}

void opener__free(struct opener *opener)
{
	(void)opener;
}

void opener__forget_process(struct opener *opener)
{
	(void)opener;
}

void opener__charge(struct opener *opener, struct account *account)
{
	(void)opener;
	(void)account;
}

void opener__stats(const struct opener *opener, struct opener_stats *out)
{
	(void)opener;
	*out = (struct opener_stats){ 0 };
}

/* `path` NULL: the file at_fd itself. fd or -errno. */
static inline int open_here(enum opener_what what, int at_fd, const char *path,
			    const struct container_file_rules *rules, struct stat *st_out,
			    struct opener_head *head_out)
{
	struct opener_request request = { .what = what, .wants_head = head_out != NULL };
	struct opener_reply reply = { .id = 0 };
	int fd;

	if (open_here_err)
		return open_here_err;
	if (rules)
		request.rules = *rules;
	if (path && strlen(path) >= sizeof(request.path))
		return -ENAMETOOLONG;
	if (path)
		strcpy(request.path, path);
	fd = opener_child_open(&request, at_fd, &reply);
	if (fd >= 0 && st_out)
		*st_out = reply.st;
	if (fd >= 0 && head_out)
		*head_out = reply.head;
	return fd;
}

int opener__reopen(struct opener *opener, int path_fd, const struct container_file_rules *rules,
		   struct stat *st_out)
{
	(void)opener;
	return open_here(OPENER_REOPEN, path_fd, NULL, rules, st_out, NULL);
}

int opener__file(struct opener *opener, int root_fd, const char *path,
		 const struct container_file_rules *rules, struct stat *st_out,
		 struct opener_head *head_out)
{
	(void)opener;
	return open_here(OPENER_FILE, root_fd, path, rules, st_out, head_out);
}

int opener__library(struct opener *opener, int root_fd, const char *path,
		    const struct container_file_rules *rules, struct stat *st_out,
		    struct opener_head *head_out)
{
	(void)opener;
	return open_here(OPENER_LIBRARY, root_fd, path, rules, st_out, head_out);
}

int opener__path(struct opener *opener, int root_fd, const char *path)
{
	(void)opener;
	return open_here(OPENER_PATH, root_fd, path, NULL, NULL, NULL);
}

#endif
