// SPDX-License-Identifier: Apache-2.0
/* See push_cursor.h. */
#include "user/push/push_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define FILE_MAX_BYTES 256
#define BEGIN	       "jbpf-push 1 sent-until "

int push_cursor_path(const char *dir, const char *server, const char *store, struct strbuf *out)
{
	uint64_t hash =
		XXH3_64bits_withSeed(store, strlen(store), XXH3_64bits(server, strlen(server)));

	strbuf_printf(out, "%s/cursor-%016" PRIx64, dir, hash);
	return strbuf_error(out);
}

int push_cursor_read(const char *path, uint64_t *unix_ns_out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t seconds;
	int err = fs_read_file(AT_FDCWD, path, FILE_MAX_BYTES, &text);

	if (err == -ENOENT) {
		*unix_ns_out = 0;
		return 0;
	}
	if (err)
		return err == -EFBIG ? -EBADMSG : err;
	if (text.len <= strlen(BEGIN) || memcmp(text.data, BEGIN, strlen(BEGIN)) != 0 ||
	    parse_u64_n(text.data + strlen(BEGIN), text.len - strlen(BEGIN) - 1, 10, &seconds) ||
	    text.data[text.len - 1] != '\n' || seconds > UINT32_MAX)
		return -EBADMSG;
	*unix_ns_out = seconds * CLOCK_NS_PER_S;
	return 0;
}

int push_cursor_write(const char *path, uint64_t unix_ns)
{
	char text[64];
	int len = snprintf(text, sizeof(text), BEGIN "%" PRIu64 "\n",
			   (uint64_t)(unix_ns / CLOCK_NS_PER_S));

	return fs_write_atomic(AT_FDCWD, path, 0644, text, (size_t)len);
}
