// SPDX-License-Identifier: Apache-2.0
/*
 * Finding code in a JVM made here, in the layouts of five JDKs: what is found where, headers that
 * change between two readings, lengths and addresses that lead nowhere, heaps that grow. Real JVMs
 * are in tests/e2e.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_code.h"
#include "tests/unit/symbols/hotspot/fake_scene.h"

/* ---- find ---- */

static void find_reads_the_nmethod_of_every_jdk(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		struct scene scene;
		struct hotspot_blob blob;
		uint64_t start, code, tail;

		scene_make(&scene, (enum fake_jdk)jdk);
		start = fake_blob_of(&jvm, scene.nmethod);
		code = scene.nmethod + FAKE_CODE_BEGIN;
		tail = scene.nmethod + 8 * FAKE_SEGMENT_BYTES - FAKE_TAIL_BYTES;
		blob = found(&scene, code + 40);
		assert_int_equal(blob.kind, HOTSPOT_BLOB_NMETHOD);
		assert_string_equal(blob.name, "nmethod");
		assert_int_equal(blob.start, start);
		assert_int_equal(blob.end, scene.nmethod + 8 * FAKE_SEGMENT_BYTES);
		assert_int_equal(blob.code_begin, code);
		assert_int_equal(blob.code_end, tail);
		assert_int_equal(blob.frame_bytes, 48);
		assert_int_equal(blob.method, scene.method.method);
		assert_int_equal(blob.compile_id, 41);
		assert_int_equal(blob.comp_level, 4);
		assert_int_equal(blob.entry_bci, -1);
		assert_int_equal(blob.verified_entry, code + 32);
		assert_int_equal(blob.deopt_handler, tail - 16);
		assert_int_equal(blob.deopt_mh_handler, tail - 8);
		assert_int_equal(blob.pcs_end - blob.pcs_begin, jdk == FAKE_JDK_25 ? 48 : 64);
		assert_int_equal(blob.scopes_end - blob.scopes_begin, 32);
		assert_int_equal(blob.metadata_end - blob.metadata_begin,
				 jdk == FAKE_JDK_25 ? 40 : 64);
		if (jdk != FAKE_JDK_25) {
			assert_int_equal(blob.metadata_begin, tail);
			assert_int_equal(blob.scopes_begin, tail + 64);
			assert_int_equal(blob.pcs_begin, tail + 96);
		}
		assert_int_equal(found(&scene, scene.big + 30000).entry_bci, 7);
		blob = found(&scene, scene.native + FAKE_CODE_BEGIN);
		assert_int_equal(blob.kind, HOTSPOT_BLOB_NATIVE);
		assert_int_equal(blob.compile_id, 43);
		scene_free(&scene);
	}
}

static void find_answers_for_code_only(void **state)
{
	struct scene scene;
	uint64_t begin, end;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	begin = scene.nmethod + FAKE_CODE_BEGIN;
	end = scene.nmethod + 8 * FAKE_SEGMENT_BYTES - FAKE_TAIL_BYTES;
	assert_int_equal(found(&scene, begin).compile_id, 41);
	assert_int_equal(found(&scene, begin + (end - begin) / 2).compile_id, 41);
	assert_int_equal(found(&scene, end - 1).compile_id, 41);
	assert_int_equal(find_error(&scene, begin - 1), -ENOENT); /* header */
	assert_int_equal(find_error(&scene, end), -ENOENT);	  /* metadata */
	assert_int_equal(find_error(&scene, scene.nmethod), -ENOENT);
	/* The last byte of the stub before it. */
	assert_int_equal(found(&scene, scene.nmethod - 1).kind, HOTSPOT_BLOB_STUB);
	scene_free(&scene);
}

static void find_outside_of_blobs_finds_nothing(void **state)
{
	struct scene scene;
	uint64_t low;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	low = jvm.heaps[0].low;
	assert_int_equal(find_error(&scene, 0), -ENOENT);
	assert_int_equal(find_error(&scene, low - 1), -ENOENT);
	assert_int_equal(find_error(&scene, low + FAKE_HEAP_BYTES - 1), -ENOENT); /* never used */
	assert_int_equal(find_error(&scene, low + FAKE_HEAP_BYTES), -ENOENT); /* not committed */
	assert_int_equal(find_error(&scene, UINT64_MAX), -ENOENT);
	fake_free(&jvm, 0, scene.nmethod, 8);
	assert_int_equal(find_error(&scene, scene.nmethod + FAKE_CODE_BEGIN), -ENOENT);
	scene_free(&scene);
}

static void find_follows_the_segment_map_through_many_hops(void **state)
{
	struct scene scene;
	struct fake_heap *heap;
	uint64_t last;
	uint8_t *segmap;

	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		scene_make(&scene, (enum fake_jdk)jdk);
		heap = &jvm.heaps[0];
		for (uint64_t pc = scene.big + FAKE_CODE_BEGIN;
		     pc < scene.big + 300 * FAKE_SEGMENT_BYTES - FAKE_TAIL_BYTES;
		     pc += FAKE_SEGMENT_BYTES)
			assert_int_equal(found(&scene, pc).compile_id, 42);
		/* As badly cut up as a map can be after merging free blocks: one back at a time. */
		segmap = jvm.vm.bytes + (heap->segmap - MEMORY_BASE);
		last = scene.big + 295 * FAKE_SEGMENT_BYTES;
		memset(segmap + ((scene.big - heap->low) >> FAKE_SEGMENT_SHIFT) + 1, 1, 299);
		assert_int_equal(found(&scene, last).compile_id, 42);
		scene_free(&scene);
	}
}

static void find_refuses_a_damaged_segment_map(void **state)
{
	struct scene scene;
	uint64_t segment;
	uint8_t *segmap;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	segmap = jvm.vm.bytes + (jvm.heaps[0].segmap - MEMORY_BASE);
	segment = (scene.nmethod - jvm.heaps[0].low) >> FAKE_SEGMENT_SHIFT;
	segmap[segment + 5] = 200; /* before the heap */
	assert_int_equal(find_error(&scene, scene.nmethod + 5 * FAKE_SEGMENT_BYTES), -EAGAIN);
	segmap[segment + 5] = 2;
	segmap[segment + 3] = 0xff; /* used code that leads into free space */
	assert_int_equal(find_error(&scene, scene.nmethod + 5 * FAKE_SEGMENT_BYTES), -EAGAIN);
	segmap[segment + 3] = 0; /* a block that begins in the middle of code */
	assert_int_not_equal(find_error(&scene, scene.nmethod + 5 * FAKE_SEGMENT_BYTES), 0);
	segmap[segment + 3] = 3;
	segmap[segment + 5] = 5;
	segmap[segment] = 1; /* leads to the stub, which ends before */
	assert_int_equal(find_error(&scene, scene.nmethod + 5 * FAKE_SEGMENT_BYTES), -EAGAIN);
	scene_free(&scene);
}

static void find_tells_kinds_by_their_names(void **state)
{
	static const struct {
		const char *name;
		enum hotspot_blob_kind kind;
	} rows[] = {
		{ "Interpreter", HOTSPOT_BLOB_INTERPRETER },
		{ "vtable chunks", HOTSPOT_BLOB_VTABLE },
		{ "StubRoutines (continuation stubs)", HOTSPOT_BLOB_CONTINUATION },
		{ "StubRoutines (continuationstubs)", HOTSPOT_BLOB_CONTINUATION },
		{ "StubRoutines (1)", HOTSPOT_BLOB_STUB },
		{ "I2C/C2I adapters", HOTSPOT_BLOB_STUB },
		{ "nmethods", HOTSPOT_BLOB_STUB },
		{ "x", HOTSPOT_BLOB_STUB },
	};
	uint64_t blocks[ARRAY_SIZE(rows)];
	struct scene scene;

	(void)state;
	scene_make(&scene, FAKE_JDK_25);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		blocks[i] = fake_stub(&jvm, 1, 4, rows[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hotspot_blob blob = found(&scene, blocks[i] + 200);

		assert_int_equal(blob.kind, rows[i].kind);
		assert_string_equal(blob.name, rows[i].name);
		assert_int_equal(blob.method, 0);
		assert_int_equal(blob.pcs_end, 0);
	}
	scene_free(&scene);
}

static void find_cuts_long_names_and_refuses_odd_ones(void **state)
{
	struct scene scene;
	char name[100];
	uint64_t block;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	block = fake_stub(&jvm, 1, 2, name);
	assert_int_equal(strlen(found(&scene, block + 170).name), HOTSPOT_BLOB_NAME_BYTES - 1);
	block = fake_stub(&jvm, 1, 2, "");
	assert_int_equal(find_error(&scene, block + 170), -EAGAIN);
	block = fake_stub(&jvm, 1, 2, "a\nb");
	assert_int_equal(find_error(&scene, block + 170), -EAGAIN);
	block = fake_stub(&jvm, 1, 2, "stub");
	fake_set(&jvm, fake_blob_of(&jvm, block), "CodeBlob", "_name", 0);
	assert_int_equal(find_error(&scene, block + 170), -EAGAIN);
	fake_set(&jvm, fake_blob_of(&jvm, block), "CodeBlob", "_name", UINT64_MAX);
	assert_int_equal(find_error(&scene, block + 170), -EAGAIN);
	scene_free(&scene);
}

static void find_refuses_headers_that_do_not_hold_together(void **state)
{
	static const struct {
		const char *type, *name;
		uint64_t value;
		int err;
	} rows[] = {
		{ "HeapBlock::Header", "_length", 0, -EAGAIN },
		{ "HeapBlock::Header", "_length", 3, -EAGAIN }, /* pc behind it */
		{ "HeapBlock::Header", "_length", 100000, -EAGAIN },
		{ "HeapBlock::Header", "_length", UINT64_MAX, -EAGAIN },
		{ "HeapBlock::Header", "_used", 0, -ENOENT },
		{ "CodeBlob", "_code_begin", 0, -EAGAIN },
		{ "CodeBlob", "_code_begin", UINT64_MAX, -EAGAIN },
		{ "CodeBlob", "_code_end", 0, -EAGAIN },
		{ "CodeBlob", "_code_end", UINT64_MAX, -EAGAIN },
		{ "CompiledMethod", "_method", 0x7f0000010001, -EAGAIN }, /* not aligned */
		{ "CompiledMethod", "_method", UINT64_MAX - 7, -EAGAIN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_block = strncmp(rows[i].type, "Heap", 4) == 0;
		struct scene scene;

		scene_make(&scene, FAKE_JDK_17);
		fake_set(&jvm, is_block ? scene.nmethod : fake_blob_of(&jvm, scene.nmethod),
			 rows[i].type, rows[i].name, rows[i].value);
		assert_int_equal(find_error(&scene, scene.nmethod + FAKE_CODE_BEGIN + 60),
				 rows[i].err);
		scene_free(&scene);
	}
}

static void find_leaves_out_extras_that_do_not_hold_together(void **state)
{
	static const struct {
		enum fake_jdk jdk;
		const char *type, *name;
		uint64_t value;
		bool has_scopes, has_entry, has_handler;
	} rows[] = {
		{ FAKE_JDK_17, "nmethod", "_scopes_pcs_offset", 1u << 30, false, true, true },
		{ FAKE_JDK_17, "nmethod", "_scopes_pcs_offset", UINT64_MAX, false, true, true },
		{ FAKE_JDK_17, "nmethod", "_dependencies_offset", 8, false, true, true },
		{ FAKE_JDK_17, "nmethod", "_metadata_offset", UINT64_MAX, false, true, true },
		{ FAKE_JDK_17, "nmethod", "_metadata_offset", 801, false, true, true },
		{ FAKE_JDK_17, "CompiledMethod", "_scopes_data_begin", 0x1000, false, true, true },
		{ FAKE_JDK_8, "nmethod", "_scopes_data_offset", UINT64_MAX, false, true, true },
		{ FAKE_JDK_25, "nmethod", "_immutable_data", 0, false, true, true },
		{ FAKE_JDK_25, "nmethod", "_immutable_data", UINT64_MAX - 7, false, true, true },
		{ FAKE_JDK_25, "nmethod", "_immutable_data_size", UINT64_MAX, false, true, true },
		{ FAKE_JDK_25, "nmethod", "_immutable_data_size", 60, false, true, true },
		{ FAKE_JDK_25, "nmethod", "_scopes_data_offset", 97, false, true, true },
		{ FAKE_JDK_25, "CodeBlob", "_mutable_data", 4, false, true, true },
		{ FAKE_JDK_25, "CodeBlob", "_mutable_data_size", 8u << 20, false, true, true },
		{ FAKE_JDK_25, "CodeBlob", "_relocation_size", 72, false, true, true },
		{ FAKE_JDK_17, "nmethod", "_verified_entry_point", 0x1000, true, false, true },
		{ FAKE_JDK_25, "nmethod", "_verified_entry_offset", 60000, true, false, true },
		{ FAKE_JDK_17, "CompiledMethod", "_deopt_handler_begin", 0, true, true, false },
		{ FAKE_JDK_25, "nmethod", "_deopt_handler_offset", UINT64_MAX, true, true, false },
		{ FAKE_JDK_17, "CodeBlob", "_frame_size", UINT64_MAX, true, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hotspot_blob blob;
		struct scene scene;

		scene_make(&scene, rows[i].jdk);
		fake_set(&jvm, fake_blob_of(&jvm, scene.nmethod), rows[i].type, rows[i].name,
			 rows[i].value);
		blob = found(&scene, scene.nmethod + FAKE_CODE_BEGIN);
		assert_int_equal(blob.compile_id, 41);
		assert_int_equal(blob.pcs_end != 0, rows[i].has_scopes);
		assert_int_equal(blob.metadata_end != 0, rows[i].has_scopes);
		assert_int_equal(blob.verified_entry != 0, rows[i].has_entry);
		assert_int_equal(blob.deopt_handler != 0, rows[i].has_handler);
		if (strcmp(rows[i].name, "_frame_size") == 0)
			assert_int_equal(blob.frame_bytes, 0);
		scene_free(&scene);
	}
}

static void find_refuses_what_changes_meanwhile(void **state)
{
	static const struct {
		const char *type, *name;
		uint64_t value;
		size_t size;
		int err;
	} rows[] = {
		{ "HeapBlock::Header", "_used", 0, 1, -EAGAIN },
		{ "HeapBlock::Header", "_length", 9, 8, -EAGAIN },
		{ "CodeBlob", "_name", 0x7f0000010000, 8, -EAGAIN },
		{ "CompiledMethod", "_method", 0, 8, -EAGAIN },
		{ "nmethod", "_compile_id", 99, 4, -EAGAIN },
		{ "nmethod", "_comp_level", 3, 4, -EAGAIN },
		{ "nmethod", "_scopes_pcs_offset", 0, 4, -EAGAIN },
		/* It becomes not entrant: the same code under the same name. */
		{ "nmethod", "_state", 2, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_block = strncmp(rows[i].type, "Heap", 4) == 0;
		struct tear tear;
		struct scene scene;

		scene_make(&scene, FAKE_JDK_17);
		tear = (struct tear){
			.block = scene.nmethod,
			.at = fake_at(&jvm,
				      is_block ? scene.nmethod : fake_blob_of(&jvm, scene.nmethod),
				      rows[i].type, rows[i].name),
			.value = rows[i].value,
			.size = rows[i].size,
		};
		jvm.vm.hook = tear_hook;
		jvm.vm.hook_ctx = &tear;
		if (rows[i].err)
			assert_int_equal(find_error(&scene, scene.nmethod + FAKE_CODE_BEGIN),
					 rows[i].err);
		else
			assert_int_equal(found(&scene, scene.nmethod + FAKE_CODE_BEGIN).compile_id,
					 41);
		assert_int_equal(tear.header_reads, 2);
		scene_free(&scene);
	}
}

static void find_costs_few_reads(void **state)
{
	struct scene scene;
	size_t before;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	before = jvm.vm.read_cnt;
	(void)found(&scene, scene.nmethod + FAKE_CODE_BEGIN);
	assert_int_equal(jvm.vm.read_cnt - before, 4);
	before = jvm.vm.read_cnt;
	(void)found(&scene, scene.big + FAKE_CODE_BEGIN + 30000);
	assert_int_equal(jvm.vm.read_cnt - before, 3); /* its name is known */
	scene_free(&scene);
}

/* ---- heaps ---- */

static void ranges_are_those_of_all_heaps(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		struct hotspot_ranges ranges;
		struct scene scene;

		scene_make(&scene, (enum fake_jdk)jdk);
		hotspot_code__ranges(scene.reader.code, &ranges);
		assert_int_equal(ranges.code_low, fake_heap_low(0));
		assert_int_equal(ranges.code_high, fake_heap_low(jdk == FAKE_JDK_8 ? 1 : 2));
		assert_int_equal(ranges.interpreter_low, 0);
		assert_int_equal(ranges.interpreter_high, 0);

		/* The interpreter is made later. */
		fake_set(&jvm, jvm.interpreter, "StubQueue", "_stub_buffer", scene.stub + 160);
		fake_set(&jvm, jvm.interpreter, "StubQueue", "_buffer_limit", 96);
		assert_int_equal(hotspot_code__refresh(scene.reader.code), 0);
		hotspot_code__ranges(scene.reader.code, &ranges);
		assert_int_equal(ranges.interpreter_low, scene.stub + 160);
		assert_int_equal(ranges.interpreter_high, scene.stub + 256);
		scene_free(&scene);
	}
}

static void ranges_know_no_interpreter_outside_of_the_code(void **state)
{
	struct hotspot_ranges ranges;
	struct scene scene;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	fake_set(&jvm, jvm.interpreter, "StubQueue", "_stub_buffer", fake_heap_low(0));
	fake_set(&jvm, jvm.interpreter, "StubQueue", "_buffer_limit", 0x7fffffff);
	assert_int_equal(hotspot_code__refresh(scene.reader.code), 0);
	hotspot_code__ranges(scene.reader.code, &ranges);
	assert_int_equal(ranges.interpreter_high, 0);
	fake_set(&jvm, jvm.interpreter, "StubQueue", "_stub_buffer", 0x400000);
	fake_set(&jvm, jvm.interpreter, "StubQueue", "_buffer_limit", 4096);
	assert_int_equal(hotspot_code__refresh(scene.reader.code), 0);
	hotspot_code__ranges(scene.reader.code, &ranges);
	assert_int_equal(ranges.interpreter_high, 0);
	scene_free(&scene);
}

static void code_in_a_heap_that_has_grown_is_found(void **state)
{
	struct scene scene;
	struct fake_heap *heap;
	uint64_t block, memory;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	heap = &jvm.heaps[0];
	memory = fake_at(&jvm, heap->object, "CodeHeap", "_memory");
	block = heap->low + FAKE_HEAP_BYTES;
	assert_int_equal(find_error(&scene, block + 200), -ENOENT);
	fake_set(&jvm, memory, "VirtualSpace", "_high", heap->low + 2 * FAKE_HEAP_BYTES);
	/* The map must grow with it. */
	assert_int_equal(find_error(&scene, block + 200), -EAGAIN);
	fake_set(&jvm, fake_at(&jvm, heap->object, "CodeHeap", "_segmap"), "VirtualSpace", "_high",
		 heap->segmap + 2 * (FAKE_HEAP_BYTES >> FAKE_SEGMENT_SHIFT));
	assert_int_equal(find_error(&scene, block + 200), -ENOENT);
	fake_set(&jvm, block, "HeapBlock::Header", "_length", 2);
	fake_set(&jvm, block, "HeapBlock::Header", "_used", 1);
	fake_blob_fill(&jvm, fake_blob_of(&jvm, block), jvm.names[2], block + 160, block + 256);
	memcpy(jvm.vm.bytes + (heap->segmap - MEMORY_BASE) +
		       (FAKE_HEAP_BYTES >> FAKE_SEGMENT_SHIFT),
	       "\0\1", 2);
	assert_int_equal(found(&scene, block + 200).kind, HOTSPOT_BLOB_VTABLE);
	scene_free(&scene);
}

static void open_error_is(int expected)
{
	struct hotspot_code *code = NULL;
	const char *missing = NULL;
	struct hotspot_vm *vm;

	assert_int_equal(hotspot_vm__open_memory(&jvm.vm.mem, &jvm.vm.symbols, &vm), 0);
	assert_int_equal(hotspot_code__open(vm, &code, &missing), expected);
	assert_null(code);
	assert_int_equal(missing != NULL, expected == -ENOTSUP);
	hotspot_vm__free(vm);
}

static void open_of_a_starting_jvm_says_try_again(void **state)
{
	static const struct {
		const char *space, *name;
		uint64_t value;
	} rows[] = {
		{ "_memory", "_low", 0 },
		{ "_memory", "_high", 0 },
		{ "_memory", "_low_boundary", UINT64_MAX },
		{ "_memory", "_high_boundary", UINT64_MAX },
		{ "_memory", "_high", UINT64_MAX },
		{ "_segmap", "_low", 0 },
		{ "_segmap", "_high", 0 },
		{ "_segmap", "_high", 0x7f0000010000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t space;

		fake_jvm_init(&jvm, FAKE_JDK_17);
		space = fake_at(&jvm, jvm.heaps[1].object, "CodeHeap", rows[i].space);
		fake_set(&jvm, space, "VirtualSpace", rows[i].name, rows[i].value);
		open_error_is(-EAGAIN);
	}
	for (uint64_t shift = 0; shift < 40; shift += 17) {
		fake_jvm_init(&jvm, FAKE_JDK_17);
		fake_set(&jvm, jvm.heaps[1].object, "CodeHeap", "_log2_segment_size", shift);
		if (shift != 17)
			open_error_is(-EAGAIN);
	}
	fake_jvm_init(&jvm, FAKE_JDK_17);
	fake_set(&jvm, jvm.heaps_array, "GrowableArrayBase", "_len", 0);
	open_error_is(-EAGAIN);
	fake_jvm_init(&jvm, FAKE_JDK_17);
	fake_set(&jvm, jvm.heaps_array, "GrowableArray<int>", "_data", 0);
	open_error_is(-EAGAIN);
	fake_jvm_init(&jvm, FAKE_JDK_17);
	fake_set(&jvm, jvm.heaps_array, "GrowableArrayBase", "_len", 9);
	open_error_is(-ENOTSUP);
}

static void refresh_keeps_what_was_known_when_it_fails(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	fake_set(&jvm, jvm.heaps_array, "GrowableArray<int>", "_data", 0);
	assert_int_equal(hotspot_code__refresh(scene.reader.code), -EAGAIN);
	assert_int_equal(found(&scene, scene.nmethod + FAKE_CODE_BEGIN).compile_id, 41);
	scene_free(&scene);
}

/* ---- gone ---- */

static int gone_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	(void)mem;
	(void)address;
	(void)out;
	(void)len;
	return -ESRCH;
}

static int ignore_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	(void)ctx;
	(void)blob;
	(void)name;
	return 0;
}

static void a_process_that_is_gone_is_told_apart_from_damage(void **state)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	const struct hotspot_blob *blobs[1];
	struct hotspot_blob blob;
	struct remote_mem *mem;
	struct scene scene;
	bool same;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	blob = found(&scene, scene.nmethod + FAKE_CODE_BEGIN);
	blobs[0] = &blob;
	mem = (struct remote_mem *)hotspot_code__mem(scene.reader.code);
	mem->read = gone_read;
	assert_int_equal(find_error(&scene, scene.nmethod + FAKE_CODE_BEGIN), -ESRCH);
	assert_int_equal(hotspot_code__refresh(scene.reader.code), -ESRCH);
	assert_int_equal(hotspot_code__verify(scene.reader.code, blobs, 1, &same), -ESRCH);
	assert_int_equal(hotspot_code__method_name(scene.reader.code, blob.method, NULL, &name),
			 -ESRCH);
	assert_int_equal(name.len, 0);
	assert_int_equal(hotspot_code__walk(scene.reader.code, ignore_blob, NULL, NULL), -ESRCH);
	scene_free(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_reads_the_nmethod_of_every_jdk),
		cmocka_unit_test(find_answers_for_code_only),
		cmocka_unit_test(find_outside_of_blobs_finds_nothing),
		cmocka_unit_test(find_follows_the_segment_map_through_many_hops),
		cmocka_unit_test(find_refuses_a_damaged_segment_map),
		cmocka_unit_test(find_tells_kinds_by_their_names),
		cmocka_unit_test(find_cuts_long_names_and_refuses_odd_ones),
		cmocka_unit_test(find_refuses_headers_that_do_not_hold_together),
		cmocka_unit_test(find_leaves_out_extras_that_do_not_hold_together),
		cmocka_unit_test(find_refuses_what_changes_meanwhile),
		cmocka_unit_test(find_costs_few_reads),
		cmocka_unit_test(ranges_are_those_of_all_heaps),
		cmocka_unit_test(ranges_know_no_interpreter_outside_of_the_code),
		cmocka_unit_test(code_in_a_heap_that_has_grown_is_found),
		cmocka_unit_test(open_of_a_starting_jvm_says_try_again),
		cmocka_unit_test(refresh_keeps_what_was_known_when_it_fails),
		cmocka_unit_test(a_process_that_is_gone_is_told_apart_from_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
