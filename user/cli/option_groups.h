/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share, for their tables. */
#ifndef JBPF_CLI_OPTION_GROUPS_H
#define JBPF_CLI_OPTION_GROUPS_H

#include "user/cli/options.h"
#include "user/model/event.h"
#include "user/store/store.h"

#define OPTION_STORES_MAX 64

/* The values of --store, in the order given; borrowed from argv. None = STORE_DEFAULT_DIR. */
struct option_stores {
	const char *dirs[OPTION_STORES_MAX];
	size_t cnt;
	const char *from; /* of --from, which goes without --store; NULL = not given */
};

/* The first of --store, else the default one. */
const char *option_stores_first(const struct option_stores *stores);

/* Questions that are answered instead of the command's work. */
struct option_info {
	bool help;
	bool version;
};

/* --container, --pod, ...: fields of struct selection. */
extern const struct option_row option_selection_rows[];
/* --help and --version: fields of struct option_info. */
extern const struct option_row option_info_rows[];

#define OPTION_GROUP_SELECTION(type, field)                                                                        \
	.title =                                                                                                   \
		"Which processes; a name may be a glob, !NAME leaves out, one of several for a label must match:", \
	.rows = option_selection_rows, .offset = offsetof(type, field), .word = "SELECTOR"
#define OPTION_GROUP_INFO(type, field) \
	.rows = option_info_rows, .offset = offsetof(type, field), .is_aside = true

/* clang-format off */
#define OPTION_ROW_STORE(type, store_field)                                            \
	.name = "store", .kind = OPTION_KIND_DIR, .metavar = "DIR",                    \
	.help = "directory of the profiles", .fallback = STORE_DEFAULT_DIR,            \
	OPTION_FIELD(type, store_field)
/* The field is a struct option_stores. */
#define OPTION_ROW_STORES(type, stores_field)                                          \
	.name = "store", .kind = OPTION_KIND_DIRS, .repeats = true, .metavar = "DIR",  \
	.help = "directory of the profiles; of several the sum",                       \
	.fallback = STORE_DEFAULT_DIR, .parse = option_take_store,                     \
	OPTION_FIELD(type, stores_field)
/* The field is a uint32_t. */
#define OFF_CPU_RATE_DEFAULT 10
#define OPTION_ROW_OFF_CPU_RATE(type, rate_field)                                      \
	.name = "off-cpu-rate", .kind = OPTION_KIND_NUMBER, .metavar = "HZ",           \
	.help = "how often per second waiting threads are visited; less where there "  \
		"are more than 1000 of them",                                          \
	.fallback = "10", .min = 1, .max = 100, OPTION_FIELD(type, rate_field)
#define OPTION_ROW_OWN(type, own_field)                                                \
	.name = "own", .kind = OPTION_KIND_TEXT, .metavar = "GLOBS",                   \
	.help = "own code, such as 'com.example.*,org.example.*': what it calls in "   \
		"libraries is charged to it",                                          \
	.min = 1, .wants = "globs of methods, such as 'com.example.*'",                \
	OPTION_FIELD(type, own_field)
/* The field is an enum event; the words are event_words, or event_view_words. */
#define OPTION_ROW_EVENT(type, event_field, of_words)                                  \
	.name = "event", .kind = OPTION_KIND_WORD, .metavar = "EVENT",                 \
	.help = "what was sampled", .fallback = "cpu",                                 \
	.words = of_words, OPTION_FIELD(type, event_field)
#define OPTION_ROW_SINCE(type, since_field, default_)                                  \
	.name = "since", .kind = OPTION_KIND_TIME, .metavar = "TIME",                  \
	.help = "start of the time range: 90s, 15m, 1h30m, 2d, 1w back from now, "     \
		"20 minutes ago, 13:00, today, yesterday, 2026-11-21, 2026-11-21T13:00:00Z (local "    \
		"time without a zone) or @EPOCH",                                      \
	.fallback = default_, OPTION_FIELD(type, since_field)
#define OPTION_ROW_UNTIL(type, until_field)                                            \
	.name = "until", .kind = OPTION_KIND_TIME, .metavar = "TIME",                  \
	.help = "end of the time range", .fallback = "now",                            \
	OPTION_FIELD(type, until_field)
#define OPTION_ROW_OUTPUT(type, output_field)                                          \
	.name = "output", .letter = 'o', .kind = OPTION_KIND_FILE, .metavar = "FILE",  \
	.help = "write to this file, completely or not at all; - is standard output",                      \
	OPTION_FIELD(type, output_field)
/* The field is a uint32_t; `more` is a word of what 0 shows besides, or "". */
#define OPTION_ROW_ROWS(type, rows_field, more)                                        \
	.name = "rows", .letter = 'n', .kind = OPTION_KIND_NUMBER, .metavar = "N",     \
	.help = "with --format top: at most so many rows, 0 for all" more,             \
	.fallback = "50", .max = UINT32_MAX, OPTION_FIELD(type, rows_field)
#define OPTION_ROW_NO_PAGER(type, no_pager_field)                                      \
	.name = "no-pager",                                                            \
	.help = "write it all at once, though it is longer than the terminal",         \
	OPTION_FIELD(type, no_pager_field)
/* The field is an enum jit_mode. */
#define OPTION_ROW_JIT(type, jit_field)                                                \
	.name = "jit", .kind = OPTION_KIND_WORD, .metavar = "MODE",                    \
	.help = "source of the names of compiled code", .fallback = "auto",            \
	.words = option_jit_words, OPTION_FIELD(type, jit_field)
/* The field is a bool. */
#define OPTION_ROW_PARAMETERS(type, parameters_field)                                  \
	.name = "java-parameters", .kind = OPTION_KIND_WORD, .metavar = "SWITCH",      \
	.help = "keep the parameters of methods in Java, a.B.c(int, long[]), so that " \
		"methods of one name are told apart",                                  \
	.fallback = "off", .words = option_switch_words, OPTION_FIELD(type, parameters_field)
/* The field is an enum unwind_mode. */
#define OPTION_ROW_UNWIND(type, unwind_field)                                          \
	.name = "unwind", .kind = OPTION_KIND_WORD, .metavar = "MODE",                 \
	.help = "how native stacks are walked: by the rules of each file where "       \
		"it has some, or by frame pointers alone",                             \
	.fallback = "auto", .words = option_unwind_words, OPTION_FIELD(type, unwind_field)
/* clang-format on */

/* The same field, behind it. */
#define OPTION_ROW_FROM(type, stores_field)                                            \
	.name = "from", .kind = OPTION_KIND_TEXT, .metavar = "URL",                    \
	.help = "instead of a store: the ClickHouse that jbpf push has sent profiles " \
		"to, clickhouse://USER@HOST:PORT/DATABASE",                            \
	.min = 1, OPTION_FIELD(type, stores_field.from)

/* --store and --from do not go together. 0 or -EINVAL. */
__must_check int option_check_stores(struct option_walk *walk, const struct option_stores *stores);
/* Of OPTION_ROW_STORES. */
__must_check int option_take_store(struct option_walk *walk, const char *value);

/* In the order of enum jit_mode. */
extern const char *const option_jit_words[];
extern const char *const option_switch_words[]; /* of a bool */
/* In the order of enum unwind_mode. */
extern const char *const option_unwind_words[];

#endif
