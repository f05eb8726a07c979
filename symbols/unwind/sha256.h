/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), for content that is shared by its hash though strangers chose it. In: bytes, in
 * any number of pieces; out: 32 bytes. Nothing fails.
 */
#ifndef JBPF_UNWIND_SHA256_H
#define JBPF_UNWIND_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES	   32
#define SHA256_BLOCK_BYTES 64

struct sha256 {
	uint32_t state[8];
	uint64_t len; /* of all that was added */
	uint8_t block[SHA256_BLOCK_BYTES];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);
/* Afterwards `sha` is spent. */
void sha256_end(struct sha256 *sha, uint8_t out[SHA256_BYTES]);

#endif
