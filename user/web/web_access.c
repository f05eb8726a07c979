// SPDX-License-Identifier: Apache-2.0
/* See web_access.h. */
#include "user/web/web_access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "user/serve/address.h"

#define TOKEN_BYTES (WEB_TOKEN_CHARS / 2)

static const char bearer[] = "Bearer ";
static const char scheme[] = "http://";

int web_access_make_token(char out[static WEB_TOKEN_CHARS + 1])
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static bool is_our_origin(const char *origin)
{
	return strncmp(origin, scheme, strlen(scheme)) == 0 &&
	       !serve_host_is_foreign(origin + strlen(scheme));
}

const char *web_access_foreign(const struct web_caller *caller)
{
	if (serve_host_is_foreign(caller->host))
		return "this server answers to localhost only";
	if (caller->origin && !is_our_origin(caller->origin))
		return "pages of other sites may not ask this server";
	if (caller->fetch_site && strcmp(caller->fetch_site, "cross-site") == 0)
		return "pages of other sites may not ask this server";
	return NULL;
}

static bool is_token(const char *said, const char *token)
{
	unsigned char differences = 0;

	if (strlen(said) != WEB_TOKEN_CHARS)
		return false;
	for (size_t i = 0; i < WEB_TOKEN_CHARS; i++)
		differences |= (unsigned char)(said[i] ^ token[i]);
	return differences == 0;
}

bool web_access_knows(const struct web_caller *caller, const char *token)
{
	if (!token)
		return true;
	if (caller->authorization)
		return strncmp(caller->authorization, bearer, strlen(bearer)) == 0 &&
		       is_token(caller->authorization + strlen(bearer), token);
	return caller->token && is_token(caller->token, token);
}
