// SPDX-License-Identifier: Apache-2.0
/* See utf8.h. */
#include "user/util/utf8.h"

size_t utf8_next(const char *text, size_t len, uint32_t *code_out)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)text[0];
	uint32_t code;
	size_t size;

	*code_out = UTF8_BAD_BYTE;
	if (first < 0x80) {
		*code_out = first;
		return 1;
	}
	if (first >= 0xc2 && first <= 0xdf) {
		size = 2;
		code = first & 0x1f;
	} else if ((first & 0xf0) == 0xe0) {
		size = 3;
		code = first & 0x0f;
	} else if (first >= 0xf0 && first <= 0xf4) {
		size = 4;
		code = first & 0x07;
	} else {
		return 1;
	}
	if (size > len)
		return 1;
	for (size_t i = 1; i < size; i++) {
		unsigned char next = (unsigned char)text[i];

		if ((next & 0xc0) != 0x80)
			return 1;
		code = code << 6 | (next & 0x3f);
	}
	if (code < smallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 1;
	*code_out = code;
	return size;
}

bool utf8_is_deceptive(uint32_t code)
{
	switch (code) {
	case 0x00 ... 0x1f:
	case 0x7f ... 0x9f:
	case 0xad:   /* soft hyphen */
	case 0x34f:  /* combining grapheme joiner */
	case 0x61c:  /* Arabic letter mark */
	case 0x115f: /* Hangul fillers, these two, ... */
	case 0x1160:
	case 0x180e:
	case 0x200b ... 0x200f: /* zero width, and directions */
	case 0x2028 ... 0x202e: /* separators of lines, embeddings */
	case 0x2060 ... 0x206f:
	case 0x3164: /* ... this one ... */
	case 0xfeff:
	case 0xffa0: /* ... and this one */
	case 0xfff9 ... 0xfffb:
	case 0xe0000 ... 0xe007f: /* tags */
		return true;
	default:
		return false;
	}
}
