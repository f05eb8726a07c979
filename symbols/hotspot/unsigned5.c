// SPDX-License-Identifier: Apache-2.0
/*
 * Reads HotSpot's UNSIGNED5 numbers. Sums are modulo 2^32, as in the VM: five large bytes overflow
 * there, too, and a number like that never passes the caller's checks.
 */
#include "symbols/hotspot/unsigned5.h"

#define BITS_PER_BYTE	6
#define FIRST_HIGH_BYTE 192 /* 256 - 2^BITS_PER_BYTE; both forms continue from here on */

uint32_t unsigned5_read(struct byte_reader *reader, bool excludes_zero)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < UNSIGNED5_MAX_BYTES; i++) {
		uint8_t byte = byte_reader_u8(reader);

		if (excludes_zero && byte == 0)
			reader->failed = true;
		if (reader->failed)
			return 0;
		sum += (uint32_t)(byte - (excludes_zero ? 1 : 0)) << (BITS_PER_BYTE * i);
		if (byte < FIRST_HIGH_BYTE)
			break;
	}
	return sum;
}

int32_t unsigned5_read_signed(struct byte_reader *reader, bool excludes_zero)
{
	uint32_t value = unsigned5_read(reader, excludes_zero);

	return (int32_t)((value >> 1) ^ (0 - (value & 1)));
}
