/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf dump as a value. Pure. */
#ifndef JBPF_CMD_DUMP_OPTIONS_H
#define JBPF_CMD_DUMP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/option_groups.h"
#include "user/model/select.h"
#include "user/output/tree.h"

enum dump_format {
	DUMP_FORMAT_FOLDED = 0,
	DUMP_FORMAT_HTML,
	DUMP_FORMAT_SVG,
	DUMP_FORMAT_TOP,
	DUMP_FORMAT_JSON,
	DUMP_FORMAT_PPROF,
	DUMP_FORMAT_SPEEDSCOPE,
	DUMP_FORMAT_OTLP,
	DUMP_FORMAT_CELLS, /* no stacks: samples per cell of time */
};

/* Labels that can be put in front of a stack. */
enum dump_by {
	DUMP_BY_CONTAINER = 0,
	DUMP_BY_POD,
	DUMP_BY_NAMESPACE,
	DUMP_BY_SERVICE,
	DUMP_BY_IMAGE,
	DUMP_BY_HOST,
	DUMP_BY_COMM,
	DUMP_BY_PID,
	DUMP_BY_THREAD,
	DUMP_BY_CNT,
};

/* Texts are borrowed from argv. */
struct dump_options {
	struct selection selection;
	struct option_stores stores;
	enum event event;
	enum dump_by by[DUMP_BY_CNT]; /* in the order given; each at most once */
	size_t by_cnt;
	enum dump_format format;
	const char *output; /* file; NULL = stdout */
	bool no_pager;
	bool list;
	bool idle;	 /* threads that never ran, of EVENT_OFF_CPU */
	const char *own; /* globs of own code, with commas between them; NULL = all is alike */
	/* Only with DUMP_FORMAT_TOP. */
	bool lines;	       /* source lines instead of methods */
	const char *callers;   /* who calls this method; NULL = all methods */
	enum tree_order order; /* of the methods */
	uint32_t row_max;      /* 0 = all */
	bool is_default_since; /* no --since: the last hour */
	struct option_info info;
};

extern const struct option_table dump_option_table;
/* "container", ... as --by takes them. */
extern const char *const dump_by_names[DUMP_BY_CNT];

/* Is the answer a table of the labels of --by, without stacks? */
bool dump_options_are_of_labels(const struct dump_options *options);

/*
 * 0, or -EINVAL with one line for the user in `why`. Times are taken relative to `now_unix_ns`.
 */
__must_check int dump_options_parse(int argc, char **argv, uint64_t now_unix_ns,
				    struct dump_options *out, char *why, size_t why_len);

#endif
