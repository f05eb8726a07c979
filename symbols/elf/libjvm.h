/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process has its libjvm.so, and where in memory the symbols lie that lead to HotSpot's
 * tables. The file is the mapped one itself, whatever has become of its path since.
 */
#ifndef JBPF_ELF_LIBJVM_H
#define JBPF_ELF_LIBJVM_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"
#include "user/host/procmaps.h"

struct opener;

/* libjvm.so's dynamic symbols that lead to the tables. */
enum vm_symbol {
	VM_SYMBOL_STRUCTS = 0,
	VM_SYMBOL_STRUCT_TYPE_NAME,
	VM_SYMBOL_STRUCT_FIELD_NAME,
	VM_SYMBOL_STRUCT_TYPE_STRING,
	VM_SYMBOL_STRUCT_IS_STATIC,
	VM_SYMBOL_STRUCT_OFFSET,
	VM_SYMBOL_STRUCT_ADDRESS,
	VM_SYMBOL_STRUCT_STRIDE,
	VM_SYMBOL_TYPES,
	VM_SYMBOL_TYPE_TYPE_NAME,
	VM_SYMBOL_TYPE_SIZE,
	VM_SYMBOL_TYPE_STRIDE,
	VM_SYMBOL_CNT,
};

/* "gHotSpotVMStructs" ... */
const char *vm_symbol_name(enum vm_symbol symbol);

struct vm_symbols {
	uint64_t addresses[VM_SYMBOL_CNT]; /* in the process; 0 = not exported */
};

/* An executable mapping of a file called libjvm.so, or known to be one. One that is only read as data is none. */
struct libjvm_mapping {
	struct procmap map; /* path_at means nothing here */
	char path[4096];    /* as the process sees it, without " (deleted)" */
};

/*
 * Reads /proc/PID/maps; parts of the same file that lie behind one another count once. A process
 * may map several such files: only their tables tell which is the one that runs. 0; -ENOENT: none;
 * -ESRCH and the like: the process is gone. At most `max`.
 */
__must_check int libjvm_find(int proc_fd, uint32_t pid, struct libjvm_mapping *out, size_t max,
			     size_t *cnt_out);

/* As libjvm_find(); the file of this mapping is one, too, whatever its name. */
__must_check int libjvm_find_with(int proc_fd, uint32_t pid, const struct procmap *known,
				  struct libjvm_mapping *out, size_t max, size_t *cnt_out);

/* The mapped file, opened for reading by `opener`: a regular one. fd or -errno. */
__must_check int libjvm_open(int proc_fd, uint32_t pid, struct opener *opener,
			     const struct libjvm_mapping *mapping) __no_null;

/*
 * Addresses of HotSpot's tables in the process that maps `file` at `mapping`. 0; -ENOENT: not
 * HotSpot's libjvm (OpenJ9 has a file of that name too); -ENOTSUP: not a 64-bit ELF file whose
 * symbols are understood; -ENOMEM or an error of reading.
 */
__must_check int libjvm_symbols_file(const struct elf_file *file,
				     const struct libjvm_mapping *mapping, struct vm_symbols *out);

#endif
