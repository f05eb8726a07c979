// SPDX-License-Identifier: Apache-2.0
/*
 * The whole HotSpot reader on memory of real JVMs (tests/fixtures/hotspot): a program whose
 * inlining is known (tests/e2e/java/Inlined.java) in JDK 8, 11, 17, 21 and 25. What is named, which
 * chains and lines its methods have, and the same with fields, pointers and reads damaged.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/symbols/hotspot/hotspot_exercise.h"
#include "tests/unit/symbols/hotspot/hotspot_image.h"
#include "tests/unit/sweep.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define LOOK_CNT 12 /* as recorded */

struct jdk {
	const char *path;
	const char *version; /* begins so */
	size_t blob_cnt;
};

static const struct jdk jdks[] = {
	{ "tests/fixtures/hotspot/jdk8.img.zst", "25.", 292 }, /* the VM's own number */
	{ "tests/fixtures/hotspot/jdk11.img.zst", "11.0.", 333 },
	{ "tests/fixtures/hotspot/jdk17.img.zst", "17.0.", 364 },
	{ "tests/fixtures/hotspot/jdk21.img.zst", "21.0.", 334 },
	{ "tests/fixtures/hotspot/jdk25.img.zst", "25.0.", 335 },
};

struct replay {
	struct hotspot_image image;
	struct image_memory memory;
	struct remote_mem mem;
};

static void replay_open(struct replay *replay, const char *path)
{
	assert_int_equal(hotspot_image_load(path, &replay->image), 0);
	assert_int_equal(image_memory_init(&replay->memory, &replay->image), 0);
	image_memory_reset(&replay->memory, NULL, 0);
	replay->mem = image_memory_mem(&replay->memory);
}

static void replay_close(struct replay *replay)
{
	image_memory_release(&replay->memory);
	hotspot_image_release(&replay->image);
}

static size_t blobs_named(const struct exercise *exercise, const char *name,
			  enum hotspot_blob_kind kind)
{
	size_t cnt = 0;

	for (size_t i = 0; i < exercise->blob_cnt; i++) {
		if (strcmp(exercise->blobs[i].name, name) == 0) {
			assert_int_equal(exercise->blobs[i].blob.kind, kind);
			cnt++;
		}
	}
	return cnt;
}

static void everything_in_the_code_cache_has_its_name(void **state)
{
	static const char *const methods[] = {
		"LInlined;::work(I)I",	    "LInlined;::spin(I)I",	"LInlined$Sink1;::eat(I)I",
		"LInlined$Sink2;::eat(I)I", "LInlined$Sink3;::eat(I)I",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jdks); i++) {
		struct exercise exercise = { .look_cnt = LOOK_CNT, .look_for = "Inlined" };
		struct hotspot_vm *vm;
		struct replay replay;

		replay_open(&replay, jdks[i].path);
		assert_int_equal(hotspot_vm__open_memory(&replay.mem, &replay.image.symbols, &vm),
				 0);
		assert_int_equal(strncmp(hotspot_vm__version(vm), jdks[i].version,
					 strlen(jdks[i].version)),
				 0);
		hotspot_vm__free(vm);
		assert_int_equal(exercise_run(&exercise, &replay.mem, &replay.image.symbols), 0);
		assert_int_equal(exercise.blob_cnt, jdks[i].blob_cnt);
		assert_int_equal(exercise.found_cnt, exercise.looked_cnt);
		assert_true(exercise.looked_cnt >= LOOK_CNT);
		for (size_t k = 0; k < ARRAY_SIZE(methods); k++)
			assert_true(blobs_named(&exercise, methods[k], HOTSPOT_BLOB_NMETHOD) >= 1);
		assert_int_equal(blobs_named(&exercise, "Interpreter", HOTSPOT_BLOB_INTERPRETER),
				 1);
		assert_true(blobs_named(&exercise, "vtable chunks", HOTSPOT_BLOB_VTABLE) >= 1);
		exercise_release(&exercise);
		replay_close(&replay);
	}
}

/* ---- chains ---- */

/* Every chain that ends in a method of Inlined must be one of these, with their lines. */
struct seen_chains {
	size_t cnt;
	bool has_work, has_spin, has_eat;
};

/* Lines of a method in Inlined.java. */
static const struct {
	const char *name;
	unsigned int first, last;
} method_lines[] = {
	{ "LInlined;::third(I)I", 59, 59 },	{ "LInlined;::second(I)I", 63, 63 },
	{ "LInlined;::first(I)I", 67, 67 },	{ "LInlined;::work(I)I", 71, 74 },
	{ "LInlined;::add(II)I", 78, 78 },	{ "LInlined;::mix(II)I", 82, 82 },
	{ "LInlined;::fold(II)I", 86, 86 },	{ "LInlined;::spin(I)I", 90, 93 },
	{ "LInlined$Sink1;::eat(I)I", 28, 31 }, { "LInlined$Sink2;::eat(I)I", 38, 41 },
	{ "LInlined$Sink3;::eat(I)I", 48, 51 },
};

/* "LInlined;::third(I)I@8 Inlined.java:59": is it a method of ours at one of its lines? */
static void check_frame(const char *frame, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(method_lines); i++) {
		size_t name_len = strlen(method_lines[i].name);
		char text[256];
		unsigned int line;
		int bci, end = 0;

		if (len <= name_len || strncmp(frame, method_lines[i].name, name_len) != 0 ||
		    frame[name_len] != '@')
			continue;
		assert_true(len - name_len < sizeof(text));
		memcpy(text, frame + name_len, len - name_len);
		text[len - name_len] = '\0';
		assert_int_equal(sscanf(text, "@%d Inlined.java:%u%n", &bci, &line, &end), 2);
		assert_int_equal(text[end], '\0');
		assert_in_range(line, method_lines[i].first, method_lines[i].last);
		assert_in_range(bci + 1, 0, 40);
		return;
	}
	fail_msg("not expected: %.*s", (int)len, frame);
}

static void check_chain(void *ctx, const struct exercise_blob *in, uint64_t pc, const char *chain)
{
	struct seen_chains *seen = ctx;

	(void)pc;
	/* main() is compiled too, and all of the above inlined into it. */
	if (strstr(in->name, "Inlined") == NULL || strstr(in->name, "Inlined.main"))
		return;
	for (const char *frame = chain; frame;) {
		const char *next = strstr(frame, " < ");

		check_frame(frame, next ? (size_t)(next - frame) : strlen(frame));
		if (!next)
			assert_int_equal(strncmp(frame, in->name, strlen(in->name)), 0);
		frame = next ? next + 3 : NULL;
	}
	seen->cnt++;
	seen->has_work |= strcmp(chain, "LInlined;::third(I)I@8 Inlined.java:59 < "
					"LInlined;::second(I)I@1 Inlined.java:63 < "
					"LInlined;::first(I)I@1 Inlined.java:67 < "
					"LInlined;::work(I)I@11 Inlined.java:73") == 0;
	seen->has_spin |= strncmp(chain, "LInlined;::add(II)I@", 20) == 0 &&
			  strstr(chain, " Inlined.java:78 < "
					"LInlined;::mix(II)I@2 Inlined.java:82 < "
					"LInlined;::fold(II)I@2 Inlined.java:86 < "
					"LInlined;::spin(I)I@11 Inlined.java:92") != NULL;
	seen->has_eat |= strncmp(chain, "LInlined$Sink", 13) == 0;
}

static void inlined_methods_and_their_lines_are_those_of_the_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jdks); i++) {
		struct seen_chains seen = { .cnt = 0 };
		struct exercise exercise = { .look_for = "Inlined",
					     .on_chain = check_chain,
					     .ctx = &seen };
		struct replay replay;

		replay_open(&replay, jdks[i].path);
		assert_int_equal(exercise_run(&exercise, &replay.mem, &replay.image.symbols), 0);
		assert_true(seen.has_work);
		assert_true(seen.has_spin);
		assert_true(seen.has_eat);
		assert_true(seen.cnt > 100);
		assert_true(exercise.scopes_cnt >= 5);
		assert_true(exercise.lines_cnt >= exercise.scopes_cnt);
		exercise_release(&exercise);
		replay_close(&replay);
	}
}

/* ---- golden ---- */

static void put_chain(void *ctx, const struct exercise_blob *in, uint64_t pc, const char *chain)
{
	(void)in;
	strbuf_printf(ctx, "chain %" PRIx64 " %s\n", pc, chain);
}

/* The first line in which they differ says more than both texts. */
static void assert_same_lines(const char *path, const char *got, const char *wanted)
{
	for (size_t line = 1; *got || *wanted; line++) {
		int got_len = (int)strcspn(got, "\n"), wanted_len = (int)strcspn(wanted, "\n");

		if (got_len != wanted_len || memcmp(got, wanted, (size_t)got_len) != 0)
			fail_msg("%s:%zu: \"%.*s\" and not \"%.*s\"", path, line, got_len, got,
				 wanted_len, wanted);
		got += got_len + (got[got_len] == '\n');
		wanted += wanted_len + (wanted[wanted_len] == '\n');
	}
}

/* As build/tests/tools/hotspot_image replay IMAGE 12 prints it. */
static void each_name_chain_and_line_is_the_golden_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jdks); i++) {
		__cleanup_strbuf struct strbuf got = STRBUF_INIT, wanted = STRBUF_INIT;
		struct exercise exercise = { .look_cnt = LOOK_CNT,
					     .look_for = "Inlined",
					     .on_chain = put_chain,
					     .ctx = &got };
		struct replay replay;
		char path[64];

		snprintf(path, sizeof(path), "%.*s.txt",
			 (int)(strlen(jdks[i].path) - strlen(".img.zst")), jdks[i].path);
		assert_int_equal(fs_read_file(AT_FDCWD, path, 1 << 20, &wanted), 0);
		replay_open(&replay, jdks[i].path);
		assert_int_equal(exercise_run(&exercise, &replay.mem, &replay.image.symbols), 0);
		for (size_t k = 0; k < exercise.blob_cnt; k++) {
			const struct hotspot_blob *blob = &exercise.blobs[k].blob;

			strbuf_printf(&got, "blob %" PRIx64 " %" PRIx64 " %s\n", blob->code_begin,
				      blob->code_end - blob->code_begin, exercise.blobs[k].name);
		}
		assert_same_lines(path, strbuf_str(&got), strbuf_str(&wanted));
		exercise_release(&exercise);
		replay_close(&replay);
	}
}

/* ---- damage ---- */

/* What an unfinished, torn or hostile JVM looks like. The answers check themselves. */
static void damaged_memory_is_survived_and_never_believed(void **state)
{
	const size_t rounds = 500 / sweep_step();
	unsigned int seed = 20260101;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jdks); i++) {
		size_t ok_cnt = 0, err_cnt = 0, fewer_cnt = 0, read_cnt = 1;
		struct replay replay;

		replay_open(&replay, jdks[i].path);
		for (size_t round = 0; round <= rounds; round++) {
			struct exercise exercise = { .look_cnt = 1, .look_for = "Inlined.work" };
			struct image_damage damages[8];
			size_t cnt = round ? 1 + (size_t)rand_r(&seed) % ARRAY_SIZE(damages) : 0;

			for (size_t k = 0; k < cnt; k++)
				damages[k] = (struct image_damage){
					.read_idx = (uint32_t)rand_r(&seed) % (uint32_t)read_cnt,
					.offset = (uint16_t)rand_r(&seed),
					.kind = (uint8_t)(rand_r(&seed) % IMAGE_DAMAGE_KIND_CNT),
					.is_lasting = rand_r(&seed) % 2,
					.value = rand_r(&seed) % 2 ?
							 rand_r(&seed) % 512 - 256 :
							 (int32_t)((uint32_t)rand_r(&seed) * 2u),
				};
			image_memory_reset(&replay.memory, damages, cnt);
			if (exercise_run(&exercise, &replay.mem, &replay.image.symbols) == 0)
				ok_cnt++;
			else
				err_cnt++;
			if (exercise.blob_cnt < jdks[i].blob_cnt)
				fewer_cnt++;
			if (round == 0)
				read_cnt = replay.memory.read_cnt;
			assert_true(replay.memory.read_cnt < 50 * read_cnt);
			exercise_release(&exercise);
		}
		/* Most damage costs some names, some costs all: neither is rare in so many rounds. */
		assert_true(ok_cnt > rounds / 10);
		assert_true(err_cnt > rounds / 50);
		assert_true(fewer_cnt > rounds / 10);
		replay_close(&replay);
	}
}

/* A process that dies at the nth read. */
static void a_jvm_that_dies_while_it_is_read_is_survived(void **state)
{
	struct exercise exercise = { .look_cnt = 1, .look_for = "Inlined.work" };
	struct replay replay;
	size_t all;

	(void)state;
	replay_open(&replay, jdks[2].path);
	assert_int_equal(exercise_run(&exercise, &replay.mem, &replay.image.symbols), 0);
	all = replay.memory.read_cnt;
	exercise_release(&exercise);
	for (size_t at = 0; at < all; at += 7 * sweep_step()) {
		struct image_damage dead = { .read_idx = (uint32_t)at,
					     .kind = IMAGE_DAMAGE_FAIL,
					     .is_lasting = true,
					     .value = 1 };
		struct exercise cut = { .look_cnt = 1, .look_for = "Inlined.work" };

		image_memory_reset(&replay.memory, &dead, 1);
		if (exercise_run(&cut, &replay.mem, &replay.image.symbols) == 0)
			assert_int_equal(cut.blob_cnt, jdks[2].blob_cnt); /* died after the walk */
		/* It is not asked on and on. */
		assert_true(replay.memory.read_cnt <= at + all / 10);
		exercise_release(&cut);
	}
	replay_close(&replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_in_the_code_cache_has_its_name),
		cmocka_unit_test(inlined_methods_and_their_lines_are_those_of_the_source),
		cmocka_unit_test(each_name_chain_and_line_is_the_golden_one),
		cmocka_unit_test(damaged_memory_is_survived_and_never_believed),
		cmocka_unit_test(a_jvm_that_dies_while_it_is_read_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
