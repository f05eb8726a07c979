// SPDX-License-Identifier: Apache-2.0
/*
 * The aarch64 half of leaf repair, which needs no such machine: a method as C2 of 17 lays it out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/leaf/leaf_repair_arm64.h"
#include "user/util/cleanup.h"

#define BASE 0xffff80001000ull

static void aarch64_tells_only_what_needs_no_repair(void **test_state)
{
	static const uint32_t code[] = {
		0xd10083ff, /* 0 sub sp, sp, #0x20 */
		0xa9017bfd, /* 1 stp x29, x30, [sp, #0x10] */
		0x910043fd, /* 2 add x29, sp, #0x10 */
		0x0b010020, /* 3 add w0, w1, w1 */
		0x94000010, /* 4 bl */
		0xa9417bfd, /* 5 ldp x29, x30, [sp, #0x10] */
		0x910083ff, /* 6 add sp, sp, #0x20 */
		0xf9402788, /* 7 ldr x8, [x28, #0x48] */
		0xeb2863ff, /* 8 cmp sp, x8 */
		0x54000048, /* 9 b.hi */
		0xd65f03c0, /* 10 ret */
		0x14000400, /* 11 b out */
	};
	uint8_t bytes[sizeof(code) + LEAF_CODE_BYTES] = { 0 };
	struct hotspot_blob blob = { .kind = HOTSPOT_BLOB_NMETHOD,
				     .code_begin = BASE,
				     .code_end = BASE + sizeof(code),
				     .verified_entry = BASE,
				     .entry_bci = -1 };

	(void)test_state;
	for (size_t i = 0; i < sizeof(code); i++)
		bytes[i] = (uint8_t)(code[i / 4] >> (8 * (i % 4)));
	for (size_t i = 0; i < ARRAY_SIZE(code); i++) {
		struct leaf_code leaf = { .blob = &blob,
					  .ip = BASE + 4 * i,
					  .at_ip = bytes + 4 * i,
					  .entry = bytes,
					  .entry_address = BASE,
					  .entry_len = sizeof(code) };
		bool has_frame = i >= 3 && i <= 5;

		assert_int_equal(leaf_repair_arm64_judge_compiled(&leaf),
				 has_frame ? LEAF_NOT_NEEDED : LEAF_NOT_REPAIRABLE);
		leaf.entry = NULL;
		assert_int_equal(leaf_repair_arm64_judge_compiled(&leaf), LEAF_NOT_REPAIRABLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aarch64_tells_only_what_needs_no_repair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
