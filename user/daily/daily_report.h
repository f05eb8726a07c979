/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a day's comparisons came to, as lines for a terminal or a mail, as a page with links, and as
 * JSON (DAILY.md). Names are hostile until they are escaped here.
 */
#ifndef JBPF_DAILY_REPORT_H
#define JBPF_DAILY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/daily/daily_date.h"
#include "user/daily/daily_services.h"
#include "user/daily/daily_spark.h"
#include "user/model/event.h"
#include "user/util/strbuf.h"

#define DAILY_ALARMS_SHOWN 10 /* of one service, on a terminal and on the day's page */

enum daily_state {
	DAILY_STATE_FAILED = 0,	  /* it could not be read or written */
	DAILY_STATE_REGRESSION,	  /* there are alarms */
	DAILY_STATE_QUIET,	  /* compared, and nothing to say */
	DAILY_STATE_LEARNING,	  /* compared, but too few earlier days for alarms */
	DAILY_STATE_NOT_COMPARED, /* says why */
};

enum daily_alarm_kind {
	DAILY_ALARM_REGRESSION = 0, /* against the day before */
	DAILY_ALARM_STEP,	    /* of the series */
	DAILY_ALARM_CREEP,
};

struct daily_alarm {
	enum daily_alarm_kind kind;
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
	double shares[DAILY_SPARK_DAYS]; /* the last days, daily_spark_read() */
};

/* Zero-initialise; end with daily_outcome_release(). */
struct daily_outcome {
	const struct daily_service *service; /* borrowed */
	enum daily_state state;
	char *why;     /* one line: what was wrong, or NULL */
	bool has_page; /* SERVICE.html and SERVICE.json were written */
	struct daily_alarm *alarms;
	size_t alarm_cnt;
	struct daily_alarm *known; /* changes of the series that are no news */
	size_t known_cnt;
	char *image_before; /* NULL = not known */
	char *image_after;
	uint32_t history_pairs;
	double detectable; /* relative; median of methods with 1 % and more; NaN = not known */
	double told_p_max; /* for daily_series_set_judged(), by the process that compared; stays there */
};

struct daily_report {
	const struct daily_date *before_first;
	const struct daily_date *before_last;
	const struct daily_date *after_first;
	const struct daily_date *after_last;
	const struct daily_outcome *outcomes;
	size_t outcome_cnt;
	size_t left_out;  /* services */
	const char *host; /* NULL = not known */
	enum event event;
	uint32_t events;	 /* of the job, as EVENT_BIT(): each has such pages */
	const uint32_t *earlier; /* days that have a page beside this one, newest first */
	size_t earlier_cnt;
};

void daily_outcome_release(struct daily_outcome *outcome);

/* Its state, and why. 0 or -ENOMEM. */
__must_check int daily_outcome_say(struct daily_outcome *outcome, enum daily_state state,
				   const char *format, ...) __printf_like(3, 4);

/* The words for a state: "regression", "no regression", ... */
const char *daily_state_name(enum daily_state state);

/* "shop.Cart.add: +4.1 % since 2026-11-03 (creep over 5 days)"; the name is as it came. */
void daily_alarm_text(const struct daily_alarm *alarm, struct strbuf *out);

/* Lines of one service, for standard output. 0 or -ENOMEM, like all below. */
__must_check int daily_report_lines(const struct daily_outcome *outcome, struct strbuf *out);
__must_check int daily_report_html(const struct daily_report *report, struct strbuf *out);
__must_check int daily_report_json(const struct daily_report *report, struct strbuf *out);

#endif
