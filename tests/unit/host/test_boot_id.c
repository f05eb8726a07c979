// SPDX-License-Identifier: Apache-2.0
/* The boot id's text as 16 bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "user/host/boot_id.h"

static void text_becomes_bytes_in_order(void **state)
{
	static const char text[] = "01234567-89ab-cdef-0011-2233445566ff\n";
	static const uint8_t want[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff };
	uint8_t id[BOOT_ID_BYTES];

	(void)state;
	boot_id_parse(text, strlen(text), id);
	assert_memory_equal(id, want, sizeof(want));
}

static void short_text_and_garbage_are_zero(void **state)
{
	static const char *const texts[] = { "", "0123", "01234567-89ab-cdef-0011-2233445566f",
					     "zzzz" };
	static const uint8_t zeros[BOOT_ID_BYTES];
	uint8_t id[BOOT_ID_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		memset(id, 0xee, sizeof(id));
		boot_id_parse(texts[i], strlen(texts[i]), id);
		assert_memory_equal(id, zeros, sizeof(zeros));
	}
}

static void this_boot_has_an_id_that_stays(void **state)
{
	static const uint8_t zeros[BOOT_ID_BYTES];
	uint8_t first[BOOT_ID_BYTES], second[BOOT_ID_BYTES];

	(void)state;
	boot_id_read(first);
	boot_id_read(second);
	assert_memory_equal(first, second, sizeof(first));
	assert_memory_not_equal(first, zeros, sizeof(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_becomes_bytes_in_order),
		cmocka_unit_test(short_text_and_garbage_are_zero),
		cmocka_unit_test(this_boot_has_an_id_that_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
