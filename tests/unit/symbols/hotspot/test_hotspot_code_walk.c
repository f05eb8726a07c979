// SPDX-License-Identifier: Apache-2.0
/*
 * Walking the code cache of a JVM made here and asking whether blobs are still the same; and every
 * byte of its objects changed, memory full of random bytes: nothing may come of it but names that
 * are text and addresses within bounds.
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
#include "tests/unit/sweep.h"

/* ---- verify ---- */

static void verify_knows_versions_apart(void **state)
{
	const struct hotspot_blob *blobs[4];
	struct hotspot_blob copies[4];
	struct scene scene;
	bool same[4];

	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		scene_make(&scene, (enum fake_jdk)jdk);
		copies[0] = found(&scene, scene.stub + 170);
		copies[1] = found(&scene, scene.nmethod + FAKE_CODE_BEGIN);
		copies[2] = found(&scene, scene.big + FAKE_CODE_BEGIN);
		copies[3] = found(&scene, scene.native + FAKE_CODE_BEGIN);
		for (size_t i = 0; i < 4; i++)
			blobs[i] = &copies[i];
		assert_int_equal(hotspot_code__verify(scene.reader.code, blobs, 4, same), 0);
		assert_true(same[0] && same[1] && same[2] && same[3]);
		assert_int_equal(hotspot_code__verify(scene.reader.code, blobs, 0, NULL), 0);

		/* Not entrant is the same code; another compile id is not; nor is free space. */
		fake_set(&jvm, fake_blob_of(&jvm, scene.nmethod), "nmethod", "_state", 1);
		fake_set(&jvm, fake_blob_of(&jvm, scene.big), "nmethod", "_compile_id", 44);
		fake_free(&jvm, jvm.heap_cnt - 1, scene.native, 8);
		assert_int_equal(hotspot_code__verify(scene.reader.code, blobs, 4, same), 0);
		assert_true(same[0] && same[1] && !same[2] && !same[3]);

		/* Died: its method is gone. A stub of another name. */
		fake_set(&jvm, fake_blob_of(&jvm, scene.nmethod), "nmethod", "_method", 0);
		fake_set(&jvm, fake_blob_of(&jvm, scene.nmethod), "CompiledMethod", "_method", 0);
		fake_set(&jvm, fake_blob_of(&jvm, scene.stub), "CodeBlob", "_name", jvm.names[2]);
		assert_int_equal(hotspot_code__verify(scene.reader.code, blobs, 4, same), 0);
		assert_true(!same[0] && !same[1]);

		/* Addresses that are in no heap. */
		copies[0].start = 8;
		copies[1].start = UINT64_MAX;
		assert_int_equal(hotspot_code__verify(scene.reader.code, blobs, 2, same), 0);
		assert_true(!same[0] && !same[1]);
		scene_free(&scene);
	}
}

/* ---- walk ---- */

struct walked {
	struct strbuf text;
	uint64_t last;
	size_t cnt;
	size_t stop_at; /* 0 = never */
};

static int walked_add(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	struct walked *walked = ctx;

	assert_true(blob->start > walked->last);
	walked->last = blob->start;
	strbuf_printf(&walked->text, "%d %s\n", blob->compile_id, name);
	return ++walked->cnt == walked->stop_at ? 77 : 0;
}

static void walk_names_everything_in_use(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		struct walked walked = { .text = STRBUF_INIT };
		struct scene scene;
		size_t skipped = 99;

		scene_make(&scene, (enum fake_jdk)jdk);
		assert_int_equal(
			hotspot_code__walk(scene.reader.code, walked_add, &walked, &skipped), 0);
		assert_string_equal(strbuf_str(&walked.text), "0 StubRoutines (initialstubs)\n"
							      "41 " SCENE_METHOD_NAME "\n"
							      "42 " SCENE_METHOD_NAME "\n"
							      "43 " SCENE_METHOD_NAME "\n");
		assert_int_equal(skipped, 0);
		walked.last = 0;
		walked.stop_at = 6;
		assert_int_equal(hotspot_code__walk(scene.reader.code, walked_add, &walked, NULL),
				 77);
		strbuf_release(&walked.text);
		scene_free(&scene);
	}
}

static void walk_leaves_out_and_counts_what_has_no_name(void **state)
{
	struct walked walked = { .text = STRBUF_INIT };
	struct fake_method broken;
	struct scene scene;
	size_t skipped = 0;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	broken = fake_method(&jvm, "com/foo/Bar", "no;name", "()V");
	fake_set(&jvm, fake_blob_of(&jvm, scene.nmethod), "CompiledMethod", "_method",
		 broken.method);
	fake_set(&jvm, fake_blob_of(&jvm, scene.big), "CompiledMethod", "_method", 0); /* dead */
	fake_free(&jvm, 1, scene.native, 8); /* free space is not even counted */
	assert_int_equal(hotspot_code__walk(scene.reader.code, walked_add, &walked, &skipped), 0);
	assert_string_equal(strbuf_str(&walked.text), "0 StubRoutines (initialstubs)\n");
	assert_int_equal(skipped, 2);
	strbuf_release(&walked.text);
	scene_free(&scene);
}

static void walk_leaves_out_what_changes_meanwhile(void **state)
{
	struct walked walked = { .text = STRBUF_INIT };
	struct scene scene;
	struct tear tear;
	size_t skipped = 0;

	(void)state;
	scene_make(&scene, FAKE_JDK_25);
	tear = (struct tear){ .block = scene.nmethod,
			      .at = fake_at(&jvm, fake_blob_of(&jvm, scene.nmethod), "nmethod",
					    "_compile_id"),
			      .value = 55,
			      .size = 4 };
	jvm.vm.hook = tear_hook;
	jvm.vm.hook_ctx = &tear;
	assert_int_equal(hotspot_code__walk(scene.reader.code, walked_add, &walked, &skipped), 0);
	assert_int_equal(tear.header_reads, 2);
	assert_string_equal(strbuf_str(&walked.text), "0 StubRoutines (initialstubs)\n"
						      "42 " SCENE_METHOD_NAME "\n"
						      "43 " SCENE_METHOD_NAME "\n");
	assert_int_equal(skipped, 1);
	strbuf_release(&walked.text);
	scene_free(&scene);
}

static void walk_goes_through_more_than_a_batch_of_headers(void **state)
{
	struct walked walked = { .text = STRBUF_INIT };
	struct scene scene;

	(void)state;
	scene_make(&scene, FAKE_JDK_17);
	for (size_t i = 0; i < 200; i++)
		(void)fake_block(&jvm, 1, 2);
	for (size_t i = 0; i < 200; i++) {
		uint64_t block = jvm.heaps[1].low + (8 + i * 2) * FAKE_SEGMENT_BYTES;

		fake_blob_fill(&jvm, fake_blob_of(&jvm, block), jvm.names[2], block + 160,
			       block + 256);
	}
	assert_int_equal(hotspot_code__walk(scene.reader.code, walked_add, &walked, NULL), 0);
	assert_int_equal(walked.cnt, 204);
	strbuf_release(&walked.text);
	scene_free(&scene);
}

/* ---- damage ---- */

/* Whatever the damage: bounds hold, and a name is text. */
static int check_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	uint64_t *code_high = ctx;
	size_t len = strlen(name);

	assert_true(len > 0 && len < 4096);
	for (size_t i = 0; i < len; i++)
		assert_true((unsigned char)name[i] >= ' ' && name[i] != 0x7f);
	assert_true(blob->start >= fake_heap_low(0) && blob->end <= *code_high);
	assert_true(blob->start <= blob->code_begin && blob->code_begin <= blob->code_end &&
		    blob->code_end <= blob->end);
	assert_true(blob->scopes_begin <= blob->scopes_end && blob->pcs_begin <= blob->pcs_end);
	assert_true(blob->metadata_end - blob->metadata_begin <= 1u << 20);
	return 0;
}

/* Reads everything; how the reading of one nmethod ended. */
static int read_damaged(struct scene *scene, bool walks)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	uint64_t code_high = fake_heap_low(FAKE_HEAP_CNT);
	struct hotspot_blob blob;
	int err;

	(void)hotspot_code__refresh(scene->reader.code);
	if (walks) {
		err = hotspot_code__walk(scene->reader.code, check_blob, &code_high, NULL);
		assert_true(err == 0 || err == -EAGAIN);
	}
	err = hotspot_code__find(scene->reader.code, scene->nmethod + FAKE_CODE_BEGIN, &blob);
	if (!err && blob.method)
		err = hotspot_code__method_name(scene->reader.code, blob.method, NULL, &name);
	if (!err)
		(void)check_blob(&code_high, &blob, blob.method ? strbuf_str(&name) : blob.name);
	return err;
}

struct outcome {
	size_t named;
	size_t refused;
};

static void damage_bytes(struct scene *scene, size_t begin, size_t end, struct outcome *outcome)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	for (size_t at = begin; at < end; at += sweep_step()) {
		uint8_t before = jvm.vm.bytes[at];

		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			jvm.vm.bytes[at] = values[i];
			if (read_damaged(scene, i == 0))
				outcome->refused++;
			else
				outcome->named++;
		}
		jvm.vm.bytes[at] = before;
	}
}

static void every_changed_byte_is_survived(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk += FAKE_JDK_17) {
		struct outcome outcome = { 0 };
		struct scene scene;
		size_t block;

		scene_make(&scene, (enum fake_jdk)jdk);
		/* The tables were read when it was opened; objects lie behind them. */
		block = (size_t)(scene.nmethod - MEMORY_BASE);
		damage_bytes(&scene, (size_t)(jvm.heaps[0].segmap - MEMORY_BASE), jvm.vm.used,
			     &outcome);
		damage_bytes(&scene, block, block + FAKE_CODE_BEGIN, &outcome);
		assert_true(outcome.named > 1000 / sweep_step() &&
			    outcome.refused > 100 / sweep_step());
		assert_int_equal(read_damaged(&scene, false), 0);
		scene_free(&scene);
	}
}

static void random_memory_is_survived(void **state)
{
	uint64_t code_high = fake_heap_low(FAKE_HEAP_CNT);
	uint64_t random = 88172645463325252ull;
	struct scene scene;

	(void)state;
	for (int round = 0; round < 40; round++) {
		struct hotspot_blob blob;
		size_t begin, end;

		scene_make(&scene, (enum fake_jdk)(round % FAKE_JDK_CNT));
		begin = (size_t)(jvm.heaps[0].low - MEMORY_BASE);
		end = begin + 0x4000;
		for (size_t i = 0; i < 200; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			jvm.vm.bytes[begin + random % (end - begin)] = (uint8_t)(random >> 32);
		}
		if (round % 2) /* a segment map full of begins */
			memset(jvm.vm.bytes + (jvm.heaps[0].segmap - MEMORY_BASE), 0,
			       FAKE_HEAP_BYTES >> FAKE_SEGMENT_SHIFT);
		for (uint64_t pc = jvm.heaps[0].low; pc < jvm.heaps[0].low + 0x4000; pc += 31) {
			if (hotspot_code__find(scene.reader.code, pc, &blob) == 0)
				(void)check_blob(&code_high, &blob, blob.name);
		}
		assert_int_equal(
			hotspot_code__walk(scene.reader.code, check_blob, &code_high, NULL), 0);
		scene_free(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verify_knows_versions_apart),
		cmocka_unit_test(walk_names_everything_in_use),
		cmocka_unit_test(walk_leaves_out_and_counts_what_has_no_name),
		cmocka_unit_test(walk_leaves_out_what_changes_meanwhile),
		cmocka_unit_test(walk_goes_through_more_than_a_batch_of_headers),
		cmocka_unit_test(every_changed_byte_is_survived),
		cmocka_unit_test(random_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
