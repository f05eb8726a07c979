/* SPDX-License-Identifier: Apache-2.0 */
/* The format that a file's name stands for. Pure. */
#ifndef JBPF_CLI_OUTPUT_ENDING_H
#define JBPF_CLI_OUTPUT_ENDING_H

#include <stdbool.h>

/* For messages: the endings that users should know. */
#define OUTPUT_ENDINGS ".html, .svg, .pb.gz, .speedscope.json, .otlp, .json, .folded or .txt"
/* A message about the path. */
#define OUTPUT_ENDING_REFUSED                                                        \
	"--output: the ending of '%s' is that of no format; make it " OUTPUT_ENDINGS \
	", or give --format"

/*
 * The word of --format for the ending of this path: "pprof" for "shop.pb.gz"; NULL = none. An ending
 * alone, such as ".html", is a name without one.
 */
const char *output_ending_format(const char *path);
/* ".txt", which is any text: a table where nothing else is asked for, folded stacks where these are the default. */
bool output_ending_is_text(const char *path);
/* Is it that of pictures, archives or tables, which no format is? */
bool output_ending_is_foreign(const char *path);

#endif
