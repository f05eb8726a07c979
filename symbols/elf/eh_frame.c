// SPDX-License-Identifier: Apache-2.0
/*
 * CIEs and FDEs out of .eh_frame; see eh_frame.h. Two passes over the entries: CIEs may stand behind
 * their FDEs in .debug_frame. Each CIE is parsed once, so that time grows with the file alone.
 */
#include "symbols/elf/eh_frame.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_unpack.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define EH_PE_ABSPTR  0x00
#define EH_PE_ULEB    0x01
#define EH_PE_UDATA2  0x02
#define EH_PE_UDATA4  0x03
#define EH_PE_UDATA8  0x04
#define EH_PE_SLEB    0x09
#define EH_PE_SDATA2  0x0a
#define EH_PE_SDATA4  0x0b
#define EH_PE_SDATA8  0x0c
#define EH_PE_FORMAT  0x0f
#define EH_PE_PCREL   0x10
#define EH_PE_DATAREL 0x30
#define EH_PE_BASE    0xf0
#define EH_PE_OMIT    0xff

#define EH_HDR_VERSION 1

uint64_t eh_frame_uleb(struct byte_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = byte_reader_u8(reader);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

int64_t eh_frame_sleb(struct byte_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;;) {
		uint8_t byte = byte_reader_u8(reader);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte >= 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			value |= ~0ull << shift;
		return (int64_t)value;
	}
}

struct byte_reader eh_frame_code(const struct eh_frame *frame, uint32_t code, uint32_t code_len)
{
	return byte_reader_init(frame->bytes + code, code_len);
}

static uint64_t pointer_value(struct byte_reader *reader, uint8_t format)
{
	switch (format) {
	case EH_PE_ABSPTR:
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return byte_reader_u64(reader);
	case EH_PE_ULEB:
		return eh_frame_uleb(reader);
	case EH_PE_SLEB:
		return (uint64_t)eh_frame_sleb(reader);
	case EH_PE_UDATA2:
		return byte_reader_u16(reader);
	case EH_PE_SDATA2:
		return (uint64_t)(int16_t)byte_reader_u16(reader);
	case EH_PE_UDATA4:
		return byte_reader_u32(reader);
	case EH_PE_SDATA4:
		return (uint64_t)(int32_t)byte_reader_u32(reader);
	default:
		reader->failed = true;
		return 0;
	}
}

uint64_t eh_frame_pointer(const struct eh_frame *frame, struct byte_reader *reader,
			  uint8_t encoding)
{
	uint64_t at = frame->address + (uint64_t)(reader->at - (const uint8_t *)frame->bytes);
	uint64_t value = pointer_value(reader, encoding & EH_PE_FORMAT);

	switch (encoding & EH_PE_BASE) {
	case EH_PE_ABSPTR:
		return value;
	case EH_PE_PCREL:
		return at + value;
	default:
		reader->failed = true;
		return 0;
	}
}

/* ---- entries ---- */

struct eh_entry {
	uint64_t at; /* of its length, in the bytes */
	uint64_t id_at;
	uint64_t id;
	bool is_long; /* 64-bit DWARF */
	struct byte_reader body;
};

static uint64_t reader_at(const struct eh_frame *frame, const struct byte_reader *reader)
{
	return (uint64_t)(reader->at - (const uint8_t *)frame->bytes);
}

/* 1 and the next entry, or 0: the end; -ENOEXEC: its length is wrong. */
static int entry_next(const struct eh_frame *frame, struct byte_reader *reader,
		      struct eh_entry *out)
{
	uint64_t len = 0;

	while (len == 0) {
		if (reader->left < sizeof(uint32_t))
			return 0;
		out->at = reader_at(frame, reader);
		len = byte_reader_u32(reader);
		/* It ends what one object file brought; in a section the next one's may follow. */
		if (len == 0 && !frame->is_sized)
			return 0;
	}
	out->is_long = len == UINT32_MAX;
	if (out->is_long)
		len = byte_reader_u64(reader);
	if (reader->failed || len > reader->left)
		return -ENOEXEC;
	out->body = byte_reader_init(byte_reader_take(reader, (size_t)len), (size_t)len);
	out->id_at = reader_at(frame, &out->body);
	out->id = out->is_long ? byte_reader_u64(&out->body) : byte_reader_u32(&out->body);
	return out->body.failed ? -ENOEXEC : 1;
}

static bool entry_is_cie(const struct eh_frame *frame, const struct eh_entry *entry)
{
	if (!frame->is_debug)
		return entry->id == 0;
	return entry->id == (entry->is_long ? UINT64_MAX : UINT32_MAX);
}

/* ---- CIEs ---- */

static void cie_parse_data(const char *letters, struct byte_reader data, struct eh_frame_cie *out)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			out->fde_encoding = byte_reader_u8(&data);
			break;
		case 'P': { /* the personality routine is of no interest, its size is */
			uint8_t encoding = byte_reader_u8(&data);

			if (encoding != EH_PE_OMIT)
				(void)pointer_value(&data, encoding & EH_PE_FORMAT);
			break;
		}
		case 'L':
			byte_reader_u8(&data);
			break;
		case 'S':
			out->is_signal = true;
			break;
		case 'B': /* aarch64: return addresses are signed by the other key */
		case 'G': /* aarch64: the frame's memory is tagged */
			break;
		default:
			return;
		}
	}
	out->is_known = !data.failed;
}

static void cie_parse(const struct eh_frame *frame, const struct eh_entry *entry,
		      struct eh_frame_cie *out)
{
	struct byte_reader reader = entry->body;
	uint8_t version = byte_reader_u8(&reader);
	const char *letters = (const char *)reader.at;
	const char *end = reader.left ? memchr(letters, '\0', reader.left) : NULL;

	*out = (struct eh_frame_cie){ .at = entry->at, .is_known = false };
	if (!end || (version != 1 && version != 3 && version != 4))
		return;
	byte_reader_take(&reader, (size_t)(end - letters) + 1);
	/* Version 4 says how large addresses and segment selectors are. */
	if (version == 4 && (byte_reader_u8(&reader) != 8 || byte_reader_u8(&reader) != 0))
		return;
	out->code_align = eh_frame_uleb(&reader);
	out->data_align = eh_frame_sleb(&reader);
	out->return_register = version == 1 ? byte_reader_u8(&reader) : eh_frame_uleb(&reader);
	out->has_data = letters[0] == 'z';
	if (out->has_data) {
		uint64_t len = eh_frame_uleb(&reader);
		const void *data = len <= reader.left ? byte_reader_take(&reader, (size_t)len) :
							NULL;

		if (!data)
			return;
		cie_parse_data(letters + 1, byte_reader_init(data, (size_t)len), out);
	} else {
		out->is_known = letters[0] == '\0';
	}
	out->is_known = out->is_known && !reader.failed;
	out->code = (uint32_t)reader_at(frame, &reader);
	out->code_len = (uint32_t)reader.left;
}

static int frame_add_cie(struct eh_frame *frame, const struct eh_entry *entry, size_t *cap)
{
	if (frame->cie_cnt == EH_FRAME_MAX_CIES)
		return -EFBIG;
	if (vec_room(frame->cies, frame->cie_cnt, *cap, 16))
		return -ENOMEM;
	cie_parse(frame, entry, &frame->cies[frame->cie_cnt++]);
	return 0;
}

/* What is cut off is damage, but for bytes whose length nobody said. */
static int frame_read_cies(struct eh_frame *frame)
{
	struct byte_reader reader = byte_reader_init(frame->bytes, frame->len);
	struct eh_entry entry;
	size_t cap = 0;
	int got, err = 0;

	while (!err && (got = entry_next(frame, &reader, &entry)) != 0) {
		if (got < 0) {
			err = frame->is_sized ? got : 0;
			break;
		}
		if (entry_is_cie(frame, &entry))
			err = frame_add_cie(frame, &entry, &cap);
	}
	return err;
}

static const struct eh_frame_cie *frame_cie(const struct eh_frame *frame, uint64_t at)
{
	size_t low = 0, high = frame->cie_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frame->cies[middle].at == at)
			return &frame->cies[middle];
		if (frame->cies[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* ---- FDEs ---- */

/* False: its CIE, or itself, is of a form that is not understood. */
static bool fde_parse(const struct eh_frame *frame, const struct eh_entry *entry,
		      struct eh_frame_fde *out)
{
	uint64_t cie_at = frame->is_debug ? entry->id : entry->id_at - entry->id;
	const struct eh_frame_cie *cie = frame_cie(frame, cie_at);
	struct byte_reader reader = entry->body;
	uint64_t start, size, end;

	if (!cie || !cie->is_known)
		return false;
	start = eh_frame_pointer(frame, &reader, cie->fde_encoding);
	size = pointer_value(&reader, cie->fde_encoding & EH_PE_FORMAT);
	if (cie->has_data) {
		uint64_t len = eh_frame_uleb(&reader);

		if (len > reader.left)
			return false;
		byte_reader_take(&reader, (size_t)len);
	}
	/* The linker leaves those of code that it dropped at 0 in .debug_frame. */
	if (reader.failed || size == 0 || __builtin_add_overflow(start, size, &end) ||
	    (frame->is_debug && start == 0))
		return false;
	*out = (struct eh_frame_fde){
		.start = start,
		.from = start,
		.end = end,
		.cie = (uint32_t)(cie - frame->cies),
		.code = (uint32_t)reader_at(frame, &reader),
		.code_len = (uint32_t)reader.left,
	};
	return true;
}

static int frame_add_fde(struct eh_frame *frame, const struct eh_frame_fde *fde, size_t *cap)
{
	if (frame->fde_cnt == EH_FRAME_MAX_FDES)
		return -EFBIG;
	if (vec_room(frame->fdes, frame->fde_cnt, *cap, 256))
		return -ENOMEM;
	frame->fdes[frame->fde_cnt++] = *fde;
	return 0;
}

static int frame_read_fdes(struct eh_frame *frame)
{
	struct byte_reader reader = byte_reader_init(frame->bytes, frame->len);
	struct eh_frame_fde fde;
	struct eh_entry entry;
	size_t cap = 0;
	int err = 0;

	while (!err && entry_next(frame, &reader, &entry) > 0)
		if (!entry_is_cie(frame, &entry) && fde_parse(frame, &entry, &fde))
			err = frame_add_fde(frame, &fde, &cap);
	return err;
}

static int fde_compare(const void *left, const void *right)
{
	const struct eh_frame_fde *a = left;
	const struct eh_frame_fde *b = right;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	return (a->code > b->code) - (a->code < b->code);
}

static const struct elf_segment *code_segment(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];

		if (segment->type == PT_LOAD && segment->flags & PF_X &&
		    address >= segment->address && address - segment->address < segment->file_size)
			return segment;
	}
	return NULL;
}

/* By address, each where no other one is and where code is. */
static void frame_settle(struct eh_frame *frame, const struct elf_file *file)
{
	const struct elf_segment *segment = NULL;
	uint64_t end = 0;
	size_t kept = 0;

	if (frame->fde_cnt)
		qsort(frame->fdes, frame->fde_cnt, sizeof(*frame->fdes), fde_compare);
	for (size_t i = 0; i < frame->fde_cnt; i++) {
		struct eh_frame_fde fde = frame->fdes[i];

		fde.from = fde.from < end ? end : fde.from;
		if (fde.from >= fde.end)
			continue;
		if (!segment || fde.from - segment->address >= segment->file_size)
			segment = code_segment(file, fde.from);
		if (!segment)
			continue;
		if (fde.end - segment->address > segment->file_size)
			fde.end = segment->address + segment->file_size;
		end = fde.end;
		frame->fdes[kept++] = fde;
	}
	frame->fde_cnt = kept;
}

/* ---- where the bytes are ---- */

static int frame_take_section(const struct elf_file *file, const char *name, struct eh_frame *out)
{
	const struct elf_section *section = elf_file_section(file, name);

	if (!section || section->size == 0)
		return -ENODATA;
	out->address = section->address;
	return elf_unpack_section(file, section, EH_FRAME_MAX_BYTES, &out->bytes, &out->len);
}

static const struct elf_segment *segment_of_type(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->segment_cnt; i++)
		if (file->segments[i].type == type)
			return &file->segments[i];
	return NULL;
}

/* Where .eh_frame_hdr says that .eh_frame is. */
static int hdr_read(const struct elf_file *file, uint64_t *address_out)
{
	const struct elf_segment *segment = segment_of_type(file, PT_GNU_EH_FRAME);
	uint8_t bytes[16];
	size_t len = sizeof(bytes);
	struct eh_frame hdr = { .bytes = (char *)bytes };
	struct byte_reader reader;
	uint8_t encoding;
	int err;

	if (!segment || segment->file_size < 8)
		return -ENODATA;
	len = segment->file_size < len ? (size_t)segment->file_size : len;
	err = elf_file_read(file, segment->offset, bytes, len);
	if (err)
		return err;
	hdr.address = segment->address;
	reader = byte_reader_init(bytes, len);
	if (byte_reader_u8(&reader) != EH_HDR_VERSION)
		return -ENODATA;
	encoding = byte_reader_u8(&reader);
	byte_reader_u16(&reader); /* encodings of the search table */
	if ((encoding & EH_PE_BASE) == EH_PE_DATAREL)
		*address_out = segment->address + pointer_value(&reader, encoding & EH_PE_FORMAT);
	else
		*address_out = eh_frame_pointer(&hdr, &reader, encoding);
	return reader.failed ? -ENODATA : 0;
}

/* All from there to the end of its segment: nothing says how long it is. */
static int frame_take_by_hdr(const struct elf_file *file, struct eh_frame *out)
{
	uint64_t address = 0;
	int err = hdr_read(file, &address);

	for (size_t i = 0; !err && i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t skip = address - segment->address;
		struct elf_section section = { .type = SHT_PROGBITS };

		if (segment->type != PT_LOAD || address < segment->address ||
		    skip >= segment->file_size ||
		    __builtin_add_overflow(segment->offset, skip, &section.offset))
			continue;
		section.size = segment->file_size - skip;
		out->address = address;
		return elf_file_section_bytes(file, &section, EH_FRAME_MAX_BYTES, &out->bytes,
					      &out->len);
	}
	return err ? err : -ENODATA;
}

static int frame_take(const struct elf_file *file, struct eh_frame *out)
{
	int err = frame_take_section(file, ".eh_frame", out);

	out->is_sized = true;
	if (err == -ENODATA) {
		err = frame_take_by_hdr(file, out);
		out->is_sized = err == -ENODATA;
	}
	if (err == -ENODATA) {
		out->is_debug = true;
		err = frame_take_section(file, ".debug_frame", out);
	}
	return err;
}

static bool is_understood(const struct elf_file *file)
{
	return file->is_64 && (file->machine == EM_X86_64 || file->machine == EM_AARCH64);
}

/* Of bytes that were taken, or not: `err`. They are passed on, or released. */
static int frame_finish(struct eh_frame *frame, const struct elf_file *file, int err,
			struct eh_frame *out)
{
	if (!err)
		err = frame_read_cies(frame);
	if (!err)
		err = frame_read_fdes(frame);
	if (!err) {
		frame_settle(frame, file);
		err = frame->fde_cnt ? 0 : -ENODATA;
	}
	if (err)
		eh_frame_release(frame);
	else
		*out = *frame;
	return err;
}

int eh_frame_read(const struct elf_file *file, struct eh_frame *out)
{
	struct eh_frame frame = { 0 };

	if (!is_understood(file))
		return -ENODATA;
	return frame_finish(&frame, file, frame_take(file, &frame), out);
}

int eh_frame_read_debug(const struct elf_file *file, const struct elf_file *debug,
			struct eh_frame *out)
{
	struct eh_frame frame = { .is_sized = true, .is_debug = true };

	if (!is_understood(file) || debug->machine != file->machine || !debug->is_64)
		return -ENODATA;
	return frame_finish(&frame, file, frame_take_section(debug, ".debug_frame", &frame), out);
}

void eh_frame_release(struct eh_frame *frame)
{
	free(frame->bytes);
	free(frame->cies);
	free(frame->fdes);
	*frame = (struct eh_frame){ .bytes = NULL };
}
