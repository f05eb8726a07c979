/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What command lines have in common: the walk over the options, each at most once, the words in
 * which a wrong one is refused, and the selectors that mean the same in every command.
 */
#ifndef JBPF_CLI_ARGUMENTS_H
#define JBPF_CLI_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/select.h"

/* Ids of selectors; a command's own are a letter, or 256 up to the first of these. */
enum argument_id {
	ARGUMENT_CONTAINER = 320,
	ARGUMENT_POD,
	ARGUMENT_NAMESPACE,
	ARGUMENT_SERVICE,
	ARGUMENT_PID,
	ARGUMENT_COMM,
	ARGUMENT_CGROUP,
	ARGUMENT_KIND,
	ARGUMENT_ID_END,
};

/* Rows of a table of long options. */
/* clang-format off */
#define ARGUMENT_SELECTORS                                              \
	{ "container", required_argument, NULL, ARGUMENT_CONTAINER },   \
	{ "pod", required_argument, NULL, ARGUMENT_POD },               \
	{ "namespace", required_argument, NULL, ARGUMENT_NAMESPACE },   \
	{ "service", required_argument, NULL, ARGUMENT_SERVICE },       \
	{ "pid", required_argument, NULL, ARGUMENT_PID },               \
	{ "comm", required_argument, NULL, ARGUMENT_COMM },             \
	{ "cgroup", required_argument, NULL, ARGUMENT_CGROUP },         \
	{ "kind", required_argument, NULL, ARGUMENT_KIND }
/* clang-format on */

struct arguments {
	const char *program;	      /* "jbpf-dump": where --help is */
	const char *letters;	      /* getopt's, beginning with ":" or "+:" */
	const struct option *options; /* ends with a row of zeros */
	int repeatable;		      /* id of the one option that may be given again; 0 = none */
	void *ctx;
	/* Takes one option. 0, or -EINVAL with the reason in `why`. */
	int (*take)(void *ctx, int id, const char *value);
	char *why; /* one line for the user */
	size_t why_len;
	bool seen[ARGUMENT_ID_END]; /* which options were given */
};

/* Writes why. Always -EINVAL. */
int arguments_refuse(struct arguments *arguments, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, and where to read more: "...; see jbpf-dump --help". */
int arguments_refuse_see_help(struct arguments *arguments, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define ARGUMENT_NAME_BYTES 32
/* "--since", as the user would write it. */
const char *arguments_name(const struct arguments *arguments, int id,
			   char text[static ARGUMENT_NAME_BYTES]);

/* All options; `optind` is the first argument that is none. 0 or -EINVAL. */
int arguments_walk(struct arguments *arguments, int argc, char **argv);

/* A time as in --since, relative to `now_unix_ns`. 0 or -EINVAL. */
int arguments_take_time(struct arguments *arguments, const char *option, const char *value,
			uint64_t now_unix_ns, uint64_t *unix_ns_out);

/* Is it one of ARGUMENT_SELECTORS? */
bool arguments_is_selector(int id);
/* 0 or -EINVAL; `value` is borrowed. */
int arguments_take_selector(struct arguments *arguments, int id, const char *value,
			    struct selection *out);

#endif
