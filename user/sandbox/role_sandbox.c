// SPDX-License-Identifier: Apache-2.0
/* See role_sandbox.h. */
#include "user/sandbox/role_sandbox.h"

#include <malloc.h>
#include <stdio.h>

#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/sandbox_filter.h"

int role_sandbox_launcher(bool attaches)
{
	const struct child_rights kept = {
		.capabilities = daemon_sandbox_naming(attaches),
		.filter = sandbox_filter_load,
	};
	int err;

	/* Its children cannot do it: that takes CAP_SETPCAP. Without it there is still no_new_privs. */
	(void)capabilities_empty_bounding();
	err = child_sandbox_give_up(&kept);
	(void)malloc_trim(0);
	return err;
}

static int filter_namer(void)
{
	return sandbox_filter_narrow(SANDBOX_ROLE_NAMER);
}

int role_sandbox_namer(void)
{
	const struct child_rights kept = {
		.capabilities = daemon_sandbox_naming(false),
		.filter = filter_namer,
	};
	int err = child_sandbox_give_up(&kept);

	(void)malloc_trim(0);
	return err;
}

static int filter_asker(void)
{
	return sandbox_filter_narrow(SANDBOX_ROLE_ASKER);
}

int role_sandbox_asker(int tmp_fd)
{
	char dir[32];
	const struct child_rights kept = {
		.landlock = landlock_only_below,
		.dir = dir,
		.filter = filter_asker,
	};

	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", tmp_fd);
	return child_sandbox_give_up(&kept);
}
