// SPDX-License-Identifier: Apache-2.0
/*
 * ELF files of any bytes through everything that reads them: symbol tables, PLT stubs,
 * start_thread, functions of .eh_frame, build id, the symbols of a JVM. Each range has one name or
 * none, and it is the name of a symbol of this file that does not begin behind it; a file and the
 * same bytes in memory give the same table; and no table is larger than its file allows.
 *
 * Input: the file.
 */
#include <elf.h>

#include "symbols/elf/build_id.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/elf_plt.h"
#include "symbols/elf/elf_symtab.h"
#include "symbols/elf/elf_symtab_wire.h"
#include "symbols/elf/libjvm.h"
#include "symbols/elf/libc_thread.h"
#include "tests/fuzz/fuzz.h"

#define SYMBOLS_MAX 512u
#define BYTES_RATIO 200 /* of a table to its file; a name of 4 KiB may serve many symbols */

struct symbol {
	uint64_t value, size;
	uint32_t name_at;
};

/* Symbols of one section as they stand, for comparison and as places to ask for. */
struct symbols {
	struct symbol items[SYMBOLS_MAX];
	size_t cnt;
	bool is_cut;
	char *names;
	size_t names_len;
};

static uint64_t take(const uint8_t *from, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, from, size);
	return value;
}

static void symbols_read(const struct elf_file *file, uint32_t type, struct symbols *out)
{
	const struct elf_section *section = elf_file_section_of_type(file, type);
	size_t size = file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), len;
	char *bytes;

	out->cnt = 0;
	out->is_cut = false;
	out->names = NULL;
	if (!section || section->link >= file->section_cnt ||
	    elf_file_section_bytes(file, section, 1 << 20, &bytes, &len))
		return;
	if (elf_file_section_bytes(file, &file->sections[section->link], 1 << 20, &out->names,
				   &out->names_len)) {
		free(bytes);
		return;
	}
	out->is_cut = len / size > SYMBOLS_MAX;
	for (size_t at = 0; at + size <= len && out->cnt < SYMBOLS_MAX; at += size) {
		const uint8_t *sym = (const uint8_t *)bytes + at;

		out->items[out->cnt++] = (struct symbol){
			.value = file->is_64 ? take(sym + 8, 8) : take(sym + 4, 4),
			.size = file->is_64 ? take(sym + 16, 8) : take(sym + 8, 4),
			.name_at = (uint32_t)take(sym, 4),
		};
	}
	free(bytes);
}

static bool symbols_explain(const struct symbols *symbols, const struct elf_symbol *found)
{
	for (size_t i = 0; i < symbols->cnt; i++) {
		const struct symbol *symbol = &symbols->items[i];

		if (symbol->value <= found->start && symbol->name_at < symbols->names_len &&
		    strncmp(symbols->names + symbol->name_at, found->name,
			    ELF_SYMTAB_MAX_NAME_BYTES) == 0)
			return true;
	}
	return symbols->is_cut;
}

static bool is_made(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, LIBC_THREAD_NAME) == 0 ||
	       (len > 4 && strcmp(name + len - 4, "@plt") == 0);
}

static void check_at(const struct elf_symtab *tab, const struct symbols symbols[2],
		     uint64_t address)
{
	struct elf_symbol found, again;

	if (elf_symtab__lookup(tab, address, &found) != 0)
		return;
	must(found.start <= address && address < found.end);
	if (found.name) {
		must(strlen(found.name) <= ELF_SYMTAB_MAX_NAME_BYTES && found.name[0]);
		must(is_made(found.name) || symbols_explain(&symbols[0], &found) ||
		     symbols_explain(&symbols[1], &found));
	}
	must(elf_symtab__lookup(tab, found.start, &again) == 0);
	must(again.start == found.start && again.end == found.end && again.name == found.name);
	must(elf_symtab__lookup(tab, found.end - 1, &again) == 0);
	must(again.start == found.start && again.end == found.end && again.name == found.name);
	if (elf_symtab__lookup(tab, found.end, &again) == 0)
		must(again.start == found.end);
}

static void check_offsets(const struct elf_file *file, const struct elf_symtab *tab)
{
	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t address;

		if (elf_symtab__address_of_offset(tab, segment->offset, &address) == 0) {
			bool is_in_one = false;

			for (size_t j = 0; j < file->segment_cnt; j++)
				is_in_one |= address - file->segments[j].address <
					     file->segments[j].file_size;
			must(is_in_one);
		}
	}
}

/* NULL when memory is short or the file cannot be read. */
static struct elf_symtab *build(const struct elf_file *file)
{
	struct elf_symtab_builder *builder = NULL;
	struct elf_symtab *tab = NULL;
	struct build_id id = { .len = 0 };

	must(elf_symtab_builder__start(file, &builder) == 0);
	must(elf_symtab_builder__add(builder, file) == 0);
	must(elf_plt_add(file, builder) == 0);
	must(libc_thread_add(file, builder) == 0);
	must(elf_symtab_builder__add_functions(builder, file) == 0);
	must(elf_symtab_builder__finish(builder, &tab) == 0);
	elf_symtab_builder__free(builder);
	if (build_id_read(file, &id) == 0)
		must(id.len > 0 && id.len <= BUILD_ID_MAX_BYTES);
	(void)elf_symtab_exports(file, "gHotSpotVMStructs");
	return tab;
}

static void check_file(const struct elf_file *file, const struct elf_symtab *tab, size_t len)
{
	static struct symbols symbols[2];

	must(file->section_cnt <= ELF_FILE_MAX_SECTIONS);
	must(file->segment_cnt <= ELF_FILE_MAX_SEGMENTS);
	must(elf_symtab__bytes(tab) <= 4096 + len * BYTES_RATIO);
	symbols_read(file, SHT_SYMTAB, &symbols[0]);
	symbols_read(file, SHT_DYNSYM, &symbols[1]);
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < symbols[i].cnt; j++) {
			const struct symbol *symbol = &symbols[i].items[j];

			check_at(tab, symbols, symbol->value);
			check_at(tab, symbols, symbol->value + symbol->size);
			check_at(tab, symbols, symbol->value + symbol->size - 1);
		}
	}
	for (size_t i = 0; i < file->section_cnt; i++)
		check_at(tab, symbols, file->sections[i].address + 16);
	check_offsets(file, tab);
	free(symbols[0].names);
	free(symbols[1].names);
}

/* The table is the same on the other side of the border; cut short it is none. */
static void check_border(const struct elf_symtab *tab, const uint64_t hash[2])
{
	struct strbuf bytes __cleanup_strbuf = STRBUF_INIT;
	const struct wire_sink sink = fuzz_sink(&bytes);
	struct elf_symtab *other = NULL;
	uint64_t other_hash[2];

	must(elf_symtab__encode(tab, &sink) == 0);
	must(elf_symtab_decode(bytes.data, bytes.len, &other) == 0);
	elf_symtab__hash(other, 1, other_hash);
	must(memcmp(hash, other_hash, sizeof(other_hash)) == 0);
	elf_symtab__free(other);
	must(elf_symtab_decode(bytes.data, bytes.len - 1, &other) == -EBADMSG);
}

/* The same file as a process's libjvm.so: each segment as what is mapped. */
static void check_libjvm(const struct elf_file *file)
{
	for (size_t i = 0; i < file->segment_cnt && i < 4; i++) {
		const struct libjvm_mapping mapping = {
			.map.start = 0x7f0000000000,
			.map.end = 0x7f0000000000 + (file->segments[i].file_size | 0xfff) + 1,
			.map.offset = file->segments[i].offset & ~0xfffull,
		};
		struct vm_symbols symbols;
		int err = libjvm_symbols_file(file, &mapping, &symbols);

		must(err == 0 || err == -ENOENT || err == -ENOTSUP || err == -ENOMEM);
		if (!err)
			must(elf_symtab_exports(file, "gHotSpotVMStructs"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = fuzz_file(data, len);
	struct elf_file in_memory, on_disk;
	int err = elf_file_open_bytes(data, len, &in_memory);

	must(elf_file_open_sized(fd, len, &on_disk) == err && (!err || err == -ENOEXEC));
	if (!err) {
		struct elf_symtab *tab = build(&in_memory), *other = build(&on_disk);
		uint64_t hash[2], other_hash[2];

		check_file(&in_memory, tab, len);
		check_libjvm(&in_memory);
		elf_symtab__hash(tab, 1, hash);
		elf_symtab__hash(other, 1, other_hash);
		must(memcmp(hash, other_hash, sizeof(hash)) == 0);
		check_border(tab, hash);
		elf_symtab__free(tab);
		elf_symtab__free(other);
	}
	elf_file_release(&in_memory);
	elf_file_release(&on_disk);
	close(fd);
	return 0;
}
