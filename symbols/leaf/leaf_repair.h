/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller that a frame-pointer walk misses when a JIT method is interrupted before its frame is
 * set up or after it is torn down (21-30 % of JIT leaf samples as measured). The caller's
 * return address then lies at [sp] or [sp + 8]. Said only when the code itself proves it; pure: no
 * process is touched here.
 *
 * In: the blob, the address of the sample, bytes around it. Out: a verdict. Nothing is kept or owned.
 */
#ifndef JBPF_LEAF_LEAF_REPAIR_H
#define JBPF_LEAF_LEAF_REPAIR_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/hotspot/hotspot_code.h"

#define LEAF_CODE_BYTES	     16	  /* = JBPF_LEAF_CODE_BYTES */
#define LEAF_ENTRY_BYTES_MAX 8192 /* leaf_repair_wants() never asks for more */

enum leaf_verdict {
	LEAF_NOT_NEEDED = 0, /* the frame is set up: the chain has the caller */
	LEAF_CALLER_AT_SP,   /* return address at [sp] */
	LEAF_CALLER_AT_SP_8, /* return address in the second word: [sp + 8], or as below */
	LEAF_NOT_REPAIRABLE, /* a caller is missing, or may be, and nothing proves where it is */
	LEAF_NOT_JUDGED, /* nobody asked: no leaf in JIT code; leaf_repair_judge() never says it */
};

struct leaf_code {
	const struct hotspot_blob *blob; /* what the leaf lies in */
	uint64_t ip;
	const uint8_t *at_ip; /* LEAF_CODE_BYTES as they were at the sample; zeros: not to be had */
	const uint8_t *entry; /* code from `entry_address` on, as read now; NULL = not to be had */
	uint64_t entry_address;
	size_t entry_len;
};

/*
 * Where x86-64 code makes a frame by mov [rsp + d8], rbp; mov rbp, rsp; add rbp, d8 and is at one of
 * these, the second word is expected to be [rsp + d8 + 8] at the first two, and the chain to begin at
 * rsp + d8 at the third, as struct jbpf_stack has it.
 */
enum leaf_verdict leaf_repair_judge(const struct leaf_code *leaf);

/* Which code has to be read for that: address and length; *len_out 0 = none. */
void leaf_repair_wants(const struct hotspot_blob *blob, uint64_t ip, uint64_t *address_out,
		       size_t *len_out);

#endif
