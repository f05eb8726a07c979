/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be compared with what, and how it is shown: the command line of jbpf diff as a value. */
#ifndef JBPF_COMPARE_COMPARE_OPTIONS_H
#define JBPF_COMPARE_COMPARE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/cli/option_groups.h"
#include "user/diff/diff.h"
#include "user/model/select.h"

#define DIFF_CMD_DAYS_MAX    30
#define DIFF_CMD_KEEP_DAYS   30
#define DIFF_CMD_ROWS	     50
#define DIFF_CMD_KEEP_MAX    3650
#define DIFF_CMD_DEFAULT_DIR "/var/lib/jbpf-diff" /* of --days */

enum diff_cmd_format {
	DIFF_CMD_FORMAT_TOP = 0,
	DIFF_CMD_FORMAT_FOLDED,
	DIFF_CMD_FORMAT_HTML,
	DIFF_CMD_FORMAT_JSON,
};

/* What is compared. */
enum diff_cmd_mode {
	DIFF_CMD_MODE_TIMES = 0,    /* two times of the same streams */
	DIFF_CMD_MODE_GROUPS = 1,   /* two groups of streams in one time */
	DIFF_CMD_MODE_FILES = 2,    /* two folded files of other programs */
	DIFF_CMD_MODE_DAYS = 3,	    /* the last days with those before, service by service */
	DIFF_CMD_MODE_OUTLIERS = 4, /* each host with the others, in one time */
};

/* What ends the command with an exit code of its own. */
enum diff_cmd_fail_on {
	DIFF_CMD_FAIL_ON_NONE = 0,
	DIFF_CMD_FAIL_ON_REGRESSION = 1, /* an alarm that earlier days calibrate */
	/* Also one that rests on these two sides alone: for deployments. */
	DIFF_CMD_FAIL_ON_SLOWER = 2,
	/* As typed: one of these, or that nothing could be judged. See fail_on_unjudged. */
	DIFF_CMD_FAIL_ON_REGRESSION_OR_UNJUDGED = 3,
	DIFF_CMD_FAIL_ON_SLOWER_OR_UNJUDGED = 4,
};

struct diff_cmd_range {
	uint64_t since_unix_ns;
	uint64_t until_unix_ns; /* exclusive */
};

/* One side. Texts are borrowed from argv. */
struct diff_cmd_side {
	struct diff_cmd_range range; /* 0 with files and days */
	/* Globs by label, NULL = any; of both sides the same ones, and only with groups. */
	const char *labels[SELECT_BY_CNT];
	const char *file; /* only with files */
};

struct diff_cmd_options {
	enum diff_cmd_mode mode;
	/* Whose; its times span both sides. */
	struct selection selection;
	struct diff_cmd_side before;
	struct diff_cmd_side after;
	bool outliers;
	uint32_t days;		     /* only with days, then at least 1 */
	const char *output_dir;	     /* only with days, as is the next */
	uint32_t keep_days;	     /* days whose pages are kept there */
	struct option_stores stores; /* one with days */
	enum event event;
	bool has_event; /* it was given; the daily job takes cpu and off-cpu otherwise */
	struct diff_options statistics;
	enum diff_cmd_format format;
	const char *output; /* file; NULL = stdout */
	bool no_pager;
	uint32_t row_max; /* of DIFF_CMD_FORMAT_TOP; 0 = all, also those without a change */
	enum diff_cmd_fail_on fail_on; /* NONE, REGRESSION or SLOWER */
	bool fail_on_unjudged;
	uint64_t now_unix_ns; /* what times are relative to */
	struct option_info info;
};

#endif
