/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask. Every user of a host reaches its loopback, and every page that a browser shows may
 * send requests there: so there is a token, and requests that another site's page makes, or that
 * came by another site's name (DNS rebinding), are refused whatever they know. Pure but for the
 * random bytes.
 */
#ifndef JBPF_WEB_WEB_ACCESS_H
#define JBPF_WEB_WEB_ACCESS_H

#include <stdbool.h>

#include "user/util/attributes.h"

#define WEB_TOKEN_CHARS 32 /* 128 random bits as hex digits */

/* 0 or -errno. */
__must_check int web_access_make_token(char out[static WEB_TOKEN_CHARS + 1]);

/* Of one request; each may be NULL: it was not sent. */
struct web_caller {
	const char *host;
	const char *origin;
	const char *fetch_site;	   /* Sec-Fetch-Site, which browsers send */
	const char *authorization; /* "Bearer TOKEN" */
	const char *token;	   /* of the address, where a header cannot be sent */
};

/* One line for the caller when he is no honest visitor of this host, else NULL. */
const char *web_access_foreign(const struct web_caller *caller);

/* Does he know the token? Takes as long for a wrong one as for a nearly right one. NULL = there is none. */
bool web_access_knows(const struct web_caller *caller, const char *token);

#endif
