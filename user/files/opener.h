/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of containers are opened by a process of their own: a FUSE or NFS server that hangs holds
 * every process that opens a file of it, or walks a path through it, and a container may bring its
 * own. No signal ends that, not even SIGKILL. Such a process is given up after 1 s, and another one
 * is started for the next request. Its rights are few: it opens for reading, in whatever root it is
 * handed.
 *
 * It is started by the first request, and ends after a minute without requests. It needs these
 * calls in a profiler that has itself given up rights: fork, socketpair, sendmsg and recvmsg, poll,
 * kill, wait4, or a starter; in the child those of child_process.c, child_sandbox.c and
 * opener_child.c.
 *
 * Three things still ask the server: following /proc/PID/map_files on NFS, closing a file that was
 * opened, which the opener has done once before, and reading a JVM's memory where a page of a mapped
 * file is not in memory.
 *
 * There is no opening without it: nothing takes a NULL opener but opener__free(). One thread.
 *
 * In: a root and a path in it. Out: a descriptor, which is the caller's, or why there is none. The
 * symbolizer owns the opener (symbols_shared.c) and lends it to all that need files of containers.
 */
#ifndef JBPF_FILES_OPENER_H
#define JBPF_FILES_OPENER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/sandbox/helper.h"
#include "user/files/container_file.h"

#define OPENER_HEAD_BYTES  256u
#define OPENER_MAX_HANGING 32u /* of all accounts; the launcher's limit is the same */

struct account;
struct opener;

/* The first bytes of a file, which reading may wait for, too. */
struct opener_head {
	uint8_t bytes[OPENER_HEAD_BYTES];
	size_t len;
};

/* `starter` of opener_child_main() is copied. Starts nothing yet. NULL: out of memory. */
struct opener *opener__new(const struct child_starter *starter) __no_null;
/* Ends the process, and waits for none that hangs. NULL is fine. */
void opener__free(struct opener *opener);

/*
 * In a copy of the process that has it: the process that runs is the other's. It is left alone, and
 * another one started when there is a file to open.
 */
void opener__forget_process(struct opener *opener) __no_null;

/* The account for which files are opened until the next call; none until the first: nothing is opened. */
void opener__charge(struct opener *opener, struct account *account) __no_null_at(1);

/*
 * As the functions of container_file.h that are named alike. fd, which is the caller's, or -errno;
 * also -ETIMEDOUT: the server did not answer within 1 s, or did not within the last minute; -EBUSY:
 * too many files of this account hang, or of all accounts, or there is no process to open it; -EIO:
 * the process ended over it. `st_out` and `head_out` may be NULL.
 */
__must_check int opener__reopen(struct opener *opener, int path_fd,
				const struct container_file_rules *rules, struct stat *st_out)
	__no_null_at(1, 3);
__must_check int opener__file(struct opener *opener, int root_fd, const char *path,
			      const struct container_file_rules *rules, struct stat *st_out,
			      struct opener_head *head_out) __no_null_at(1, 3, 4);
__must_check int opener__library(struct opener *opener, int root_fd, const char *path,
				 const struct container_file_rules *rules, struct stat *st_out,
				 struct opener_head *head_out) __no_null_at(1, 3, 4);
__must_check int opener__path(struct opener *opener, int root_fd, const char *path) __no_null;

struct opener_stats {
	pid_t pid;	    /* 0 = none runs */
	uint64_t start_cnt; /* of processes, so far */
	size_t hanging_cnt; /* processes that were killed and have not ended */
};

/* Processes that hang are counted as they were at the last request. */
void opener__stats(const struct opener *opener, struct opener_stats *out) __no_null;

#endif
