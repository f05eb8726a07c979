// SPDX-License-Identifier: Apache-2.0
/* Call frame instructions: each rule as the row of a table, and what no row can hold as such. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "symbols/unwind/cfi.h"
#include "tests/unit/symbols/unwind/unwind_testing.h"
#include "user/util/cleanup.h"

struct rule_row {
	const char *code;
	size_t len;
	uint32_t expected;
};

static void check_rules(const struct rule_row *rows, size_t cnt, uint16_t machine,
			const char *letters)
{
	for (size_t i = 0; i < cnt; i++) {
		struct unwind_table table = { 0 };
		struct tiny_eh eh = { .len = 0 };

		if (machine == EM_X86_64)
			tiny_eh_cie(&eh, letters, X86_RA, X86_CIE);
		else
			tiny_eh_cie(&eh, letters, ARM_RA, ARM_CIE);
		tiny_eh_fde(&eh, 0x10, 0x20, rows[i].code, rows[i].len);
		assert_int_equal(build_machine(&eh, machine, NULL, 0, &table), 0);
		assert_true(unwind_table_is_valid(&table));
		if (rule(&table, 0x10) != rows[i].expected)
			fail_msg("rule %zu: 0x%x, not 0x%x", i, rule(&table, 0x10),
				 rows[i].expected);
		unwind_table_release(&table);
	}
}

static void each_rule_becomes_its_row(void **state)
{
	const struct rule_row rows[] = {
		{ CODE(""), ROW(SP, 0, 1) },
		{ CODE("\x0e\x10\x86\x02"), ROW(SP, 2, 2) },
		{ CODE("\x0e\x80\x01\x86\x0a"), ROW(SP, 10, 16) },
		{ CODE("\x0c\x06\x10\x86\x02"), FRAME(0) },
		{ CODE("\x0c\x06\x18\x86\x03"), ROW(FP, 3, 3) },
		{ CODE("\x0c\x06\x10"), ROW(FP, 0, 2) },
		{ CODE("\x0e\x10\x86\x02\x0d\x06"), FRAME(0) },
		{ CODE("\x12\x07\x7e"), ROW(SP, 0, 2) },	     /* def_cfa_sf */
		{ CODE("\x0e\x10\x13\x7d"), ROW(SP, 0, 3) },	     /* def_cfa_offset_sf */
		{ CODE("\x0e\x10\x05\x06\x02"), ROW(SP, 2, 2) },     /* offset_extended */
		{ CODE("\x0e\x10\x11\x06\x02"), ROW(SP, 2, 2) },     /* offset_extended_sf */
		{ CODE("\x0e\x10\x86\x02\xc6"), ROW(SP, 0, 2) },     /* restore */
		{ CODE("\x0e\x10\x86\x02\x06\x06"), ROW(SP, 0, 2) }, /* restore_extended */
		{ CODE("\x0e\x10\x86\x02\x08\x06"), ROW(SP, 0, 2) }, /* same_value */
		{ CODE("\x0e\x10\x83\x02\x2e\x10"), ROW(SP, 0, 2) }, /* rbx; args_size */
		{ CODE("\x07\x10"), SPECIAL(JBPF_SPECIAL_END) },     /* undefined */
		{ CODE("\x0e\xf8\x3f"), ROW(SP, 0, 1023) },
		{ CODE("\x0e\x80\x40"), BIG(0, 1024u) },
		{ CODE("\x0e\x80\x80\x04\x86\x07"), BIG(7, 8192u) },
		{ CODE("\x0e\xf8\xff\x07"), BIG(0, 16383u) },
		/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
		{ CODE("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
		  SPECIAL(JBPF_SPECIAL_PLT) },
		{ CODE("\x0f\x03\x76\x78\x06"), AT(AT_FP, 0, -1, 0) },
		{ CODE("\x86\x02\x0f\x05\x76\x70\x06\x23\x08"), AT(AT_FP, 2, -2, 1) },
		{ CODE("\x0f\x06\x77\xc0\x00\x06\x23\x08"), AT(AT_SP, 0, 8, 1) },
		{ CODE("\x0f\x06\x77\xf8\x03\x06\x23\x38"), AT(AT_SP, 0, 63, 7) },
		{ CODE("\x0f\x04\x76\x80\x7c\x06"), AT(AT_FP, 0, -64, 0) },
		/* As gcc realigns a stack: rbp is at *rbp. */
		{ CODE("\x10\x06\x02\x76\x00\x0f\x03\x76\x68\x06"), AT(AT_FP, 1, -3, 0) },
		/* An expression, and then a plain rule again. */
		{ CODE("\x0f\x03\x76\x78\x06\x0c\x07\x10"), ROW(SP, 0, 2) },
	};

	(void)state;
	check_rules(rows, ARRAY_SIZE(rows), EM_X86_64, "zR");
}

static void rules_that_no_row_can_hold_are_unsupported(void **state)
{
	const struct rule_row rows[] = {
		{ CODE("\x0c\x0a\x00"), UNSUPPORTED },	       /* CFA in r10 */
		{ CODE("\x0e\x0c"), UNSUPPORTED },	       /* not whole words */
		{ CODE("\x0e\x00"), UNSUPPORTED },	       /* the return address below sp */
		{ CODE("\x13\x01"), UNSUPPORTED },	       /* negative */
		{ CODE("\x0e\x80\x80\x08"), UNSUPPORTED },     /* 128 KiB */
		{ CODE("\x0e\x80\x40\x86\x08"), UNSUPPORTED }, /* BIG has 3 bits of slot */
		{ CODE("\x0c\x06\x80\x40"), UNSUPPORTED },     /* 8 KiB from fp */
		{ CODE("\x90\x02"), UNSUPPORTED },	       /* ra at CFA - 16 */
		{ CODE("\x08\x10"), UNSUPPORTED },	       /* ra in a register */
		{ CODE("\x09\x10\x00"), UNSUPPORTED },
		{ CODE("\x86\x01"), UNSUPPORTED },     /* fp where ra is */
		{ CODE("\x86\x80\x01"), UNSUPPORTED }, /* fp at CFA - 1024 */
		{ CODE("\x11\x06\x7e"), UNSUPPORTED }, /* fp above the CFA */
		{ CODE("\x09\x06\x03"), UNSUPPORTED }, /* fp in rbx */
		{ CODE("\x07\x06"), UNSUPPORTED },     /* fp undefined */
		{ CODE("\x14\x06\x02"), UNSUPPORTED }, /* val_offset */
		{ CODE("\x15\x06\x02"), UNSUPPORTED },
		{ CODE("\x10\x06\x02\x76\x00"), UNSUPPORTED }, /* fp by an expression */
		{ CODE("\x16\x06\x02\x76\x00"), UNSUPPORTED },
		{ CODE("\x10\x06\x02\x76\x08\x0f\x03\x76\x68\x06"), UNSUPPORTED }, /* not at *rbp */
		{ CODE("\x10\x06\x02\x76\x00\x0f\x03\x77\x68\x06"), UNSUPPORTED }, /* CFA by sp */
		{ CODE("\x10\x10\x02\x76\x00"), UNSUPPORTED },			   /* ra at *rbp */
		{ CODE("\x0f\x03\x70\x00\x06"), UNSUPPORTED },			   /* *(rax) */
		{ CODE("\x0f\x02\x76\x78"), UNSUPPORTED },			   /* no deref */
		{ CODE("\x0f\x03\x76\x7c\x06"), UNSUPPORTED },	       /* not whole words */
		{ CODE("\x0f\x04\x76\x80\x04\x06"), UNSUPPORTED },     /* n is 64 */
		{ CODE("\x0f\x05\x76\x78\x06\x23\x40"), UNSUPPORTED }, /* m is 8 */
		{ CODE("\x0f\x05\x76\x78\x06\x23\x04"), UNSUPPORTED },
		{ CODE("\x0f\x04\x76\x78\x06\x06"), UNSUPPORTED }, /* and more */
		{ CODE("\x0f\x00"), UNSUPPORTED },		   /* no expression */
		{ CODE("\x0f\x10\x76"), UNSUPPORTED },		   /* cut off */
		{ CODE("\x3f"), UNSUPPORTED },			   /* no instruction */
		{ CODE("\x0b"), UNSUPPORTED },			   /* nothing remembered */
		{ CODE("\x2d"), UNSUPPORTED },			   /* SPARC's */
		{ CODE("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), UNSUPPORTED },
		{ CODE("\x86\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), UNSUPPORTED },
		{ CODE("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"),
		  UNSUPPORTED },
	};

	(void)state;
	check_rules(rows, ARRAY_SIZE(rows), EM_X86_64, "zR");
}

static void rules_of_arm64_have_their_rows(void **state)
{
	const struct rule_row rows[] = {
		{ CODE(""), ROW(SP, 0, 0) },
		{ CODE("\x0e\x20"), ROW(SP, 0, 4) },
		{ CODE("\x0e\x20\x9d\x04\x9e\x03"), ROW(SP, 4, 4) },
		{ CODE("\x0c\x1d\x10\x9d\x02\x9e\x01"), ROW(FP, 2, 2) },
		{ CODE("\x2d\x0e\x20\x9d\x04\x9e\x03"), ROW(SP, 4, 4) }, /* signed */
		{ CODE("\x0e\x20\x9d\x04\x9e\x03\xdd\xde\x0e\x00"), ROW(SP, 0, 0) },
		{ CODE("\x07\x1e"), SPECIAL(JBPF_SPECIAL_END) },
		{ CODE("\x0e\x20\x9e\x03"), UNSUPPORTED },	   /* x30 without x29 */
		{ CODE("\x0e\x20\x9d\x04"), UNSUPPORTED },	   /* x29 without x30 */
		{ CODE("\x0e\x20\x9d\x04\x9e\x02"), UNSUPPORTED }, /* not side by side */
	};

	(void)state;
	check_rules(rows, ARRAY_SIZE(rows), EM_AARCH64, "zR");
}

static void signal_frames_are_known_by_their_form(void **state)
{
	const struct rule_row x86[] = {
		{ CODE("\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00"),
		  SPECIAL(JBPF_SPECIAL_SIGNAL) },
		{ CODE("\x0f\x04\x77\xa8\x01\x06"), UNSUPPORTED },
		{ CODE(""), UNSUPPORTED },
	};
	const struct rule_row arm[] = { { CODE("\x0c\x1d\x00"), SPECIAL(JBPF_SPECIAL_SIGNAL) } };

	(void)state;
	check_rules(x86, ARRAY_SIZE(x86), EM_X86_64, "zRS");
	check_rules(arm, ARRAY_SIZE(arm), EM_AARCH64, "zRS");
}

/* One function of 64 MiB of rules would take gigabytes otherwise. */
static void rows_have_a_limit(void **state)
{
	struct cfi_rows rows = { .cnt = 0 };

	(void)state;
	for (uint64_t i = 0; i < CFI_MAX_ROWS; i++)
		assert_int_equal(cfi_rows_add(&rows, i, i % 2), 0);
	assert_int_equal(cfi_rows_add(&rows, CFI_MAX_ROWS, 0), -EFBIG);
	/* The same as the last is no row of its own. */
	assert_int_equal(cfi_rows_add(&rows, CFI_MAX_ROWS, 1), 0);
	assert_int_equal(rows.cnt, CFI_MAX_ROWS);
	cfi_rows_release(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_becomes_its_row),
		cmocka_unit_test(rules_that_no_row_can_hold_are_unsupported),
		cmocka_unit_test(rules_of_arm64_have_their_rows),
		cmocka_unit_test(signal_frames_are_known_by_their_form),
		cmocka_unit_test(rows_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
