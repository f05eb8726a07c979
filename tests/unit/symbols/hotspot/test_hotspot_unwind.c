// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel's walk learns about a code cache (bpf/jbpf_hotspot.h), in memory of real JVMs: every
 * blob that the reader knows is found by it as a program would find it, with the same size, code and
 * entry; and HotSpots whose tables lack something.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>

#include "bpf/jbpf_hotspot.h"
#include "symbols/hotspot/hotspot_code.h"
#include "tests/unit/symbols/hotspot/hotspot_exercise.h"
#include "tests/unit/symbols/hotspot/hotspot_image.h"
#include "tests/unit/symbols/hotspot/fake_scene.h"

struct jdk {
	const char *path;
	uint32_t flags;
	bool has_barrier;
};

#define OFFSETS (JBPF_HOTSPOT_CODE_IS_OFFSET | JBPF_HOTSPOT_ENTRY_IS_OFFSET)

static const struct jdk jdks[] = {
	{ "tests/fixtures/hotspot/jdk8.img.zst", JBPF_HOTSPOT_CODE_IS_OFFSET, false },
	{ "tests/fixtures/hotspot/jdk11.img.zst", 0, false },
	{ "tests/fixtures/hotspot/jdk17.img.zst", 0, false },
	{ "tests/fixtures/hotspot/jdk21.img.zst", 0, true },
	{ "tests/fixtures/hotspot/jdk25.img.zst", OFFSETS, true },
};

/* A JVM's memory, and what the kernel knows of it. */
struct told {
	const struct remote_mem *mem;
	struct hotspot_code *code;
	struct jbpf_hotspot hotspot;
	size_t nmethod_cnt, stub_cnt, framed_cnt;
};

static int64_t value_of(const struct told *told, uint64_t block, struct jbpf_hotspot_field field)
{
	int64_t value = 0;

	assert_int_equal(remote_mem_read(told->mem, block + field.at, &value, field.bits / 8u), 0);
	return (int64_t)((uint64_t)value << (64 - field.bits)) >> (64 - field.bits);
}

/* By the segment map. */
static uint64_t block_of(const struct told *told, uint64_t pc)
{
	for (size_t i = 0; i < JBPF_HOTSPOT_HEAPS_MAX; i++) {
		const struct jbpf_hotspot_heap *heap = &told->hotspot.heaps[i];
		uint64_t segment = (pc - heap->low) >> heap->segment_shift;

		if (pc - heap->low >= heap->len)
			continue;
		for (;;) {
			uint8_t back = JBPF_HOTSPOT_SEGMENT_FREE;

			assert_int_equal(
				remote_mem_read(told->mem, heap->segmap + segment, &back, 1), 0);
			assert_int_not_equal(back, JBPF_HOTSPOT_SEGMENT_FREE);
			if (!back)
				return heap->low + (segment << heap->segment_shift);
			segment -= back;
		}
	}
	fail_msg("no heap has %llx", (unsigned long long)pc);
	return 0;
}

static int blob_is_as_told(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	bool is_nmethod = blob->kind == HOTSPOT_BLOB_NMETHOD || blob->kind == HOTSPOT_BLOB_NATIVE;
	struct told *told = ctx;
	uint64_t block = block_of(told, blob->code_begin + (blob->code_end - blob->code_begin) / 2);
	uint64_t code = (uint64_t)value_of(told, block, told->hotspot.code), entry;
	int64_t words = value_of(told, block, told->hotspot.frame_size);
	int64_t header_size = value_of(told, block, told->hotspot.header_size);
	int64_t complete = value_of(told, block, told->hotspot.frame_complete);

	(void)name;
	assert_int_equal(block + told->hotspot.block_size, blob->start);
	assert_int_not_equal(value_of(told, block, told->hotspot.used), 0);
	if (told->hotspot.flags & JBPF_HOTSPOT_CODE_IS_OFFSET)
		code += blob->start;
	assert_int_equal(code, blob->code_begin);
	assert_int_equal(words > 0 ? words * 8 : 0, blob->frame_bytes);
	assert_int_equal(header_size == told->hotspot.nmethod_size, is_nmethod);
	told->stub_cnt += !is_nmethod;
	if (!is_nmethod)
		return 0;
	entry = (uint64_t)value_of(told, block, told->hotspot.entry);
	if (told->hotspot.flags & JBPF_HOTSPOT_ENTRY_IS_OFFSET)
		entry += code;
	assert_int_equal(entry, blob->verified_entry);
	assert_int_equal(value_of(told, block, told->hotspot.entry_bci), blob->entry_bci);
	assert_true(complete >= -1 && complete <= (int64_t)(blob->code_end - code));
	told->framed_cnt += complete > 0 && words > 1;
	told->nmethod_cnt++;
	return 0;
}

static void every_blob_is_found_as_a_program_finds_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jdks); i++) {
		struct hotspot_image image;
		struct image_memory memory;
		struct remote_mem mem;
		struct told told = { .mem = &mem };
		const char *missing = NULL;
		struct hotspot_vm *vm;

		assert_int_equal(hotspot_image_load(jdks[i].path, &image), 0);
		assert_int_equal(image_memory_init(&memory, &image), 0);
		image_memory_reset(&memory, NULL, 0);
		mem = image_memory_mem(&memory);
		assert_int_equal(hotspot_vm__open_memory(&mem, &image.symbols, &vm), 0);
		assert_int_equal(hotspot_code__open(vm, &told.code, &missing), 0);
		assert_true(hotspot_code__unwind(told.code, &told.hotspot));
		assert_int_equal(told.hotspot.flags, JBPF_HOTSPOT_HAS_FRAME_SIZES | jdks[i].flags);
		assert_int_equal(hotspot_code__walk(told.code, blob_is_as_told, &told, NULL), 0);
		assert_true(told.nmethod_cnt > 8 && told.stub_cnt > 50);
		assert_true(told.framed_cnt > told.nmethod_cnt / 2);
		assert_int_equal(told.hotspot.barrier_len != 0, jdks[i].has_barrier);
		if (jdks[i].has_barrier) {
			struct hotspot_blob blob;

			assert_int_equal(
				hotspot_code__find(told.code, told.hotspot.barrier_low, &blob), 0);
			assert_int_equal(blob.kind, HOTSPOT_BLOB_CONTINUATION);
		}
		hotspot_code__free(told.code);
		hotspot_vm__free(vm);
		image_memory_release(&memory);
		hotspot_image_release(&image);
	}
}

/* Each JDK may drop what the last one had. */
static void a_hotspot_that_lacks_a_field_is_not_told(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct jbpf_hotspot hotspot;
		struct hotspot_layout *layout;
		struct scene scene;

		scene_make(&scene, FAKE_JDK_17);
		assert_true(hotspot_code__unwind(scene.reader.code, &hotspot));
		layout = (struct hotspot_layout *)hotspot_code__layout(scene.reader.code);
		if (i == 0)
			layout->blob_frame_size.size = 0;
		else if (i == 1)
			layout->blob_frame_complete.size = 0;
		else if (i == 2)
			layout->nmethod_verified_entry_point.size = 0;
		else
			layout->blob_header_size.offset = JBPF_HOTSPOT_HEADER_BYTES;
		assert_false(hotspot_code__unwind(scene.reader.code, &hotspot));
		assert_false(hotspot.flags & JBPF_HOTSPOT_HAS_FRAME_SIZES);
		scene_free(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_blob_is_found_as_a_program_finds_it),
		cmocka_unit_test(a_hotspot_that_lacks_a_field_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
