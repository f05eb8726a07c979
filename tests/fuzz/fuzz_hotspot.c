// SPDX-License-Identifier: Apache-2.0
/*
 * Feeds the HotSpot reader recorded JVMs whose memory is damaged or changes while it is read: fields,
 * pointers and lengths of any read, once or for good, or reads that fail. What must be true of
 * every answer is in hotspot_exercise.h; ASan and UBSan see the rest.
 *
 *     make fuzz                       runs every target for FUZZ_SECONDS (60)
 *     build-fuzz/fuzz_hotspot FILE    runs one input again
 *
 * Input: one byte that picks the image (tests/fixtures/hotspot), one with the number of blobs looked
 * at (bit 7: opens the VM anew and asks for flags; else it was opened before the damage), then up to 16 damages of 10 bytes: kind (bit 7: lasting), 3 bytes read index, 2 bytes offset
 * into that read, 4 bytes value. Run from the top of the tree.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/symbols/hotspot/hotspot_exercise.h"
#include "tests/unit/symbols/hotspot/hotspot_image.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

#define DAMAGE_MAX   16u
#define DAMAGE_BYTES 10u
#define LOOK_MAX     4u
#define LASTING	     0x80u
#define OPENS_VM     0x80u
/* Fifty times what a JVM that is not damaged takes: more is a loop without a bound. */
#define READ_MAX_CNT   250000u
#define READ_MAX_BYTES (128u << 20)

static const char *const paths[] = {
	"tests/fixtures/hotspot/jdk8.img.zst",	"tests/fixtures/hotspot/jdk11.img.zst",
	"tests/fixtures/hotspot/jdk17.img.zst", "tests/fixtures/hotspot/jdk21.img.zst",
	"tests/fixtures/hotspot/jdk25.img.zst",
};

/* libFuzzer calls the functions below and hands nothing through. */
static struct hotspot_image images[ARRAY_SIZE(paths)];
static struct image_memory memories[ARRAY_SIZE(paths)];
static struct remote_mem mems[ARRAY_SIZE(paths)];
static struct hotspot_vm *vms[ARRAY_SIZE(paths)];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int err = hotspot_image_load(paths[i], &images[i]);

		if (!err)
			err = image_memory_init(&memories[i], &images[i]);
		if (!err) {
			image_memory_reset(&memories[i], NULL, 0);
			mems[i] = image_memory_mem(&memories[i]);
			err = hotspot_vm__open_memory(&mems[i], &images[i].symbols, &vms[i]);
		}
		if (err) {
			fprintf(stderr, "cannot open %s: run from the top of the tree\n", paths[i]);
			exit(1);
		}
	}
	return 0;
}

static size_t damages_read(struct byte_reader *reader, struct image_damage damages[DAMAGE_MAX])
{
	size_t cnt = 0;

	while (cnt < DAMAGE_MAX && reader->left >= DAMAGE_BYTES) {
		struct image_damage *damage = &damages[cnt++];
		uint8_t kind = byte_reader_u8(reader);

		damage->kind = kind % IMAGE_DAMAGE_KIND_CNT;
		damage->is_lasting = kind & LASTING;
		damage->read_idx = (uint32_t)byte_reader_uint(reader, 3);
		damage->offset = byte_reader_u16(reader);
		damage->value = (int32_t)byte_reader_u32(reader);
	}
	return cnt;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct byte_reader reader = byte_reader_init(data, len);
	size_t idx = byte_reader_u8(&reader) % ARRAY_SIZE(paths);
	uint8_t looks = byte_reader_u8(&reader);
	struct exercise exercise = { .look_cnt = looks % (LOOK_MAX + 1),
				     .look_for = "Inlined.work",
				     .asks_flags = looks & OPENS_VM };
	struct image_damage damages[DAMAGE_MAX];
	size_t cnt = damages_read(&reader, damages);

	image_memory_reset(&memories[idx], damages, cnt);
	if (looks & OPENS_VM)
		(void)exercise_run(&exercise, &mems[idx], &images[idx].symbols);
	else
		(void)exercise_vm(&exercise, vms[idx]);
	exercise_release(&exercise);
	must(memories[idx].read_cnt <= READ_MAX_CNT);
	must(memories[idx].read_bytes <= READ_MAX_BYTES);
	return 0;
}
