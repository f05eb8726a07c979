// SPDX-License-Identifier: Apache-2.0
/* See push.h: rounds of sending, and what happens when one fails. */
#include "user/push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "user/cli/cmd_store.h"
#include "user/cli/exit_codes.h"
#include "user/cli/option_usage.h"
#include "user/output/info.h"
#include "user/push/push_cursor.h"
#include "user/push/push_metrics.h"
#include "user/push/push_options.h"
#include "user/push/push_round.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define WHY_BYTES	512
#define BACK_OFF_MIN_NS (2 * CLOCK_NS_PER_S)
#define BACK_OFF_MAX_NS (300 * CLOCK_NS_PER_S)
#define ONCE_PAUSE_NS	CLOCK_NS_PER_S
#define STATE_MODE	0755

struct push {
	struct push_options options;
	struct push_round round;
	struct strbuf cursor_path;
	uint64_t failure_cnt;
	uint64_t back_off_ns; /* 0: the last round went well */
	uint64_t asked_ns;    /* the server wants no request before; 0 = it does not say */
	bool is_checked;      /* the server is one for us */
};

/* Between a half and all of it: hosts that failed together do not come back together. */
static uint64_t with_jitter(uint64_t ns)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = clock_monotonic_ns();
	return ns / 2 + random % (ns / 2 + 1);
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
				       .tv_nsec = (long)(ns % CLOCK_NS_PER_S) };

	(void)nanosleep(&time, NULL);
}

static const struct remote_failure *failure_of(const struct push *push)
{
	return push->round.ops->failure(push->round.server);
}

static void tell_failure(struct push *push, int err)
{
	const struct remote_failure *failure = failure_of(push);

	if (err == -ENOMEM) {
		pr_err("%s\n", errstr(err));
	} else if (failure->retry_after_s) {
		push->asked_ns = failure->retry_after_s * CLOCK_NS_PER_S;
		pr_err("%s; it is to be asked again after %u s, and not before\n", failure->words,
		       failure->retry_after_s);
	} else {
		pr_err("%s\n", failure->words);
	}
}

/* One round, with the server's check before the first. 0, or -errno that is told. */
static int try_round(struct push *push)
{
	const struct push_server_ops *ops = push->round.ops;
	struct push_clock clock;
	int err = 0;

	push->asked_ns = 0;
	if (!push->is_checked && ops->check)
		err = ops->check(push->round.server);
	push->round.is_server_failure = err != 0;
	if (err == -EPROTONOSUPPORT)
		return err;
	if (!err) {
		push->is_checked = true;
		push_round_read_clock(&clock);
		err = push_round(&push->round, &clock);
		if (err && !push->round.is_server_failure)
			return err;
	}
	if (err)
		tell_failure(push, err);
	return err;
}

static void report(struct push *push)
{
	int err;

	if (!push->options.metrics)
		return;
	err = push_metrics_write(push->options.metrics, &push->round, push->failure_cnt);
	if (err)
		pr_warn("--metrics '%s': %s\n", push->options.metrics, errstr(err));
}

static int push_once(struct push *push)
{
	const struct push_send_stats *stats = &push->round.sent;
	int err = try_round(push);

	push->failure_cnt += err != 0;
	/* The next one would begin with its first try again, and come no further. */
	while (err && push->round.unreadable.is_waiting) {
		sleep_ns(ONCE_PAUSE_NS);
		err = try_round(push);
		push->failure_cnt += err != 0;
	}
	report(push);
	if (err)
		return CMD_EXIT_FAILED;
	printf("sent %" PRIu64 " window%s, %" PRIu64 " row%s of samples, %" PRIu64 " stack%s\n",
	       stats->window_rows, info_plural(stats->window_rows), stats->sample_rows,
	       info_plural(stats->sample_rows), stats->stack_rows, info_plural(stats->stack_rows));
	if (!stats->window_rows && push->round.newest_ns > push->round.reached_ns)
		pr_info("the newest windows wait until their minute is complete; run it again in some minutes, or without --once\n");
	return cmd_store_damage_code(&push->round.damage, CMD_EXIT_DONE);
}

/* Ends only when a person is needed. */
static int push_for_ever(struct push *push)
{
	for (;;) {
		int err = try_round(push);

		push->failure_cnt += err != 0;
		report(push);
		if (err && !push_round_is_passing(&push->round, err))
			return CMD_EXIT_FAILED;
		if (!err) {
			push->back_off_ns = 0;
			sleep_ns(with_jitter(push->options.interval_ns) +
				 push->options.interval_ns / 4);
			continue;
		}
		push->back_off_ns = push->back_off_ns ? 2 * push->back_off_ns : BACK_OFF_MIN_NS;
		if (push->back_off_ns > BACK_OFF_MAX_NS)
			push->back_off_ns = BACK_OFF_MAX_NS;
		sleep_ns(push->asked_ns + with_jitter(push->back_off_ns));
	}
}

/* The cursor, and a folder to keep it in. */
static int prepare(struct push *push)
{
	const struct push_options *options = &push->options;
	int err = fs_mkdir_all(options->state, STATE_MODE);

	if (err) {
		pr_err("--state '%s': %s\n", options->state, errstr(err));
		return err;
	}
	err = push_cursor_path(options->state, push->round.ops->name(push->round.server),
			       options->store, &push->cursor_path);
	if (!err)
		err = push_cursor_read(push->cursor_path.data, &push->round.place.saved_ns);
	if (err == -EBADMSG)
		pr_err("'%s' does not say how far it came: remove it, and all of the store is sent again\n",
		       push->cursor_path.data);
	else if (err)
		pr_err("--state '%s': %s\n", options->state, errstr(err));
	push->round.place.cursor_ns = push->round.place.saved_ns;
	push->round.store = options->store;
	push->round.cursor_path = push->cursor_path.data;
	return err;
}

static int run(struct push *push)
{
	char why[WHY_BYTES];
	int code;

	push->round.ops = push_server_ops_of(push->options.url);
	if (push->options.init && !push->round.ops->init) {
		pr_err("--init: only ClickHouse has tables to make; send without it\n");
		return CMD_EXIT_USAGE;
	}
	if (push->round.ops->open(push->options.url, &push->round.server, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_FAILED;
	}
	if (push->options.init)
		return push->round.ops->init(push->round.server) ? CMD_EXIT_FAILED : CMD_EXIT_DONE;
	code = prepare(push) ? CMD_EXIT_FAILED : CMD_EXIT_DONE;
	if (!code)
		code = push->options.once ? push_once(push) : push_for_ever(push);
	return code;
}

int push_run(int argc, char **argv)
{
	struct push push = { 0 };
	char why[WHY_BYTES];
	int code;

	if (push_options_parse(argc, argv, &push.options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (push.options.info.help || push.options.info.version)
		return option_usage_print(&push_option_table, &push.options.info);
	code = run(&push);
	push_round_release(&push.round);
	strbuf_release(&push.cursor_path);
	return code;
}
