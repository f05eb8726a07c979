// SPDX-License-Identifier: Apache-2.0
/* Compressed sections; see elf_unpack.h. */
#include "symbols/elf/elf_unpack.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* in glibc's header since 2.37 */
#endif

/* In front of the compressed bytes. */
struct chdr {
	uint32_t type;
	uint64_t size; /* unpacked */
};

static int chdr_read(const struct elf_file *file, struct byte_reader *reader, struct chdr *out)
{
	out->type = byte_reader_u32(reader);
	if (file->is_64) {
		byte_reader_u32(reader); /* reserved */
		out->size = byte_reader_u64(reader);
		byte_reader_u64(reader); /* alignment */
	} else {
		out->size = byte_reader_u32(reader);
		byte_reader_u32(reader);
	}
	return reader->failed ? -ENOEXEC : 0;
}

static int unpack_zlib(const uint8_t *packed, size_t packed_len, char *bytes, size_t size)
{
	uLongf len = size;
	int ret = uncompress((Bytef *)bytes, &len, packed, packed_len);

	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	return ret == Z_OK && len == size ? 0 : -ENOEXEC;
}

static int unpack_zstd(const uint8_t *packed, size_t packed_len, char *bytes, size_t size)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t len;

	if (!context)
		return -ENOMEM;
	len = ZSTD_decompressDCtx(context, bytes, size, packed, packed_len);
	ZSTD_freeDCtx(context);
	return len == size ? 0 : -ENOEXEC;
}

static int unpack(const struct chdr *chdr, const uint8_t *packed, size_t packed_len, char *bytes)
{
	switch (chdr->type) {
	case ELFCOMPRESS_ZLIB:
		return unpack_zlib(packed, packed_len, bytes, (size_t)chdr->size);
	case ELFCOMPRESS_ZSTD:
		return unpack_zstd(packed, packed_len, bytes, (size_t)chdr->size);
	default:
		return -ENODATA;
	}
}

int elf_unpack_section(const struct elf_file *file, const struct elf_section *section,
		       size_t max_bytes, char **bytes_out, size_t *len_out)
{
	__cleanup_free char *packed = NULL, *bytes = NULL;
	struct byte_reader reader;
	struct chdr chdr;
	size_t packed_len;
	int err;

	if (section->size > max_bytes)
		return -EFBIG;
	if (!(section->flags & SHF_COMPRESSED))
		return elf_file_section_bytes(file, section, max_bytes, bytes_out, len_out);
	err = elf_file_section_bytes(file, section, max_bytes, &packed, &packed_len);
	if (err)
		return err;
	reader = byte_reader_init(packed, packed_len);
	err = chdr_read(file, &reader, &chdr);
	if (!err && chdr.size > max_bytes)
		err = -EFBIG;
	if (err)
		return err;
	bytes = malloc((size_t)chdr.size + 1);
	if (!bytes)
		return -ENOMEM;
	err = unpack(&chdr, reader.at, reader.left, bytes);
	if (err)
		return err;
	bytes[chdr.size] = '\0';
	*bytes_out = take_ptr(bytes);
	*len_out = (size_t)chdr.size;
	return 0;
}
