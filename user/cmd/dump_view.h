/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which form stacks come out: the options for it that dump and record share, which of them go
 * together, and the writer that each names. No I/O.
 */
#ifndef JBPF_CMD_DUMP_VIEW_H
#define JBPF_CMD_DUMP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/option_groups.h"
#include "user/model/event.h"
#include "user/model/profile.h"
#include "user/model/select.h"
#include "user/output/output.h"
#include "user/util/strbuf.h"

enum dump_format {
	DUMP_FORMAT_FOLDED = 0,
	DUMP_FORMAT_HTML,
	DUMP_FORMAT_SVG,
	DUMP_FORMAT_TOP,
	DUMP_FORMAT_JSON,
	DUMP_FORMAT_PPROF,
	DUMP_FORMAT_SPEEDSCOPE,
	DUMP_FORMAT_OTLP,
	DUMP_FORMAT_CELLS, /* no stacks: samples per cell of time; of the store alone */
};

/* The words of these, but the last, which dump alone has. */
#define DUMP_FORMAT_WORDS "folded", "html", "svg", "top", "json", "pprof", "speedscope", "otlp"

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

/* "container", ... as --by takes them. */
extern const char *const dump_by_names[DUMP_BY_CNT];

#define DUMP_ROWS_DEFAULT 50

/* Texts are borrowed from argv. */
struct dump_view {
	enum dump_format format;
	const char *output; /* file; NULL = stdout */
	enum dump_by
		by[DUMP_BY_CNT]; /* as given, of OTLP those of resources first; each at most once */
	size_t by_cnt;
	bool has_by_none;
	bool idle;	 /* threads that never ran, of EVENT_OFF_CPU */
	const char *own; /* globs of own code, with commas between them; NULL = all is alike */
	bool lines;	 /* with DUMP_FORMAT_TOP: source lines instead of methods */
	/* Only with DUMP_FORMAT_TOP. */
	const char *callers;   /* who calls this method; NULL = all methods */
	enum tree_order order; /* of the methods */
	uint32_t row_max;      /* 0 = all */
};

/* --by, --sort, ...: fields of struct dump_view. The format and the file are the command's own rows. */
extern const struct option_row dump_view_rows[];
#define OPTION_GROUP_DUMP_VIEW(type, field) .rows = dump_view_rows, .offset = offsetof(type, field)

/*
 * Refuses what does not go together, and puts labels in the order that the format needs. 0 or -EINVAL.
 */
__must_check int dump_view_settle(struct option_walk *walk, struct dump_view *view,
				  const struct selection *selection, enum event event);

/* Is the answer a table of the labels of --by, without stacks? */
bool dump_view_is_of_labels(const struct dump_view *view);
/* Is the thread a label of the samples, not a frame? */
bool dump_view_marks_threads(const struct dump_view *view);
/* Do source lines come out, or the names of source files? */
bool dump_view_has_lines(const struct dump_view *view, const struct selection *selection,
			 enum event event);
/* Are stacks of idle threads left out before the output sees them? */
bool dump_view_hides_idle(const struct dump_view *view, enum event event);
/* Where they are: those that wait for work, too? */
bool dump_view_hides_waiting(const struct dump_view *view);
/* What must not be written to a terminal: "a picture"; NULL = it may. */
const char *dump_view_not_for_terminal(const struct dump_view *view);

/* What info says of the labels; they are borrowed. */
void dump_view_labels(const struct dump_view *view, struct output_label labels[static DUMP_BY_CNT],
		      struct output_info *info);
/* The same as texts: "container", ...; as many as there are labels. */
void dump_view_label_names(const struct dump_view *view, const char *names[static DUMP_BY_CNT]);

/*
 * Writes the profile as it is wanted, after libraries were charged to own code: *profile may be replaced. 0,
 * -ENOMEM, or -ENOENT: no method is that of --callers, and `out` has the nearest names, or nothing.
 */
__must_check int dump_view_render(const struct dump_view *view, struct profile **profile,
				  struct output_info *info, struct strbuf *out);
/* Says so in one line on standard error. */
void dump_view_no_method(const struct dump_view *view, const struct strbuf *nearest);

#endif
