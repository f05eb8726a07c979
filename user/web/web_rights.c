// SPDX-License-Identifier: Apache-2.0
/*
 * See web_rights.h. A store that only root may read is read as root without any capability: the
 * files are root's own. Landlock then is what keeps it from writing, so it must be there.
 */
#include "user/web/web_rights.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/sandbox_filter.h"
#include "user/store/store.h"
#include "user/util/log.h"

#define NOBODY		65534u
#define LANDLOCK_WANTED 2 /* see landlock_only_below() */

struct reader_ids {
	const char *store_dir;
	gid_t gid;
};

/* What the C library and the TLS library read to find a host and to trust it. */
#define CLIENT_PATHS                                                              \
	"/etc", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", \
		"/usr/share/ca-certificates", "/usr/lib/ssl"

static int become(const struct reader_ids *ids)
{
	if (setgroups(0, NULL) || setgid(ids->gid) || setuid(NOBODY))
		return -errno;
	return 0;
}

/* In a child: could that user read the store? */
static int try_reader(int none, const void *ctx)
{
	const struct reader_ids *ids = ctx;
	uint32_t events;
	int err = become(ids);

	(void)none;
	if (!err)
		err = store_events(ids->store_dir, &events);
	return !err && !events ? -EACCES : err;
}

/* 0: it is another user now. 1: it has to stay root. -errno */
static int drop_root(const char *store_dir, char *said, size_t said_len)
{
	struct reader_ids ids = { .store_dir = store_dir, .gid = NOBODY };
	struct stat st;
	int err;

	if (stat(store_dir, &st) == 0 && st.st_gid)
		ids.gid = st.st_gid;
	if (child_process_run(try_reader, &ids) == 0) {
		err = become(&ids);
		if (err)
			(void)snprintf(said, said_len, "the rights of root cannot be given up: %s",
				       errstr(err));
		else
			(void)snprintf(said, said_len,
				       "not as root: reads the store as user %u of group %u",
				       NOBODY, (unsigned int)ids.gid);
		return err;
	}
	if (landlock_version() < LANDLOCK_WANTED) {
		(void)snprintf(
			said, said_len,
			"only root may read the store in '%s', and this kernel has no Landlock to hold root to reading; give the store to a group (chgrp -R jbpf, chmod -R g+rX) or start as a user who may read it",
			store_dir);
		return -EPERM;
	}
	(void)snprintf(
		said, said_len,
		"only root may read the store in '%s': stays root, but without capabilities and held to reading it; a store that a group may read (chgrp -R jbpf, chmod -R g+rX) is served without root",
		store_dir);
	return 1;
}

/* Without a store there is nothing that it needs root for. */
static int drop_all(char *said, size_t said_len)
{
	const struct reader_ids nobody = { .gid = NOBODY };
	int err = become(&nobody);

	if (err)
		(void)snprintf(said, said_len, "the rights of root cannot be given up: %s",
			       errstr(err));
	return err;
}

int web_rights_of_engine(const struct remote_url *url)
{
	const struct landlock_client client = { .paths = { CLIENT_PATHS, url->ca_file },
						.port = url->port };
	const struct child_rights rights = { .client = &client,
					     .filter = sandbox_filter_load_client };
	const struct reader_ids nobody = { .gid = NOBODY };
	int err = geteuid() == 0 ? become(&nobody) : 0;

	return err ? err : child_sandbox_give_up(&rights);
}

int web_rights_give_up(const char *store_dir, char *said, size_t said_len)
{
	struct child_rights rights = {
		.landlock = landlock_read_only_below,
		.dir = store_dir,
		.filter = sandbox_filter_load,
	};
	int err = 0;

	*said = '\0';
	/* Read before files are out of reach. */
	tzset();
	if (geteuid() == 0)
		err = store_dir ? drop_root(store_dir, said, said_len) : drop_all(said, said_len);
	if (err < 0)
		return err;
	rights.needs_kernel = err == 1;
	err = child_sandbox_give_up(&rights);
	if (err)
		(void)snprintf(said, said_len, "rights cannot be given up: %s", errstr(err));
	return err;
}
