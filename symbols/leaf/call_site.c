// SPDX-License-Identifier: Apache-2.0
#include "symbols/leaf/call_site.h"

#include <stddef.h>
#include <string.h>

#define CALL_RELATIVE	    0xe8u /* and 4 bytes */
#define CALL_RELATIVE_BYTES 5
#define CALL_INDIRECT	    0xffu /* with 2 in the middle of the ModRM byte */

/* Bytes of `call r/m64` without prefixes: opcode, ModRM, SIB and displacement (Intel SDM, 2.1). */
static size_t indirect_bytes(uint8_t modrm, uint8_t sib)
{
	uint8_t mod = modrm >> 6, rm = modrm & 7;
	size_t bytes = 2;

	if (mod == 3)
		return bytes;
	if (rm == 4)
		bytes++;
	if (mod == 1)
		bytes++;
	else if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		bytes += 4;
	return bytes;
}

bool call_site_ends_x86(const uint8_t *code)
{
	const uint8_t *end = code + CALL_SITE_BYTES;

	if (end[-CALL_RELATIVE_BYTES] == CALL_RELATIVE)
		return true;
	for (size_t bytes = 2; bytes < CALL_SITE_BYTES; bytes++) {
		const uint8_t *at = end - bytes;

		if (at[0] == CALL_INDIRECT && (at[1] >> 3 & 7) == 2 &&
		    indirect_bytes(at[1], bytes > 2 ? at[2] : 0) == bytes)
			return true;
	}
	return false;
}

/* BL and BLR (Arm ARM, C6.2). */
bool call_site_ends_arm64(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code + CALL_SITE_BYTES - sizeof(insn), sizeof(insn));
	return (insn & 0xfc000000u) == 0x94000000u || (insn & 0xfffffc1fu) == 0xd63f0000u;
}

bool call_site_ends(const uint8_t *code)
{
#if defined(__aarch64__)
	return call_site_ends_arm64(code);
#else
	return call_site_ends_x86(code);
#endif
}
