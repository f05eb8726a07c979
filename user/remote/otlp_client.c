// SPDX-License-Identifier: Apache-2.0
/* See otlp_client.h: one kind of request, and its answer. */
#include "user/remote/otlp_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/util/cleanup.h"
#include "user/util/gzip.h"
#include "user/util/log.h"

_Static_assert(REMOTE_SENDER_SAID_BYTES == OTLP_ANSWER_WORDS, "one is written where the other is");

struct otlp_client {
	struct remote_sender *sender;
	struct strbuf zipped;
};

static const struct remote_sender_kind kind = {
	.parse = remote_url_parse_otlp,
	.token_credential = "otlp-token",
	.password_credential = "otlp-password",
	.missing =
		"; see the URL's path, and whether the server takes profiles (a collector needs the "
		"feature gate service.profilesSupport)",
	.say = otlp_answer_words,
};

int otlp_client__open(const char *url, struct otlp_client **out, char *why, size_t why_len)
{
	struct otlp_client *client = calloc(1, sizeof(*client));
	int err;

	(void)snprintf(why, why_len, "%s", errstr(ENOMEM));
	if (!client)
		return -ENOMEM;
	err = remote_sender__open(&kind, url, &client->sender, why, why_len);
	if (err) {
		otlp_client__free(client);
		return err;
	}
	*out = client;
	return 0;
}

void otlp_client__free(struct otlp_client *client)
{
	if (!client)
		return;
	remote_sender__free(client->sender);
	strbuf_release(&client->zipped);
	free(client);
}

const char *otlp_client__name(const struct otlp_client *client)
{
	return remote_sender__name(client->sender);
}

const struct remote_failure *otlp_client__failure(const struct otlp_client *client)
{
	return remote_sender__failure(client->sender);
}

uint64_t otlp_client__sent_bytes(const struct otlp_client *client)
{
	return remote_sender__sent_bytes(client->sender);
}

int otlp_client__export(struct otlp_client *client, const void *bytes, size_t len,
			struct otlp_partial *partial)
{
	struct remote_sender_request request = {
		.query = "",
		.headers = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
	};
	const struct strbuf *answer;
	int err;

	strbuf_clear(&client->zipped);
	*partial = (struct otlp_partial){ 0 };
	err = gzip_append(&client->zipped, bytes, len, GZIP_FASTEST);
	if (err) {
		(void)remote_sender__fail(client->sender, REMOTE_FAULT_PASSING, errstr(err));
		return err;
	}
	request.body = client->zipped.data;
	request.body_len = client->zipped.len;
	err = remote_sender__post(client->sender, &request, &answer);
	if (!err && !otlp_answer_partial(strbuf_str(answer), answer->len, partial))
		return remote_sender__fail(
			client->sender, REMOTE_FAULT_PERSON,
			"the answer is none of OTLP's responses; check the URL: is this a receiver of OTLP?");
	return err;
}
