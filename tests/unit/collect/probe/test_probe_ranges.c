// SPDX-License-Identifier: Apache-2.0
/* What may be told to the BPF programs of a HotSpot's code cache: the namer, which says it, may lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "user/collect/probe/probe_ranges.h"
#include "user/util/cleanup.h"

#define FIELD(at, bits) ((struct jbpf_hotspot_field){ at, bits, 0 })

static struct jbpf_hotspot sane(void)
{
	return (struct jbpf_hotspot){
		.start_ns = 1,
		.flags = JBPF_HOTSPOT_HAS_FRAME_SIZES,
		.barrier_low = 0x7f0000001000,
		.barrier_len = 512,
		.heaps = { { 0x7f0000000000, 1 << 20, 0x7e0000000000, 7, 0 } },
		.used = FIELD(8, 8),
		.length = FIELD(0, 64),
		.header_size = FIELD(32, 32),
		.frame_size = FIELD(44, 32),
		.frame_complete = FIELD(36, 16),
		.code = FIELD(48, 64),
		.entry = FIELD(240, 64),
		.entry_bci = FIELD(208, 32),
		.block_size = 16,
		.nmethod_size = 352,
	};
}

static void what_a_hotspot_has_is_valid(void **state)
{
	struct jbpf_hotspot hotspot = sane(), nothing = { 0 };

	(void)state;
	assert_true(probe_hotspot_is_valid(&hotspot));
	assert_true(probe_hotspot_is_valid(&nothing));
	hotspot.code = FIELD(JBPF_HOTSPOT_HEADER_BYTES - 8, 64);
	hotspot.flags = JBPF_HOTSPOT_HAS_FRAME_SIZES | JBPF_HOTSPOT_CODE_IS_OFFSET |
			JBPF_HOTSPOT_ENTRY_IS_OFFSET;
	assert_true(probe_hotspot_is_valid(&hotspot));
}

static void what_leads_out_of_user_memory_or_of_a_block_is_not(void **state)
{
	struct jbpf_hotspot bad[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = sane();
	bad[0].flags |= 1u << 9;
	bad[1].pad0 = 1;
	bad[2].barrier_low = JBPF_USER_ADDRESS_END + 1;
	bad[3].barrier_len = ~0ull;
	bad[4].heaps[3].low = ~0ull;
	bad[5].heaps[0].len = JBPF_USER_ADDRESS_END;
	bad[6].heaps[0].segmap = JBPF_USER_ADDRESS_END - 1;
	bad[7].heaps[0].segment_shift = 17;
	bad[8].heaps[1].pad0 = 1;
	bad[9].code = FIELD(JBPF_HOTSPOT_HEADER_BYTES - 7, 64);
	bad[10].used = FIELD(8, 7);
	bad[11].length.pad0 = 1;
	bad[12].frame_size = FIELD(0xffff, 32);
	bad[13].entry = FIELD(8192, 8);
	bad[14].entry_bci = FIELD(8189, 32);
	bad[15].frame_complete = FIELD(JBPF_HOTSPOT_HEADER_BYTES, 16);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(probe_hotspot_is_valid(&bad[i]));
}

static void a_lie_is_refused_before_it_reaches_a_map(void **state)
{
	static struct probe_lives lives;
	struct jbpf_hotspot hotspot = sane();

	(void)state;
	probe_hotspots_init(&lives, -1);
	hotspot.pad0 = 1;
	assert_int_equal(probe_hotspots_set(&lives, 7, 0, &hotspot), -EINVAL);
	assert_int_equal(lives.cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_hotspot_has_is_valid),
		cmocka_unit_test(what_leads_out_of_user_memory_or_of_a_block_is_not),
		cmocka_unit_test(a_lie_is_refused_before_it_reaches_a_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
