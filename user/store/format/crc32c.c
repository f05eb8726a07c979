// SPDX-License-Identifier: Apache-2.0
/*
 * CRC-32C. x86-64 has the instruction since SSE4.2 and aarch64 since ARMv8.1; both are asked at
 * run time because distributions build for less.
 */
#include "user/store/format/crc32c.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

uint32_t crc32c_portable(const void *bytes, size_t len)
{
	/* Remainders of the 16 nibbles: small enough to write out and to stay in the cache. */
	static const uint32_t nibbles[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= at[i];
		crc = (crc >> 4) ^ nibbles[crc & 15];
		crc = (crc >> 4) ^ nibbles[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)

static bool crc32c_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_step8(uint32_t crc, uint64_t word)
{
	return (uint32_t)_mm_crc32_u64(crc, word);
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_step1(uint32_t crc, uint8_t byte)
{
	return _mm_crc32_u8(crc, byte);
}

#define CRC32C_TARGET __attribute__((target("sse4.2")))

#elif defined(__aarch64__)

static bool crc32c_has_instruction(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

static uint32_t crc32c_step8(uint32_t crc, uint64_t word)
{
	__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
	return crc;
}

static uint32_t crc32c_step1(uint32_t crc, uint8_t byte)
{
	__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
	return crc;
}

#define CRC32C_TARGET

#else

uint32_t crc32c(const void *bytes, size_t len)
{
	return crc32c_portable(bytes, len);
}

#endif

#ifdef CRC32C_TARGET

CRC32C_TARGET static uint32_t crc32c_by_instruction(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		crc = crc32c_step8(crc, le64toh(word));
	}
	for (; len; len--, at++)
		crc = crc32c_step1(crc, *at);
	return ~crc;
}

uint32_t crc32c(const void *bytes, size_t len)
{
	return crc32c_has_instruction() ? crc32c_by_instruction(bytes, len) :
					  crc32c_portable(bytes, len);
}

#endif
