// SPDX-License-Identifier: Apache-2.0
/* /proc/kallsyms from a fake /proc. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"
#include "symbols/names/kallsyms.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

static char tree[64];
static int proc_fd;

static int tree_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	strcpy(tree, "/tmp/jbpf-kallsyms-XXXXXX");
	assert_non_null(mkdtemp(tree));
	proc_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return proc_fd < 0;
}

static int tree_remove(void **state)
{
	(void)state;
	close(proc_fd);
	return remove_tree(tree);
}

static void write_file(const char *name, const char *text)
{
	int fd = openat(proc_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void write_kallsyms(const char *text)
{
	write_file("kallsyms", text);
}

/* "-" not found, "!" hidden */
static void check(struct kallsyms *syms, uint64_t address, uint64_t now_s, const char *name,
		  const char *module)
{
	struct kallsym symbol = { .name = "-", .module = "" };
	int err = kallsyms__read_and_lookup(syms, address, now_s * CLOCK_NS_PER_S, &symbol);

	if (err == -EACCES)
		symbol.name = "!";
	assert_string_equal(symbol.name, name);
	assert_string_equal(symbol.module, module);
}

#define KERNEL                                   \
	"0000000000000000 A fixed_percpu_data\n" \
	"ffffffff81000000 T _stext\n"            \
	"ffffffff81000000 T startup_64\n"        \
	"ffffffff81000100 t __pfx_local_fn\n"    \
	"ffffffff81000110 t local_fn\n"          \
	"ffffffff81000200 D some_data\n"         \
	"ffffffff81000300 T __x64_sys_read\n"    \
	"ffffffff81000300 W sys_read\n"          \
	"ffffffff81000400 w weak_fn.isra.0\n"    \
	"ffffffff82000000 r some_rodata\n"

static void kallsyms_keeps_text_and_the_better_name(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(KERNEL);
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffff80ffffff, 100, "-", "");
	check(syms, 0xffffffff81000000, 100, "startup_64", "");
	check(syms, 0xffffffff81000105, 100, "startup_64", "");
	check(syms, 0xffffffff81000110, 100, "local_fn", "");
	check(syms, 0xffffffff81000200, 100, "local_fn", "");
	check(syms, 0xffffffff81000300, 100, "sys_read", "");
	check(syms, 0xffffffff81000400, 100, "weak_fn.isra.0", "");
	/* The last one has no end: only what is near belongs to it. */
	check(syms, 0xffffffff81000500, 100, "weak_fn.isra.0", "");
	check(syms, 0xffffffff82000000, 100, "-", "");
	check(syms, 0, 100, "-", "");
	check(syms, UINT64_MAX, 100, "-", "");
	kallsyms__free(syms);
}

static void kallsyms_modules_are_no_part_of_names(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(KERNEL "ffffffffc0000000 t ext4_read\t[ext4]\n"
			      "ffffffffc0000100 t ext4_write\t[ext4]\n"
			      "ffffffffc0800000 t bpf_prog_6deef7357e7b4530_sd\t[bpf]\n"
			      "ffffffffc0700000 t xfs_read\t[xfs]\n");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000010, 100, "ext4_read", "ext4");
	check(syms, 0xffffffffc0000110, 100, "ext4_write", "ext4");
	check(syms, 0xffffffffc0700000, 100, "xfs_read", "xfs");
	check(syms, 0xffffffffc0800000, 100, "bpf_prog_6deef7357e7b4530_sd", "bpf");
	/* Between two modules is nobody. */
	check(syms, 0xffffffffc0600000, 100, "-", "");
	kallsyms__free(syms);
}

static void kallsyms_is_read_again_for_a_new_module_but_not_often(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(KERNEL);
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000010, 100, "-", "");
	write_kallsyms(KERNEL "ffffffffc0000000 t new_fn\t[new]\n");
	check(syms, 0xffffffffc0000010, 110, "-", "");
	check(syms, 0xffffffff81000000, 129, "startup_64", "");
	check(syms, 0xffffffffc0000010, 130, "new_fn", "new");
	kallsyms__free(syms);
}

static void a_bpf_program_between_two_others_gets_its_own_name(void **state)
{
	static const char old[] = KERNEL "ffffffffc0000000 t bpf_prog_1111111111111111_a\t[bpf]\n"
					 "ffffffffc0004000 t bpf_prog_2222222222222222_b\t[bpf]\n";
	static const char new[] = KERNEL "ffffffffc0000000 t bpf_prog_1111111111111111_a\t[bpf]\n"
					 "ffffffffc0001000 t bpf_prog_3333333333333333_c\t[bpf]\n"
					 "ffffffffc0004000 t bpf_prog_2222222222222222_b\t[bpf]\n";
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(old);
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000010, 100, "bpf_prog_1111111111111111_a", "bpf");
	write_kallsyms(new);
	check(syms, 0xffffffff81000000, 129, "startup_64", "");
	/* Until the table is read again it is nobody's, what is known to be of the program before is. */
	check(syms, 0xffffffffc0001010, 129, "-", "");
	check(syms, 0xffffffffc0000010, 129, "bpf_prog_1111111111111111_a", "bpf");
	check(syms, 0xffffffffc0000008, 129, "bpf_prog_1111111111111111_a", "bpf");
	check(syms, 0xffffffffc0001010, 130, "bpf_prog_3333333333333333_c", "bpf");
	check(syms, 0xffffffffc0000010, 131, "bpf_prog_1111111111111111_a", "bpf");
	check(syms, 0xffffffffc0001010, 159, "bpf_prog_3333333333333333_c", "bpf");
	/* And without one that is gone, its place is nobody's, or the one's before it at most. */
	write_kallsyms(KERNEL "ffffffffc0004000 t bpf_prog_2222222222222222_b\t[bpf]\n");
	check(syms, 0xffffffffc0001010, 220, "-", "");
	kallsyms__free(syms);
}

static void what_is_known_of_a_bpf_program_is_not_of_another_in_its_place(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(KERNEL "ffffffffc0000000 t bpf_prog_1111111111111111_a\t[bpf]\n");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000800, 100, "bpf_prog_1111111111111111_a", "bpf");
	write_kallsyms(KERNEL "ffffffffc0000000 t bpf_prog_2222222222222222_b\t[bpf]\n");
	check(syms, 0xffffffffc0000010, 160, "bpf_prog_2222222222222222_b", "bpf");
	check(syms, 0xffffffffc0000800, 170, "-", "");
	check(syms, 0xffffffffc0000010, 170, "bpf_prog_2222222222222222_b", "bpf");
	check(syms, 0xffffffffc0000800, 190, "bpf_prog_2222222222222222_b", "bpf");
	kallsyms__free(syms);
}

static void a_module_behind_the_last_function_of_another_gets_its_own_name(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(KERNEL "ffffffffc0000000 t ext4_read\t[ext4]\n"
			      "ffffffffc0000100 t ext4_exit\t[ext4]\n");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000180, 100, "ext4_exit", "ext4");
	write_kallsyms(KERNEL "ffffffffc0000000 t ext4_read\t[ext4]\n"
			      "ffffffffc0000100 t ext4_exit\t[ext4]\n"
			      "ffffffffc0001000 t xfs_read\t[xfs]\n");
	check(syms, 0xffffffffc0001010, 110, "-", "");
	check(syms, 0xffffffffc0000080, 110, "ext4_read", "ext4");
	check(syms, 0xffffffffc0000180, 110, "ext4_exit", "ext4");
	check(syms, 0xffffffffc0001010, 130, "xfs_read", "xfs");
	check(syms, 0xffffffffc0000180, 140, "ext4_exit", "ext4");
	kallsyms__free(syms);
}

static void a_module_in_the_place_of_another_has_its_own_names_or_none(void **state)
{
	static const char with_ext4[] = KERNEL "ffffffffc0000000 t ext4_read\t[ext4]\n"
					       "ffffffffc0000100 t ext4_write\t[ext4]\n";
	static const char with_xfs[] = KERNEL "ffffffffc0000000 t xfs_read\t[xfs]\n"
					      "ffffffffc0000080 t xfs_write\t[xfs]\n";
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(with_ext4);
	write_file("modules", "ext4 8192 1 - Live 0xffffffffc0000000\n");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000010, 100, "ext4_read", "ext4");
	/* How often it is used is no other module. */
	write_file("modules", "ext4 8192 2 mbcache, Live 0xffffffffc0000000\n");
	check(syms, 0xffffffffc0000010, 110, "ext4_read", "ext4");
	write_kallsyms(with_xfs);
	write_file("modules", "xfs 8192 1 - Live 0xffffffffc0000000\n");
	check(syms, 0xffffffffc0000010, 112, "-", "");
	check(syms, 0xffffffff81000000, 113, "startup_64", "");
	check(syms, 0xffffffffc0000010, 130, "xfs_read", "xfs");
	check(syms, 0xffffffffc0000010, 150, "xfs_read", "xfs");
	/* The same one at another address. */
	write_file("modules", "xfs 8192 1 - Live 0xffffffffc0000040\n");
	check(syms, 0xffffffffc0000010, 152, "-", "");
	kallsyms__free(syms);
	assert_int_equal(unlinkat(proc_fd, "modules", 0), 0);
}

/* ---- BPF programs, where it is known which came and went ---- */

#define FIRST  "bpf_prog_1111111111111111_a"
#define SECOND "bpf_prog_2222222222222222_b"
#define PLACE  0xffffffffc0000010
#define OTHER  0xffffffffc0001010

#define OTHER_LINE "ffffffffc0001000 t bpf_prog_3333333333333333_c\t[bpf]\n"

static const char with_first[] = KERNEL "ffffffffc0000000 t " FIRST "\t[bpf]\n" OTHER_LINE;
static const char with_second[] = KERNEL "ffffffffc0000000 t " SECOND "\t[bpf]\n" OTHER_LINE;

/* When the table is read the clock says, all else is seconds since the test began. */
static uint64_t begin_ns;

static uint64_t after(uint64_t seconds)
{
	return begin_ns + seconds * CLOCK_NS_PER_S;
}

/* A window from one second to another, in which another program came to PLACE at `changed_s`; 0: none did. */
static void window(struct kallsyms *syms, uint64_t from_s, uint64_t to_s, uint64_t changed_s)
{
	const struct ksymbol_changes changes = {
		.until_boot_ns = after(to_s),
		.cnt = changed_s != 0,
		.items = { { 0xffffffffc0000000, 0xffffffffc0000100, after(changed_s) } },
	};

	kallsyms__note_changes(syms, &changes);
	kallsyms__note_window(syms, after(from_s), after(to_s));
}

static void check_after(struct kallsyms *syms, uint64_t after_s, uint64_t address, const char *name)
{
	check(syms, address, after(after_s) / CLOCK_NS_PER_S, name,
	      strcmp(name, "-") == 0 ? "" : "bpf");
}

/* Read when sampling began. */
static struct kallsyms *open_watched(const char *text)
{
	const struct ksymbol_changes none = { .until_boot_ns = clock_boot_ns() };
	struct kallsyms *syms;

	write_kallsyms(text);
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	kallsyms__note_changes(syms, &none);
	begin_ns = (clock_boot_ns() / CLOCK_NS_PER_S + 1) * CLOCK_NS_PER_S;
	return syms;
}

static void a_bpf_program_in_the_place_of_another_has_its_own_name_or_none(void **state)
{
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	window(syms, 0, 1, 0);
	check_after(syms, 1, PLACE, FIRST);
	write_kallsyms(with_second);
	/* Sampled while it changed, and after that: the table is too young to be read again. */
	window(syms, 1, 3, 2);
	check_after(syms, 3, PLACE, "-");
	window(syms, 3, 4, 0);
	check_after(syms, 4, PLACE, "-");
	check(syms, 0xffffffff81000000, after(4) / CLOCK_NS_PER_S, "startup_64", "");
	kallsyms__free(syms);
}

static void a_bpf_program_keeps_its_name_while_others_come_and_go(void **state)
{
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	for (uint64_t s = 1; s < 100; s++) {
		window(syms, s - 1, s, s);
		check_after(syms, s, OTHER, "bpf_prog_3333333333333333_c");
	}
	kallsyms__free(syms);
}

static void
the_table_is_read_again_where_a_bpf_program_came_and_counts_from_the_next_window_on(void **state)
{
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	window(syms, 1, 3, 2);
	write_kallsyms(with_second);
	check_after(syms, 3, PLACE, "-");
	/* Read: what came since is not known. */
	check_after(syms, 12, PLACE, "-");
	window(syms, 3, 11, 0);
	check_after(syms, 13, PLACE, "-");
	window(syms, 11, 13, 0);
	check_after(syms, 13, PLACE, SECOND);
	kallsyms__free(syms);
}

static void a_table_is_read_again_when_bpf_programs_came_or_went_while_it_was_read(void **state)
{
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	window(syms, 1, 3, 2);
	/* Another one went, and the kernel left this one out. */
	write_kallsyms(KERNEL OTHER_LINE);
	check_after(syms, 12, PLACE, "-");
	window(syms, 11, 13, 12);
	check_after(syms, 13, OTHER, "-");
	write_kallsyms(with_second);
	check_after(syms, 22, OTHER, "-");
	window(syms, 22, 24, 0);
	check_after(syms, 24, OTHER, "bpf_prog_3333333333333333_c");
	check_after(syms, 24, PLACE, SECOND);
	kallsyms__free(syms);
}

static void a_table_of_the_present_programs_is_not_read_again(void **state)
{
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	window(syms, 0, 1, 0);
	check_after(syms, 1, PLACE, FIRST);
	/* Nothing came, it is said. */
	write_kallsyms(with_second);
	check_after(syms, 900, PLACE, FIRST);
	kallsyms__free(syms);
}

static void changes_that_nobody_told_may_have_been_anywhere(void **state)
{
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	window(syms, 0, 1, 0);
	check_after(syms, 1, OTHER, "bpf_prog_3333333333333333_c");
	kallsyms__forget_changes(syms);
	window(syms, 1, 2, 0);
	check_after(syms, 2, OTHER, "-");
	kallsyms__free(syms);
}

static void where_nobody_watches_the_table_is_read_once_a_minute(void **state)
{
	const struct ksymbol_changes unknown = { 0 };
	struct kallsyms *syms = open_watched(with_first);

	(void)state;
	window(syms, 0, 1, 0);
	check_after(syms, 1, PLACE, FIRST);
	write_kallsyms(with_second);
	kallsyms__note_changes(syms, &unknown);
	check_after(syms, 70, PLACE, SECOND);
	kallsyms__free(syms);
}

static void a_trampoline_is_a_page_at_most(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms(KERNEL "ffffffffc0000000 t bpf_trampoline_6442491911\t[bpf]\n"
			      "ffffffffc0002000 t bpf_prog_2222222222222222_b\t[bpf]\n");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffffc0000fff, 100, "bpf_trampoline_6442491911", "bpf");
	check(syms, 0xffffffffc0001000, 100, "-", "");
	kallsyms__free(syms);
}

static void kallsyms_hidden_addresses_are_said_to_be(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms("0000000000000000 T _stext\n0000000000000000 t local_fn\n");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffff81000000, 100, "!", "");
	check(syms, 0xffffffff81000000, 101, "!", "");
	write_kallsyms(KERNEL);
	check(syms, 0xffffffff81000000, 131, "startup_64", "");
	kallsyms__free(syms);
}

static void kallsyms_that_cannot_be_opened_gives_nothing(void **state)
{
	struct kallsyms *syms;

	(void)state;
	assert_int_equal(unlinkat(proc_fd, "kallsyms", 0), 0);
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffff81000000, 100, "!", "");
	kallsyms__free(syms);
}

static void kallsyms_garbage_lines_are_passed_over(void **state)
{
	struct kallsyms *syms;

	(void)state;
	write_kallsyms("\n \n\tx\nzz T a\nffffffff81000000\nffffffff81000000 T\n"
		       "ffffffff81000000 T \nffffffff81000000  T b\nfffffffff81000000 T too_long\n"
		       "ffffffff81000000 Tc\n"
		       "ffffffff81000010 T d [\nffffffff81000020 T e\t[]\n"
		       "ffffffff81000030 T f\t[m\nffffffff81000040 T half");
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	check(syms, 0xffffffff81000000, 100, "-", "");
	check(syms, 0xffffffff81000010, 100, "d [", "");
	check(syms, 0xffffffff81000020, 100, "e", "");
	check(syms, 0xffffffff81000030, 100, "f", "");
	check(syms, 0xffffffff81000040, 100, "f", "");
	kallsyms__free(syms);
}

static void kallsyms_of_many_lines_is_compact(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct kallsyms *syms;
	char name[32];

	(void)state;
	for (unsigned int i = 0; i < 60000; i++)
		strbuf_printf(&text, "%016llx t some_kernel_function_%u\n",
			      0xffffffff81000000ull + i * 64ull, i);
	write_kallsyms(strbuf_str(&text));
	strbuf_release(&text);
	assert_int_equal(kallsyms__open(proc_fd, &syms), 0);
	for (unsigned int i = 0; i < 60000; i += 997) {
		snprintf(name, sizeof(name), "some_kernel_function_%u", i);
		check(syms, 0xffffffff81000000ull + i * 64ull + 63, 100, name, "");
	}
	assert_true(kallsyms__bytes(syms) < 5u << 20);
	kallsyms__free(syms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kallsyms_keeps_text_and_the_better_name),
		cmocka_unit_test(kallsyms_modules_are_no_part_of_names),
		cmocka_unit_test(kallsyms_is_read_again_for_a_new_module_but_not_often),
		cmocka_unit_test(a_bpf_program_between_two_others_gets_its_own_name),
		cmocka_unit_test(what_is_known_of_a_bpf_program_is_not_of_another_in_its_place),
		cmocka_unit_test(a_module_behind_the_last_function_of_another_gets_its_own_name),
		cmocka_unit_test(a_module_in_the_place_of_another_has_its_own_names_or_none),
		cmocka_unit_test(a_bpf_program_in_the_place_of_another_has_its_own_name_or_none),
		cmocka_unit_test(a_bpf_program_keeps_its_name_while_others_come_and_go),
		cmocka_unit_test(
			the_table_is_read_again_where_a_bpf_program_came_and_counts_from_the_next_window_on),
		cmocka_unit_test(
			a_table_is_read_again_when_bpf_programs_came_or_went_while_it_was_read),
		cmocka_unit_test(a_table_of_the_present_programs_is_not_read_again),
		cmocka_unit_test(changes_that_nobody_told_may_have_been_anywhere),
		cmocka_unit_test(where_nobody_watches_the_table_is_read_once_a_minute),
		cmocka_unit_test(a_trampoline_is_a_page_at_most),
		cmocka_unit_test(kallsyms_hidden_addresses_are_said_to_be),
		cmocka_unit_test(kallsyms_that_cannot_be_opened_gives_nothing),
		cmocka_unit_test(kallsyms_garbage_lines_are_passed_over),
		cmocka_unit_test(kallsyms_of_many_lines_is_compact),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
