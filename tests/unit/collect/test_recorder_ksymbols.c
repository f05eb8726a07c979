// SPDX-License-Identifier: Apache-2.0
/* What a recorder tells its namer of BPF programs that come and go. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/collect/recorder_testing.h"

static struct ksymbol_changes heard_of_ksymbols(void)
{
	const struct ksymbol_changes *heard;
	struct ksymbol_changes changes = { 0 };
	struct packet packet;
	int err;

	do {
		while (!packet_stream_next(&link_.namer, &packet, &err))
			assert_int_equal(packet_stream_fill(&link_.namer), 0);
	} while (packet.kind != NAMING_KSYMBOLS);
	heard = naming_ksymbols_read(packet.bytes, packet.len);
	assert_non_null(heard);
	memcpy(&changes, heard, packet.len);
	return changes;
}

/* So the first window has names of BPF programs, too. */
static void the_namer_hears_which_bpf_programs_came_when_sampling_starts(void **state)
{
	struct recorder *recorder = open_recorder();
	struct ksymbol_changes heard;

	(void)state;
	source_.ksymbols = (struct ksymbol_changes){ .until_boot_ns = 7,
						     .cnt = 1,
						     .items = { { 16, 32, 5 } } };
	assert_int_equal(recorder__start(recorder), 0);
	assert_false(source_.were_ksymbols_late);
	assert_int_equal(recorder__consume(recorder), 0);
	heard = heard_of_ksymbols();
	assert_int_equal(heard.until_boot_ns, 7);
	assert_int_equal(heard.cnt, 1);
	assert_int_equal(heard.items[0].start, 16);
	assert_int_equal(heard.items[0].end, 32);
	assert_int_equal(heard.items[0].boot_ns, 5);
	recorder__free(recorder);
}

/* All of a window before the window, so that its names are right. */
static void the_namer_hears_which_bpf_programs_came_before_each_window(void **state)
{
	struct recorder *recorder = open_recorder();
	struct ksymbol_changes heard;

	(void)state;
	assert_int_equal(recorder__start(recorder), 0);
	assert_int_equal(recorder__consume(recorder), 0);
	heard = heard_of_ksymbols();
	assert_int_equal(heard.until_boot_ns, 0); /* nobody knows */
	source_.ksymbols = (struct ksymbol_changes){ .until_boot_ns = 9 };
	recorder__end_window(recorder);
	assert_int_equal(recorder__consume(recorder), 0);
	heard = heard_of_ksymbols();
	assert_int_equal(heard.until_boot_ns, 9);
	assert_int_equal(heard.cnt, 0);
	recorder__free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_namer_hears_which_bpf_programs_came_when_sampling_starts),
		cmocka_unit_test(the_namer_hears_which_bpf_programs_came_before_each_window),
	};

	return cmocka_run_group_tests_name("recorder_ksymbols", tests, NULL, NULL);
}
