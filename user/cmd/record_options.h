/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf record as a value. Pure. */
#ifndef JBPF_CMD_RECORD_OPTIONS_H
#define JBPF_CMD_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/cli/option_groups.h"
#include "user/model/select.h"

enum record_format {
	RECORD_FORMAT_HTML = 0,
	RECORD_FORMAT_SVG,
	RECORD_FORMAT_FOLDED,
	RECORD_FORMAT_JSON,
	RECORD_FORMAT_TOP,
};

/* Texts are borrowed from argv. */
struct record_options {
	struct selection selection;
	uint64_t duration_ns;
	uint32_t frequency_hz;
	enum jit_mode jit;
	enum record_format format;
	const char *output; /* "-" = stdout */
	bool ignores_opt_out;
	struct option_info info;
};

extern const struct option_table record_option_table;

/* 0, or -EINVAL with one line for the user in `why`. */
__must_check int record_options_parse(int argc, char **argv, struct record_options *out, char *why,
				      size_t why_len);

#endif
