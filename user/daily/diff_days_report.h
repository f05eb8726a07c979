/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a day's comparisons came to, as lines for a terminal or a mail, as a page with links, and as
 * JSON (DIFF-DAYS.md). Names are hostile until they are escaped here.
 */
#ifndef JBPF_DAILY_DIFF_DAYS_REPORT_H
#define JBPF_DAILY_DIFF_DAYS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/daily/diff_days_date.h"
#include "user/daily/diff_days_services.h"
#include "user/daily/diff_days_spark.h"
#include "user/model/event.h"
#include "user/util/strbuf.h"

#define DIFF_DAYS_ALARMS_SHOWN 10 /* of one service, on a terminal and on the day's page */

enum diff_days_state {
	DIFF_DAYS_STATE_FAILED = 0,   /* it could not be read or written */
	DIFF_DAYS_STATE_REGRESSION,   /* there are alarms */
	DIFF_DAYS_STATE_QUIET,	      /* compared, and nothing to say */
	DIFF_DAYS_STATE_LEARNING,     /* compared, but too few earlier days for alarms */
	DIFF_DAYS_STATE_NOT_COMPARED, /* says why */
};

enum diff_days_alarm_kind {
	DIFF_DAYS_ALARM_REGRESSION = 0, /* against the day before */
	DIFF_DAYS_ALARM_STEP,		/* of the series */
	DIFF_DAYS_ALARM_CREEP,
};

struct diff_days_alarm {
	enum diff_days_alarm_kind kind;
	enum event event;
	char *method;	     /* owner: the outcome */
	char *origin;	     /* the method it comes from; NULL = itself */
	uint32_t caller_cnt; /* of methods that changed only because they call it */
	bool is_self;	     /* else with what it calls */
	double change;	     /* relative */
	double low;	     /* 95 %; NaN = not known */
	double high;
	double share_before;
	double share_after;
	uint32_t first_day; /* STEP, CREEP */
	uint32_t last_day;
	double shares[DIFF_DAYS_SPARK_DAYS]; /* the last days, diff_days_spark_read() */
};

/* Zero-initialise; end with diff_days_outcome_release(). */
struct diff_days_outcome {
	const struct diff_days_service *service; /* borrowed */
	enum diff_days_state state;
	char *why;     /* one line: what was wrong, or NULL */
	bool has_page; /* SERVICE.html and SERVICE.json were written */
	struct diff_days_alarm *alarms;
	size_t alarm_cnt;
	struct diff_days_alarm *known; /* changes of the series that are no news */
	size_t known_cnt;
	char *image_before; /* NULL = not known */
	char *image_after;
	uint32_t history_pairs;
	double detectable; /* relative; median of methods with 1 % and more; NaN = not known */
};

struct diff_days_report {
	const struct diff_days_date *before_first;
	const struct diff_days_date *before_last;
	const struct diff_days_date *after_first;
	const struct diff_days_date *after_last;
	const struct diff_days_outcome *outcomes;
	size_t outcome_cnt;
	size_t left_out;  /* services */
	const char *host; /* NULL = not known */
	enum event event;
	uint32_t events;	 /* of the job, as EVENT_BIT(): each has such pages */
	const uint32_t *earlier; /* days that have a page beside this one, newest first */
	size_t earlier_cnt;
};

void diff_days_outcome_release(struct diff_days_outcome *outcome);

/* Its state, and why. 0 or -ENOMEM. */
__must_check int diff_days_outcome_say(struct diff_days_outcome *outcome,
				       enum diff_days_state state, const char *format, ...)
	__printf_like(3, 4);

/* The words for a state: "regression", "no regression", ... */
const char *diff_days_state_name(enum diff_days_state state);

/* "shop.Cart.add: +4.1 % since 2026-11-03 (creep over 5 days)"; the name is as it came. */
void diff_days_alarm_text(const struct diff_days_alarm *alarm, struct strbuf *out);

/* Lines of one service, for standard output. 0 or -ENOMEM, like all below. */
__must_check int diff_days_report_lines(const struct diff_days_outcome *outcome,
					struct strbuf *out);
__must_check int diff_days_report_html(const struct diff_days_report *report, struct strbuf *out);
__must_check int diff_days_report_json(const struct diff_days_report *report, struct strbuf *out);

#endif
