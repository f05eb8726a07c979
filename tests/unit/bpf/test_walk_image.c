// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's walk over the code caches of real JVMs (tests/fixtures/hotspot: JDK 8, 11, 17, 21, 25):
 * with the frame sizes that user space has read from them, it must find each frame of each method at
 * each of its return addresses, and every address must have the chain of methods of the golden text.
 */
#include "tests/unit/bpf/walk_host.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "symbols/hotspot/hotspot_code.h"
#include "tests/unit/symbols/hotspot/hotspot_exercise.h"
#include "tests/unit/symbols/hotspot/hotspot_image.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define STACK	   0x7ffc00000000ull
#define STACK_LEN  (64 * HOST_PAGE)
#define NATIVE	   0x555500000000ull /* keeps frame pointers */
#define PLACES_MAX 4096u
#define A_STACK	   24u /* methods in one */

/* A return address in a method, and how large the method's frame is. */
struct place {
	uint64_t pc;
	uint32_t frame_bytes;
	char *chain;
};

static struct image_memory memory;
static struct remote_mem image;
static struct place places[PLACES_MAX];
static size_t place_cnt;
static uint64_t call_stub;

static bool image_has(uint64_t at, void *to, size_t len)
{
	return remote_mem_read(&image, at, to, len) == 0;
}

static void note_place(void *ctx, const struct exercise_blob *in, uint64_t pc, const char *chain)
{
	struct place *place = &places[place_cnt];

	(void)ctx;
	if (!in->blob.frame_bytes || pc == in->blob.code_begin)
		return;
	assert_true(place_cnt < PLACES_MAX);
	*place = (struct place){ pc, in->blob.frame_bytes, strdup(chain) };
	assert_non_null(place->chain);
	place_cnt++;
}

static int note_stub(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	(void)ctx;
	if (!blob->frame_bytes && strncmp(name, "StubRoutines", 12) == 0 && !call_stub)
		call_stub = blob->code_begin + 64;
	return 0;
}

/* What the namer tells the kernel of this JVM. */
static void jvm_put(struct hotspot_code *code)
{
	const uint32_t pid = HOST_PID;
	struct jbpf_space space = { .start_ns = HOST_START_NS,
				    .exec_id = HOST_EXEC_ID,
				    .generation = 1,
				    .mapping_cnt = 1 };
	struct jbpf_code_range range = { .start_ns = HOST_START_NS, .exec_id = HOST_EXEC_ID };
	struct jbpf_hotspot hotspot;
	struct hotspot_ranges ranges;

	memset(space.start, 0xff, sizeof(space.start));
	space.start[0] = NATIVE;
	space.mappings[0] = (struct jbpf_mapping){ .page_cnt = 1, .flags = JBPF_MAPPING_KEEPS_FP };
	hotspot_code__ranges(code, &ranges);
	range.code_low = ranges.code_low;
	range.code_high = ranges.code_high;
	range.interpreter_low = ranges.interpreter_low;
	range.interpreter_high = ranges.interpreter_high;
	assert_true(hotspot_code__unwind(code, &hotspot));
	hotspot.start_ns = HOST_START_NS;
	hotspot.exec_id = HOST_EXEC_ID;
	hotspot.barrier_len = 0;
	MAP_PUT(spaces, &pid, &space);
	MAP_PUT(code_ranges, &pid, &range);
	MAP_PUT(hotspots, &pid, &hotspot);
}

/* Native code, called by these methods, the first by the second and so on, called by the stub of Java, by native code. */
static void walk_through(const struct place *first, size_t cnt)
{
	const uint64_t fp = STACK + 64;
	uint64_t wanted[A_STACK + 4] = { NATIVE + 16 }, sp = fp + 16;

	memory_word(fp, 0x1111);
	memory_word(fp + 8, first->pc);
	for (size_t i = 0; i < cnt; i++) {
		uint64_t cfa = sp + first[i].frame_bytes;

		wanted[1 + i] = first[i].pc;
		memory_word(cfa - 16, i + 1 < cnt ? 0x1111 : cfa + 32);
		memory_word(cfa - 8, i + 1 < cnt ? first[i + 1].pc : call_stub);
		sp = cfa;
	}
	memory_word(sp + 32, 0);
	memory_word(sp + 40, NATIVE + 32);
	wanted[1 + cnt] = call_stub;
	wanted[2 + cnt] = NATIVE + 32;
	const struct walked walked = walk(NATIVE + 16, STACK, fp);

	assert_walked(&walked, JBPF_END_ROOT, wanted, cnt + 3);
}

/* The golden text has a line for each: "chain PC METHODS". */
static void assert_golden(const struct strbuf *golden, const struct place *place)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	strbuf_printf(&line, "chain %" PRIx64 " %s\n", place->pc, place->chain);
	if (!strstr(golden->data, line.data))
		fail_msg("not in the golden text: %s", line.data);
}

static void judge(const char *jdk)
{
	__cleanup_strbuf struct strbuf golden = STRBUF_INIT;
	struct exercise exercise = { .look_for = "Inlined", .on_chain = note_place };
	const char *missing = NULL;
	struct hotspot_image recorded;
	struct hotspot_code *code;
	struct hotspot_vm *vm;
	char path[64];

	place_cnt = call_stub = 0;
	snprintf(path, sizeof(path), "tests/fixtures/hotspot/%s.txt", jdk);
	assert_int_equal(fs_read_file(AT_FDCWD, path, 1 << 20, &golden), 0);
	snprintf(path, sizeof(path), "tests/fixtures/hotspot/%s.img.zst", jdk);
	assert_int_equal(hotspot_image_load(path, &recorded), 0);
	assert_int_equal(image_memory_init(&memory, &recorded), 0);
	image_memory_reset(&memory, NULL, 0);
	image = image_memory_mem(&memory);
	assert_int_equal(exercise_run(&exercise, &image, &recorded.symbols), 0);
	assert_int_equal(hotspot_vm__open_memory(&image, &recorded.symbols, &vm), 0);
	assert_int_equal(hotspot_code__open(vm, &code, &missing), 0);
	assert_int_equal(hotspot_code__walk(code, note_stub, NULL, NULL), 0);
	assert_true(call_stub && place_cnt > 100);
	jvm_put(code);
	for (size_t i = 0; i < place_cnt; i++) {
		size_t left = place_cnt - i;

		walk_through(&places[i], left < A_STACK ? left : A_STACK);
		assert_golden(&golden, &places[i]);
		free(places[i].chain);
	}
	assert_int_equal(counted(JBPF_CNT_END_JIT), 0);
	hotspot_code__free(code);
	hotspot_vm__free(vm);
	exercise_release(&exercise);
	image_memory_release(&memory);
	hotspot_image_release(&recorded);
}

static int begin(void **state)
{
	if (host_begin(state))
		return -1;
	memory_map(STACK, STACK_LEN);
	host_.elsewhere = image_has;
	return 0;
}

static void test_frames_of_all_methods_are_walked_and_named_on(void **state)
{
	judge(*state);
}

#define ON(jdk)                                                                              \
	{                                                                                    \
		"frames of all methods are walked and named on " jdk,                        \
			test_frames_of_all_methods_are_walked_and_named_on, begin, host_end, \
			(char[])                                                             \
		{                                                                            \
			jdk                                                                  \
		}                                                                            \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("jdk8"), ON("jdk11"), ON("jdk17"), ON("jdk21"), ON("jdk25"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
