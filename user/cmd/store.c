// SPDX-License-Identifier: Apache-2.0
/* jbpf store: check and compact on demand; jbpfd compacts by itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "user/cmd/cmd.h"
#include "user/cli/option_usage.h"
#include "user/cmd/store_check.h"
#include "user/cmd/store_options.h"
#include "user/output/info.h"
#include "user/sandbox/dir_owner.h"
#include "user/store/store.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define STORE_WHY_BYTES	     256
#define PROGRESS_INTERVAL_NS CLOCK_NS_PER_S
#define MIB		     (1024.0 * 1024.0)

struct progress {
	const struct store_compaction_stats *stats; /* as they grow */
	uint64_t reported_ns;
	bool is_wanted; /* stderr is a terminal */
	bool has_line;
};

static void print_stats(FILE *out, const struct store_compaction_stats *stats)
{
	fprintf(out,
		"%" PRIu64 " hour%s and %" PRIu64 " day%s merged, %" PRIu64
		" sample%s, %.1f MiB are now %.1f MiB",
		stats->hours, info_plural(stats->hours), stats->days, info_plural(stats->days),
		stats->samples, info_plural(stats->samples), (double)stats->bytes_before / MIB,
		(double)stats->bytes_after / MIB);
}

/* Called between steps: prints the progress from time to time. */
static bool report_progress(void *ctx)
{
	struct progress *progress = ctx;
	uint64_t now_ns = clock_monotonic_ns();

	if (!progress->is_wanted || now_ns - progress->reported_ns < PROGRESS_INTERVAL_NS)
		return false;
	progress->reported_ns = now_ns;
	progress->has_line = true;
	fputc('\r', stderr);
	print_stats(stderr, progress->stats);
	fflush(stderr);
	return false;
}

static void explain(const char *dir, int err)
{
	char why[STORE_WHY_BYTES];

	switch (err) {
	case -EUCLEAN:
		if (store_dir_check(dir, why, sizeof(why)) != -EPERM)
			(void)snprintf(why, sizeof(why), "others may write to it");
		pr_err("the store in '%s' is not safe from others: %s\n", dir, why);
		break;
	case -ENOENT:
		pr_err("there is no store in '%s'; is jbpfd running, or is it another --store?\n",
		       dir);
		break;
	case -EWOULDBLOCK:
		pr_err("the store in '%s' is being compacted already, by jbpfd or somebody else; wait for it\n",
		       dir);
		break;
	case -EACCES:
	case -EPERM:
	case -EROFS:
		pr_err("the store in '%s' cannot be written: %s; try as root, where it is writable\n",
		       dir, errstr(err));
		break;
	case -ENOSPC:
	case -EDQUOT:
		pr_err("the store in '%s' was not compacted to its end: %s; free some space and try again, nothing is lost\n",
		       dir, errstr(err));
		break;
	default:
		pr_err("the store in '%s' was not compacted to its end: %s; see what jbpf store check says\n",
		       dir, errstr(err));
	}
}

/*
 * When jbpfd has a user of its own, root merges its store as that user: the new files are that user's,
 * and a user who may write there gains no right of root. When it fails the store is refused.
 */
static void become_owner(const char *dir)
{
	struct dir_owner owner;

	if (dir_owner_is_another(dir, &owner))
		(void)!dir_owner_become(&owner);
}

static int compact(const char *dir)
{
	struct store_compaction_stats stats = { 0 };
	struct progress progress = { .stats = &stats, .is_wanted = isatty(STDERR_FILENO) };
	const struct store_compaction how = {
		.now_unix_ns = clock_unix_ns(),
		.is_clock_sure = true, /* a user asks for it, perhaps for a store of another host */
		.keep_ticks_ns = UINT64_MAX, /* jbpfd knows for how long */
		.should_stop = report_progress,
		.ctx = &progress,
	};
	int err;

	progress.reported_ns = clock_monotonic_ns();
	become_owner(dir);
	err = store_compact(dir, &how, &stats);
	if (progress.has_line)
		fputc('\n', stderr);
	if (!err || stats.hours || stats.days) {
		print_stats(stdout, &stats);
		fputc('\n', stdout);
	}
	if (stats.damaged)
		pr_warn("%" PRIu64
			" damaged place%s could not be carried over; the merged files keep a note of them, and %" PRIu64
			" damaged file%s kept as *.damaged\n",
			stats.damaged, info_plural(stats.damaged), stats.kept,
			stats.kept == 1 ? " is" : "s are");
	if (stats.left)
		pr_warn("%" PRIu64 "%s\n", stats.left,
			stats.left == 1 ? " hour or day stays as it is" :
					  " hours or days stay as they are");
	if (err)
		explain(dir, err);
	return err ? CMD_EXIT_FAILED : CMD_EXIT_DONE;
}

int cmd_store(int argc, char **argv)
{
	struct store_options options;
	char why[STORE_WHY_BYTES];

	if (store_options_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&store_option_table, &options.info);
	if (options.verb == STORE_VERB_CHECK)
		return store_check(options.store, options.json);
	return compact(options.store);
}
