/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as bytes. Every writer sorts the profile itself, writes the whole text to a strbuf and
 * escapes what it takes from names. 0 or -ENOMEM.
 *
 * In: a profile and what to say of it, borrowed. Out: text, in the caller's strbuf.
 */
#ifndef JBPF_OUTPUT_OUTPUT_H
#define JBPF_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/profile.h"
#include "user/model/source_lines.h"
#include "user/model/waiting_place.h"
#include "user/model/window.h"
#include "user/output/tree.h"
#include "user/util/strbuf.h"

/* A label whose values are frames in front of the stacks; where a stack has none, it is this. */
#define OUTPUT_LABEL_NONE "(none)"

struct output_label {
	const char *name;
	bool is_number;
};

/* What the reader of a picture or a JSON needs to know besides the stacks. */
struct output_info {
	size_t columns;	      /* of the terminal that text is for; 0 = as many as it needs */
	const char *title;    /* "java in shop-1" ; borrowed */
	const char *subtitle; /* selectors and host, or "" */
	uint64_t since_unix_ns;
	uint64_t until_unix_ns;
	uint32_t frequency_hz; /* 0 = mixed: then counts are not shown as CPU seconds */
	enum event event;
	const char *value_type; /* of pprof: sample type of the values; NULL = the event's name */
	uint64_t
		period; /* of events but EVENT_CPU: how many, or ns, a sample stands for; 0 = mixed */
	uint64_t lost_samples; /* of all processes: the samples that were lost have none */
	bool is_selection;     /* not of all processes: lost_samples are not of these alone */
	uint64_t hidden_samples[WAITING_PLACE_CNT]; /* left out: their threads wait for work */
	bool shows_idle; /* what these are in, the page shows from the start; else it has a switch */
	struct window_counts counts; /* of the windows, not of the stacks that were kept */
	bool is_part; /* only some threads or kinds of code of each process are kept */
	/* The time of the windows that were recorded within the range, whatever they hold; 0 = not known. */
	uint64_t covered_ns;
	uint64_t window_ns; /* length of one of them */
	size_t stream_cnt;
	const struct output_label *labels; /* of the first frames of every stack; borrowed */
	size_t label_cnt;
	/* The stacks are told apart by thread: see STACK_TEXT_THREAD_MARK. Only json, pprof, speedscope, otlp. */
	bool has_threads;
	struct source_lines *lines; /* NULL = none; the writers sort them; borrowed */
	/* Of the page's head: NULL or "" = not known, or not the same for all; borrowed. */
	const char *host;
	const char *image;
	const char *jvm; /* version */
	const char *own; /* globs of own code that the page begins with, with commas between them */
};

__must_check int output_folded(struct profile *profile, struct strbuf *out);

/*
 * Table of methods: self and total samples and percent, descending, and for Java the shares of the
 * tiers; a method is one row, and counts once for total when it occurs several times in a stack. At
 * most `limit` rows (0 = all), then a line that says how many were left out. Control bytes never
 * reach a terminal.
 */
__must_check int output_top(struct profile *profile, const struct output_info *info,
			    enum tree_order order, size_t limit, struct strbuf *out);
/* The same of a tree that is there already, with all of its nodes. */
__must_check int output_top_of_tree(const struct tree *tree, const struct output_info *info,
				    enum tree_order order, size_t limit, struct strbuf *out);

/*
 * Who calls a method, as a tree by weight: of each stack the place nearest to its root, so that a
 * recursive method does not call itself. `pattern` is a name, with or without its tier's suffix, or
 * a glob. Branches below 1 % of its samples are added up in one line. 0, -ENOMEM, or -ENOENT: no method
 * matches, and `out` has the nearest names ("a.B.c, a.B.d"), or nothing.
 */
__must_check int output_callers(struct profile *profile, const struct output_info *info,
				const char *pattern, struct strbuf *out);

/* The same for source lines, by self samples; info->lines must be there. */
__must_check int output_lines(const struct profile *profile, const struct output_info *info,
			      size_t limit, struct strbuf *out);

/* One JSON object: info, then stacks as arrays of {name, kind} root first with count; the schema is
 * in docs of the command (man page jbpf-dump). */
__must_check int output_json(struct profile *profile, const struct output_info *info,
			     struct strbuf *out);

/* One self-contained interactive page. */
__must_check int output_html(struct profile *profile, const struct output_info *info,
			     struct strbuf *out);

/* A static picture for tickets, with title, totals and tooltips (<title>), no script. */
__must_check int output_svg(struct profile *profile, const struct output_info *info,
			    struct strbuf *out);

/* profile.proto, gzipped, for pprof and Pyroscope; what is put where is in PPROF.md. */
__must_check int output_pprof(struct profile *profile, const struct output_info *info,
			      struct strbuf *out);

/* OpenTelemetry's ProfilesData, not compressed; what is put where is in OTLP.md. */
__must_check int output_otlp(struct profile *profile, const struct output_info *info,
			     struct strbuf *out);

/* JSON for speedscope. */
__must_check int output_speedscope(struct profile *profile, const struct output_info *info,
				   struct strbuf *out);

#endif
