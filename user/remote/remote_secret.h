/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords and tokens: a line in a file, or in one of systemd's credentials ($CREDENTIALS_DIRECTORY). */
#ifndef JBPF_REMOTE_REMOTE_SECRET_H
#define JBPF_REMOTE_REMOTE_SECRET_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends the secret: the first line of `file`; when that is NULL, of the credential if there is one, else
 * nothing. 0, or -errno with one line in `why`.
 */
__must_check int remote_secret_find(const char *file, const char *credential, struct strbuf *out,
				    char *why, size_t why_len);

#endif
