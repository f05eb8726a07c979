/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "jbpf diff v1": which items of a profile changed between two sides, how surely, and which change
 * could not have been seen. Pure functions over counts: no names, no I/O, no globals.
 *
 * The order of things: gates (are the sides comparable?), pairing of blocks by time of day
 * (diff_plan.h), estimates per item (diff_estimate.h), variance within and between days
 * (diff_within.h, diff_between.h), tests and verdicts (diff_verdict.h).
 *
 * Changes are logarithms of ratios, measured against the composition factor: the median method's
 * change of share. So one method that grows does not make all others look smaller, and a change
 * says "CPU per unit of the process's other work". Shares are of 1, not of 100.
 *
 * In: two sides (diff_side.h) and the history of earlier days. Out: a result that the caller owns.
 */
#ifndef JBPF_DIFF_H
#define JBPF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff_history.h"
#include "user/diff/diff_side.h"

/* Families of items: each is tested for itself. A sample counts at most once for an item. */
enum diff_kind {
	DIFF_KIND_NONE = 0, /* never tested; may be used for holes in the numbering */
	DIFF_KIND_METHOD_SELF = 1,
	DIFF_KIND_METHOD_TOTAL = 2, /* with what it calls */
	DIFF_KIND_CLASS_SELF = 3,
	DIFF_KIND_CLASS_TOTAL = 4,
	DIFF_KIND_PACKAGE_SELF = 5,
	DIFF_KIND_PACKAGE_TOTAL = 6,
	DIFF_KIND_PATH = 7, /* a node of the merged call tree, with what is below it */
	DIFF_KIND_CNT,
};

/* How items hang together; every link is an item's number or DIFF_NONE. */
struct diff_item {
	enum diff_kind kind;
	/* METHOD_x: its CLASS_x or PACKAGE_x; CLASS_x: its PACKAGE_x; PACKAGE_x: an outer one. */
	uint32_t group;
	/* METHOD_SELF and PATH: the METHOD_TOTAL of the same method. */
	uint32_t method;
	uint32_t parent; /* PATH: the node above */
};

struct diff_options {
	double relevant_points;	  /* changes up to here do not matter: 0.0005 of all samples, ... */
	double relevant_relative; /* ... or up to here, relative to the item: 0.01 */
	double q_shown;		  /* false discovery rate of verdicts: 0.05 */
	double q_alarm;		  /* of alarms: 0.01 */
	double testable_relative; /* items are tested when this change could be seen: 1 */
	double prior_df;	  /* weight of the neighbours' design effect: 4 */
	double lost_max;	  /* gates, as shares: 0.05, ... */
	double gap_max;		  /* ... 0.01 ... */
	double unknown_max;	  /* ... and 0.5 */
	uint32_t warm_up_s;	  /* for the caller: younger JVMs may be warming up: 600 */
	uint32_t blocks_min;	  /* per side, fewer = descriptive mode: 8 */
	uint32_t history_min;	  /* pairs of earlier days that calibrate: 3 */
	uint32_t near_s;	  /* sides within so much time are of one time of day: 7200 */
	/* On each side, of a method that takes part in the median: 200. */
	uint32_t scale_samples_min;
	bool alarm_without_history; /* alarms rest on this pair's own noise when there is no other */
};

struct diff_options diff_options_default(void);

struct diff_input {
	const struct diff_item *items;
	uint32_t item_cnt;
	const struct diff_side *a;	    /* before */
	const struct diff_side *b;	    /* after */
	const struct diff_history *history; /* NULL = none */
};

/* What must hold for an alarm. A gate that failed is printed with its values. */
enum diff_gate {
	DIFF_GATE_EVENT = 0,	 /* both sides count the same kind of event */
	DIFF_GATE_BLOCKS = 1,	 /* enough blocks; fails into descriptive mode */
	DIFF_GATE_FREQUENCY = 2, /* known on both sides */
	DIFF_GATE_LOST_A = 3,	 /* share of samples lost */
	DIFF_GATE_LOST_B = 4,
	DIFF_GATE_UNKNOWN = 5,	 /* share of frames without name: difference between the sides */
	DIFF_GATE_TRUNCATED = 6, /* share of truncated stacks: the same */
	DIFF_GATE_UNKNOWN_LEVEL = 7, /* share of frames without name; fails into descriptive mode */
	/* Blocks are paired by time of day, the sides are near each other, or history is of pairs
	 * (which should then be of the same hours as these sides): else the rhythm of the day looks
	 * like a change. */
	DIFF_GATE_TIME_OF_DAY = 8,
	DIFF_GATE_OTHER_STACKS = 9, /* share of samples whose stacks are not told apart */
	DIFF_GATE_CNT,
};

struct diff_gate_result {
	bool passed;
	double a; /* the values compared; NaN = not known */
	double b;
	double limit;
};

enum diff_mode {
	DIFF_MODE_DESCRIPTIVE = 0, /* shares only; every verdict is unresolved */
	DIFF_MODE_STATISTICAL = 1,
};

enum diff_calibration {
	DIFF_CALIBRATION_NONE = 0, /* too few methods to learn from: every verdict is unresolved */
	DIFF_CALIBRATION_PAIR = 1, /* "calibrated from this pair only" */
	DIFF_CALIBRATION_HISTORY = 2, /* by earlier pairs of days, or by what hosts differ */
};

enum diff_verdict {
	DIFF_VERDICT_UNRESOLVED = 0, /* could have seen a change of `detectable` */
	DIFF_VERDICT_SAME = 1,	     /* surely no relevant change */
	DIFF_VERDICT_UP = 2,
	DIFF_VERDICT_DOWN = 3,
	DIFF_VERDICT_MOVED = 4,	    /* from or to another item under the same roof */
	DIFF_VERDICT_TRANSIENT = 5, /* gone in the last quarter of B */
	DIFF_VERDICT_NEW = 6,
	DIFF_VERDICT_GONE = 7,
	DIFF_VERDICT_CNT,
};

struct diff_interval {
	double value;
	double low; /* 95 %; NaN in descriptive mode */
	double high;
};

/* One item. Numbers are NaN where they make no sense (no frequency, no work, not tested). */
struct diff_row {
	uint64_t samples_a; /* in the compared blocks */
	uint64_t samples_b;
	double share_a; /* first scale: share of samples */
	double share_b;
	double cores_a; /* second scale: CPU seconds per second */
	double cores_b;
	struct diff_interval change; /* log ratio against the composition factor */
	struct diff_interval points; /* the same as a difference of shares of A */
	double error;		     /* standard error of change.value */
	double error_within;	     /* the part that the blocks of this pair account for */
	double df;		     /* degrees of freedom of `error` */
	double relevant;	     /* log ratio up to which a change does not matter here */
	double p_any;		     /* against no change at all */
	double p;		     /* against any change up to `relevant` */
	double q;		     /* `p` within the item's family */
	double detectable;	     /* relative change that would be found 80 % of the time */
	enum diff_verdict verdict;
	bool is_tested;
	bool is_alarm;
	uint32_t moved_with; /* MOVED: an item that changed the other way, else DIFF_NONE */
	uint32_t origin; /* METHOD_x that changed: PATH where the change comes from, or DIFF_NONE */
};

struct diff_family {
	uint32_t item_cnt;
	uint32_t tested_cnt;
	uint32_t found_cnt; /* q <= q_shown */
	uint32_t alarm_cnt;
	double p_critical; /* p that is just enough for a verdict in this family */
	double between;	   /* typical variance of a log ratio between two days, beyond the blocks */
	double between_df; /* how alike the items are in it: large = very */
	double empirical_scale; /* factor on variances from this pair itself; 1 with history */
};

struct diff_summary {
	enum diff_mode mode;
	enum diff_calibration calibration;
	uint32_t history_pairs;
	enum diff_history_kind history_kind;
	struct diff_gate_result gates[DIFF_GATE_CNT];
	bool gates_passed;

	bool is_paired;			 /* blocks were paired by time of day */
	uint32_t cluster_cnt;		 /* pairs, or blocks of both sides when not paired */
	uint32_t blocks_a, blocks_b;	 /* compared */
	uint32_t warm_up_a, warm_up_b;	 /* left out: JVM too young */
	uint32_t unpaired_a, unpaired_b; /* left out: no partner at that time of day */
	double days_a, days_b;		 /* different days that the compared blocks come from */
	double samples_a, samples_b;	 /* B and A at the frequency of A's first block */
	double cores_a, cores_b;

	/* The process as a whole: B / A. */
	struct diff_interval load;	  /* log ratio of CPU seconds per second: everything */
	struct diff_interval composition; /* log ratio of shares of the median method */
	struct diff_interval scale;	  /* log of s: the median method's CPU seconds per second */
	uint32_t scale_methods;		  /* that took part in the median; 0 = s is `load` */

	struct diff_family families[DIFF_KIND_CNT];
	uint32_t alarm_cnt;
};

struct diff_result {
	struct diff_summary summary;
	struct diff_row *rows; /* by item */
	uint32_t row_cnt;
};

/*
 * Compares. 0 and a result that the caller ends with diff_result__free(); -ENOMEM; -EINVAL when an
 * item's kind or link is out of range or paths form a ring, or an option is out of range; *out is
 * untouched then. Empty sides are fine: the mode is descriptive.
 */
__must_check int diff_run(const struct diff_input *input, const struct diff_options *options,
			  struct diff_result **out);
void diff_result__free(struct diff_result *result); /* NULL is fine */

/* exp(x) - 1: a log ratio as relative change. */
double diff_relative(double log_ratio);

/* "unresolved", "same", ...; "" out of range. */
const char *diff_verdict_name(enum diff_verdict verdict);
/* "event", "blocks", ...; "" out of range. */
const char *diff_gate_name(enum diff_gate gate);

#endif
