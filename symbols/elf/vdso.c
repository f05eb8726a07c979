// SPDX-License-Identifier: Apache-2.0
/* The vdso's symbols, out of our own memory; see vdso.h. */
#include "symbols/elf/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "user/host/procmaps.h"
#include "user/util/cleanup.h"

int vdso_open(struct elf_file *out)
{
	__cleanup_fd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct procmaps maps = { 0 };
	int err;

	*out = (struct elf_file){ .fd = -1 };
	if (fd < 0)
		return -errno;
	err = procmaps_read(fd, &maps);
	for (size_t i = 0; !err && i < maps.cnt; i++) {
		const struct procmap *map = &maps.items[i];

		if (map->kind != PROCMAP_KIND_VDSO)
			continue;
		err = elf_file_open_bytes((const void *)(uintptr_t)map->start,
					  (size_t)(map->end - map->start), out);
		procmaps_release(&maps);
		return err;
	}
	procmaps_release(&maps);
	return err ? err : -ENOENT;
}

int vdso_load(struct elf_symtab **out)
{
	struct elf_symtab_builder *builder = NULL;
	struct elf_file file;
	int err = vdso_open(&file);

	if (!err)
		err = elf_symtab_builder__start(&file, &builder);
	if (!err)
		err = elf_symtab_builder__add(builder, &file);
	if (!err)
		err = elf_symtab_builder__finish(builder, out);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	return err;
}
