/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as bytes. Every writer sorts the profile itself, writes the whole text to a strbuf and
 * escapes what it takes from names. 0 or -ENOMEM.
 */
#ifndef JBPF_OUTPUT_OUTPUT_H
#define JBPF_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/profile.h"
#include "user/model/source_lines.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

/* A label whose values are frames in front of the stacks; where a stack has none, it is this. */
#define OUTPUT_LABEL_NONE "(none)"

struct output_label {
	const char *name;
	bool is_number;
};

/* What the reader of a picture or a JSON needs to know besides the stacks. */
struct output_info {
	const char *title;    /* "java in shop-1" ; borrowed */
	const char *subtitle; /* selectors and host, or "" */
	uint64_t since_unix_ns;
	uint64_t until_unix_ns;
	uint32_t frequency_hz; /* 0 = mixed: then counts are not shown as CPU seconds */
	uint64_t lost_samples;
	struct window_counts counts; /* of the windows, not of the stacks that were kept */
	size_t stream_cnt;
	const struct output_label *labels; /* of the first frames of every stack; borrowed */
	size_t label_cnt;
	struct source_lines *lines; /* NULL = none; the writers sort them; borrowed */
};

__must_check int output_folded(struct profile *profile, struct strbuf *out);

/*
 * Table of methods: self and total samples and percent, by self descending; a method that occurs
 * several times in a stack counts once for total. At most `limit` rows (0 = all), then a line that
 * says how many were left out. Control bytes never reach a terminal.
 */
__must_check int output_top(struct profile *profile, const struct output_info *info, size_t limit,
			    struct strbuf *out);

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

/* JSON for speedscope. */
__must_check int output_speedscope(struct profile *profile, const struct output_info *info,
				   struct strbuf *out);

#endif
