// SPDX-License-Identifier: Apache-2.0
/*
 * ELF functions as a table; see elf_symtab.h.
 *
 * Symbols overlap in real files (aliases, local labels inside a function) and in hostile ones, so
 * building ends with a sweep that gives every address to the innermost symbol. A range costs 12
 * bytes and its name once: 45,000 functions of a libjvm take some 3 MiB.
 */
#include "symbols/elf/elf_symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "symbols/elf/eh_frame.h"
#include "symbols/elf/elf_symtab_internal.h"
#include "symbols/elf/elf_syms.h"
#include "user/util/cleanup.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define ELF_SYMTAB_COMPARED_BYTES 256u /* of two names of one place */
#define ELF_SYMTAB_UNSIZED_BYTES \
	64u /* of code without a size, where only exported names are known */
#define ELF_SYMTAB_MAX_STRINGS \
	8u /* string sections of a builder: two each for a file and its debug files */

/* A symbol while the table is being built. */
struct elf_candidate {
	uint32_t start; /* from base */
	uint32_t end;	/* exclusive; == start: not known */
	uint32_t limit; /* end of the section or segment it lies in */
	uint32_t rank;	/* among symbols of one address the highest wins */
	const char *name;
};

struct elf_symtab_builder {
	struct elf_symtab *tab;
	uint64_t span; /* of code, from base; fits 32 bits */
	struct elf_candidate *items;
	size_t cnt;
	size_t cap;
	char *strings[ELF_SYMTAB_MAX_STRINGS];
	size_t string_cnt;
	struct strtab *copies;	     /* names given one by one; NULL = none */
	struct elf_range *functions; /* of .eh_frame, as ranges without a name */
	size_t function_cnt;
	bool has_symtab; /* not only names that are exported */
};

void elf_symtab__free(struct elf_symtab *tab)
{
	if (!tab)
		return;
	free(tab->ranges);
	free(tab->names);
	free(tab->loads);
	free(tab);
}

void elf_symtab_builder__free(struct elf_symtab_builder *builder)
{
	if (!builder)
		return;
	elf_symtab__free(builder->tab);
	free(builder->items);
	for (size_t i = 0; i < builder->string_cnt; i++)
		free(builder->strings[i]);
	strtab__free(builder->copies);
	free(builder->functions);
	free(builder);
}

static int elf_symtab_add_loads(struct elf_symtab_builder *builder, const struct elf_file *file)
{
	struct elf_symtab *tab = builder->tab;
	uint64_t low = UINT64_MAX, high = 0;

	tab->loads = calloc(file->segment_cnt + 1, sizeof(*tab->loads));
	if (!tab->loads)
		return -ENOMEM;
	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];
		struct elf_load load = {
			.offset = segment->offset,
			.address = segment->address,
			.size = segment->file_size,
			.is_code = segment->flags & PF_X,
		};
		uint64_t end;

		if (segment->type != PT_LOAD || load.size == 0 ||
		    __builtin_add_overflow(load.address, load.size, &end) ||
		    load.offset > UINT64_MAX - load.size)
			continue;
		tab->loads[tab->load_cnt++] = load;
		if (!load.is_code)
			continue;
		low = load.address < low ? load.address : low;
		high = end > high ? end : high;
	}
	tab->base = low < high ? low : 0;
	builder->span = low < high ? high - low : 0;
	if (builder->span > UINT32_MAX)
		builder->span = UINT32_MAX;
	return 0;
}

int elf_symtab_builder__start(const struct elf_file *file, struct elf_symtab_builder **out)
{
	struct elf_symtab_builder *builder = calloc(1, sizeof(*builder));
	int err = -ENOMEM;

	if (builder)
		builder->tab = calloc(1, sizeof(*builder->tab));
	if (builder && builder->tab)
		err = elf_symtab_add_loads(builder, file);
	if (err) {
		elf_symtab_builder__free(builder);
		return err;
	}
	*out = builder;
	return 0;
}

static int elf_add_candidate(struct elf_symtab_builder *builder,
			     const struct elf_candidate *candidate)
{
	if (builder->cnt == ELF_SYMTAB_MAX_SYMBOLS) {
		builder->tab->dropped_cnt++;
		return 0;
	}
	if (vec_room(builder->items, builder->cnt, builder->cap, 1024))
		return -ENOMEM;
	builder->items[builder->cnt++] = *candidate;
	return 0;
}

/* End, from base, of the code segment that holds an address; 0 when none does. */
static uint64_t elf_code_limit(const struct elf_symtab *tab, uint64_t address)
{
	for (size_t i = 0; i < tab->load_cnt; i++) {
		const struct elf_load *load = &tab->loads[i];

		if (load->is_code && address >= load->address &&
		    address - load->address < load->size)
			return load->address + load->size - tab->base;
	}
	return 0;
}

/* "$x", "$d.1", ".L12": marks of the assembler, not functions. */
static bool elf_is_mapping_name(const char *name)
{
	return name[0] == '\0' || name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

/* Global over weak over local, true functions over plain labels, sized over unsized. */
static uint32_t elf_rank(const struct elf_sym *sym)
{
	const char *name = sym->name;
	uint32_t bind = ELF64_ST_BIND(sym->info);
	uint32_t rank = bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0;

	rank = rank * 2 + (ELF64_ST_TYPE(sym->info) != STT_NOTYPE);
	rank = rank * 2 + (sym->size > 0);
	/* Of two equal ones the public name: "read" before "__read". */
	return rank * 4 + (name[0] != '_' ? 2 : name[1] != '_' ? 1 : 0);
}

static bool elf_is_function(const struct elf_file *file, const struct elf_sym *sym)
{
	uint32_t type = ELF64_ST_TYPE(sym->info);

	if (sym->section == SHN_UNDEF || type == STT_TLS || type == STT_SECTION)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && (type != STT_NOTYPE || sym->size == 0))
		return false;
	if (sym->section < file->section_cnt)
		return file->sections[sym->section].flags & SHF_EXECINSTR;
	return type != STT_NOTYPE;
}

static int elf_add_sym(struct elf_symtab_builder *builder, const struct elf_file *file,
		       const struct elf_sym *sym)
{
	uint64_t limit, start, section_end;
	struct elf_candidate candidate;

	if (!sym->name || !elf_is_function(file, sym))
		return 0;
	limit = elf_code_limit(builder->tab, sym->value);
	if (limit == 0 || elf_is_mapping_name(sym->name))
		return 0;
	start = sym->value - builder->tab->base;
	if (sym->section < file->section_cnt) {
		const struct elf_section *section = &file->sections[sym->section];

		if (!__builtin_add_overflow(section->address, section->size, &section_end) &&
		    section_end > sym->value && section_end - builder->tab->base < limit)
			limit = section_end - builder->tab->base;
	}
	if (limit > builder->span)
		limit = builder->span;
	if (start >= limit)
		return 0;
	candidate = (struct elf_candidate){
		.start = (uint32_t)start,
		.end = (uint32_t)(sym->size < limit - start ? start + sym->size : limit),
		.limit = (uint32_t)limit,
		.rank = elf_rank(sym),
		.name = sym->name,
	};
	return elf_add_candidate(builder, &candidate);
}

/* What is cut off, or has no names, gives fewer symbols. */
static int elf_add_symbol_section(struct elf_symtab_builder *builder, const struct elf_file *file,
				  const struct elf_section *section)
{
	struct elf_syms syms;
	struct elf_sym sym;
	int err, got;

	if (builder->string_cnt == ELF_SYMTAB_MAX_STRINGS)
		return 0;
	err = elf_syms_open(&syms, file, section, ELF_SYMTAB_MAX_BYTES, ELF_SYMTAB_MAX_NAMES);
	if (err)
		return err == -ENODATA ? 0 : err;
	if (section->size > ELF_SYMTAB_MAX_BYTES)
		builder->tab->dropped_cnt += (section->size - ELF_SYMTAB_MAX_BYTES) / syms.sym_size;
	while (!err && (got = elf_syms_next(&syms, &sym)) != 0)
		err = got < 0 ? got : elf_add_sym(builder, file, &sym);
	/* The candidates point into them. */
	builder->strings[builder->string_cnt++] = elf_syms_take_names(&syms);
	return err == -ENODATA ? 0 : err;
}

int elf_symtab_builder__add(struct elf_symtab_builder *builder, const struct elf_file *file)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct elf_section *section = elf_file_section_of_type(file, types[i]);
		int err = section ? elf_add_symbol_section(builder, file, section) : 0;

		if (err)
			return err;
		builder->has_symtab |= section && section->size && types[i] == SHT_SYMTAB;
	}
	return 0;
}

int elf_symtab_builder__add_symbol(struct elf_symtab_builder *builder, uint64_t address,
				   uint64_t size, const char *name)
{
	uint64_t limit = elf_code_limit(builder->tab, address);
	uint64_t start = address - builder->tab->base;
	struct elf_candidate candidate;
	uint32_t id;
	int err;

	if (limit > builder->span)
		limit = builder->span;
	if (limit == 0 || start >= limit)
		return 0;
	if (!builder->copies)
		builder->copies = strtab__new();
	if (!builder->copies)
		return -ENOMEM;
	err = strtab__intern(builder->copies, name, strlen(name), &id);
	if (err)
		return err;
	candidate = (struct elf_candidate){
		.start = (uint32_t)start,
		.end = (uint32_t)(size < limit - start ? start + size : limit),
		.limit = (uint32_t)limit,
		.name = strtab__get(builder->copies, id, NULL),
	};
	return elf_add_candidate(builder, &candidate);
}

int elf_symtab_builder__add_functions(struct elf_symtab_builder *builder,
				      const struct elf_file *file)
{
	uint64_t base = builder->tab->base;
	struct eh_frame frame = { 0 };
	int err = eh_frame_read(file, &frame);

	if (!err)
		builder->functions = reallocarray(NULL, frame.fde_cnt, sizeof(*builder->functions));
	if (!err && !builder->functions)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < frame.fde_cnt; i++) {
		const struct eh_frame_fde *fde = &frame.fdes[i];
		uint64_t end = fde->end - base;

		end = end < builder->span ? end : builder->span;
		/* Behind another one that overlaps it nobody knows where it begins. */
		if (fde->from != fde->start || fde->start < base || fde->start - base >= end)
			continue;
		builder->functions[builder->function_cnt++] = (struct elf_range){
			.start = (uint32_t)(fde->start - base),
			.end = (uint32_t)end,
			.name = ELF_RANGE_NO_NAME,
		};
	}
	eh_frame_release(&frame);
	return err == -ENOMEM ? err : 0;
}

/* By address; of one address the best first, the longer of equals. */
static int elf_candidate_compare(const void *left, const void *right)
{
	const struct elf_candidate *a = left;
	const struct elf_candidate *b = right;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	if (a->rank != b->rank)
		return (a->rank < b->rank) - (a->rank > b->rank);
	return (a->end < b->end) - (a->end > b->end);
}

/*
 * Of equal ones the first by name, so that every file with these symbols says the same. Looked at
 * once each, and not while sorting, and not to their ends: names may be any suffixes of one that is
 * as long as the file.
 */
static bool elf_is_better_name(const struct elf_candidate *candidate,
			       const struct elf_candidate *kept)
{
	return elf_candidate_compare(candidate, kept) == 0 &&
	       strncmp(candidate->name, kept->name, ELF_SYMTAB_COMPARED_BYTES) < 0;
}

static size_t elf_name_len(const char *name)
{
	return strnlen(name, ELF_SYMTAB_MAX_NAME_BYTES);
}

/* As many as their names leave room for. */
static size_t elf_affordable(struct elf_symtab *tab, const struct elf_candidate *items, size_t cnt)
{
	size_t bytes = 0;

	for (size_t i = 0; i < cnt; i++) {
		bytes += elf_name_len(items[i].name) + 1;
		if (bytes > ELF_SYMTAB_MAX_NAMES) {
			tab->dropped_cnt += cnt - i;
			return i;
		}
	}
	return cnt;
}

/*
 * End of a symbol without a size, as functions in assembly are: the next one's beginning, be that a symbol
 * or a function without a name, as .eh_frame tells. Where hidden and static functions have no symbols it ends
 * after a few instructions, or where .eh_frame says: who is behind it is not known. `next_function`: of
 * those, the first behind the symbol, kept from one to the next.
 */
static uint32_t elf_unsized_end(const struct elf_symtab_builder *builder, size_t index, size_t cnt,
				size_t *next_function)
{
	const struct elf_range *functions = builder->functions;
	const struct elf_candidate *item = &builder->items[index];
	uint32_t len = ELF_SYMTAB_UNSIZED_BYTES, end = item->limit;
	size_t next = *next_function;

	while (next < builder->function_cnt && functions[next].start <= item->start)
		next++;
	*next_function = next;
	if (next > 0 && functions[next - 1].start == item->start)
		len = functions[next - 1].end - item->start;
	if (!builder->has_symtab && len < end - item->start)
		end = item->start + len;
	if (next < builder->function_cnt && functions[next].start < end)
		end = functions[next].start;
	if (index + 1 < cnt && item[1].start < end)
		end = item[1].start;
	return end;
}

/* One per address, ends known. */
static void elf_settle(struct elf_symtab_builder *builder)
{
	struct elf_candidate *items = builder->items;
	size_t kept = 0, next_function = 0;

	if (builder->cnt == 0)
		return;
	qsort(items, builder->cnt, sizeof(*items), elf_candidate_compare);
	for (size_t i = 0; i < builder->cnt; i++)
		if (kept == 0 || items[kept - 1].start != items[i].start)
			items[kept++] = items[i];
		else if (elf_is_better_name(&items[i], &items[kept - 1]))
			items[kept - 1].name = items[i].name;
	for (size_t i = 0; i < kept; i++)
		if (items[i].end == items[i].start)
			items[i].end = elf_unsized_end(builder, i, kept, &next_function);
	builder->cnt = elf_affordable(builder->tab, items, kept);
}

struct elf_sweep {
	struct elf_range *ranges; /* `name` is an index into the candidates here */
	size_t cnt;
	uint32_t *open; /* candidates that began and have not ended, innermost last */
	size_t open_cnt;
	uint32_t at; /* everything before has been given away */
};

static void elf_sweep_give(struct elf_sweep *sweep, uint32_t end, uint32_t owner)
{
	if (end <= sweep->at)
		return;
	sweep->ranges[sweep->cnt++] = (struct elf_range){ sweep->at, end, owner };
	sweep->at = end;
}

/* Gives every address up to `until` to the innermost symbol that is open there. */
static void elf_sweep_to(struct elf_sweep *sweep, const struct elf_candidate *items, uint32_t until)
{
	while (sweep->open_cnt) {
		uint32_t owner = sweep->open[sweep->open_cnt - 1];

		if (items[owner].end > until) {
			elf_sweep_give(sweep, until, owner);
			return;
		}
		elf_sweep_give(sweep, items[owner].end, owner);
		sweep->open_cnt--;
	}
}

/* At most two ranges per symbol: one when it begins, one when an inner symbol has ended. */
static int elf_sweep_run(const struct elf_symtab_builder *builder, struct elf_sweep *sweep)
{
	const struct elf_candidate *items = builder->items;

	sweep->ranges = reallocarray(NULL, builder->cnt * 2 + 1, sizeof(*sweep->ranges));
	sweep->open = reallocarray(NULL, builder->cnt + 1, sizeof(*sweep->open));
	if (!sweep->ranges || !sweep->open)
		return -ENOMEM;
	for (size_t i = 0; i < builder->cnt; i++) {
		elf_sweep_to(sweep, items, items[i].start);
		sweep->at = items[i].start;
		sweep->open[sweep->open_cnt++] = (uint32_t)i;
	}
	elf_sweep_to(sweep, items, UINT32_MAX);
	return 0;
}

/* Copies the names that are used and points the ranges at them. */
static int elf_take_names(const struct elf_symtab_builder *builder, struct elf_sweep *sweep)
{
	struct elf_symtab *tab = builder->tab;
	__cleanup_free uint32_t *places = calloc(builder->cnt + 1, sizeof(*places));
	size_t need = 0, at = 0;

	for (size_t i = 0; i < builder->cnt; i++)
		need += elf_name_len(builder->items[i].name) + 1;
	tab->names = malloc(need + 1);
	if (!places || !tab->names)
		return -ENOMEM;
	for (size_t i = 0; i < builder->cnt; i++) {
		size_t len = elf_name_len(builder->items[i].name);

		memcpy(tab->names + at, builder->items[i].name, len);
		tab->names[at + len] = '\0';
		places[i] = (uint32_t)at;
		at += len + 1;
	}
	tab->names_len = at;
	for (size_t i = 0; i < sweep->cnt; i++)
		sweep->ranges[i].name = places[sweep->ranges[i].name];
	return 0;
}

/* Puts functions without a name where nothing is, each from its beginning to the next symbol. */
static int elf_add_nameless(const struct elf_symtab_builder *builder, struct elf_sweep *sweep)
{
	size_t cnt = 0, next = 0;
	struct elf_range *all;

	if (builder->function_cnt == 0)
		return 0;
	all = reallocarray(NULL, sweep->cnt + builder->function_cnt, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < builder->function_cnt; i++) {
		struct elf_range function = builder->functions[i];

		while (next < sweep->cnt && sweep->ranges[next].end <= function.start)
			all[cnt++] = sweep->ranges[next++];
		if (next < sweep->cnt && sweep->ranges[next].start < function.end)
			function.end = sweep->ranges[next].start;
		if (function.start < function.end)
			all[cnt++] = function;
	}
	while (next < sweep->cnt)
		all[cnt++] = sweep->ranges[next++];
	free(sweep->ranges);
	sweep->ranges = all;
	sweep->cnt = cnt;
	return 0;
}

int elf_symtab_builder__finish(struct elf_symtab_builder *builder, struct elf_symtab **out)
{
	struct elf_symtab *tab = builder->tab;
	struct elf_sweep sweep = { 0 };
	struct elf_range *shrunk;
	int err;

	elf_settle(builder);
	err = elf_sweep_run(builder, &sweep);
	if (!err)
		err = elf_take_names(builder, &sweep);
	if (!err)
		err = elf_add_nameless(builder, &sweep);
	free(sweep.open);
	if (err) {
		free(sweep.ranges);
		return err;
	}
	shrunk = reallocarray(sweep.ranges, sweep.cnt + 1, sizeof(*shrunk));
	tab->ranges = shrunk ? shrunk : sweep.ranges;
	tab->range_cnt = sweep.cnt;
	*out = take_ptr(builder->tab);
	return 0;
}

int elf_symtab__lookup(const struct elf_symtab *tab, uint64_t address, struct elf_symbol *out)
{
	size_t low = 0, high = tab->range_cnt;
	const struct elf_range *range;
	uint64_t at;

	if (address < tab->base || address - tab->base > UINT32_MAX)
		return -ENOENT;
	at = address - tab->base;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tab->ranges[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == tab->range_cnt || tab->ranges[low].start > at)
		return -ENOENT;
	range = &tab->ranges[low];
	*out = (struct elf_symbol){
		.start = tab->base + range->start,
		.end = tab->base + range->end,
		.name = range->name == ELF_RANGE_NO_NAME ? NULL : tab->names + range->name,
	};
	return 0;
}

int elf_symtab__address_of_offset(const struct elf_symtab *tab, uint64_t file_offset,
				  uint64_t *address_out)
{
	const struct elf_load *found = NULL;

	for (size_t i = 0; i < tab->load_cnt; i++) {
		const struct elf_load *load = &tab->loads[i];

		if (file_offset < load->offset || file_offset - load->offset >= load->size)
			continue;
		/* Segments may share a page of the file; what runs lies in the one with code. */
		if (!found || (load->is_code && !found->is_code))
			found = load;
	}
	if (!found)
		return -ENOENT;
	*address_out = found->address + (file_offset - found->offset);
	return 0;
}

static int offset_of_address(const struct elf_symtab *tab, uint64_t address, uint64_t *out)
{
	for (size_t i = 0; i < tab->load_cnt; i++) {
		const struct elf_load *load = &tab->loads[i];

		if (!load->is_code || address < load->address ||
		    address - load->address >= load->size)
			continue;
		*out = load->offset + (address - load->address);
		return 0;
	}
	return -ENOENT;
}

int elf_symtab__find(const struct elf_symtab *tab, const char *prefix, uint64_t *file_offset_out)
{
	size_t len = strlen(prefix);

	for (size_t i = 0; i < tab->range_cnt; i++) {
		const struct elf_range *range = &tab->ranges[i];
		const char *name = tab->names + range->name;

		if (range->name == ELF_RANGE_NO_NAME || strncmp(name, prefix, len) != 0 ||
		    strchr(name, '.'))
			continue;
		return offset_of_address(tab, tab->base + range->start, file_offset_out);
	}
	return -ENOENT;
}

size_t elf_symtab__code_segments(const struct elf_symtab *tab, struct elf_code_segment *out,
				 size_t max)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->load_cnt && cnt < max; i++) {
		const struct elf_load *load = &tab->loads[i];

		if (load->is_code)
			out[cnt++] = (struct elf_code_segment){ .offset = load->offset,
								.size = load->size,
								.address = load->address };
	}
	return cnt;
}

size_t elf_symtab__bytes(const struct elf_symtab *tab)
{
	return sizeof(*tab) + tab->range_cnt * sizeof(*tab->ranges) + tab->names_len +
	       tab->load_cnt * sizeof(*tab->loads);
}

size_t elf_symtab__dropped(const struct elf_symtab *tab)
{
	return tab->dropped_cnt;
}

void elf_symtab__hash(const struct elf_symtab *tab, uint64_t seed, uint64_t out[2])
{
	XXH128_hash_t parts[4] = {
		XXH3_128bits_withSeed(tab->ranges, tab->range_cnt * sizeof(*tab->ranges), seed),
		XXH3_128bits_withSeed(tab->names, tab->names_len, seed),
		{ .low64 = tab->base, .high64 = tab->load_cnt },
	};
	XXH128_hash_t all;

	for (size_t i = 0; i < tab->load_cnt; i++) {
		uint64_t words[6] = { tab->loads[i].offset, tab->loads[i].address,
				      tab->loads[i].size,   tab->loads[i].is_code,
				      parts[3].low64,	    parts[3].high64 };

		parts[3] = XXH3_128bits_withSeed(words, sizeof(words), seed);
	}
	all = XXH3_128bits_withSeed(parts, sizeof(parts), seed);
	out[0] = all.low64;
	out[1] = all.high64;
}

bool elf_symtab_exports(const struct elf_file *file, const char *name)
{
	const struct elf_section *section = elf_file_section_of_type(file, SHT_DYNSYM);
	bool is_found = false;
	struct elf_syms syms;
	struct elf_sym sym;

	if (!section ||
	    elf_syms_open(&syms, file, section, ELF_SYMTAB_MAX_BYTES, ELF_SYMTAB_MAX_NAMES))
		return false;
	while (!is_found && elf_syms_next(&syms, &sym) > 0)
		is_found = sym.section != SHN_UNDEF && sym.name && strcmp(sym.name, name) == 0;
	elf_syms_release(&syms);
	return is_found;
}
