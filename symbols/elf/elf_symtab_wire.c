// SPDX-License-Identifier: Apache-2.0
/* Tables of functions over the border; see elf_symtab_wire.h. Head, segments, ranges, names. */
#include "symbols/elf/elf_symtab_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/eh_frame.h"
#include "symbols/elf/elf_symtab_internal.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

/* Two per symbol, one per function of .eh_frame; see elf_symtab.c. */
#define WIRE_MAX_RANGES (2 * ELF_SYMTAB_MAX_SYMBOLS + EH_FRAME_MAX_FDES)

struct wire_head {
	uint64_t base;
	uint64_t dropped_cnt;
	uint64_t range_cnt;
	uint64_t names_len;
	uint64_t load_cnt;
};

struct wire_load {
	uint64_t offset;
	uint64_t address;
	uint64_t size;
	uint64_t is_code;
};

int elf_symtab__encode(const struct elf_symtab *tab, const struct wire_sink *sink)
{
	struct wire_head head = {
		.base = tab->base,
		.dropped_cnt = tab->dropped_cnt,
		.range_cnt = tab->range_cnt,
		.names_len = tab->names_len,
		.load_cnt = tab->load_cnt,
	};
	int err = wire_sink_write(sink, &head, sizeof(head));

	for (size_t i = 0; i < tab->load_cnt && !err; i++) {
		struct wire_load load = {
			.offset = tab->loads[i].offset,
			.address = tab->loads[i].address,
			.size = tab->loads[i].size,
			.is_code = tab->loads[i].is_code,
		};

		err = wire_sink_write(sink, &load, sizeof(load));
	}
	if (!err)
		err = wire_sink_write(sink, tab->ranges, tab->range_cnt * sizeof(*tab->ranges));
	if (!err)
		err = wire_sink_write(sink, tab->names, tab->names_len);
	return err;
}

static bool wire_read(struct byte_reader *reader, void *out, size_t len)
{
	const void *bytes = byte_reader_take(reader, len);

	if (bytes && len)
		memcpy(out, bytes, len);
	return bytes != NULL;
}

static int wire_read_loads(struct byte_reader *reader, size_t cnt, struct elf_symtab *tab)
{
	tab->loads = calloc(cnt + 1, sizeof(*tab->loads));
	if (!tab->loads)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct wire_load load;
		uint64_t end;

		if (!wire_read(reader, &load, sizeof(load)) || load.size == 0 || load.is_code > 1 ||
		    __builtin_add_overflow(load.address, load.size, &end) ||
		    __builtin_add_overflow(load.offset, load.size, &end))
			return -EBADMSG;
		tab->loads[tab->load_cnt++] = (struct elf_load){
			.offset = load.offset,
			.address = load.address,
			.size = load.size,
			.is_code = load.is_code == 1,
		};
	}
	return 0;
}

/* No string is longer than names in a table are, wherever in the bytes it begins. */
static bool wire_names_end(const char *names, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *end = memchr(names + at, '\0', len - at);

		if (!end || (size_t)(end - (names + at)) > ELF_SYMTAB_MAX_NAME_BYTES)
			return false;
		at = (size_t)(end - names) + 1;
	}
	return true;
}

static bool wire_ranges_are_sound(const struct elf_symtab *tab)
{
	uint32_t end = 0;

	for (size_t i = 0; i < tab->range_cnt; i++) {
		const struct elf_range *range = &tab->ranges[i];

		if (range->start < end || range->end <= range->start ||
		    (range->name >= tab->names_len && range->name != ELF_RANGE_NO_NAME) ||
		    tab->base > UINT64_MAX - range->end)
			return false;
		end = range->end;
	}
	return true;
}

static int wire_read_table(struct byte_reader *reader, struct elf_symtab *tab)
{
	struct wire_head head;
	int err;

	if (!wire_read(reader, &head, sizeof(head)) || head.load_cnt > ELF_FILE_MAX_SEGMENTS ||
	    head.range_cnt > WIRE_MAX_RANGES || head.names_len > UINT32_MAX)
		return -EBADMSG;
	/* Before anything is allocated: the bytes must be there. */
	if (reader->left != head.load_cnt * sizeof(struct wire_load) +
				    head.range_cnt * sizeof(struct elf_range) + head.names_len)
		return -EBADMSG;
	err = wire_read_loads(reader, (size_t)head.load_cnt, tab);
	if (err)
		return err;
	tab->base = head.base;
	tab->dropped_cnt = (size_t)head.dropped_cnt;
	tab->range_cnt = (size_t)head.range_cnt;
	tab->names_len = (size_t)head.names_len;
	tab->ranges = reallocarray(NULL, tab->range_cnt + 1, sizeof(*tab->ranges));
	tab->names = malloc(tab->names_len + 1);
	if (!tab->ranges || !tab->names)
		return -ENOMEM;
	if (!wire_read(reader, tab->ranges, tab->range_cnt * sizeof(*tab->ranges)) ||
	    !wire_read(reader, tab->names, tab->names_len))
		return -EBADMSG;
	return wire_ranges_are_sound(tab) && wire_names_end(tab->names, tab->names_len) ? 0 :
											  -EBADMSG;
}

int elf_symtab_decode(const void *bytes, size_t len, struct elf_symtab **out)
{
	struct byte_reader reader = byte_reader_init(bytes, len);
	struct elf_symtab *tab = calloc(1, sizeof(*tab));
	int err;

	if (!tab)
		return -ENOMEM;
	err = wire_read_table(&reader, tab);
	if (err) {
		elf_symtab__free(tab);
		return err;
	}
	*out = tab;
	return 0;
}
