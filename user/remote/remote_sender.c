// SPDX-License-Identifier: Apache-2.0
/* See remote_sender.h. Statuses are those of OTLP's specification ("OTLP/HTTP"), and Pyroscope's 408. */
#include "user/remote/remote_sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/remote/http_client.h"
#include "user/remote/remote_secret.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define ANSWER_MAX_BYTES 4096

struct remote_sender {
	const struct remote_sender_kind *kind;
	struct remote_url url;
	struct http_client *http;
	struct strbuf name;
	struct strbuf password;	     /* of a user */
	struct strbuf token_header;  /* "" = none */
	struct strbuf tenant_header; /* likewise */
	struct strbuf target;	     /* of a request */
	struct strbuf body;	     /* of the answer */
	struct http_answer answer;
	struct remote_failure failure;
	uint64_t sent_bytes;
};

static int read_secrets(struct remote_sender *sender, char *why, size_t why_len)
{
	const struct remote_url *url = &sender->url;
	__cleanup_strbuf struct strbuf token = STRBUF_INIT;
	int err;

	if (url->user)
		return remote_secret_find(url->password_file, sender->kind->password_credential,
					  &sender->password, why, why_len);
	err = remote_secret_find(url->token_file, sender->kind->token_credential, &token, why,
				 why_len);
	if (!err && token.len) {
		strbuf_printf(&sender->token_header, "Authorization: Bearer %s",
			      strbuf_str(&token));
		err = strbuf_error(&sender->token_header);
	}
	return err;
}

static int prepare(struct remote_sender *sender, char *why, size_t why_len)
{
	const struct remote_url *url = &sender->url;
	struct http_options options = {
		.connect_timeout_ms = HTTP_CONNECT_TIMEOUT_MS,
		.stall_timeout_ms = HTTP_STALL_TIMEOUT_MS,
		.ca_file = url->ca_file,
		.user = url->user,
	};
	int err = read_secrets(sender, why, why_len);

	if (err)
		return err;
	options.password = strbuf_str(&sender->password);
	strbuf_printf(&sender->name, "%s://%s:%u%s", url->is_tls ? "https" : "http", url->host,
		      url->port, url->database);
	if (url->tenant)
		strbuf_printf(&sender->tenant_header, "X-Scope-OrgID: %s", url->tenant);
	if (strbuf_error(&sender->name) || strbuf_error(&sender->tenant_header))
		return -ENOMEM;
	return http_client__open(&options, &sender->http, why, why_len);
}

int remote_sender__open(const struct remote_sender_kind *kind, const char *url,
			struct remote_sender **out, char *why, size_t why_len)
{
	struct remote_sender *sender = calloc(1, sizeof(*sender));
	int err;

	(void)snprintf(why, why_len, "%s", errstr(ENOMEM));
	if (!sender)
		return -ENOMEM;
	sender->kind = kind;
	err = kind->parse(url, &sender->url, why, why_len);
	if (!err)
		err = prepare(sender, why, why_len);
	if (err) {
		remote_sender__free(sender);
		return err;
	}
	*out = sender;
	return 0;
}

void remote_sender__free(struct remote_sender *sender)
{
	if (!sender)
		return;
	http_client__free(sender->http);
	remote_url_release(&sender->url);
	strbuf_release(&sender->name);
	strbuf_release(&sender->password);
	strbuf_release(&sender->token_header);
	strbuf_release(&sender->tenant_header);
	strbuf_release(&sender->target);
	strbuf_release(&sender->body);
	free(sender);
}

const char *remote_sender__name(const struct remote_sender *sender)
{
	return strbuf_str(&sender->name);
}

const struct remote_failure *remote_sender__failure(const struct remote_sender *sender)
{
	return &sender->failure;
}

uint64_t remote_sender__sent_bytes(const struct remote_sender *sender)
{
	return sender->sent_bytes;
}

/* ---- what a failure means ---- */

int remote_sender__fail(struct remote_sender *sender, enum remote_fault fault, const char *words)
{
	sender->failure.fault = fault;
	sender->failure.retry_after_s = 0;
	(void)snprintf(sender->failure.words, sizeof(sender->failure.words), "%.150s: %.340s",
		       remote_sender__name(sender), words);
	return -EIO;
}

/* A redirection is not followed: a person has to write the URL that is meant. */
static enum remote_fault fault_of(const struct remote_sender *sender)
{
	const char *unwanted = sender->kind->unwanted;
	long status = sender->answer.status;

	if (status == 401 || status == 403 || status == 404 || status == 405 || status / 100 == 3)
		return REMOTE_FAULT_PERSON;
	if (status == 413)
		return REMOTE_FAULT_TOO_LARGE;
	if (status / 100 == 4 && unwanted && strstr(sender->answer.text, unwanted))
		return REMOTE_FAULT_UNWANTED;
	return status == 408 || status == 429 || status >= 500 ? REMOTE_FAULT_PASSING :
								 REMOTE_FAULT_BAD;
}

static const char *advice(const struct remote_sender *sender, long status)
{
	switch (status) {
	case 401:
	case 403:
		if (sender->url.user)
			return "; see the user, password_file and tenant";
		return "; see token_file, or the user and password_file, and tenant";
	case 404:
	case 405:
		return sender->kind->missing;
	default:
		return status / 100 == 3 ? "; it sends to another URL: write that one" : "";
	}
}

static int fail_said(struct remote_sender *sender)
{
	long status = sender->answer.status;
	char said[REMOTE_SENDER_SAID_BYTES], words[340];

	sender->kind->say(sender->answer.text, said);
	(void)snprintf(words, sizeof(words), "%.150s (HTTP status %ld)%s",
		       *said ? said : "the server refuses", status, advice(sender, status));
	(void)remote_sender__fail(sender, fault_of(sender), words);
	sender->failure.retry_after_s = sender->answer.retry_after_s;
	return -EIO;
}

/* ---- requests ---- */

/* Of an answer that is longer than any, the rest is left out. */
static int take_bytes(void *ctx, const void *bytes, size_t len)
{
	struct remote_sender *sender = ctx;

	if (sender->body.len < ANSWER_MAX_BYTES)
		strbuf_append(&sender->body, bytes,
			      len < ANSWER_MAX_BYTES ? len : ANSWER_MAX_BYTES);
	return strbuf_error(&sender->body);
}

static int post(struct remote_sender *sender, const struct remote_sender_request *request)
{
	const char *headers[REMOTE_SENDER_HEADERS_MAX + 3];
	size_t cnt = 0;
	struct http_request http = { .url = sender->target.data,
				     .headers = headers,
				     .body = request->body,
				     .body_len = request->body_len,
				     .receive = take_bytes,
				     .ctx = sender };

	for (size_t i = 0; i < REMOTE_SENDER_HEADERS_MAX && request->headers[i]; i++)
		headers[cnt++] = request->headers[i];
	if (sender->token_header.len)
		headers[cnt++] = sender->token_header.data;
	if (sender->tenant_header.len)
		headers[cnt++] = sender->tenant_header.data;
	headers[cnt] = NULL;
	sender->sent_bytes += request->body_len;
	return http_client__post(sender->http, &http, &sender->answer);
}

int remote_sender__post(struct remote_sender *sender, const struct remote_sender_request *request,
			const struct strbuf **answer)
{
	int err;

	strbuf_clear(&sender->body);
	strbuf_clear(&sender->target);
	sender->answer.status = 0;
	strbuf_printf(&sender->target, "%s%s", strbuf_str(&sender->name), request->query);
	err = strbuf_error(&sender->target);
	if (!err)
		err = post(sender, request);
	/* A server that refuses need not read to the end of the request. */
	if (sender->answer.status && sender->answer.status / 100 != 2)
		return fail_said(sender);
	if (err == -ENOMEM) {
		(void)remote_sender__fail(sender, REMOTE_FAULT_PASSING, errstr(err));
		return err;
	}
	if (err)
		return remote_sender__fail(sender, REMOTE_FAULT_PASSING, sender->answer.why);
	*answer = &sender->body;
	return 0;
}
