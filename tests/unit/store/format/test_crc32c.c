// SPDX-License-Identifier: Apache-2.0
/* CRC-32C: known values, and the same with and without the CPU's instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/store/format/crc32c.h"
#include "user/util/cleanup.h"

static void known_values_are_right(void **state)
{
	uint8_t bytes[48];

	(void)state;
	assert_int_equal(crc32c("", 0), 0);
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	/* RFC 3720, appendix B.4 */
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(bytes, 32), 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c(bytes, 32), 0x46dd794e);
	assert_int_equal(crc32c_portable(bytes, 32), 0x46dd794e);
}

static void instruction_and_table_agree(void **state)
{
	enum { MAX = 1000 };
	__cleanup_free uint8_t *bytes = malloc(MAX + 8);

	(void)state;
	assert_non_null(bytes);
	srand(5);
	for (int i = 0; i < MAX + 8; i++)
		bytes[i] = (uint8_t)rand();
	/* Every length up to the end of two words, every alignment. */
	for (size_t len = 0; len < 40; len++) {
		for (size_t shift = 0; shift < 8; shift++)
			assert_int_equal(crc32c(bytes + shift, len),
					 crc32c_portable(bytes + shift, len));
	}
	assert_int_equal(crc32c(bytes, MAX), crc32c_portable(bytes, MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values_are_right),
		cmocka_unit_test(instruction_and_table_agree),
	};

	return cmocka_run_group_tests_name("store_crc32c", tests, NULL, NULL);
}
