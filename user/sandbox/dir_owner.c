// SPDX-License-Identifier: Apache-2.0
/* Whose directory it is, and how root becomes that user; see dir_owner.h. */
#include "user/sandbox/dir_owner.h"

#include <errno.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

bool dir_owner_is_another(const char *dir, struct dir_owner *out)
{
	struct stat st;

	if (geteuid() != 0 || stat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid == 0)
		return false;
	*out = (struct dir_owner){ .uid = st.st_uid, .gid = st.st_gid };
	return true;
}

int dir_owner_become(const struct dir_owner *owner)
{
	if (setgroups(0, NULL) || setgid(owner->gid) || setuid(owner->uid))
		return -errno;
	return 0;
}
