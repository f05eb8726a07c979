/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root at work in the directory of a service that has a user of its own. What root makes there that
 * user may not read or replace later, and what that user put there root would follow.
 */
#ifndef JBPF_SANDBOX_DIR_OWNER_H
#define JBPF_SANDBOX_DIR_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "user/util/attributes.h"

struct dir_owner {
	uid_t uid;
	gid_t gid; /* the directory's group */
};

/* This is root, and the directory is there and another user's: then *out is that user. */
bool dir_owner_is_another(const char *dir, struct dir_owner *out);

/* Becomes that user for good. 0 or -errno. For processes of one thread. */
__must_check int dir_owner_become(const struct dir_owner *owner);

#endif
