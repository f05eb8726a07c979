/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory image of a HotSpot JVM: the pieces of 64 bytes that reading it touched, and where the
 * symbols of its libjvm lie. What was not touched reads as zeros where something else of its page
 * was, so that a reader that asks for more at a time still works. tests/tools/hotspot_image.c records one from a live JVM; the unit test
 * and the fuzz target read it back, whole or damaged. As a file: one zstd frame of
 *
 *     8 bytes magic; u32 symbols; u32 pieces; u64 per symbol; u64 address per piece, ascending;
 *     64 bytes per piece                                                     (little-endian)
 */
#ifndef JBPF_TESTS_HOTSPOT_IMAGE_H
#define JBPF_TESTS_HOTSPOT_IMAGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "user/host/remote_mem.h"
#include "symbols/hotspot/vm_structs.h"

#define IMAGE_PIECE_BYTES 64u
#define IMAGE_PAGE_BYTES  4096u
#define IMAGE_MAGIC	  "HSIMAGE1"
#define IMAGE_MAX_BYTES	  (64u << 20)

struct hotspot_image {
	struct vm_symbols symbols;
	size_t cnt;
	uint64_t *addresses; /* ascending, multiples of IMAGE_PIECE_BYTES */
	uint8_t *bytes;	     /* IMAGE_PIECE_BYTES for each */
	uint32_t *slots;     /* hash of addresses: 1 + index, 0 = empty */
	size_t slot_mask;
	uint64_t *pages; /* number of each page with pieces, ascending; NULL while recording */
	size_t page_cnt;
};

static inline void hotspot_image_release(struct hotspot_image *image)
{
	free(image->addresses);
	free(image->bytes);
	free(image->slots);
	free(image->pages);
	memset(image, 0, sizeof(*image));
}

static inline size_t hotspot_image_slot(const struct hotspot_image *image, uint64_t address)
{
	return (size_t)(address / IMAGE_PIECE_BYTES * 0x9e3779b97f4a7c15ull >> 24) &
	       image->slot_mask;
}

/* Index of the piece at `address`, a multiple of IMAGE_PIECE_BYTES; SIZE_MAX: not recorded. */
static inline size_t hotspot_image_find(const struct hotspot_image *image, uint64_t address)
{
	for (size_t slot = hotspot_image_slot(image, address);;
	     slot = (slot + 1) & image->slot_mask) {
		if (image->slots[slot] == 0)
			return SIZE_MAX;
		if (image->addresses[image->slots[slot] - 1] == address)
			return image->slots[slot] - 1;
	}
}

/* Makes piece `idx` found by its address. Room must be there. */
static inline void hotspot_image_insert(struct hotspot_image *image, size_t idx)
{
	size_t slot = hotspot_image_slot(image, image->addresses[idx]);

	while (image->slots[slot])
		slot = (slot + 1) & image->slot_mask;
	image->slots[slot] = (uint32_t)idx + 1;
}

static inline int hotspot_image_index(struct hotspot_image *image)
{
	size_t slot_cnt = 64;

	while (slot_cnt < image->cnt * 2)
		slot_cnt *= 2;
	image->slot_mask = slot_cnt - 1;
	image->slots = calloc(slot_cnt, sizeof(*image->slots));
	if (!image->slots)
		return -ENOMEM;
	for (size_t i = 0; i < image->cnt; i++)
		hotspot_image_insert(image, i);
	return 0;
}

static inline int hotspot_image_add_pages(struct hotspot_image *image)
{
	image->pages = calloc(image->cnt + 1, sizeof(*image->pages));
	if (!image->pages)
		return -ENOMEM;
	for (size_t i = 0; i < image->cnt; i++) {
		uint64_t page = image->addresses[i] / IMAGE_PAGE_BYTES;

		if (image->page_cnt == 0 || image->pages[image->page_cnt - 1] != page)
			image->pages[image->page_cnt++] = page;
	}
	return 0;
}

static inline bool hotspot_image_has_page(const struct hotspot_image *image, uint64_t address)
{
	uint64_t page = address / IMAGE_PAGE_BYTES;
	size_t low = 0, high = image->page_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->pages[middle] < page)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->page_cnt && image->pages[low] == page;
}

static inline int hotspot_image_parse(const uint8_t *data, size_t len, struct hotspot_image *image)
{
	const size_t head = 16 + VM_SYMBOL_CNT * 8;
	uint32_t symbol_cnt, cnt;
	int err;

	if (len < head || memcmp(data, IMAGE_MAGIC, 8) != 0)
		return -EINVAL;
	memcpy(&symbol_cnt, data + 8, 4);
	memcpy(&cnt, data + 12, 4);
	if (symbol_cnt != VM_SYMBOL_CNT || len != head + (size_t)cnt * (8 + IMAGE_PIECE_BYTES))
		return -EINVAL;
	memcpy(image->symbols.addresses, data + 16, VM_SYMBOL_CNT * 8);
	image->cnt = cnt;
	image->addresses = malloc((size_t)cnt * 8 + 1);
	image->bytes = malloc((size_t)cnt * IMAGE_PIECE_BYTES + 1);
	if (!image->addresses || !image->bytes)
		return -ENOMEM;
	memcpy(image->addresses, data + head, (size_t)cnt * 8);
	memcpy(image->bytes, data + head + (size_t)cnt * 8, (size_t)cnt * IMAGE_PIECE_BYTES);
	err = hotspot_image_index(image);
	return err ? err : hotspot_image_add_pages(image);
}

/* 0, -errno; release the image in any case. */
static inline int hotspot_image_load(const char *path, struct hotspot_image *image)
{
	uint8_t *packed = malloc(IMAGE_MAX_BYTES);
	uint8_t *data = NULL;
	unsigned long long len;
	size_t packed_len;
	FILE *file;
	int err = -EINVAL;

	memset(image, 0, sizeof(*image));
	file = fopen(path, "rbe");
	if (!file || !packed) {
		err = -errno;
		goto out;
	}
	packed_len = fread(packed, 1, IMAGE_MAX_BYTES, file);
	len = ZSTD_getFrameContentSize(packed, packed_len);
	if (len > IMAGE_MAX_BYTES)
		goto out;
	data = malloc(len + 1);
	if (data && ZSTD_decompress(data, len, packed, packed_len) == len)
		err = hotspot_image_parse(data, len, image);
out:
	if (file)
		fclose(file);
	free(packed);
	free(data);
	return err;
}

/* ---- damage ---- */

enum image_damage_kind {
	IMAGE_DAMAGE_XOR = 0, /* one byte */
	IMAGE_DAMAGE_U8 = 1,  /* set to `value` */
	IMAGE_DAMAGE_U16 = 2,
	IMAGE_DAMAGE_U32 = 3,
	IMAGE_DAMAGE_U64 = 4,	  /* `value` with its sign */
	IMAGE_DAMAGE_ADD = 5,	  /* `value` is added to 8 bytes */
	IMAGE_DAMAGE_POINTER = 6, /* 8 bytes lead to a recorded piece */
	IMAGE_DAMAGE_FAIL = 7,	  /* -EFAULT, or for odd values -ESRCH */
	IMAGE_DAMAGE_KIND_CNT = 8,
};

/* What happens to the bytes of one read. */
struct image_damage {
	uint32_t read_idx; /* counted from 0 */
	uint16_t offset;   /* modulo the bytes read */
	uint8_t kind;	   /* enum image_damage_kind */
	bool is_lasting;   /* memory is changed; else only this read sees it: a torn read */
	int32_t value;
};

/* A process made of an image, perhaps damaged. */
struct image_memory {
	const struct hotspot_image *image;
	uint8_t *bytes; /* copy of the image's */
	const struct image_damage *damages;
	size_t damage_cnt;
	size_t read_cnt; /* so far */
	size_t read_bytes;
	int dead_err; /* of all reads from now on; 0 = alive */
};

/* All or nothing, as process_vm_readv. `is_write`: the other way round. */
static inline int image_memory_copy(const struct image_memory *memory, uint64_t address, void *data,
				    size_t len, bool is_write)
{
	uint8_t *at = data;

	while (len) {
		size_t offset = (size_t)(address % IMAGE_PIECE_BYTES);
		size_t idx = hotspot_image_find(memory->image, address - offset);
		size_t part = IMAGE_PIECE_BYTES - offset;
		uint8_t *bytes;

		if (idx == SIZE_MAX && !hotspot_image_has_page(memory->image, address))
			return -EFAULT;
		if (part > len)
			part = len;
		bytes = memory->bytes + (idx == SIZE_MAX ? 0 : idx * IMAGE_PIECE_BYTES + offset);
		if (is_write && idx != SIZE_MAX)
			memcpy(bytes, at, part);
		else if (!is_write && idx != SIZE_MAX)
			memcpy(at, bytes, part);
		else if (!is_write)
			memset(at, 0, part);
		at += part;
		len -= part;
		address += part;
	}
	return 0;
}

static inline uint64_t image_damage_value(const struct image_memory *memory,
					  const struct image_damage *damage, uint64_t was)
{
	uint64_t value = (uint64_t)(int64_t)damage->value;

	switch (damage->kind) {
	case IMAGE_DAMAGE_XOR:
		return was ^ (value & 0xff);
	case IMAGE_DAMAGE_ADD:
		return was + value;
	case IMAGE_DAMAGE_POINTER:
		return memory->image->addresses[(uint32_t)damage->value / 8 % memory->image->cnt] +
		       (uint32_t)damage->value % 8 * 8;
	default:
		return value;
	}
}

static inline int image_damage_apply(struct image_memory *memory, const struct image_damage *damage,
				     uint64_t address, uint8_t *out, size_t len)
{
	static const uint8_t sizes[IMAGE_DAMAGE_KIND_CNT] = { 1, 1, 2, 4, 8, 8, 8, 0 };
	size_t offset = damage->offset % len;
	size_t size = sizes[damage->kind % IMAGE_DAMAGE_KIND_CNT];
	uint64_t value = 0;

	if (size == 0) {
		int err = damage->value & 1 ? -ESRCH : -EFAULT;

		if (damage->is_lasting)
			memory->dead_err = err;
		return err;
	}
	if (size > 1) /* fields are aligned */
		offset -= offset % size;
	if (size > len - offset)
		size = len - offset;
	memcpy(&value, out + offset, size);
	value = image_damage_value(memory, damage, value);
	memcpy(out + offset, &value, size);
	if (damage->is_lasting)
		(void)image_memory_copy(memory, address + offset, &value, size, true);
	return 0;
}

static inline int image_memory_read(const struct remote_mem *mem, uint64_t address, void *out,
				    size_t len)
{
	struct image_memory *memory = (struct image_memory *)mem->ctx;
	size_t idx = memory->read_cnt++;
	int err = memory->dead_err ? memory->dead_err :
				     image_memory_copy(memory, address, out, len, false);

	memory->read_bytes += len;
	for (size_t i = 0; i < memory->damage_cnt && !err; i++) {
		if (memory->damages[i].read_idx == idx)
			err = image_damage_apply(memory, &memory->damages[i], address, out, len);
	}
	return err;
}

static inline int image_memory_init(struct image_memory *memory, const struct hotspot_image *image)
{
	*memory = (struct image_memory){
		.image = image,
		.bytes = malloc(image->cnt * IMAGE_PIECE_BYTES + 1),
	};
	return memory->bytes ? 0 : -ENOMEM;
}

/* As recorded again, with other damages. They are borrowed. */
static inline void image_memory_reset(struct image_memory *memory,
				      const struct image_damage *damages, size_t cnt)
{
	memcpy(memory->bytes, memory->image->bytes, memory->image->cnt * IMAGE_PIECE_BYTES);
	memory->damages = damages;
	memory->damage_cnt = cnt;
	memory->read_cnt = 0;
	memory->read_bytes = 0;
	memory->dead_err = 0;
}

static inline struct remote_mem image_memory_mem(struct image_memory *memory)
{
	return (struct remote_mem){ .read = image_memory_read, .ctx = memory, .pid = 1 };
}

static inline void image_memory_release(struct image_memory *memory)
{
	free(memory->bytes);
	memory->bytes = NULL;
}

#endif
