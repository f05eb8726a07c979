/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What receivers of profiles have in common: POST of prepared bodies to a URL of remote_url.h with user or
 * token and tenant, and what their statuses mean. User's password and token come from the files that the URL
 * names, or from systemd's credentials ($CREDENTIALS_DIRECTORY), never from an argument; the tenant is sent
 * as X-Scope-OrgID, as Grafana's servers have it. Not for two threads at once.
 *
 * In: a URL and prepared bodies, borrowed for the call. Out: what the server answered, borrowed until the next
 * one, or what went wrong. The caller owns the sender.
 */
#ifndef JBPF_REMOTE_REMOTE_SENDER_H
#define JBPF_REMOTE_REMOTE_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "user/remote/remote_failure.h"
#include "user/remote/remote_url.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define REMOTE_SENDER_SAID_BYTES  256
#define REMOTE_SENDER_HEADERS_MAX 2

/* What receivers do not have in common. */
struct remote_sender_kind {
	int (*parse)(const char *text, struct remote_url *out, char *why, size_t why_len);
	const char *token_credential; /* names of systemd's credentials */
	const char *password_credential;
	const char *missing;  /* what to do at 404 and 405: "; see ..." */
	const char *unwanted; /* part of the body of such an error; NULL = it does not say so */
	/* One line of the body of an error; "" = it says nothing. */
	void (*say)(const char *body, char out[static REMOTE_SENDER_SAID_BYTES]);
};

struct remote_sender_request {
	const char *query; /* what is behind the URL's path: "/ingest?name=x"; "" = nothing */
	const char *headers[REMOTE_SENDER_HEADERS_MAX]; /* NULL = none */
	const void *body;
	size_t body_len;
};

struct remote_sender;

/* Parses, reads the secrets, connects to nothing yet. 0, or -errno with one line in `why`. `kind` is borrowed. */
__must_check int remote_sender__open(const struct remote_sender_kind *kind, const char *url,
				     struct remote_sender **out, char *why, size_t why_len);
void remote_sender__free(struct remote_sender *sender); /* NULL is fine */

/* "http://host:port/path"; valid as long as the sender. */
const char *remote_sender__name(const struct remote_sender *sender);
/*
 * 0: the server took it, and *answer is the body, cut to a few KiB, borrowed until the next
 * call; -EIO or -ENOMEM: it may have it or not, and remote_sender__failure() says more.
 */
__must_check int remote_sender__post(struct remote_sender *sender,
				     const struct remote_sender_request *request,
				     const struct strbuf **answer);
/* A failure that the caller saw: of the answer, or -ENOMEM. -EIO. */
int remote_sender__fail(struct remote_sender *sender, enum remote_fault fault, const char *words);
/* Of the last call that failed. */
const struct remote_failure *remote_sender__failure(const struct remote_sender *sender);
/* Bytes sent in bodies so far, as they travelled. */
uint64_t remote_sender__sent_bytes(const struct remote_sender *sender);

#endif
