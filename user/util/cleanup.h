/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locals that release themselves when they leave scope, and the means to hand them over.
 *
 *     __cleanup_fd int fd = open(...);
 *     __cleanup_free char *text = NULL;
 *     ...
 *     *out = take_ptr(text);          ownership moves, the local becomes NULL
 */
#ifndef JBPF_UTIL_CLEANUP_H
#define JBPF_UTIL_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define __cleanup_free __attribute__((cleanup(cleanup_free_)))
#define __cleanup_fd   __attribute__((cleanup(cleanup_fd_)))
#define __cleanup_file __attribute__((cleanup(cleanup_file_)))
#define __cleanup_dir  __attribute__((cleanup(cleanup_dir_)))

static inline void cleanup_free_(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

static inline void cleanup_fd_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file_(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_dir_(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Value of `ptr`, which becomes NULL: the caller owns what it pointed to. */
#define take_ptr(ptr)                                  \
	({                                             \
		__typeof__(ptr) *taken_from_ = &(ptr); \
		__typeof__(ptr) taken_ = *taken_from_; \
		*taken_from_ = NULL;                   \
		taken_;                                \
	})

/* Closes it, where it is open; it becomes -1. */
static inline void close_fd(int *fd)
{
	cleanup_fd_(fd);
	*fd = -1;
}

/* Value of `fd`, which becomes -1: the caller owns the descriptor. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
