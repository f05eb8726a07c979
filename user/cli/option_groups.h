/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share, for their tables. */
#ifndef JBPF_CLI_OPTION_GROUPS_H
#define JBPF_CLI_OPTION_GROUPS_H

#include "user/cli/options.h"
#include "user/store/store.h"

/* Questions that are answered instead of the command's work. */
struct option_info {
	bool help;
	bool version;
};

/* --container, --pod, ...: fields of struct selection. */
extern const struct option_row option_selection_rows[];
/* --help and --version: fields of struct option_info. */
extern const struct option_row option_info_rows[];

#define OPTION_GROUP_SELECTION(type, field)                                                   \
	.title = "Which processes; a name may be a glob, and all that are given must match:", \
	.rows = option_selection_rows, .offset = offsetof(type, field), .word = "SELECTOR"
#define OPTION_GROUP_INFO(type, field) \
	.rows = option_info_rows, .offset = offsetof(type, field), .is_aside = true

/* clang-format off */
#define OPTION_ROW_STORE(type, store_field)                                            \
	.name = "store", .kind = OPTION_KIND_DIR, .metavar = "DIR",                    \
	.help = "directory of the profiles", .fallback = STORE_DEFAULT_DIR,            \
	OPTION_FIELD(type, store_field)
#define OPTION_ROW_SINCE(type, since_field, default_)                                  \
	.name = "since", .kind = OPTION_KIND_TIME, .metavar = "TIME",                  \
	.help = "start of the time range: 90s, 15m, 1h, 2d back from now, "            \
		"2026-11-21T13:00:00Z (local time without a zone) or @EPOCH",          \
	.fallback = default_, OPTION_FIELD(type, since_field)
#define OPTION_ROW_UNTIL(type, until_field)                                            \
	.name = "until", .kind = OPTION_KIND_TIME, .metavar = "TIME",                  \
	.help = "end of the time range", .fallback = "now",                            \
	OPTION_FIELD(type, until_field)
#define OPTION_ROW_OUTPUT(type, output_field)                                          \
	.name = "output", .letter = 'o', .kind = OPTION_KIND_FILE, .metavar = "FILE",  \
	.help = "write to this file, completely or not at all; - is standard output",                      \
	OPTION_FIELD(type, output_field)
/* The field is an enum jit_mode. */
#define OPTION_ROW_JIT(type, jit_field)                                                \
	.name = "jit", .kind = OPTION_KIND_WORD, .metavar = "MODE",                    \
	.help = "source of the names of compiled code", .fallback = "auto",            \
	.words = option_jit_words, OPTION_FIELD(type, jit_field)
/* clang-format on */

/* In the order of enum jit_mode. */
extern const char *const option_jit_words[];

#endif
