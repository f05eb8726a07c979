// SPDX-License-Identifier: Apache-2.0
/*
 * Leaf repair on any code: it may say anything about garbage, but reads nothing beyond what it was
 * given, comes to an end, and asks only for code that lies in the blob.
 *
 *     make fuzz                          runs every target for FUZZ_SECONDS (60)
 *     build-fuzz/fuzz_leaf_repair FILE   runs one input again
 *
 * Input: kind of blob, entry_bci, name (one byte each), verified entry and leaf as offsets in the
 * code (2 bytes each), how much less than wanted is read (1 byte), the code.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/leaf/leaf_repair.h"
#include "symbols/leaf/leaf_repair_arm64.h"
#include "symbols/leaf/leaf_repair_x86_judge.h"
#include "user/util/cleanup.h"

#define HEAD_BYTES 8
#define BASE	   0x7f0000000000ull

static const char *const names[] = { "StubRoutines (1)", "I2C/C2I adapters", "SafepointBlob", "" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void judge(const struct hotspot_blob *blob, uint64_t ip, const uint8_t *code, size_t cut)
{
	struct leaf_code leaf = { .blob = blob, .ip = ip };
	uint8_t at_ip[LEAF_CODE_BYTES] = { 0 };
	size_t code_len = blob->code_end - blob->code_begin;
	size_t left = ip - blob->code_begin < code_len ? blob->code_end - ip : 0;
	__cleanup_free uint8_t *entry = NULL;

	leaf_repair_wants(blob, ip, &leaf.entry_address, &leaf.entry_len);
	if (leaf.entry_len > LEAF_ENTRY_BYTES_MAX ||
	    (leaf.entry_len > 0 && (leaf.entry_address < blob->code_begin ||
				    leaf.entry_address + leaf.entry_len > blob->code_end)))
		abort();
	if (left > 0)
		memcpy(at_ip, code + (ip - blob->code_begin),
		       left < sizeof(at_ip) ? left : sizeof(at_ip));
	leaf.at_ip = at_ip;
	leaf.entry_len -= cut < leaf.entry_len ? cut : leaf.entry_len;
	if (leaf.entry_len > 0) {
		/* Of just that length, so that reading past it shows. */
		entry = malloc(leaf.entry_len);
		if (!entry)
			return;
		memcpy(entry, code + (leaf.entry_address - blob->code_begin), leaf.entry_len);
		leaf.entry = entry;
	}
	(void)leaf_repair_judge(&leaf);
	if (left > 0) {
		(void)leaf_repair_x86_judge_compiled(&leaf);
		(void)leaf_repair_x86_judge_stub(&leaf);
		(void)leaf_repair_arm64_judge_compiled(&leaf);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hotspot_blob blob = { .code_begin = BASE };
	uint64_t ip;

	if (len < HEAD_BYTES)
		return 0;
	blob.code_end = BASE + (len - HEAD_BYTES);
	blob.kind = (enum hotspot_blob_kind)(data[0] % (HOTSPOT_BLOB_CONTINUATION + 1));
	blob.entry_bci = (int8_t)data[1];
	snprintf(blob.name, sizeof(blob.name), "%s", names[data[2] % ARRAY_SIZE(names)]);
	blob.verified_entry = BASE + (data[3] | (uint64_t)data[4] << 8);
	ip = BASE + (data[5] | (uint64_t)data[6] << 8);
	judge(&blob, ip, data + HEAD_BYTES, data[7]);
	return 0;
}
