// SPDX-License-Identifier: Apache-2.0
/*
 * See daemon_sandbox.h. Each step that cannot be undone is tried in a child first, so that an error
 * of a later call is found now, with its reason.
 */
#include "user/sandbox/daemon_sandbox.h"

#include <errno.h>
#include <malloc.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/sandbox_filter.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define NAMING                                                                  \
	(CAPABILITY_BIT(CAP_SYS_PTRACE) | CAPABILITY_BIT(CAP_DAC_READ_SEARCH) | \
	 CAPABILITY_BIT(CAP_CHECKPOINT_RESTORE))
#define ATTACHING (CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID))

struct capabilities daemon_sandbox_naming(bool attaches)
{
	return (struct capabilities){
		.effective = NAMING,
		.permitted = attaches ? NAMING | ATTACHING : NAMING,
	};
}

/* ---- trying ---- */

struct trial {
	const struct capabilities *kept;
	int (*attempt)(const void *ctx);
	const void *ctx;
};

static int trial_main(int none, const void *ctx)
{
	const struct trial *trial = ctx;
	int err = capabilities_limit(trial->kept);

	(void)none;
	return err ? err : trial->attempt(trial->ctx);
}

/* The result of `attempt` with these capabilities and no others. 0 or -errno. */
static int try_with(const struct capabilities *kept, int (*attempt)(const void *ctx),
		    const void *ctx)
{
	const struct trial trial = { .kept = kept, .attempt = attempt, .ctx = ctx };

	return child_process_run(trial_main, &trial);
}

static int try_dir(const void *ctx)
{
	return faccessat(AT_FDCWD, ctx, W_OK | X_OK, AT_EACCESS) ? -errno : 0;
}

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES;
}

/* Adds the capabilities that bpf() calls on open maps need here, if any. */
static int plan_maps(const struct daemon_sandbox_needs *needs, struct capabilities *kept, char *why,
		     size_t why_len)
{
	static const uint64_t more[] = { 0, CAPABILITY_BIT(CAP_BPF),
					 CAPABILITY_BIT(CAP_SYS_ADMIN) };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		const struct capabilities tried = {
			.effective = kept->effective | more[i],
			.permitted = kept->permitted | more[i],
		};

		err = try_with(&tried, needs->try_maps, needs->ctx);
		if (!err)
			*kept = tried;
		if (!is_refusal(err))
			break;
	}
	if (err)
		snprintf(
			why, why_len,
			"BPF maps cannot be read once privileges are dropped: %s; a security module may forbid it",
			errstr(err));
	return err;
}

static int plan_store(const struct daemon_sandbox_needs *needs, const struct capabilities *kept,
		      char *why, size_t why_len)
{
	char versions[PATH_MAX];
	const char *const dirs[] = { needs->store_dir, versions };

	(void)snprintf(versions, sizeof(versions), "%s/v1", needs->store_dir);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int err = try_with(kept, try_dir, dirs[i]);
		struct stat st;

		if (!err || err == -ENOENT)
			continue;
		if (stat(dirs[i], &st) == 0 && st.st_uid != geteuid())
			snprintf(
				why, why_len,
				"store '%s' belongs to user %u, and the right to write files of others is dropped after loading; chown it to user %u",
				dirs[i], st.st_uid, geteuid());
		else
			snprintf(why, why_len,
				 "store '%s' cannot be written once privileges are dropped: %s",
				 dirs[i], errstr(err));
		return err;
	}
	return 0;
}

int daemon_sandbox_plan(const struct daemon_sandbox_needs *needs, struct capabilities *out,
			char *why, size_t why_len)
{
	struct capabilities kept = { 0 };
	struct capabilities held;
	int err = capabilities_read(&held);

	if (err) {
		snprintf(why, why_len, "capabilities cannot be read: %s", errstr(err));
		return err;
	}
	if (needs->names)
		kept = daemon_sandbox_naming(needs->attaches);
	kept.permitted |= needs->aside;
	if (needs->try_maps)
		err = plan_maps(needs, &kept, why, why_len);
	if (!err && needs->store_dir)
		err = plan_store(needs, &kept, why, why_len);
	if (err)
		return err;
	out->permitted = kept.permitted & held.permitted;
	out->effective = kept.effective & held.effective;
	return 0;
}

/* ---- giving up ---- */

int daemon_sandbox_enter(const struct daemon_sandbox_needs *needs, struct daemon_sandbox *out,
			 char *why, size_t why_len)
{
	struct daemon_sandbox sandbox;
	int err = daemon_sandbox_plan(needs, &sandbox.kept, why, why_len);

	if (!err)
		err = capabilities_read(&sandbox.held);
	if (err)
		return err;
	/* Capabilities are a thread's: another one would keep its own. */
	if (!child_process_has_one_thread()) {
		snprintf(why, why_len,
			 "privileges cannot be dropped: a second thread runs, or /proc is missing");
		return -EBUSY;
	}
	err = capabilities_limit(&sandbox.kept);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (err) {
		snprintf(why, why_len, "privileges cannot be dropped: %s", errstr(err));
		return err;
	}
	sandbox.landlock_err = needs->store_dir ? landlock_write_only_below(needs->store_dir) : 0;
	sandbox.filter_err = sandbox_filter_load();
	if (!sandbox.filter_err && !needs->names)
		sandbox.filter_err = sandbox_filter_narrow(SANDBOX_ROLE_SAMPLER);
	(void)malloc_trim(0);
	*out = sandbox;
	return 0;
}

void daemon_sandbox_log(const struct daemon_sandbox *sandbox, bool attaches)
{
	const struct capabilities naming = daemon_sandbox_naming(attaches);
	uint64_t aside = naming.permitted & ~naming.effective & sandbox->held.permitted;
	const uint64_t bpf = CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_SYS_ADMIN);
	__cleanup_strbuf struct strbuf names = STRBUF_INIT;
	__cleanup_strbuf struct strbuf asides = STRBUF_INIT;

	if (capabilities_append_names(naming.effective & sandbox->held.permitted, &names) ||
	    capabilities_append_names(aside, &asides))
		return;
	pr_info("privileges: dropped; the process that looks into others keeps %s%s%s%s%s\n",
		strbuf_str(&names), aside ? "; the processes that ask JVMs keep " : "",
		aside ? strbuf_str(&asides) : "",
		sandbox->filter_err ? "" : "; system calls are filtered",
		sandbox->landlock_err ? "" : "; files are written in the store only");
	if (sandbox->kept.effective & bpf)
		pr_info("privileges: this kernel asks for CAP_BPF at every access to a BPF map (before 5.19, kernel.unprivileged_bpf_disabled): it is kept\n");
	if (sandbox->filter_err)
		pr_warn("privileges: system calls are not filtered: %s; the kernel needs CONFIG_SECCOMP_FILTER\n",
			errstr(sandbox->filter_err));
	if (sandbox->landlock_err)
		pr_warn("privileges: the kernel does not protect files outside the store: %s; it needs Landlock (5.19, CONFIG_SECURITY_LANDLOCK)\n",
			errstr(sandbox->landlock_err));
}

int daemon_sandbox_confine(const char *dir)
{
	const struct child_rights kept = { .landlock = landlock_only_below, .dir = dir };

	return child_sandbox_give_up(&kept);
}
