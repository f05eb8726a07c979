// SPDX-License-Identifier: Apache-2.0
/* See remote_words.h. */
#include "user/remote/remote_words.h"

#include <ctype.h>

void remote_words(const char *text, size_t len, char *out, size_t out_len)
{
	size_t cnt = 0;

	for (; cnt < len && cnt + 1 < out_len; cnt++) {
		char byte = text[cnt];

		if (!byte || byte == '\n' || byte == '\r')
			break;
		out[cnt] = iscntrl((unsigned char)byte) ? '?' : byte;
	}
	out[cnt] = '\0';
}
