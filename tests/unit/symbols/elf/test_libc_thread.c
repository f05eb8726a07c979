// SPDX-License-Identifier: Apache-2.0
/* The calls of start_thread are found by their code, and only when the code proves it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "symbols/elf/libc_thread.h"

/* call *0x638(%rbx); cltq; mov %rax,%fs:0x628, as in glibc 2.36. */
#define C11_MEMORY 0xff, 0x93, 0x38, 0x06, 0, 0, 0x48, 0x98
/* call *%rax; cltq, as in glibc 2.41 and 2.43. */
#define C11_REGISTER 0xff, 0xd0, 0x48, 0x98
#define STORE(low)   0x64, 0x48, 0x89, 0x04, 0x25, (low), 0x06, 0, 0
#define NOPS	     0x90, 0x90, 0x90, 0x90

static const uint8_t glibc_2_36[] = {
	NOPS, C11_MEMORY,	  STORE(0x28), NOPS, 0xff, 0x90, 0x38, 0x06, 0,
	0,			  /* call *0x638(%rax) at 25 */
	0xeb, (uint8_t)(12 - 33), /* jmp to the store at 12 */
	NOPS,
};

static const uint8_t glibc_2_41[] = {
	C11_REGISTER, STORE(0x28),	 NOPS, 0xff, 0xd0, /* call *%rax at 17 */
	0xe9,	      (uint8_t)(4 - 24), 0xff, 0xff, 0xff, /* jmp to the store at 4 */
	NOPS,
};

static void both_calls_are_found_whatever_form_they_have(void **state)
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	assert_int_equal(libc_thread_find(glibc_2_36, sizeof(glibc_2_36), calls), 2);
	assert_int_equal(calls[0].offset, 4);
	assert_int_equal(calls[0].len, 6);
	assert_int_equal(calls[1].offset, 25);
	assert_int_equal(calls[1].len, 6);

	assert_int_equal(libc_thread_find(glibc_2_41, sizeof(glibc_2_41), calls), 2);
	assert_int_equal(calls[0].offset, 0);
	assert_int_equal(calls[0].len, 2);
	assert_int_equal(calls[1].offset, 17);
	assert_int_equal(calls[1].len, 2);
}

static void cut_code_is_no_proof(void **state)
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	for (size_t len = 0; len < sizeof(glibc_2_41) - 4; len++) {
		uint8_t code[sizeof(glibc_2_41)];

		memcpy(code, glibc_2_41, len);
		assert_int_equal(libc_thread_find(code, len, calls), 0);
	}
}

static void any_changed_byte_that_matters_is_no_proof(void **state)
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];
	/* All but the nops and the low bytes of the store's address. */
	static const size_t bytes[] = { 0,  1,	2,  3,	4,  5,	6,  7,	8,
					11, 12, 17, 18, 19, 20, 21, 22, 23 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		uint8_t code[sizeof(glibc_2_41)];

		memcpy(code, glibc_2_41, sizeof(code));
		code[bytes[i]] ^= 0x40;
		assert_int_equal(libc_thread_find(code, sizeof(code), calls), 0);
	}
}

static void two_stores_of_the_kind_are_no_proof(void **state)
{
	uint8_t code[2 * sizeof(glibc_2_41)];
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	memcpy(code, glibc_2_41, sizeof(glibc_2_41));
	memcpy(code + sizeof(glibc_2_41), glibc_2_41, sizeof(glibc_2_41));
	assert_int_equal(libc_thread_find(code, sizeof(code), calls), 0);
}

static void a_third_jump_to_the_store_is_no_proof(void **state)
{
	uint8_t code[sizeof(glibc_2_41) + 4];
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	memcpy(code, glibc_2_41, sizeof(glibc_2_41));
	code[28] = 0xff; /* call *%rax; jmp to the store at 4 */
	code[29] = 0xd0;
	code[30] = 0xeb;
	code[31] = (uint8_t)(4 - 32);
	assert_int_equal(libc_thread_find(code, sizeof(code), calls), 0);
}

static void no_code_has_no_calls(void **state)
{
	static const uint8_t zeros[4096];
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	assert_int_equal(libc_thread_find(zeros, 0, calls), 0);
	assert_int_equal(libc_thread_find(zeros, sizeof(zeros), calls), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_calls_are_found_whatever_form_they_have),
		cmocka_unit_test(cut_code_is_no_proof),
		cmocka_unit_test(any_changed_byte_that_matters_is_no_proof),
		cmocka_unit_test(two_stores_of_the_kind_are_no_proof),
		cmocka_unit_test(a_third_jump_to_the_store_is_no_proof),
		cmocka_unit_test(no_code_has_no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
