// SPDX-License-Identifier: Apache-2.0
/*
 * Finding libjvm.so in a fake /proc, and HotSpot's symbols in an ELF file made here: whole, cut
 * off at every length, and with every byte of its headers changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbols/elf/libjvm.h"
#include "symbols/parser/parser.h"
#include "tests/unit/parse_here.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define LOAD_START 0x7f1000000000ull

struct elf_image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[VM_SYMBOL_CNT + 2];
	char strings[1024];
};

/* Like libjvm.so: first PT_LOAD at file offset 0, .dynsym with the symbols, all defined. */
static void image_make(struct elf_image *image)
{
	size_t strings_len = 1;

	memset(image, 0, sizeof(*image));
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->header.e_type = ET_DYN;
	image->header.e_machine = EM_X86_64;
	image->header.e_version = EV_CURRENT;
	image->header.e_ehsize = sizeof(image->header);
	image->header.e_phoff = offsetof(struct elf_image, segments);
	image->header.e_phentsize = sizeof(Elf64_Phdr);
	image->header.e_phnum = 2;
	image->header.e_shoff = offsetof(struct elf_image, sections);
	image->header.e_shentsize = sizeof(Elf64_Shdr);
	image->header.e_shnum = 3;
	image->segments[0] = (Elf64_Phdr){ .p_type = PT_DYNAMIC };
	image->segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					   .p_offset = 0,
					   .p_vaddr = 0x10000,
					   .p_flags = PF_R | PF_X,
					   .p_filesz = sizeof(*image),
					   .p_memsz = sizeof(*image),
					   .p_align = 4096 };
	image->sections[1] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
					   .sh_offset = offsetof(struct elf_image, symbols),
					   .sh_size = sizeof(image->symbols),
					   .sh_link = 2,
					   .sh_entsize = sizeof(Elf64_Sym) };
	image->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					   .sh_offset = offsetof(struct elf_image, strings),
					   .sh_size = sizeof(image->strings) };
	for (int i = 0; i < VM_SYMBOL_CNT; i++) {
		const char *name = vm_symbol_name((enum vm_symbol)i);

		image->symbols[i + 1] = (Elf64_Sym){ .st_name = (Elf64_Word)strings_len,
						     .st_shndx = 1,
						     .st_value = 0x10000 + 0x100 * (Elf64_Addr)i };
		strcpy(image->strings + strings_len, name);
		strings_len += strlen(name) + 1;
	}
	/* An undefined symbol of the same name does not count. */
	image->symbols[VM_SYMBOL_CNT + 1] = (Elf64_Sym){ .st_name = 1, .st_value = 0x666 };
}

static int image_symbols(const void *bytes, size_t len, struct vm_symbols *out)
{
	static const struct libjvm_mapping mapping = { .map.start = LOAD_START,
						       .map.end = LOAD_START + 0x4000 };
	__cleanup_fd int fd = memfd_create("libjvm", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, bytes, len), 0);
	return libjvm_here(fd, &mapping, out);
}

static void libjvm_symbols_are_moved_to_where_the_file_is_mapped(void **state)
{
	struct vm_symbols symbols;
	struct elf_image image;

	(void)state;
	image_make(&image);
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), 0);
	for (int i = 0; i < VM_SYMBOL_CNT; i++)
		assert_int_equal(symbols.addresses[i], LOAD_START + 0x100 * (uint64_t)i);
}

static void libjvm_without_hotspot_symbols_is_not_hotspot(void **state)
{
	struct vm_symbols symbols;
	struct elf_image image;

	(void)state;
	image_make(&image);
	memset(image.strings, 'x', sizeof(image.strings) - 1);
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), -ENOENT);
	image_make(&image);
	image.sections[1].sh_type = SHT_PROGBITS;
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), -ENOENT);
}

static void libjvm_of_another_kind_is_not_supported(void **state)
{
	struct vm_symbols symbols;
	struct elf_image image;

	(void)state;
	assert_int_equal(image_symbols("", 0, &symbols), -ENOTSUP);
	assert_int_equal(image_symbols("#!/bin/sh\n", 10, &symbols), -ENOTSUP);
	image_make(&image);
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), -ENOTSUP);
	image_make(&image);
	image.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), -ENOTSUP);
	image_make(&image);
	image.segments[1].p_type = PT_NOTE;
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), -ENOTSUP);
	image_make(&image);
	image.sections[1].sh_size = 1ull << 40;
	assert_int_equal(image_symbols(&image, sizeof(image), &symbols), -ENOTSUP);
}

static void libjvm_survives_truncation_and_changed_bytes(void **state)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0xff };
	struct vm_symbols symbols;
	struct elf_image image;
	size_t ok_cnt = 0;

	(void)state;
	image_make(&image);
	/* Shorter by a byte or by nearly everything: the string table always suffers. */
	for (size_t len = 0; len < sizeof(image); len += 7)
		ok_cnt += image_symbols(&image, len, &symbols) == 0;
	assert_int_equal(ok_cnt, 0);
	for (size_t at = 0; at < offsetof(struct elf_image, strings); at++) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			image_make(&image);
			((uint8_t *)&image)[at] = values[i];
			ok_cnt += image_symbols(&image, sizeof(image), &symbols) == 0;
		}
	}
	assert_true(ok_cnt > 0);
}

/* ---- /proc/PID/maps ---- */

struct fake_proc {
	char path[64];
	int fd;
};

static void proc_make(struct fake_proc *proc, const char *maps)
{
	char path[128];

	strcpy(proc->path, "/tmp/jbpf-test-libjvm-XXXXXX");
	assert_non_null(mkdtemp(proc->path));
	proc->fd = open(proc->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc->fd >= 0);
	assert_int_equal(mkdirat(proc->fd, "42", 0755), 0);
	assert_int_equal(mkdirat(proc->fd, "42/map_files", 0755), 0);
	snprintf(path, sizeof(path), "%s/42/maps", proc->path);
	__cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, maps, strlen(maps)), 0);
}

static void proc_remove(struct fake_proc *proc)
{
	(void)unlinkat(proc->fd, "42/map_files/7f1000000000-7f1000250000", 0);
	assert_int_equal(unlinkat(proc->fd, "42/map_files", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(proc->fd, "42/maps", 0), 0);
	assert_int_equal(unlinkat(proc->fd, "42", AT_REMOVEDIR), 0);
	close(proc->fd);
	assert_int_equal(rmdir(proc->path), 0);
}

#define MAPS_LINE "7f1000000000-7f1000250000 r-xp 00000000 fe:01 1234                       "

static void libjvm_is_found_by_the_name_of_its_file(void **state)
{
	static const struct {
		const char *maps;
		int err;
		const char *path;
	} rows[] = {
		{ MAPS_LINE "/usr/lib/jvm/java-17/lib/server/libjvm.so\n", 0,
		  "/usr/lib/jvm/java-17/lib/server/libjvm.so" },
		{ MAPS_LINE "/opt/my jdk/libjvm.so (deleted)\n", 0, "/opt/my jdk/libjvm.so" },
		{ "00400000-00401000 r-xp 00000000 fe:01 7 /usr/bin/java\n" MAPS_LINE
		  "/x/libjvm.so\n7f1000250000-7f1000260000 r-xp 00250000 fe:01 1234 /x/libjvm.so\n",
		  0, "/x/libjvm.so" },
		{ "", -ENOENT, NULL },
		/* Read as data, before or after it is loaded. */
		{ "7e0000000000-7e0001250000 r--p 00000000 fe:01 1234 /x/libjvm.so\n" MAPS_LINE
		  "/x/libjvm.so\n7f2000000000-7f2001250000 r--p 00000000 fe:01 99 /y/libjvm.so\n",
		  0, "/x/libjvm.so" },
		{ "7f1000000000-7f1000250000 r--p 00000000 fe:01 1234 /x/libjvm.so\n", -ENOENT,
		  NULL },
		{ "7f1000000000-7f1000250000 r 00000000 fe:01 1234 /x/libjvm.so\n", -ENOENT, NULL },
		{ MAPS_LINE "/usr/lib/libjvm.so.bak\n", -ENOENT, NULL },
		{ MAPS_LINE "/usr/lib/notlibjvm.so\n", -ENOENT, NULL },
		{ MAPS_LINE "libjvm.so\n", -ENOENT, NULL },
		{ "garbage libjvm.so\n7f10-zz r--p 0 0 0 /libjvm.so\n\n", -ENOENT, NULL },
		{ "7f1000000000-7f1000001000 rw-p 00000000 00:00 0 \n", -ENOENT, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct libjvm_mapping mapping;
		struct fake_proc proc;
		size_t cnt = 0;

		proc_make(&proc, rows[i].maps);
		assert_int_equal(libjvm_find(proc.fd, 42, &mapping, 1, &cnt), rows[i].err);
		if (!rows[i].err) {
			assert_string_equal(mapping.path, rows[i].path);
			assert_int_equal(mapping.map.start, 0x7f1000000000);
			assert_int_equal(mapping.map.end, 0x7f1000250000);
			assert_int_equal(mapping.map.offset, 0);
			assert_int_equal(mapping.map.inode, 1234);
		}
		assert_int_equal(libjvm_find(proc.fd, 43, &mapping, 1, &cnt), -ESRCH);
		proc_remove(&proc);
	}
}

static void libjvm_mappings_of_several_files_are_all_found(void **state)
{
	struct libjvm_mapping mappings[3];
	struct fake_proc proc;
	size_t cnt;

	(void)state;
	/* The second line is the first file again, split by a change of protection. */
	proc_make(&proc, "7f1000000000-7f1000250000 r-xp 00001000 fe:01 1 /a/libjvm.so\n"
			 "7f1000260000-7f1000270000 r-xp 00261000 fe:01 1 /a/libjvm.so\n"
			 "7f2000000000-7f2000250000 r-xp 00000000 fe:01 1 /a/libjvm.so\n"
			 "7f3000000000-7f3000250000 r-xp 00000000 fe:01 2 /b/libjvm.so (deleted)\n"
			 "7f4000000000-7f4000250000 r-xp 00000000 fe:01 3 /c/libjvm.so\n");
	assert_int_equal(libjvm_find(proc.fd, 42, mappings, ARRAY_SIZE(mappings), &cnt), 0);
	assert_int_equal(cnt, 3);
	assert_int_equal(mappings[0].map.start, 0x7f1000000000);
	assert_int_equal(mappings[1].map.start, 0x7f2000000000);
	assert_int_equal(mappings[2].map.start, 0x7f3000000000);
	assert_string_equal(mappings[2].path, "/b/libjvm.so");
	proc_remove(&proc);
}

static void a_file_that_is_known_to_be_one_needs_no_name(void **state)
{
	const struct procmap known = { .inode = 7, .dev_major = 0xfe, .dev_minor = 1 };
	struct libjvm_mapping mappings[3];
	struct fake_proc proc;
	size_t cnt;

	(void)state;
	proc_make(&proc, "7f1000000000-7f1000250000 r-xp 00001000 fe:01 7 /jdk/bin/java\n"
			 "7f1000260000-7f1000270000 r-xp 00261000 fe:01 7 /jdk/bin/java\n"
			 "7f2000000000-7f2000250000 r-xp 00000000 fe:02 7 /jdk/lib/libzip.so\n"
			 "7f3000000000-7f3000250000 r-xp 00000000 fe:01 9 /b/libjvm.so\n");
	assert_int_equal(
		libjvm_find_with(proc.fd, 42, &known, mappings, ARRAY_SIZE(mappings), &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_string_equal(mappings[0].path, "/jdk/bin/java");
	assert_string_equal(mappings[1].path, "/b/libjvm.so");
	proc_remove(&proc);
}

static void libjvm_symbols_are_found_from_any_part_of_the_code(void **state)
{
	static const struct {
		uint64_t file_offset, start, bytes;
		int err;
	} rows[] = {
		{ 0x2000, LOAD_START, 0x3000, 0 },	    /* all of the segment */
		{ 0x3000, LOAD_START + 0x1000, 0x1000, 0 }, /* from its middle on */
		{ 0x0, LOAD_START - 0x2000, 0x10000, 0 },   /* pages of 64 KiB */
		{ 0x0, LOAD_START, 0x2000, -ENOTSUP },	    /* before it */
		{ 0x6000, LOAD_START, 0x1000, -ENOTSUP },   /* behind it */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_fd int fd = memfd_create("libjvm", MFD_CLOEXEC);
		struct libjvm_mapping mapping = { .map.start = rows[i].start,
						  .map.end = rows[i].start + rows[i].bytes,
						  .map.offset = rows[i].file_offset };
		struct vm_symbols symbols;
		struct elf_image image;

		image_make(&image);
		image.segments[1].p_offset = 0x2345;
		image.segments[1].p_vaddr = 0x12345;
		image.segments[1].p_filesz = 0x2b00;
		assert_int_equal(fs_write_all(fd, &image, sizeof(image)), 0);
		assert_int_equal(libjvm_here(fd, &mapping, &symbols), rows[i].err);
		if (!rows[i].err)
			assert_int_equal(symbols.addresses[1], LOAD_START - 0x12000 + 0x10100);
	}
}

static void libjvm_is_read_through_map_files_and_only_when_regular(void **state)
{
	struct libjvm_mapping mapping;
	struct vm_symbols symbols;
	struct elf_image image;
	struct fake_proc proc;
	char path[128];
	size_t cnt;

	(void)state;
	image_make(&image);
	proc_make(&proc, MAPS_LINE "/x/libjvm.so\n");
	assert_int_equal(libjvm_find(proc.fd, 42, &mapping, 1, &cnt), 0);
	assert_int_equal(libjvm_open(proc.fd, 42, opener_here(), &mapping), -ENOENT);

	snprintf(path, sizeof(path), "%s/42/map_files/7f1000000000-7f1000250000", proc.path);
	__cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, &image, sizeof(image)), 0);
	__cleanup_fd int opened = libjvm_open(proc.fd, 42, opener_here(), &mapping);
	assert_true(opened >= 0);
	assert_int_equal(libjvm_here(opened, &mapping, &symbols), 0);
	assert_int_equal(symbols.addresses[VM_SYMBOL_STRUCTS], LOAD_START);

	/* Opening a FIFO would wait for a writer. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(libjvm_open(proc.fd, 42, opener_here(), &mapping), -EINVAL);
	proc_remove(&proc);
}

static void libjvm_is_read_by_its_path_when_it_is_the_mapped_file(void **state)
{
	struct libjvm_mapping mapping;
	struct fake_proc proc;
	struct stat st;
	size_t cnt;

	(void)state;
	proc_make(&proc, MAPS_LINE "/libjvm.so\n");
	assert_int_equal(libjvm_find(proc.fd, 42, &mapping, 1, &cnt), 0);
	assert_int_equal(mkdirat(proc.fd, "42/root", 0755), 0);
	__cleanup_fd int fd = openat(proc.fd, "42/root/libjvm.so", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(libjvm_open(proc.fd, 42, opener_here(), &mapping), -ESTALE);

	assert_int_equal(fstat(fd, &st), 0);
	mapping.map.inode = st.st_ino;
	mapping.map.dev_major = major(st.st_dev);
	mapping.map.dev_minor = minor(st.st_dev);
	__cleanup_fd int opened = libjvm_open(proc.fd, 42, opener_here(), &mapping);
	assert_true(opened >= 0);
	assert_int_equal(unlinkat(proc.fd, "42/root/libjvm.so", 0), 0);
	assert_int_equal(unlinkat(proc.fd, "42/root", AT_REMOVEDIR), 0);
	proc_remove(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libjvm_symbols_are_moved_to_where_the_file_is_mapped),
		cmocka_unit_test(libjvm_without_hotspot_symbols_is_not_hotspot),
		cmocka_unit_test(libjvm_of_another_kind_is_not_supported),
		cmocka_unit_test(libjvm_survives_truncation_and_changed_bytes),
		cmocka_unit_test(libjvm_is_found_by_the_name_of_its_file),
		cmocka_unit_test(libjvm_mappings_of_several_files_are_all_found),
		cmocka_unit_test(a_file_that_is_known_to_be_one_needs_no_name),
		cmocka_unit_test(libjvm_symbols_are_found_from_any_part_of_the_code),
		cmocka_unit_test(libjvm_is_read_through_map_files_and_only_when_regular),
		cmocka_unit_test(libjvm_is_read_by_its_path_when_it_is_the_mapped_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
