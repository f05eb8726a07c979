// SPDX-License-Identifier: Apache-2.0
/* See remote_secret.h. */
#include "user/remote/remote_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define SECRET_MAX_BYTES 1024

/* The file's first line. */
static int read_secret(const char *path, struct strbuf *out, char *why, size_t why_len)
{
	int err = fs_read_file(AT_FDCWD, path, SECRET_MAX_BYTES, out);

	if (err) {
		(void)snprintf(why, why_len,
			       "the file of the password or token, '%s', cannot be read: %s", path,
			       errstr(err));
		return err;
	}
	if (out->len && out->data[out->len - 1] == '\n')
		strbuf_truncate(out, out->len - 1);
	for (size_t i = 0; i < out->len; i++) {
		if ((unsigned char)out->data[i] < ' ') {
			(void)snprintf(
				why, why_len,
				"the file of the password or token, '%s', is to have one line",
				path);
			return -EINVAL;
		}
	}
	return strbuf_error(out);
}

int remote_secret_find(const char *file, const char *credential, struct strbuf *out, char *why,
		       size_t why_len)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	__cleanup_strbuf struct strbuf path = STRBUF_INIT;

	if (file)
		return read_secret(file, out, why, why_len);
	if (!dir)
		return 0;
	strbuf_printf(&path, "%s/%s", dir, credential);
	if (strbuf_error(&path))
		return strbuf_error(&path);
	return access(path.data, F_OK) ? 0 : read_secret(path.data, out, why, why_len);
}
