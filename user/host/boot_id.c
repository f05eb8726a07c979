// SPDX-License-Identifier: Apache-2.0
/* The kernel's random id of this boot; see random(4). */
#include "user/host/boot_id.h"

#include <fcntl.h>
#include <string.h>

#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define BOOT_ID_PATH	  "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX_BYTES 64

void boot_id_parse(const char *text, size_t len, uint8_t out[static BOOT_ID_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	size_t digits = 0;

	memset(out, 0, BOOT_ID_BYTES);
	for (size_t i = 0; i < len && digits < 2 * BOOT_ID_BYTES; i++) {
		const char *digit = text[i] ? strchr(hex, text[i]) : NULL;

		if (!digit)
			continue;
		out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | (digit - hex));
		digits++;
	}
	if (digits < 2 * BOOT_ID_BYTES)
		memset(out, 0, BOOT_ID_BYTES);
}

void boot_id_read(uint8_t out[static BOOT_ID_BYTES])
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	memset(out, 0, BOOT_ID_BYTES);
	if (fs_read_file(AT_FDCWD, BOOT_ID_PATH, BOOT_ID_MAX_BYTES, &text) == 0)
		boot_id_parse(text.data, text.len, out);
}
