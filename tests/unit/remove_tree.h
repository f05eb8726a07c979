/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a test and all that is in it is removed. */
#ifndef JBPF_TESTS_REMOVE_TREE_H
#define JBPF_TESTS_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_tree_entry(const char *path, const struct stat *st, int type,
				    struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* 0 when it is gone. Links are not followed. */
static inline int remove_tree(const char *path)
{
	return nftw(path, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
