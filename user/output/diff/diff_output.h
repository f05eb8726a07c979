/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison as bytes. Every writer writes the whole text to a strbuf and escapes what it takes
 * from names. The tree of the flame graph are the items of kind DIFF_KIND_PATH. 0 or -ENOMEM.
 *
 * In: a result and its catalog, borrowed. Out: text, in the caller's strbuf.
 */
#ifndef JBPF_DIFF_DIFF_OUTPUT_H
#define JBPF_DIFF_DIFF_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_catalog.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

/* What is known about one side besides its counts. Texts are borrowed; NULL = not known. */
struct diff_output_side {
	const char *name;	/* "2026-11-20T00:00Z to ...", an image tag, or a file's name */
	uint64_t since_unix_ns; /* 0 = not known: a foreign file */
	uint64_t until_unix_ns;
	struct window_counts counts; /* of all its windows, also those that were left out */
	uint64_t lost_samples;
	size_t stream_cnt;
	const char *jvm_version; /* "17.0.13+11", "several", ... */
	const char *image;
};

/* ... so many events per second. */
#define DIFF_EVENTS_OF_RATE 1e6

struct diff_output {
	const char *title;    /* "service shop" */
	const char *subtitle; /* selectors and host, or "" */
	enum event event;     /* of both sides; where it is not CPU time, "cores" are ... */
	struct diff_output_side before;
	struct diff_output_side after;
	const struct diff_result *result;
	const struct diff_catalog *catalog; /* the items the rows are about */
	const struct diff_options *options;
	const char *const *notes; /* one line each, for people: "days have no history yet: ..." */
	size_t note_cnt;
};

/*
 * Table for terminals: what was compared and how sure that is (gates with their values, scale,
 * composition, calibration), then alarms, then at most `limit` rows (0 = all) of methods by how sure
 * and how large the change is: verdict, shares, change with interval, q, and the smallest change that
 * could have been seen. Says how many were left out.
 */
__must_check int diff_output_table(const struct diff_output *diff, size_t limit,
				   struct strbuf *out);

/* One JSON object; its schema is in DIFF-JSON.md beside this file. */
__must_check int diff_output_json(const struct diff_output *diff, struct strbuf *out);

/* "stack before after" lines, as difffolded.pl writes them for flamegraph.pl. */
__must_check int diff_output_folded(const struct diff_output *diff, struct strbuf *out);

/* One self-contained interactive page. */
__must_check int diff_output_html(const struct diff_output *diff, struct strbuf *out);

#endif
