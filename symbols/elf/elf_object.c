// SPDX-License-Identifier: Apache-2.0
/* One file's symbols from every source; see elf_object.h. */
#include "symbols/elf/elf_object.h"

#include <errno.h>
#include <string.h>

#include "symbols/elf/build_id.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/elf_plt.h"
#include "symbols/elf/libc_thread.h"

static int elf_object_symbols(const struct elf_file *file, const struct debug_file_opener *opener,
			      struct elf_symtab **out)
{
	struct elf_symtab_builder *builder = NULL;
	struct build_id id = { .len = 0 };
	int err = build_id_read(file, &id);

	if (err == -ENOMEM)
		return err;
	err = elf_symtab_builder__start(file, &builder);
	if (!err)
		err = elf_symtab_builder__add(builder, file);
	if (!err)
		err = elf_plt_add(file, builder);
	if (!err)
		err = libc_thread_add(file, builder);
	if (!err)
		err = debug_file_add(file, &id, opener, builder);
	if (!err)
		err = elf_symtab_builder__add_functions(builder, file);
	if (!err)
		err = elf_symtab_builder__finish(builder, out);
	elf_symtab_builder__free(builder);
	return err;
}

int elf_object_read(int fd, uint64_t size, const struct debug_file_opener *opener,
		    struct elf_object *out)
{
	struct elf_object object = { .symtab = NULL };
	struct elf_file file;
	int err = elf_file_open_sized(fd, size, &file);

	if (!err)
		err = elf_object_symbols(&file, opener, &object.symtab);
	/* Whatever its name: a link may lead to it, or a launcher may have it linked in. */
	if (!err)
		object.is_hotspot = elf_symtab_exports(&file, "gHotSpotVMStructs");
	elf_file_release(&file);
	if (!err)
		*out = object;
	return err;
}
