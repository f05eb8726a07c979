// SPDX-License-Identifier: Apache-2.0
/*
 * The daily job; see daily.h. Whole days and not the last 24 hours: the answer does not depend
 * on when the job ran, running it again gives the same one, and the series gets one row per day.
 */
#include "user/daily/daily.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "user/cli/cmd_store.h"
#include "user/cli/cmd_stores.h"
#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/daily/daily_child.h"
#include "user/daily/daily_dir.h"
#include "user/daily/daily_report.h"
#include "user/daily/daily_series.h"
#include "user/daily/daily_service.h"
#include "user/daily/daily_services.h"
#include "user/host/host_name.h"
#include "user/model/event.h"
#include "user/output/info.h"
#include "user/model/event_view.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/dir_owner.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

struct days_run {
	const struct diff_cmd_options *options;
	uint32_t events; /* those of this job, as EVENT_BIT(); job.event is one of them */
	uint64_t
		end_ns; /* of the monotonic clock; services that are not done by then are given up */
	char output_dir[PATH_MAX];
	struct daily_job job;
	struct daily_dir dir;
	struct cmd_store_damage damage;
	struct daily_services services;
	struct strbuf summary;		/* what summary.json has */
	struct daily_outcome *outcomes; /* room for all services */
	size_t outcome_cnt;
};

static int fail(const struct days_run *run, const char *what, int err)
{
	if (err == -ENOMEM)
		pr_err("out of memory\n");
	else
		pr_err("'%s': %s: %s\n", run->output_dir, what, errstr(err));
	return CMD_EXIT_FAILED;
}

/* Each event has pages and series of its own: those of CPU time lie where they always did. */
static int set_output_dir(struct days_run *run)
{
	const char *dir = run->options->output_dir;
	bool is_cpu = run->job.event == EVENT_CPU;
	int len = snprintf(run->output_dir, sizeof(run->output_dir), "%s%s%s", dir,
			   is_cpu ? "" : "/", is_cpu ? "" : event_name(run->job.event));

	return len < (int)sizeof(run->output_dir) ? 0 : -ENAMETOOLONG;
}

static int set_dates(struct daily_job *job, const struct diff_cmd_options *options)
{
	int err = daily_date_before(options->now_unix_ns, 1, &job->after_last);

	if (!err)
		err = daily_date_before(options->now_unix_ns, options->days, &job->after_first);
	if (!err)
		err = daily_date_before(options->now_unix_ns, options->days + 1, &job->before_last);
	if (!err)
		err = daily_date_before(options->now_unix_ns, 2 * options->days,
					&job->before_first);
	return err;
}

/* The services with enough samples on a side to be worth a look. */
static size_t keep_busy(struct daily_services *services)
{
	size_t kept = 0;

	for (size_t i = 0; i < services->cnt; i++)
		if (services->items[i].samples_before >= DAILY_SAMPLES_MIN ||
		    services->items[i].samples_after >= DAILY_SAMPLES_MIN)
			services->items[kept++] = services->items[i];
	services->cnt = kept;
	return kept;
}

/* 0, 1 when there is nothing to compare, or -errno; says what is wrong. */
static int find_services(struct days_run *run)
{
	const struct daily_job *job = &run->job;
	const struct diff_cmd_options *options = run->options;
	struct cmd_store_range range = { .last_unix_ns = 0 };
	int err = cmd_store_range(job->reader, &range);

	run->job.store_first_unix_ns = range.first_unix_ns;
	if (!err)
		err = daily_services_list(job->reader, &options->selection,
					  job->before_first.since_unix_ns,
					  job->after_first.since_unix_ns,
					  job->after_last.until_unix_ns, &run->damage,
					  &run->services);
	if (err) {
		pr_err("the store in '%s' cannot be read: %s\n", store_source__name(job->reader),
		       store_source__failure(job->reader, err));
		return err;
	}
	if (keep_busy(&run->services) == 0) {
		pr_err("no service has %d samples of %s or more from %s to %s\n", DAILY_SAMPLES_MIN,
		       event_name(job->event), job->before_first.text, job->after_last.text);
		return 1;
	}
	if (run->services.left_out)
		pr_warn("%zu service%s with fewer samples than the first %d %s left out\n",
			run->services.left_out, info_plural(run->services.left_out),
			DAILY_SERVICES_MAX, run->services.left_out == 1 ? "was" : "were");
	run->outcomes = calloc(run->services.cnt, sizeof(*run->outcomes));
	if (run->outcomes)
		return 0;
	pr_err("out of memory\n");
	return -ENOMEM;
}

static int write_day(struct days_run *run)
{
	const struct daily_job *job = &run->job;
	char host[HOST_NAME_MAX + 1];
	__cleanup_free uint32_t *earlier = NULL;
	size_t earlier_cnt = 0;
	int err = daily_dir_earlier(&run->dir, job->after_last.number, run->options->keep_days,
				    &earlier, &earlier_cnt);

	if (err)
		return err;

	host_name(host, sizeof(host));
	/* What a server has is of many, and seldom of this one. */
	if (run->options->stores.from)
		*host = '\0';

	const struct daily_report report = {
		.host = *host ? host : NULL,
		.event = job->event,
		.events = run->events,
		.earlier = earlier,
		.earlier_cnt = earlier_cnt,
		.before_first = &job->before_first,
		.before_last = &job->before_last,
		.after_first = &job->after_first,
		.after_last = &job->after_last,
		.outcomes = run->outcomes,
		.outcome_cnt = run->outcome_cnt,
		.left_out = run->services.left_out,
	};
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	err = daily_report_html(&report, &text);
	if (!err)
		err = daily_dir_write(&run->dir, "index.html", &text);
	if (!err)
		err = daily_report_json(&report, &run->summary);
	if (!err)
		err = daily_dir_write(&run->dir, "summary.json", &run->summary);
	return err ? err : daily_dir_end(&run->dir, job->after_last.text);
}

/* What needs a look comes first. */
static int print_day(const struct days_run *run)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = 0;

	if (run->options->format == DIFF_CMD_FORMAT_JSON)
		return cmd_write(NULL, &run->summary);
	if (run->job.event != EVENT_CPU)
		strbuf_printf(&text, "%s:\n", event_title(run->job.event));
	for (int state = 0; state <= DAILY_STATE_NOT_COMPARED; state++)
		for (size_t i = 0; !err && i < run->outcome_cnt; i++)
			if ((int)run->outcomes[i].state == state)
				err = daily_report_lines(&run->outcomes[i], &text);
	return err ? fail(run, "lines", err) : cmd_write(NULL, &text);
}

static int count_state(const struct days_run *run, enum daily_state state)
{
	int cnt = 0;

	for (size_t i = 0; i < run->outcome_cnt; i++)
		cnt += run->outcomes[i].state == state;
	return cnt;
}

/* What is costly has many samples: when time is short, those that have most go without. */
static int compare_services(struct days_run *run)
{
	struct daily_budget budget = {
		.end_ns = run->end_ns,
		.outcome_bytes = DAILY_OUTCOMES_MAX,
	};
	__cleanup_free size_t *order = daily_services_order(&run->services);
	int err = order ? 0 : -ENOMEM;

	run->outcome_cnt = run->services.cnt;
	for (size_t i = 0; !err && i < run->services.cnt; i++)
		err = daily_child_run(&run->job, &run->services.items[order[i]], &budget,
				      &run->outcomes[order[i]]);
	return err;
}

static int run_services(struct days_run *run)
{
	int code;
	int err = daily_dir_begin(&run->dir, run->job.after_last.text);

	if (!err)
		err = compare_services(run);
	if (!err)
		err = write_day(run);
	if (err)
		return fail(run, "the day's pages cannot be written", err);
	cmd_store_damage_end(&run->damage);
	err = daily_dir_retain(&run->dir, run->job.after_last.number, run->options->keep_days);
	if (err)
		pr_warn("'%s': old pages cannot be deleted: %s\n", run->output_dir, errstr(err));
	code = print_day(run);
	if (code != CMD_EXIT_DONE)
		return code;
	if (run->options->fail_on && count_state(run, DAILY_STATE_REGRESSION))
		return CMD_EXIT_REGRESSION;
	return count_state(run, DAILY_STATE_FAILED) ? CMD_EXIT_FAILED : CMD_EXIT_DONE;
}

static void close_reader(struct daily_job *job)
{
	store_source__free(job->reader);
	job->reader = NULL;
}

static int run_days(struct days_run *run)
{
	int err = find_services(run);

	/* Its thread would be missing in the services' processes. */
	close_reader(&run->job);
	if (err > 0)
		return CMD_EXIT_NO_SAMPLES;
	if (err)
		return CMD_EXIT_FAILED;
	err = set_output_dir(run);
	if (!err)
		err = daily_dir_open(run->output_dir,
				     event_has_waits(run->job.event) ? DAILY_DIR_SERIES_OF_WAITS :
								       DAILY_DIR_SERIES,
				     &run->dir);
	if (err == -EWOULDBLOCK) {
		pr_err("'%s': another jbpf-diff --days is at work there; wait for it to end\n",
		       run->output_dir);
		return CMD_EXIT_FAILED;
	}
	if (err)
		return fail(run, "cannot be used; give another --output-dir", err);
	return run_services(run);
}

static int run_event(const struct diff_cmd_options *options, enum event event, uint32_t events,
		     uint64_t end_ns)
{
	struct days_run run = {
		.options = options,
		.events = events,
		.end_ns = end_ns,
		.dir = { .fd = -1, .series_fd = -1, .lock_fd = -1, .day_fd = -1 },
		.job = {
			.stores = &options->stores,
			.statistics = &options->statistics,
			.now_unix_ns = options->now_unix_ns,
			.days = options->days,
			.event = event,
		},
	};
	int code, err;

	run.job.dir = &run.dir;
	run.job.damage = &run.damage;
	if (set_dates(&run.job, options)) {
		pr_err("the clock shows no date that has days before it\n");
		return CMD_EXIT_FAILED;
	}
	err = cmd_stores_open_all(&options->stores, event, &run.job.reader);
	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	code = run_days(&run);
	for (size_t i = 0; i < run.outcome_cnt; i++)
		daily_outcome_release(&run.outcomes[i]);
	free(run.outcomes);
	strbuf_release(&run.summary);
	daily_services_release(&run.services);
	daily_dir_close(&run.dir);
	return code;
}

/* What is to be compared: the event that was asked for, else CPU time and waiting, as far as they are stored. */
static uint32_t events_of(const struct diff_cmd_options *options)
{
	const uint32_t both = EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_OFF_CPU);
	uint32_t stored = 0;

	if (options->has_event)
		return EVENT_BIT(options->event);
	/* What is wrong with the store is told when it is opened. */
	if (cmd_stores_events(&options->stores, &stored) || !(stored & both))
		return EVENT_BIT(EVENT_CPU);
	return stored & both;
}

/*
 * Of two events' exit codes the one to be told, in the order in which those of an event's services are: a regression,
 * a failure, that something was compared, that nothing was.
 */
static int worse_code(int a, int b)
{
	static const int order[] = { CMD_EXIT_REGRESSION, CMD_EXIT_FAILED, CMD_EXIT_DONE };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a;
}

/* ---- root, and the unit's user ---- */

struct owner_trial {
	const struct dir_owner *owner;
	const struct option_stores *stores;
};

/* In a child: could that user read what is compared? */
static int try_owner(int none, const void *ctx)
{
	const struct owner_trial *trial = ctx;
	uint32_t events;
	int err = dir_owner_become(trial->owner);

	(void)none;
	/* Of a server: the file with the password, too. */
	return err ? err : cmd_stores_events(trial->stores, &events);
}

/*
 * The timer's job is that of a user of its own, which could not read the pages and series that root
 * wrote between two of its runs. 0 or -errno, which was said.
 */
static int become_owner(const struct diff_cmd_options *options)
{
	struct dir_owner owner;
	const struct owner_trial trial = { .owner = &owner, .stores = &options->stores };
	int err;

	if (!dir_owner_is_another(options->output_dir, &owner))
		return 0;
	err = child_process_run(try_owner, &trial);
	if (err == -EACCES || err == -EPERM) {
		pr_warn("'%s' belongs to user %u, who may not read what is compared: what is written there is root's\n",
			options->output_dir, (unsigned)owner.uid);
		return 0;
	}
	/* Whatever else is wrong with what is compared is told where it is read. */
	err = dir_owner_become(&owner);
	if (err)
		pr_err("'%s' belongs to user %u, and root cannot become that user: %s\n",
		       options->output_dir, (unsigned)owner.uid, errstr(err));
	return err;
}

int daily_run(const struct diff_cmd_options *options)
{
	/* Of all events together: the unit has no more time. */
	const uint64_t end_ns = clock_monotonic_ns() + DAILY_RUN_S * CLOCK_NS_PER_S;
	int worst = CMD_EXIT_NO_SAMPLES;
	uint32_t events;

	if (become_owner(options))
		return CMD_EXIT_FAILED;
	events = events_of(options);

	for (int i = 0; i < EVENT_CNT; i++) {
		int code;

		if (!(events & EVENT_BIT(i)))
			continue;
		code = run_event(options, (enum event)i, events, end_ns);
		/* There is no page of it to go to. */
		if (code == CMD_EXIT_NO_SAMPLES)
			events &= ~EVENT_BIT(i);
		worst = worse_code(worst, code);
	}
	return worst;
}
