// SPDX-License-Identifier: Apache-2.0
/* See output_ending.h. */
#include "user/cli/output_ending.h"

#include <stddef.h>
#include <string.h>

#include "user/util/cleanup.h"

/* Of two that fit the first counts. */
static const struct {
	const char *text;
	const char *format;
} endings[] = {
	{ ".html", "html" },   { ".svg", "svg" },
	{ ".pb.gz", "pprof" }, { ".speedscope.json", "speedscope" },
	{ ".json", "json" },   { ".folded", "folded" },
	{ ".txt", "top" },     { ".otlp", "otlp" },
	{ ".htm", "html" },    { ".collapsed", "folded" },
	{ ".pprof", "pprof" }, { ".speedscope", "speedscope" },
	{ ".top", "top" },
};

const char *output_ending_format(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t ending_len = strlen(endings[i].text);

		if (len > ending_len && strcmp(name + len - ending_len, endings[i].text) == 0)
			return endings[i].format;
	}
	return NULL;
}
