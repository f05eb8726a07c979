// SPDX-License-Identifier: Apache-2.0
/* See remote_url.h. Names hold letters, digits and a few signs only: nothing is to be escaped later. */
#include "user/remote/remote_url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/parse.h"

#define SCHEME	       "clickhouse://"
#define PORT_TLS       8443
#define PORT_PLAIN     8123
#define DEFAULT_NAME   "default"
#define NAME_MAX_BYTES 255

#define CLUSTER_SIGNS "_-."	/* nothing that SQL or a path of ZooKeeper would read otherwise */
#define TENANT_SIGNS  "_-.!*()" /* what Pyroscope takes, without its quote */

/* Servers that have no database: user or token, a path, and a tenant. */
struct receiver {
	const char *form;
	const char *plain, *tls; /* schemes */
	const char *path;	 /* when none is given */
	uint16_t port;		 /* likewise */
};

static const struct receiver otlp = {
	.form = REMOTE_URL_FORM_OTLP,
	.plain = "otlp+http://",
	.tls = "otlp+https://",
	.path = "/v1development/profiles",
	.port = 4318,
};

static const struct receiver pyroscope = {
	.form = REMOTE_URL_FORM_PYROSCOPE,
	.plain = "pyroscope+http://",
	.tls = "pyroscope+https://",
	.path = "",
	.port = 4040,
};

struct parsing {
	struct remote_url url;
	uint64_t port; /* 0 = not given */
	const char *form;
	const struct receiver *receiver; /* NULL = ClickHouse */
	char *why;
	size_t why_len;
};

static int refuse(const struct parsing *parsing, const char *what)
{
	(void)snprintf(parsing->why, parsing->why_len, "%s; a URL is %s", what, parsing->form);
	return -EINVAL;
}

bool remote_url_is_one(const char *text)
{
	return strncmp(text, SCHEME, strlen(SCHEME)) == 0;
}

static bool is_of(const struct receiver *receiver, const char *text)
{
	return strncmp(text, receiver->plain, strlen(receiver->plain)) == 0 ||
	       strncmp(text, receiver->tls, strlen(receiver->tls)) == 0;
}

bool remote_url_is_otlp(const char *text)
{
	return is_of(&otlp, text);
}

bool remote_url_is_pyroscope(const char *text)
{
	return is_of(&pyroscope, text);
}

void remote_url_release(struct remote_url *url)
{
	free(url->user);
	free(url->host);
	free(url->database);
	free(url->password_file);
	free(url->token_file);
	free(url->tenant);
	free(url->cluster);
	free(url->ca_file);
	*url = (struct remote_url){ 0 };
}

static bool is_name(const char *text, size_t len, const char *signs)
{
	if (!len || len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c && strchr(signs, c))))
			return false;
	}
	return true;
}

static int take_text(const char *text, size_t len, char **out)
{
	char *copy = strndup(text, len);

	if (!copy)
		return -ENOMEM;
	free(*out);
	*out = copy;
	return 0;
}

/* "user@" if it is there; *at is what follows. */
static int take_user(struct parsing *parsing, const char **at, size_t authority_len)
{
	const char *sign = memchr(*at, '@', authority_len);
	size_t len;

	if (!sign && parsing->receiver)
		return 0;
	if (!sign)
		return take_text(DEFAULT_NAME, strlen(DEFAULT_NAME), &parsing->url.user);
	len = (size_t)(sign - *at);
	if (memchr(*at, ':', len))
		return refuse(
			parsing,
			"a password in a URL can be read by every user of this host: leave the user there, put "
			"the password into a file and write password_file=FILE");
	if (!is_name(*at, len, "_-."))
		return refuse(parsing,
			      "the user's name may have letters, digits, '_', '-' and '.' only");
	if (take_text(*at, len, &parsing->url.user))
		return -ENOMEM;
	*at = sign + 1;
	return 0;
}

static int take_host(struct parsing *parsing, const char *at, size_t len)
{
	const char *host_end = len && *at == '[' ? memchr(at, ']', len) : memchr(at, ':', len);
	size_t host_len = host_end ? (size_t)(host_end - at) : len;
	bool is_address;

	if (host_end && *host_end == ']')
		host_len++;
	is_address = host_len > 2 && at[0] == '[' && at[host_len - 1] == ']';
	if (is_address ? !is_name(at + 1, host_len - 2, ":.") : !is_name(at, host_len, "-._"))
		return refuse(parsing, "it names no host");
	if (host_len < len &&
	    (at[host_len] != ':' ||
	     parse_u64_n(at + host_len + 1, len - host_len - 1, 10, &parsing->port) ||
	     !parsing->port || parsing->port > UINT16_MAX))
		return refuse(parsing, "the port is not a number from 1 to 65535");
	return take_text(at, host_len, &parsing->url.host);
}

static int take_tls(struct parsing *parsing, const char *value, size_t len)
{
	if (len == strlen("verify") && memcmp(value, "verify", len) == 0)
		parsing->url.is_tls = true;
	else if (len == strlen("off") && memcmp(value, "off", len) == 0)
		parsing->url.is_tls = false;
	else
		return refuse(parsing, "tls is verify or off");
	return 0;
}

static int take_setting(struct parsing *parsing, const char *at, size_t len)
{
	struct remote_url *url = &parsing->url;
	char **place = NULL;
	const char *sign = memchr(at, '=', len);
	size_t name_len = sign ? (size_t)(sign - at) : len;
	const char *value = sign ? sign + 1 : at + len;
	size_t value_len = (size_t)(at + len - value);

#define IS(name) (name_len == strlen(name) && memcmp(at, name, name_len) == 0)
	if (IS("tls") && !parsing->receiver)
		return take_tls(parsing, value, value_len);
	if (IS("tenant") && parsing->receiver)
		return is_name(value, value_len, TENANT_SIGNS) ?
			       take_text(value, value_len, &url->tenant) :
			       refuse(parsing,
				      "a tenant has letters, digits and " TENANT_SIGNS " only");
	if (IS("cluster") && !parsing->receiver)
		return is_name(value, value_len, CLUSTER_SIGNS) ?
			       take_text(value, value_len, &url->cluster) :
			       refuse(parsing,
				      "a cluster's name has letters, digits and " CLUSTER_SIGNS
				      " only");
	if (IS("ca_file"))
		place = &url->ca_file;
	else if (IS("password_file"))
		place = &url->password_file;
	else if (IS("token_file") && parsing->receiver)
		place = &url->token_file;
#undef IS
	if (!place)
		return refuse(
			parsing,
			parsing->receiver ?
				"the settings behind '?' are ca_file, password_file, token_file and tenant" :
				"the settings behind '?' are tls, ca_file, password_file and cluster");
	if (!value_len)
		return refuse(parsing, "the name of a file is missing behind '='");
	return take_text(value, value_len, place);
}

static int take_settings(struct parsing *parsing, const char *at)
{
	int err = 0;

	while (!err && *at) {
		size_t len = strcspn(at, "&");

		err = take_setting(parsing, at, len);
		at += len + (at[len] == '&');
	}
	return err;
}

/* The database; *at is what follows. */
static int take_database(struct parsing *parsing, const char **at)
{
	size_t len;

	*at += **at == '/';
	len = strcspn(*at, "?");
	if (len && !is_name(*at, len, "_"))
		return refuse(parsing, "a database's name has letters, digits and '_' only");
	if (!len)
		return take_text(DEFAULT_NAME, strlen(DEFAULT_NAME), &parsing->url.database);
	if (take_text(*at, len, &parsing->url.database))
		return -ENOMEM;
	*at += len;
	return 0;
}

static int take_path(struct parsing *parsing, const char **at)
{
	size_t len = strcspn(*at, "?");

	if (len && !is_name(*at, len, "/_-.~%"))
		return refuse(parsing,
			      "a path has letters, digits and '/', '_', '-', '.', '~', '%' "
			      "only");
	if (len <= 1 ? take_text(parsing->receiver->path, strlen(parsing->receiver->path),
				 &parsing->url.database) :
		       take_text(*at, len, &parsing->url.database))
		return -ENOMEM;
	*at += len;
	return 0;
}

/* Of a receiver: a user has a password, and who is none has a token. */
static int check_secrets(const struct parsing *parsing)
{
	const struct remote_url *url = &parsing->url;

	if (url->user && url->token_file)
		return refuse(parsing,
			      "a user has a password, and a token needs no user: USER@ with "
			      "password_file, or token_file without USER@");
	if (!url->user && url->password_file)
		return refuse(parsing, "whose is the password? USER@ is missing before the host");
	return 0;
}

/* `at`: what is behind the scheme. */
static int parse(struct parsing *parsing, const char *at)
{
	size_t authority_len = strcspn(at, "/?");
	const char *end = at + authority_len;
	int err = take_user(parsing, &at, authority_len);

	if (!err)
		err = take_host(parsing, at, (size_t)(end - at));
	if (!err)
		err = parsing->receiver ? take_path(parsing, &end) : take_database(parsing, &end);
	if (!err && *end == '?')
		err = take_settings(parsing, end + 1);
	return err ? err : check_secrets(parsing);
}

static int finish(struct parsing *parsing, int err, struct remote_url *out)
{
	struct remote_url *url = &parsing->url;

	if (err) {
		remote_url_release(url);
		return err;
	}
	if (parsing->port)
		url->port = (uint16_t)parsing->port;
	else if (parsing->receiver)
		url->port = parsing->receiver->port;
	else
		url->port = url->is_tls ? PORT_TLS : PORT_PLAIN;
	*out = *url;
	return 0;
}

int remote_url_parse(const char *text, struct remote_url *out, char *why, size_t why_len)
{
	struct parsing parsing = {
		.url = { .is_tls = true }, .form = REMOTE_URL_FORM, .why = why, .why_len = why_len
	};

	if (!remote_url_is_one(text))
		return refuse(&parsing, "it does not begin with " SCHEME);
	return finish(&parsing, parse(&parsing, text + strlen(SCHEME)), out);
}

void remote_url_write(const struct remote_url *url, const char *password_file, struct strbuf *out)
{
	char sign = '?';

	strbuf_printf(out, SCHEME "%s@%s:%u/%s", url->user, url->host, url->port, url->database);
	if (!url->is_tls) {
		strbuf_puts(out, "?tls=off");
		sign = '&';
	}
	if (url->ca_file) {
		strbuf_printf(out, "%cca_file=%s", sign, url->ca_file);
		sign = '&';
	}
	if (password_file)
		strbuf_printf(out, "%cpassword_file=%s", sign, password_file);
}

static int parse_receiver(const struct receiver *receiver, const char *text, struct remote_url *out,
			  char *why, size_t why_len)
{
	struct parsing parsing = {
		.form = receiver->form, .receiver = receiver, .why = why, .why_len = why_len
	};
	char words[64];

	if (!is_of(receiver, text)) {
		(void)snprintf(words, sizeof(words), "it does not begin with %s or %s",
			       receiver->plain, receiver->tls);
		return refuse(&parsing, words);
	}
	parsing.url.is_tls = strncmp(text, receiver->tls, strlen(receiver->tls)) == 0;
	return finish(&parsing, parse(&parsing, strstr(text, "//") + 2), out);
}

int remote_url_parse_otlp(const char *text, struct remote_url *out, char *why, size_t why_len)
{
	return parse_receiver(&otlp, text, out, why, why_len);
}

int remote_url_parse_pyroscope(const char *text, struct remote_url *out, char *why, size_t why_len)
{
	return parse_receiver(&pyroscope, text, out, why, why_len);
}
