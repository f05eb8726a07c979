// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the tables that the parser process hands back: what is taken is sound (every range
 * has a place, every name is inside), and is the same bytes again when it is written.
 *
 * Input: one byte that says which table, the table. Or, with the other values of the byte, a file or
 * a perf map whose table is made, written and taken.
 */
#include "symbols/elf/elf_symtab_wire.h"
#include "symbols/perfmap/perfmap_wire.h"
#include "tests/fuzz/fuzz.h"
#include "user/util/strbuf.h"

static int append(void *ctx, const void *bytes, size_t len)
{
	strbuf_append(ctx, bytes, len);
	return strbuf_error(ctx);
}

static void must_equal(const struct strbuf *written, const uint8_t *bytes, size_t len)
{
	must(written->len == len);
	must(len == 0 || memcmp(written->data, bytes, len) == 0);
}

/* ---- functions ---- */

static void elf_use(const struct elf_symtab *tab, const uint8_t *bytes, size_t len)
{
	struct elf_symbol symbol;
	uint64_t address;

	/* Any numbers of the input as addresses. */
	for (size_t at = 0; at + 8 <= len && at < 4096; at += 4) {
		memcpy(&address, bytes + at, sizeof(address));
		if (elf_symtab__lookup(tab, address, &symbol) == 0) {
			must(symbol.start <= address && address < symbol.end);
			must(!symbol.name || strlen(symbol.name) <= ELF_SYMTAB_MAX_NAME_BYTES);
		}
		(void)elf_symtab__address_of_offset(tab, address, &address);
	}
}

static void elf_take(const uint8_t *bytes, size_t len)
{
	struct strbuf written = STRBUF_INIT;
	const struct wire_sink sink = { .write = append, .ctx = &written };
	struct elf_symtab *tab;
	int err = elf_symtab_decode(bytes, len, &tab);

	must(err == 0 || err == -EBADMSG || err == -ENOMEM);
	if (err)
		return;
	elf_use(tab, bytes, len);
	must(elf_symtab__encode(tab, &sink) == 0);
	must_equal(&written, bytes, len);
	strbuf_release(&written);
	elf_symtab__free(tab);
}

static void elf_make(const uint8_t *bytes, size_t len)
{
	struct strbuf written = STRBUF_INIT;
	const struct wire_sink sink = { .write = append, .ctx = &written };
	struct elf_symtab_builder *builder = NULL;
	struct elf_symtab *tab = NULL, *taken = NULL;
	uint64_t hashes[2][2];
	struct elf_file file;

	if (elf_file_open_bytes(bytes, len, &file) == 0 &&
	    elf_symtab_builder__start(&file, &builder) == 0 &&
	    elf_symtab_builder__add(builder, &file) == 0 &&
	    elf_symtab_builder__finish(builder, &tab) == 0) {
		must(elf_symtab__encode(tab, &sink) == 0);
		must(elf_symtab_decode(written.data, written.len, &taken) == 0);
		elf_symtab__hash(tab, 3, hashes[0]);
		elf_symtab__hash(taken, 3, hashes[1]);
		must(memcmp(hashes[0], hashes[1], sizeof(hashes[0])) == 0);
	}
	elf_symtab__free(taken);
	elf_symtab__free(tab);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	strbuf_release(&written);
}

/* ---- perf maps ---- */

struct map_walk {
	const struct perfmap *map;
	uint64_t end;
	size_t total;
};

static int map_use(void *ctx, const struct perfmap_symbol *symbol)
{
	struct map_walk *walk = ctx;
	struct perfmap_symbol found;

	must(symbol->start >= walk->end && symbol->end > symbol->start);
	must(symbol->name_len > 0);
	must(perfmap__lookup(walk->map, symbol->start, &found) == 0);
	must(found.name == symbol->name && found.end == symbol->end);
	for (size_t i = 0; i < symbol->name_len; i++)
		walk->total += (uint8_t)symbol->name[i];
	walk->end = symbol->end;
	return 0;
}

static void map_take(const uint8_t *bytes, size_t len)
{
	struct strbuf written = STRBUF_INIT;
	const struct wire_sink sink = { .write = append, .ctx = &written };
	struct map_walk walk = { .end = 0 };
	struct perfmap_stats stats;
	struct perfmap *map;
	int err = perfmap_decode(bytes, len, &map, &stats);

	must(err == 0 || err == -EBADMSG || err == -ENOMEM);
	if (err)
		return;
	walk.map = map;
	must(perfmap__each(map, map_use, &walk) == 0);
	must(perfmap__encode(map, &stats, &sink) == 0);
	must_equal(&written, bytes, len);
	strbuf_release(&written);
	perfmap__free(map);
}

static void map_make(const uint8_t *bytes, size_t len)
{
	struct strbuf written = STRBUF_INIT;
	const struct wire_sink sink = { .write = append, .ctx = &written };
	struct perfmap_stats stats, taken_stats;
	struct perfmap *map, *taken;

	must(perfmap__parse((const char *)bytes, len, &map, &stats) == 0);
	must(perfmap__encode(map, &stats, &sink) == 0);
	must(perfmap_decode(written.data, written.len, &taken, &taken_stats) == 0);
	must(memcmp(&stats, &taken_stats, sizeof(stats)) == 0);
	perfmap__free(map);
	perfmap__free(taken);
	strbuf_release(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const ways[])(const uint8_t *, size_t) = { elf_take, map_take, elf_make,
								 map_make };

	if (len)
		ways[data[0] % 4](data + 1, len - 1);
	return 0;
}
