// SPDX-License-Identifier: Apache-2.0
/*
 * MiniDebugInfo. Packed bytes of any kind unpack to what liblzma's one-call decoder makes of them,
 * and never to more than was allowed; and symbols of any file, packed and put into another one as
 * .gnu_debugdata, are the symbols that reading them directly gives. Also the small things a debug
 * file is found by: notes with a build id, and the name in .gnu_debuglink.
 *
 * Input: one byte (modulo 4: packed bytes, a file to be packed, notes, a link), then that.
 */
#include <lzma.h>

#include "symbols/elf/build_id.h"
#include "symbols/elf/debug_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/tiny_elf.h"

#define UNPACK_MAX    (1u << 20)
#define DICTIONARY    4096u
#define MEMORY_MAX    (80u << 20)
#define MINI_MAX_SIZE 8192u

/* There are no other files. */
static int open_none(void *ctx, const struct debug_file_wanted *wanted, uint64_t *size_out)
{
	(void)ctx;
	(void)wanted;
	(void)size_out;
	return -ENOENT;
}

static const struct debug_file_opener nothing = { .open = open_none };

static void check_unpack(const uint8_t *packed, size_t len)
{
	static uint8_t wanted[UNPACK_MAX];
	uint64_t memory = MEMORY_MAX;
	size_t wanted_len = 0, at = 0, out_len = 0;
	uint8_t *out = NULL;
	lzma_ret ret = lzma_stream_buffer_decode(&memory, 0, NULL, packed, &at, len, wanted,
						 &wanted_len, sizeof(wanted));
	int err = debug_file_unpack(packed, len, UNPACK_MAX, &out, &out_len);

	must(err == 0 || err == -EBADMSG || err == -E2BIG || err == -ENOMEM);
	must((ret == LZMA_OK) == (err == 0));
	if (!err)
		must(out_len == wanted_len && memcmp(out, wanted, out_len) == 0);
	free(out);
	/* What just fits, fits; one byte less is too little. */
	if (!err && wanted_len) {
		must(debug_file_unpack(packed, len, wanted_len, &out, &out_len) == 0);
		free(out);
		must(debug_file_unpack(packed, len, wanted_len - 1, &out, &out_len) == -E2BIG);
	}
}

static size_t pack(const uint8_t *bytes, size_t len, uint8_t *out, size_t max)
{
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
	size_t packed_len = 0;

	must(!lzma_lzma_preset(&options, 0));
	options.dict_size = DICTIONARY;
	must(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, bytes, len, out,
				       &packed_len, max) == LZMA_OK);
	return packed_len;
}

/* What a program has whose symbols are `mini`: read as its MiniDebugInfo, or directly. */
static void build(const struct elf_file *program, const struct elf_file *mini, uint64_t hash[2])
{
	struct elf_symtab_builder *builder = NULL;
	struct build_id no_id = { .len = 0 };
	struct elf_symtab *tab = NULL;

	must(elf_symtab_builder__start(program, &builder) == 0);
	if (mini)
		must(elf_symtab_builder__add(builder, mini) == 0);
	else
		must(debug_file_add(program, &no_id, &nothing, builder) == 0);
	must(elf_symtab_builder__finish(builder, &tab) == 0);
	elf_symtab_builder__free(builder);
	elf_symtab__hash(tab, 7, hash);
	elf_symtab__free(tab);
}

static void check_mini(const uint8_t *bytes, size_t len)
{
	static uint8_t packed[MINI_MAX_SIZE + 1024], program_bytes[TINY_ELF_MAX];
	uint64_t through[2], direct[2];
	struct elf_file program, mini;
	struct tiny_elf tiny = { .is_dynsym = true, .extra_name = ".gnu_debugdata" };

	len = len < MINI_MAX_SIZE ? len : MINI_MAX_SIZE;
	tiny.extra = packed;
	tiny.extra_len = pack(bytes, len, packed, sizeof(packed));
	must(elf_file_open_bytes(program_bytes, tiny_elf_write(&tiny, program_bytes), &program) ==
	     0);
	(void)elf_file_open_bytes(bytes, len, &mini);
	build(&program, NULL, through);
	build(&program, &mini, direct);
	must(memcmp(through, direct, sizeof(direct)) == 0);
	elf_file_release(&program);
	elf_file_release(&mini);
}

/* An id found in the beginning of notes is found in all of them. */
static void check_notes(struct fuzz_input *input)
{
	size_t align = fuzz_u8(input);
	struct build_id id = { .len = 0 }, part;
	char path[256];
	int err = build_id_parse(input->at, input->left, align, &id);

	must(err == 0 || err == -ENOENT);
	must(build_id_equal(&id, &id) == (err == 0));
	if (!err) {
		must(id.len && id.len <= BUILD_ID_MAX_BYTES);
		must(memmem(input->at, input->left, id.bytes, id.len));
		err = build_id_debug_path(&id, path, sizeof(path));
		must(err == (id.len < 2 ? -ENOENT : 0));
		must(err ||
		     strlen(path) == strlen("/usr/lib/debug/.build-id//.debug") + 2 * id.len);
	}
	for (size_t len = 0; len < input->left; len++) {
		if (build_id_parse(input->at, len, align, &part) == 0)
			must(build_id_equal(&part, &id));
	}
}

static void check_link(const char *bytes, size_t len)
{
	const char *name = debug_file_link_name(bytes, len);

	if (!name)
		return;
	must(name == bytes && strlen(name) < len && strlen(name) <= NAME_MAX && *name);
	must(!strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };

	switch (fuzz_u8(&input) % 4) {
	case 0:
		check_unpack(input.at, input.left);
		break;
	case 1:
		check_mini(input.at, input.left);
		break;
	case 2:
		check_notes(&input);
		break;
	default:
		check_link((const char *)input.at, input.left);
	}
	return 0;
}
