/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM that tests of the reader look at, and a way to change it while it is read. */
#ifndef JBPF_TESTS_FAKE_SCENE_H
#define JBPF_TESTS_FAKE_SCENE_H

#include "tests/unit/symbols/hotspot/fake_jvm.h"

#define SCENE_METHOD_NAME "Lcom/foo/Bar;::baz(ILjava/lang/String;)J"

/* One JVM at a time; large. */
static struct fake_jvm jvm;

/* What the standard JVM has. */
struct scene {
	struct fake_reader reader;
	struct fake_method method;
	uint64_t stub;	  /* block */
	uint64_t nmethod; /* block, 8 segments */
	uint64_t big;	  /* block, 300 segments: more than one hop */
	uint64_t native;  /* block, 8 segments */
};

static inline void scene_make(struct scene *scene, enum fake_jdk jdk)
{
	fake_jvm_init(&jvm, jdk);
	scene->method = fake_method(&jvm, "com/foo/Bar", "baz", "(ILjava/lang/String;)J");
	scene->stub = fake_stub(&jvm, 0, 2, "StubRoutines (initialstubs)");
	scene->nmethod = fake_nmethod(&jvm, 0,
				      &(struct fake_nmethod){ .method = scene->method.method,
							      .compile_id = 41,
							      .level = 4,
							      .entry_bci = -1,
							      .segments = 8 });
	scene->big = fake_nmethod(&jvm, 0,
				  &(struct fake_nmethod){ .method = scene->method.method,
							  .compile_id = 42,
							  .level = 3,
							  .entry_bci = 7,
							  .segments = 300 });
	scene->native = fake_nmethod(&jvm, jvm.heap_cnt - 1,
				     &(struct fake_nmethod){ .method = scene->method.method,
							     .compile_id = 43,
							     .level = 0,
							     .entry_bci = -1,
							     .segments = 8 });
	scene->reader = fake_open(&jvm);
}

static inline void scene_free(struct scene *scene)
{
	fake_close(&scene->reader);
}

static inline struct hotspot_blob found(struct scene *scene, uint64_t pc)
{
	struct hotspot_blob blob;

	assert_int_equal(hotspot_code__find(scene->reader.code, pc, &blob), 0);
	return blob;
}

static inline int find_error(struct scene *scene, uint64_t pc)
{
	struct hotspot_blob blob = { .compile_id = -77 };
	int err = hotspot_code__find(scene->reader.code, pc, &blob);

	assert_int_equal(blob.compile_id, -77);
	return err;
}

/* Changes a field after the header was read for the first time. */
struct tear {
	uint64_t block;
	uint64_t at;
	uint64_t value;
	size_t size;
	size_t header_reads;
};

static inline void tear_hook(struct fake_vm *vm, uint64_t address, size_t len)
{
	struct tear *tear = vm->hook_ctx;

	if (address > tear->block || address + len <= tear->block)
		return;
	if (++tear->header_reads == 2)
		poke(vm, tear->at, tear->value, tear->size);
}

#endif
