/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a server of profiles is, as people write it: clickhouse://USER@HOST:PORT/DATABASE?KEY=VALUE&...
 * Keys: tls=verify (the default) or tls=off, ca_file=FILE, password_file=FILE, cluster=NAME (for those who make
 * tables). Or
 * otlp+https://USER@HOST:PORT/PATH?KEY=VALUE&..., without TLS otlp+http://; pyroscope+https:// and
 * pyroscope+http:// likewise. Keys: ca_file=FILE, tenant=NAME, and token_file=FILE, or with a user
 * password_file=FILE.
 * A password is never in it: other users see command lines. Pure.
 */
#ifndef JBPF_REMOTE_REMOTE_URL_H
#define JBPF_REMOTE_REMOTE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define REMOTE_URL_FORM	     "clickhouse://USER@HOST:PORT/DATABASE?tls=verify&password_file=FILE"
#define REMOTE_URL_FORM_OTLP "otlp+https://HOST:PORT/PATH?token_file=FILE"
#define REMOTE_URL_FORM_PYROSCOPE \
	"pyroscope+https://USER@HOST:PORT/PATH?password_file=FILE&tenant=NAME"

/* Zero-initialise; end with remote_url_release(). */
struct remote_url {
	char *user;	/* NULL = none is given; of ClickHouse "default" then */
	char *host;	/* an IPv6 address with its brackets */
	char *database; /* "default" when none is given; of others the path, with its slash, or "" */
	char *password_file; /* NULL = not given, like the next three */
	char *token_file;
	char *tenant;  /* letters, digits and what a header's value can have */
	char *cluster; /* of ClickHouse, likewise: letters, digits, "_-." */
	char *ca_file; /* NULL = those that the system trusts */
	uint16_t
		port; /* when none is given: 8443, without TLS 8123; of OTLP 4318, of Pyroscope 4040 */
	bool is_tls;
};

#define __cleanup_remote_url __attribute__((cleanup(remote_url_release)))

/* Does it begin as one of ClickHouse? What does not is a directory, or a mistake. */
bool remote_url_is_one(const char *text);
/* One of ClickHouse. 0, -EINVAL with one line for people in `why`, or -ENOMEM. */
__must_check int remote_url_parse(const char *text, struct remote_url *out, char *why,
				  size_t why_len);
/* The same of OTLP. */
bool remote_url_is_otlp(const char *text);
__must_check int remote_url_parse_otlp(const char *text, struct remote_url *out, char *why,
				       size_t why_len);
/* The same of Pyroscope. */
bool remote_url_is_pyroscope(const char *text);
__must_check int remote_url_parse_pyroscope(const char *text, struct remote_url *out, char *why,
					    size_t why_len);
void remote_url_release(struct remote_url *url);

/* Writes one of ClickHouse, with this password_file in place of its own; NULL = without. */
void remote_url_write(const struct remote_url *url, const char *password_file, struct strbuf *out);

#endif
