// SPDX-License-Identifier: Apache-2.0
/* See output_ending.h. */
#include "user/cli/output_ending.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

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

static const char *const foreign_endings[] = {
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".jfr",
	".gz",	".zst", ".xz",	 ".zip", ".csv",  ".xml",
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_ending(const char *name, const char *ending)
{
	size_t len = strlen(name), ending_len = strlen(ending);

	return len > ending_len && strcasecmp(name + len - ending_len, ending) == 0;
}

const char *output_ending_format(const char *path)
{
	const char *name = name_of(path);

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		if (has_ending(name, endings[i].text))
			return endings[i].format;
	}
	return NULL;
}

bool output_ending_is_text(const char *path)
{
	return has_ending(name_of(path), ".txt");
}

bool output_ending_is_foreign(const char *path)
{
	const char *name = name_of(path);

	for (size_t i = 0; i < ARRAY_SIZE(foreign_endings); i++) {
		if (has_ending(name, foreign_endings[i]))
			return !output_ending_format(path);
	}
	return false;
}
