/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a server, by libcurl. The library is loaded when the first client is opened: a command
 * that never talks to a server does not need it. Certificates are verified, redirects are not followed, and no proxy,
 * .netrc or other protocol is used.
 */
#ifndef JBPF_REMOTE_HTTP_CLIENT_H
#define JBPF_REMOTE_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define HTTP_ERROR_MAX_BYTES   4096 /* of an error's text that is kept */
#define HTTP_RETRY_AFTER_MAX_S 3600 /* a server that asks for more is asked again then */

/* For servers that may be far away, and may sort what they are sent before they answer. */
#define HTTP_CONNECT_TIMEOUT_MS 10000
#define HTTP_STALL_TIMEOUT_MS	120000

struct http_client;

struct http_options {
	uint32_t connect_timeout_ms;
	uint32_t stall_timeout_ms; /* nothing comes or goes for so long */
	const char *ca_file;	   /* NULL = those that the system trusts; borrowed */
	const char *user;	   /* of basic authentication; NULL = none; borrowed */
	const char *password;	   /* with it; borrowed */
};

struct http_request {
	const char *url;
	const char *const *headers; /* "Name: value", ends with NULL */
	const void *body;
	size_t body_len;
	/* The answer, piece by piece, if its status is 200. Non-zero ends the request with it. */
	int (*receive)(void *ctx, const void *bytes, size_t len);
	void *ctx;
};

struct http_answer {
	long status;			 /* 0 = there was none */
	char text[HTTP_ERROR_MAX_BYTES]; /* body of another status than 200; NUL-terminated */
	char why[256];			 /* when the result is negative: one line */
	uint32_t retry_after_s; /* of status 429 and 503, in seconds or as a date; 0 = not said */
};

/* 0; -ENOSYS: there is no libcurl, `why` says which to install; -ENOMEM. `options` is copied, texts are borrowed. */
__must_check int http_client__open(const struct http_options *options, struct http_client **out,
				   char *why, size_t why_len);
void http_client__free(struct http_client *client); /* NULL is fine */

/*
 * POST. 0: there is a status. Otherwise what receive() said; -ETIMEDOUT; -EHOSTUNREACH: no
 * connection; -EPROTO: TLS, or no HTTP; -EPIPE: the answer or the request was cut; -ENOMEM.
 */
__must_check int http_client__post(struct http_client *client, const struct http_request *request,
				   struct http_answer *answer);

#endif
