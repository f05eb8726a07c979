// SPDX-License-Identifier: Apache-2.0
/* See http_client.h. One handle, so that a connection is used again. */
#include "user/remote/http_client.h"

/* Names that old libraries know, too. */
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

#define CURL_LIBRARY "libcurl.so.4"

/* X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT to X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, openssl/x509_vfy.h */
#define VERIFY_UNKNOWN_FIRST 18
#define VERIFY_UNKNOWN_LAST  21

struct library {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_easy_reset) *reset;
	CURLcode (*setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*getinfo)(CURL *handle, CURLINFO info, ...);
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
};

struct http_client {
	struct library curl;
	CURL *handle;
	struct http_options options;
};

struct exchange {
	struct http_client *client;
	const struct http_request *request;
	struct http_answer *answer;
	size_t text_len;
	int err; /* of receive() */
};

/* The library stays loaded: it has threads' keys and an exit handler of its TLS library. */
static int load(struct library *library, char *why, size_t why_len)
{
	const struct {
		const char *name;
		void *place;
	} symbols[] = {
		{ "curl_global_init", &library->global_init },
		{ "curl_easy_init", &library->init },
		{ "curl_easy_cleanup", &library->cleanup },
		{ "curl_easy_reset", &library->reset },
		{ "curl_easy_setopt", &library->setopt },
		{ "curl_easy_getinfo", &library->getinfo },
		{ "curl_easy_perform", &library->perform },
		{ "curl_easy_strerror", &library->strerror },
		{ "curl_slist_append", &library->slist_append },
		{ "curl_slist_free_all", &library->slist_free_all },
	};
	void *handle = dlopen(CURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *symbol = handle ? dlsym(handle, symbols[i].name) : NULL;

		if (!symbol) {
			(void)snprintf(
				why, why_len,
				CURL_LIBRARY
				" is needed to talk to a server: install the package libcurl4");
			return -ENOSYS;
		}
		memcpy(symbols[i].place, &symbol, sizeof(symbol));
	}
	return library->global_init(CURL_GLOBAL_DEFAULT) ? -ENOMEM : 0;
}

int http_client__open(const struct http_options *options, struct http_client **out, char *why,
		      size_t why_len)
{
	struct http_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return -ENOMEM;
	client->options = *options;
	err = load(&client->curl, why, why_len);
	if (!err) {
		client->handle = client->curl.init();
		err = client->handle ? 0 : -ENOMEM;
	}
	if (err) {
		http_client__free(client);
		return err;
	}
	*out = client;
	return 0;
}

void http_client__free(struct http_client *client)
{
	if (!client)
		return;
	if (client->handle)
		client->curl.cleanup(client->handle);
	free(client);
}

static void keep_text(struct exchange *exchange, const char *bytes, size_t len)
{
	struct http_answer *answer = exchange->answer;
	size_t room = sizeof(answer->text) - 1 - exchange->text_len;

	if (len > room)
		len = room;
	memcpy(answer->text + exchange->text_len, bytes, len);
	exchange->text_len += len;
	answer->text[exchange->text_len] = '\0';
}

static size_t receive(char *bytes, size_t size, size_t cnt, void *ctx)
{
	struct exchange *exchange = ctx;
	struct http_client *client = exchange->client;
	size_t len = size * cnt;
	long status = 0;

	(void)client->curl.getinfo(client->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200) {
		keep_text(exchange, bytes, len);
		return len;
	}
	if (exchange->request->receive)
		exchange->err = exchange->request->receive(exchange->request->ctx, bytes, len);
	return exchange->err ? 0 : len; /* a length that is not what came ends the request */
}

/* What stands behind the server in the URL. */
static const char *target_of(const char *url)
{
	const char *server = strstr(url, "://");
	const char *target = strchr(server ? server + strlen("://") : url, '/');

	return target ? target : "/";
}

/* The first error of the options; a version of the library that does not know one is no good. */
static CURLcode set_options(struct exchange *exchange, struct curl_slist *headers, char *text)
{
	const struct http_options *options = &exchange->client->options;
	const struct http_request *request = exchange->request;
	CURL *handle = exchange->client->handle;
	CURLcode code = CURLE_OK;

#define SET(option, value)                                                             \
	do {                                                                           \
		if (!code)                                                             \
			code = exchange->client->curl.setopt(handle, (option), value); \
	} while (0)
	exchange->client->curl.reset(handle);
	SET(CURLOPT_URL, request->url);
	/* From the URL the library would leave out a query for which it has no memory (lib/url.c, 7.88), without a word. */
	SET(CURLOPT_REQUEST_TARGET, target_of(request->url));
	SET(CURLOPT_ERRORBUFFER, text);
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (options->ca_file)
		SET(CURLOPT_CAINFO, options->ca_file);
	if (options->user) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, options->user);
		SET(CURLOPT_PASSWORD, options->password);
	}
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_timeout_ms);
	SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
	SET(CURLOPT_LOW_SPEED_TIME, (long)((options->stall_timeout_ms + 999) / 1000));
	SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDS, request->body_len ? request->body : "");
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	SET(CURLOPT_WRITEFUNCTION, receive);
	SET(CURLOPT_WRITEDATA, exchange);
#undef SET
	return code;
}

/* A library before 7.66 does not know: then no time is said. */
static uint32_t retry_after_s(struct http_client *client, long status)
{
	curl_off_t seconds = 0;

	if ((status != 429 && status != 503) ||
	    client->curl.getinfo(client->handle, CURLINFO_RETRY_AFTER, &seconds) || seconds < 0)
		return 0;
	return seconds < HTTP_RETRY_AFTER_MAX_S ? (uint32_t)seconds : HTTP_RETRY_AFTER_MAX_S;
}

static int to_errno(CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		return -EHOSTUNREACH;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return -EPIPE;
	default:
		return -EPROTO;
	}
}

/* Is the certificate one that no authority we know vouches for? */
static bool is_of_unknown_authority(struct http_client *client, CURLcode code)
{
	long result = 0;

	return code == CURLE_PEER_FAILED_VERIFICATION &&
	       !client->curl.getinfo(client->handle, CURLINFO_SSL_VERIFYRESULT, &result) &&
	       result >= VERIFY_UNKNOWN_FIRST && result <= VERIFY_UNKNOWN_LAST;
}

/* Without "Expect", which costs a second where the server does not answer it. */
static int add_headers(struct http_client *client, const char *const *headers,
		       struct curl_slist **out)
{
	static const char *const none[] = { NULL };
	struct curl_slist *list = client->curl.slist_append(NULL, "Expect:");

	for (headers = headers ? headers : none; list && *headers; headers++) {
		struct curl_slist *longer = client->curl.slist_append(list, *headers);

		if (!longer)
			client->curl.slist_free_all(list);
		list = longer;
	}
	*out = list;
	return list ? 0 : -ENOMEM;
}

int http_client__post(struct http_client *client, const struct http_request *request,
		      struct http_answer *answer)
{
	struct exchange exchange = { .client = client, .request = request, .answer = answer };
	char text[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers;
	const char *advice = "";
	CURLcode code;

	answer->status = 0;
	answer->retry_after_s = 0;
	answer->text[0] = answer->why[0] = '\0';
	if (add_headers(client, request->headers, &headers))
		return -ENOMEM;
	code = set_options(&exchange, headers, text);
	if (!code)
		code = client->curl.perform(client->handle);
	(void)client->curl.getinfo(client->handle, CURLINFO_RESPONSE_CODE, &answer->status);
	answer->retry_after_s = retry_after_s(client, answer->status);
	if (is_of_unknown_authority(client, code))
		advice = "; ca_file=FILE in the URL says whose certificates are good";
	/* They point to what ends here. */
	client->curl.reset(client->handle);
	client->curl.slist_free_all(headers);
	if (exchange.err)
		return exchange.err;
	if (code)
		(void)snprintf(answer->why, sizeof(answer->why), "%.180s%s",
			       *text ? text : client->curl.strerror(code), advice);
	return to_errno(code);
}
