/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question of the page as the command line that answers it: /api/v1/profile?since=@1&comm=java is
 * jbpf-dump --store=DIR --since=@1 --comm=java, or --from=URL. So the page can ask what the commands can, and what
 * is wrong is refused in their words. Only options that read and select may be asked for.
 */
#ifndef JBPF_WEB_WEB_QUERY_H
#define JBPF_WEB_WEB_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"

#define WEB_QUERY_ARGUMENTS_MAX 40
#define WEB_QUERY_VALUE_MAX	1024 /* bytes */

enum web_endpoint {
	WEB_ENDPOINT_NONE = 0,
	WEB_ENDPOINT_INFO,
	WEB_ENDPOINT_TIMELINE,
	WEB_ENDPOINT_PROFILE,
	WEB_ENDPOINT_DIFF,
	WEB_ENDPOINT_RUNNING,
};

/* What is asked: one of both. Borrowed. */
struct web_source {
	const char *store; /* directory */
	const char *from;  /* URL of remote_url.h */
};

/* How an answer is labelled. */
struct web_media {
	const char *format;	/* "html"; ends lists with NULL */
	const char *media_type; /* of HTTP */
	const char *suffix;	/* of a file's name */
};

/* Zero-initialise; end with web_query_release(). */
struct web_query {
	enum web_endpoint endpoint;
	const struct web_media *media;
	bool is_download; /* with a file's name */
	char *arguments[WEB_QUERY_ARGUMENTS_MAX +
			1]; /* owned, as main() has them: ends with NULL */
	int argument_cnt;
};

/* "/api/v1/profile"; WEB_ENDPOINT_NONE: there is no such. */
enum web_endpoint web_query_endpoint(const char *path);

/* 0 or -ENOMEM. */
__must_check int web_query_begin(struct web_query *query, enum web_endpoint endpoint,
				 const struct web_source *source);
/* One parameter, decoded. 0, -ENOMEM, or -EINVAL and one line in `why`. */
__must_check int web_query_add(struct web_query *query, const char *key, const char *value,
			       char *why, size_t why_len);
void web_query_release(struct web_query *query);

#endif
