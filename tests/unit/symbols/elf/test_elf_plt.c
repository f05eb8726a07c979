// SPDX-License-Identifier: Apache-2.0
/* PLT stubs get the names of what they call: checked on this very program, whole and damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/elf/elf_plt.h"
#include "user/util/fs.h"

/* More than this program has, also where its size is damaged. */
#define CODE_BYTES (64 << 10)

static struct strbuf program;

static int read_program(void **state)
{
	(void)state;
	return fs_read_file(AT_FDCWD, "/proc/self/exe", 256u << 20, &program);
}

static int release_program(void **state)
{
	(void)state;
	strbuf_release(&program);
	return 0;
}

static struct elf_symtab *load_plt(struct elf_file *file)
{
	struct elf_symtab_builder *builder;
	struct elf_symtab *tab;

	assert_int_equal(elf_symtab_builder__start(file, &builder), 0);
	assert_int_equal(elf_plt_add(file, builder), 0);
	assert_int_equal(elf_symtab_builder__finish(builder, &tab), 0);
	elf_symtab_builder__free(builder);
	return tab;
}

/* Number of stubs with a name; *has_call tells whether one is for this function. */
static size_t count_stubs(struct elf_file *file, const char *call, bool *has_call)
{
	struct elf_symtab *tab = load_plt(file);
	static const char *const sections[] = { ".plt", ".plt.sec" };
	size_t cnt = 0;

	*has_call = false;
	for (size_t i = 0; i < 2; i++) {
		const struct elf_section *section = elf_file_section(file, sections[i]);

		for (uint64_t at = 0; section && at < section->size && at < CODE_BYTES; at += 16) {
			struct elf_symbol symbol;

			if (elf_symtab__lookup(tab, section->address + at, &symbol))
				continue;
			assert_non_null(strstr(symbol.name, "@plt"));
			*has_call |= strcmp(symbol.name, call) == 0;
			cnt++;
		}
	}
	elf_symtab__free(tab);
	return cnt;
}

static void plt_stubs_of_this_program_are_named(void **state)
{
	struct elf_file file;
	bool has_call;
	size_t cnt;

	(void)state;
	assert_int_equal(elf_file_open_bytes(program.data, program.len, &file), 0);
	if (!elf_file_section(&file, ".rela.plt")) /* linked with -z now and -fno-plt */
		skip();
	cnt = count_stubs(&file, "_cmocka_run_group_tests@plt", &has_call);
	assert_true(cnt > 3);
	assert_true(has_call);
	(void)count_stubs(&file, "never_called@plt", &has_call);
	assert_false(has_call);
	elf_file_release(&file);
}

static void plt_of_a_damaged_program_does_no_harm(void **state)
{
	static const char *const parts[] = { ".plt", ".plt.sec", ".rela.plt", ".dynsym",
					     ".dynstr" };
	uint32_t random = 4;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct elf_file file;
		struct elf_section *section;
		bool has_call;

		assert_int_equal(elf_file_open_bytes(program.data, program.len, &file), 0);
		section = (struct elf_section *)elf_file_section(&file, parts[round % 5]);
		random = random * 1664525 + 1013904223;
		if (section) {
			uint64_t *fields[] = { &section->offset, &section->size,
					       &section->address };

			*fields[random >> 16 & 1] += random % 4096 - 2048;
			if (random >> 20 & 1)
				*fields[2] = ~0ull - random % 4096;
			if ((random >> 24) % 8 == 0)
				section->link = random;
		}
		(void)count_stubs(&file, "x", &has_call);
		elf_file_release(&file);
	}
}

static void plt_of_other_machines_is_left_alone(void **state)
{
	struct elf_file file;
	bool has_call;

	(void)state;
	assert_int_equal(elf_file_open_bytes(program.data, program.len, &file), 0);
	file.machine = EM_RISCV;
	assert_int_equal(count_stubs(&file, "x", &has_call), 0);
	elf_file_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plt_stubs_of_this_program_are_named),
		cmocka_unit_test(plt_of_a_damaged_program_does_no_harm),
		cmocka_unit_test(plt_of_other_machines_is_left_alone),
	};

	return cmocka_run_group_tests(tests, read_program, release_program);
}
