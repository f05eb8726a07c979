// SPDX-License-Identifier: Apache-2.0
/* See web_query.h. */
#include "user/web/web_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/option_groups.h"
#include "user/util/cleanup.h"

#define MEDIA_TEXT "text/plain; charset=utf-8"
#define MEDIA_HTML "text/html; charset=utf-8"
#define MEDIA_JSON "application/json"

static const struct web_media json_media = { "json", MEDIA_JSON, "json" };

/* The first one is what comes without a format. */
static const struct web_media profile_media[] = {
	{ "html", MEDIA_HTML, "html" },
	{ "folded", MEDIA_TEXT, "folded" },
	{ "svg", "image/svg+xml", "svg" },
	{ "top", MEDIA_TEXT, "txt" },
	{ "json", MEDIA_JSON, "json" },
	{ "pprof", "application/octet-stream", "pb.gz" },
	{ "speedscope", MEDIA_JSON, "speedscope.json" },
	{ "otlp", "application/x-protobuf", "otlp" },
	{ "cells", MEDIA_TEXT, "cells" },
	{ .format = NULL },
};

static const struct web_media diff_media[] = {
	{ "html", MEDIA_HTML, "html" },
	{ "folded", MEDIA_TEXT, "folded" },
	{ "top", MEDIA_TEXT, "txt" },
	{ "json", MEDIA_JSON, "json" },
	{ .format = NULL },
};

/* Besides selectors, which all but "info" have. */
static const char *const timeline_keys[] = { "since", "until",	"event", "by",
					     "step",  "method", "idle",	 NULL };
static const char *const profile_keys[] = { "since", "until", "event", "by", "own", NULL };
static const char *const running_keys[] = { "since", "event", "by", "step", NULL };
static const char *const diff_keys[] = { "before", "after", "event", NULL };

static const struct endpoint {
	const char *path;
	const char *program;
	const char *const *keys;
	const struct web_media *media; /* NULL: JSON */
} endpoints[] = {
	[WEB_ENDPOINT_NONE] = { .path = NULL },
	[WEB_ENDPOINT_INFO] = { "/api/v1/info", "jbpf-web", NULL, NULL },
	[WEB_ENDPOINT_TIMELINE] = { "/api/v1/timeline", "jbpf-web", timeline_keys, NULL },
	[WEB_ENDPOINT_PROFILE] = { "/api/v1/profile", "jbpf-dump", profile_keys, profile_media },
	[WEB_ENDPOINT_DIFF] = { "/api/v1/diff", "jbpf-diff", diff_keys, diff_media },
	[WEB_ENDPOINT_RUNNING] = { "/api/v1/running", "jbpf-web", running_keys, NULL },
};

enum web_endpoint web_query_endpoint(const char *path)
{
	for (size_t i = 1; i < ARRAY_SIZE(endpoints); i++) {
		if (strcmp(endpoints[i].path, path) == 0)
			return (enum web_endpoint)i;
	}
	return WEB_ENDPOINT_NONE;
}

/* "--name=value". 0, -ENOMEM or -E2BIG. */
static int push(struct web_query *query, const char *name, const char *value)
{
	char *argument;

	if (query->argument_cnt == WEB_QUERY_ARGUMENTS_MAX)
		return -E2BIG;
	if (asprintf(&argument, "--%s=%s", name, value) < 0)
		return -ENOMEM;
	query->arguments[query->argument_cnt++] = argument;
	return 0;
}

int web_query_begin(struct web_query *query, enum web_endpoint endpoint,
		    const struct web_source *source)
{
	const struct endpoint *what = &endpoints[endpoint];
	int err;

	*query = (struct web_query){
		.endpoint = endpoint,
		.media = what->media ? what->media : &json_media,
	};
	query->arguments[0] = strdup(what->program);
	if (!query->arguments[0])
		return -ENOMEM;
	query->argument_cnt = 1;
	err = source->from ? push(query, "from", source->from) :
			     push(query, "store", source->store);
	/* The commands' own default is another. */
	if (!err && what->media)
		err = push(query, "format", what->media->format);
	if (err)
		web_query_release(query);
	return err;
}

static bool is_selector(const char *key)
{
	for (const struct option_row *row = option_selection_rows; row->name; row++) {
		if (strcmp(row->name, key) == 0)
			return true;
	}
	return false;
}

static bool is_key(const struct endpoint *what, const char *key)
{
	if (!what->keys)
		return false;
	for (const char *const *at = what->keys; *at; at++) {
		if (strcmp(*at, key) == 0)
			return true;
	}
	return is_selector(key);
}

/* Its argument is there already, the third. */
static int set_format(struct web_query *query, const char *value, char *why, size_t why_len)
{
	const struct web_media *media = endpoints[query->endpoint].media;
	char *argument;

	while (media && media->format && strcmp(media->format, value) != 0)
		media++;
	if (!media || !media->format) {
		(void)snprintf(why, why_len, "'%s' is no format of this\n", value);
		return -EINVAL;
	}
	if (asprintf(&argument, "--format=%s", media->format) < 0)
		return -ENOMEM;
	free(query->arguments[2]);
	query->arguments[2] = argument;
	query->media = media;
	return 0;
}

int web_query_add(struct web_query *query, const char *key, const char *value, char *why,
		  size_t why_len)
{
	int err;

	if (strcmp(key, "token") == 0)
		return 0;
	if (strlen(value) > WEB_QUERY_VALUE_MAX) {
		(void)snprintf(why, why_len, "a value is longer than %d bytes\n",
			       WEB_QUERY_VALUE_MAX);
		return -EINVAL;
	}
	if (strcmp(key, "format") == 0)
		return set_format(query, value, why, why_len);
	if (strcmp(key, "download") == 0) {
		query->is_download = strcmp(value, "1") == 0;
		return 0;
	}
	if (!is_key(&endpoints[query->endpoint], key)) {
		(void)snprintf(why, why_len, "there is no parameter '%s' here\n", key);
		return -EINVAL;
	}
	err = push(query, key, value);
	if (err == -E2BIG) {
		(void)snprintf(why, why_len, "there are more than %d parameters\n",
			       WEB_QUERY_ARGUMENTS_MAX);
		err = -EINVAL;
	}
	return err;
}

void web_query_release(struct web_query *query)
{
	for (int i = 0; i < query->argument_cnt; i++)
		free(query->arguments[i]);
	*query = (struct web_query){ .argument_cnt = 0 };
}
