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
	char command[128];

	(void)state;
	close(proc_fd);
	snprintf(command, sizeof(command), "rm -rf %s", tree);
	return system(command);
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
		cmocka_unit_test(a_trampoline_is_a_page_at_most),
		cmocka_unit_test(kallsyms_hidden_addresses_are_said_to_be),
		cmocka_unit_test(kallsyms_that_cannot_be_opened_gives_nothing),
		cmocka_unit_test(kallsyms_garbage_lines_are_passed_over),
		cmocka_unit_test(kallsyms_of_many_lines_is_compact),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
