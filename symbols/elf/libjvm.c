// SPDX-License-Identifier: Apache-2.0
/*
 * The file comes out of a container: it may be anything, and may shrink while we look. Hence it is
 * read, not mapped (no SIGBUS), there are caps on its sections, and nothing is opened for reading
 * before it is known to be a regular file.
 */
#include "symbols/elf/libjvm.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbols/elf/elf_syms.h"
#include "user/files/container_file.h"
#include "user/files/mapped_file.h"
#include "user/files/opener.h"
#include "user/host/proc_stat.h"
#include "user/host/proc_thread.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define LIBJVM_MAX_BYTES  (2ull << 30) /* debug builds with everything in one file */
#define SECTION_MAX_BYTES (64u << 20)

/* ---- /proc/PID/maps ---- */

/* Is it another part of what is there, such as one whose protection was changed for a while? */
static bool mapping_is_known(const struct libjvm_mapping *known, size_t cnt,
			     const struct procmap *map)
{
	for (size_t i = 0; i < cnt; i++) {
		if (known[i].map.inode == map->inode &&
		    known[i].map.start - known[i].map.offset == map->start - map->offset)
			return true;
	}
	return false;
}

static bool is_same_file(const struct procmap *a, const struct procmap *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

static size_t mappings_pick(const struct procmaps *maps, const struct procmap *also,
			    struct libjvm_mapping *out, size_t max)
{
	size_t cnt = 0;

	for (size_t i = 0; i < maps->cnt && cnt < max; i++) {
		const char *path = procmaps_path(maps, &maps->items[i]);
		size_t len = strlen(path);

		if (!strchr(path, '/') ||
		    (strcmp(procmaps_base_name(path), "libjvm.so") != 0 &&
		     !(also && is_same_file(&maps->items[i], also))) ||
		    len >= sizeof(out->path) || mapping_is_known(out, cnt, &maps->items[i]))
			continue;
		out[cnt].map = maps->items[i];
		memcpy(out[cnt++].path, path, len + 1);
	}
	return cnt;
}

int libjvm_find(int proc_fd, uint32_t pid, struct libjvm_mapping *out, size_t max, size_t *cnt_out)
{
	return libjvm_find_with(proc_fd, pid, NULL, out, max, cnt_out);
}

int libjvm_find_with(int proc_fd, uint32_t pid, const struct procmap *known,
		     struct libjvm_mapping *out, size_t max, size_t *cnt_out)
{
	struct procmaps maps = { 0 };
	int err = proc_read_maps(proc_fd, pid, &maps);

	if (!err) {
		*cnt_out = mappings_pick(&maps, known, out, max);
		err = *cnt_out ? 0 : -ENOENT;
	}
	procmaps_release(&maps);
	return err;
}

/* ---- symbols ---- */

const char *vm_symbol_name(enum vm_symbol symbol)
{
	static const char *const names[VM_SYMBOL_CNT] = {
		[VM_SYMBOL_STRUCTS] = "gHotSpotVMStructs",
		[VM_SYMBOL_STRUCT_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
		[VM_SYMBOL_STRUCT_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
		[VM_SYMBOL_STRUCT_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
		[VM_SYMBOL_STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
		[VM_SYMBOL_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
		[VM_SYMBOL_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
		[VM_SYMBOL_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
		[VM_SYMBOL_TYPES] = "gHotSpotVMTypes",
		[VM_SYMBOL_TYPE_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
		[VM_SYMBOL_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
		[VM_SYMBOL_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	};

	return names[symbol];
}

/* ---- ELF ---- */

/*
 * What to add to a symbol's value: the mapping is all of an executable segment or a part of it.
 * The kernel rounds both to pages, whose size is not asked for here.
 */
static int elf_bias(const struct elf_file *file, const struct libjvm_mapping *mapping,
		    uint64_t *out)
{
	uint64_t offset = mapping->map.offset;

	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) ||
		    offset + (mapping->map.end - mapping->map.start) <= segment->offset ||
		    (offset > segment->offset && offset - segment->offset >= segment->file_size))
			continue;
		*out = mapping->map.start - offset - (segment->address - segment->offset);
		return 0;
	}
	return -ENOTSUP;
}

static void symbol_note(const char *name, uint64_t address, struct vm_symbols *out)
{
	for (int i = 0; i < VM_SYMBOL_CNT; i++) {
		if (strcmp(name, vm_symbol_name((enum vm_symbol)i)) == 0)
			out->addresses[i] = address;
	}
}

static int dynsym_read(const struct elf_file *file, const struct elf_section *section,
		       uint64_t bias, struct vm_symbols *out)
{
	struct elf_syms syms;
	struct elf_sym sym;
	int err, got;

	err = elf_syms_open(&syms, file, section, SECTION_MAX_BYTES, SECTION_MAX_BYTES);
	if (err)
		return err == -ENODATA ? -ENOTSUP : err;
	while ((got = elf_syms_next(&syms, &sym)) > 0) {
		if (sym.section != SHN_UNDEF && sym.name &&
		    strncmp(sym.name, "gHotSpotVM", 10) == 0)
			symbol_note(sym.name, bias + sym.value, out);
	}
	elf_syms_release(&syms);
	if (got < 0)
		return got == -ENODATA ? -ENOTSUP : got;
	return out->addresses[VM_SYMBOL_STRUCTS] ? 0 : -ENOENT;
}

int libjvm_symbols_file(const struct elf_file *file, const struct libjvm_mapping *mapping,
			struct vm_symbols *out)
{
	const struct elf_section *section = elf_file_section_of_type(file, SHT_DYNSYM);
	struct vm_symbols symbols = { { 0 } };
	uint64_t bias;
	int err;

	if (!file->is_64)
		return -ENOTSUP;
	err = elf_bias(file, mapping, &bias);
	if (!err)
		err = section ? dynsym_read(file, section, bias, &symbols) : -ENOENT;
	if (!err)
		*out = symbols;
	return err;
}

/* ---- the file ---- */

int libjvm_open(int proc_fd, uint32_t pid, struct opener *opener,
		const struct libjvm_mapping *mapping)
{
	const struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER,
						    .max_bytes = LIBJVM_MAX_BYTES };
	struct mapped_file_request request = { .proc_fd = proc_fd,
					       .opener = opener,
					       .pid = pid,
					       .map = &mapping->map,
					       .path = mapping->path };
	uint64_t start_ns;

	if (!proc_stat_start_ns(proc_fd, pid, &start_ns))
		request.start_unix_ns = clock_unix_ns() - clock_boot_ns() + start_ns;

	__cleanup_fd int path_fd = mapped_file_open(&request);

	return path_fd < 0 ? path_fd : opener__reopen(opener, path_fd, &rules, NULL);
}
