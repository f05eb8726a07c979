// SPDX-License-Identifier: Apache-2.0
/*
 * See child_sandbox.h. The order matters: a step that needs a right comes before the right is given
 * up, and the filter comes last, because it allows none of these steps.
 */
#include "user/sandbox/child_sandbox.h"

#include <errno.h>
#include <sys/prctl.h>

static int give_up_files(const struct child_rights *rights)
{
	int err = 0;
	bool is_missing;

	if (rights->client)
		err = landlock_client_of(rights->client);
	else if (rights->landlock)
		err = rights->landlock(rights->dir);
	is_missing = err == -ENOSYS || err == -EOPNOTSUPP;

	return is_missing && !rights->needs_kernel ? 0 : err;
}

static int give_up_calls(const struct child_rights *rights)
{
	int err = rights->filter ? rights->filter() : 0;
	bool is_missing = err == -ENOSYS || err == -EINVAL;

	return is_missing && !rights->needs_kernel ? 0 : err;
}

int child_sandbox_give_up(const struct child_rights *rights)
{
	int err = capabilities_limit(&rights->capabilities);

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = give_up_files(rights);
	return err ? err : give_up_calls(rights);
}
