/* SPDX-License-Identifier: Apache-2.0 */
/* One scripted JVM and the questions that tests ask of it. */
#ifndef JBPF_TESTS_JIT_VM_FIXTURE_H
#define JBPF_TESTS_JIT_VM_FIXTURE_H

#include "tests/unit/fake_vm.h"
#include "tests/unit/parse_here.h"
#include "user/util/account.h"
#include "user/util/log.h"

#define A      (FAKE_STUBS + 0x0000) /* places for code */
#define B      (FAKE_STUBS + 0x1000)
#define C      (FAKE_STUBS + 0x2000)
#define LEN    0x400ull
#define AT     0x100ull /* a return address in there */
#define METHOD 0x800000001000ull

static struct fake_vm fake;
static struct name_table *names;
static struct jit_vm *vm;

static inline int vm_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	fake_vm_init(&fake);
	if (name_table__new(parser_here(), account_of_host(), &names) ||
	    jit_vm__new(&fake_vm_ops, &fake, names, &vm))
		return -1;
	fake_method(&fake, METHOD, "int Work.one(int)", "Work.java");
	fake_method(&fake, METHOD + 0x100, "int Work.two(int)", "Work.java");
	fake_method(&fake, METHOD + 0x200, "int Work.three(int)", "Other.java");
	return 0;
}

static inline int vm_remove(void **state)
{
	(void)state;
	jit_vm__free(vm);
	name_table__free(names);
	fake_vm_release(&fake);
	return fake.free_cnt != 1;
}

static inline struct fake_blob *put_code(uint64_t start, uint64_t method, int32_t compile_id)
{
	return fake_put(&fake, HOTSPOT_BLOB_NMETHOD, start, LEN, method, compile_id, 4);
}

/* A window begins. */
static inline uint64_t window_begins(void)
{
	return fake.now_ns++;
}

static inline void window_ends(void)
{
	assert_int_equal(jit_vm__refresh(vm), 0);
}

static inline int ask(const struct jit_vm_query *query, struct jit_vm_answer *out)
{
	return jit_vm__read_frames(vm, query, out);
}

static inline int prefetch(uint64_t word)
{
	struct jit_vm_query query = { .word = word, .mode = JIT_VM_PREFETCH };
	struct jit_vm_answer answer;

	return ask(&query, &answer);
}

/* What a return address is at the end of the window; "ambiguous", "unknown". */
static inline const char *name_at(uint64_t word, uint64_t since)
{
	struct jit_vm_query query = { .word = word, .since_boot_ns = since };
	struct jit_vm_answer answer;
	int err = ask(&query, &answer);

	if (err == -EXDEV)
		return "ambiguous";
	if (err == -ENOENT)
		return "unknown";
	assert_int_equal(err, 0);
	assert_int_equal(answer.cnt, 1);
	return name_table__text(names, answer.frames[0].name);
}

#define CHECK(word, since, name) assert_string_equal(name_at(word, since), name)

/* Of a stack whose samples are all of [since, until]. */
static inline const char *name_between(uint64_t word, uint64_t since, uint64_t until)
{
	struct jit_vm_query query = {
		.word = word,
		.since_boot_ns = since,
		.until_boot_ns = until,
	};
	struct jit_vm_answer answer;
	int err = ask(&query, &answer);

	if (err)
		return err == -EXDEV ? "ambiguous" : "unknown";
	return name_table__text(names, answer.frames[0].name);
}

static inline void round_passes(void)
{
	fake.now_ns += 1000000000;
	jit_vm__round(vm);
}

static inline size_t reads(void)
{
	return fake.find_cnt + fake.name_cnt + fake.scopes_cnt + fake.lines_cnt;
}

#endif
