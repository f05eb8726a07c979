// SPDX-License-Identifier: Apache-2.0
/*
 * A process that pretends to be a JVM: run it as a copy named libjvm.so. It exports the tables by
 * which HotSpot describes itself to debuggers, and lies in them. Prints "READY", then works in
 * burn_as_jvm(), and for a part of the time in code without a name, as if it were JIT code.
 * Usage: libjvm.so KIND SECONDS PERCENT [FILE SERVER]
 *   endless   tables without an end
 *   loops     strings without an end, every pointer leads back to the tables
 *   numbers   all numbers as large as they get
 *   changing  other contents every millisecond
 *   stalling  memory that the kernel can hand out only after a user-space server says so, which it
 *             never does (userfaultfd): whoever reads it waits. Needs CAP_SYS_PTRACE.
 *   file      tables in FILE of a FUSE server (its pid: SERVER) that hangs from the moment they are
 *             there on
 *   empty     tables of nothing
 *   null      no tables: the exported addresses are 0, as in a JVM that is starting
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/countdown.h"

#define TABLE_BYTES (4u << 20)

/* As in vmStructs.hpp of JDK 8 to 25. */
struct struct_entry {
	const char *type_name;
	const char *field_name;
	const char *type_string;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

struct type_entry {
	const char *type_name;
	const char *superclass_name;
	int32_t is_oop_type;
	int32_t is_integer_type;
	int32_t is_unsigned;
	uint64_t size;
};

#define EXPORT __attribute__((visibility("default"))) extern

EXPORT void *gHotSpotVMStructs;
EXPORT uint64_t gHotSpotVMStructEntryTypeNameOffset, gHotSpotVMStructEntryFieldNameOffset,
	gHotSpotVMStructEntryTypeStringOffset, gHotSpotVMStructEntryIsStaticOffset,
	gHotSpotVMStructEntryOffsetOffset, gHotSpotVMStructEntryAddressOffset,
	gHotSpotVMStructEntryArrayStride;
EXPORT void *gHotSpotVMTypes;
EXPORT uint64_t gHotSpotVMTypeEntryTypeNameOffset, gHotSpotVMTypeEntrySizeOffset,
	gHotSpotVMTypeEntryArrayStride;

void *gHotSpotVMStructs;
uint64_t gHotSpotVMStructEntryTypeNameOffset = 0, gHotSpotVMStructEntryFieldNameOffset = 8,
	 gHotSpotVMStructEntryTypeStringOffset = 16, gHotSpotVMStructEntryIsStaticOffset = 24,
	 gHotSpotVMStructEntryOffsetOffset = 32, gHotSpotVMStructEntryAddressOffset = 40,
	 gHotSpotVMStructEntryArrayStride = sizeof(struct struct_entry);
void *gHotSpotVMTypes;
uint64_t gHotSpotVMTypeEntryTypeNameOffset = 0, gHotSpotVMTypeEntrySizeOffset = 32,
	 gHotSpotVMTypeEntryArrayStride = sizeof(struct type_entry);

static volatile double sink = 1.5;

/* What a reader needs first: with these it goes on to heaps, blobs and methods. */
static const struct {
	const char *type, *field, *type_string;
	int is_static;
} fields[] = {
	{ "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1 },
	{ "CodeCache", "_low_bound", "address", 1 },
	{ "CodeCache", "_high_bound", "address", 1 },
	{ "CodeHeap", "_memory", "VirtualSpace", 0 },
	{ "CodeHeap", "_segmap", "VirtualSpace", 0 },
	{ "CodeHeap", "_log2_segment_size", "int", 0 },
	{ "VirtualSpace", "_low_boundary", "char*", 0 },
	{ "VirtualSpace", "_high_boundary", "char*", 0 },
	{ "VirtualSpace", "_low", "char*", 0 },
	{ "VirtualSpace", "_high", "char*", 0 },
	{ "GenericGrowableArray", "_len", "int", 0 },
	{ "GrowableArrayBase", "_len", "int", 0 },
	{ "GrowableArray<int>", "_data", "int*", 0 },
	{ "HeapBlock", "_header", "HeapBlock::Header", 0 },
	{ "HeapBlock::Header", "_length", "size_t", 0 },
	{ "HeapBlock::Header", "_used", "bool", 0 },
	{ "CodeBlob", "_name", "const char*", 0 },
	{ "CodeBlob", "_size", "int", 0 },
	{ "CodeBlob", "_code_begin", "address", 0 },
	{ "CodeBlob", "_code_end", "address", 0 },
	{ "CodeBlob", "_frame_size", "int", 0 },
	{ "nmethod", "_method", "Method*", 0 },
	{ "CompiledMethod", "_method", "Method*", 0 },
	{ "Method", "_constMethod", "ConstMethod*", 0 },
	{ "ConstMethod", "_constants", "ConstantPool*", 0 },
	{ "ConstMethod", "_name_index", "u2", 0 },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", 0 },
	{ "Klass", "_name", "Symbol*", 0 },
	{ "Symbol", "_length", "u2", 0 },
	{ "Symbol", "_body[0]", "u1", 0 },
	{ "JVMFlag", "flags", "JVMFlag*", 1 },
	{ "JVMFlag", "numFlags", "size_t", 1 },
	{ "JVMFlag", "_name", "const char*", 0 },
	{ "JVMFlag", "_addr", "void*", 0 },
	{ "JVMFlag", "_flags", "int", 0 },
};

static const char *const types[] = { "CodeCache",
				     "CodeHeap",
				     "VirtualSpace",
				     "HeapBlock",
				     "CodeBlob",
				     "nmethod",
				     "CompiledMethod",
				     "Method",
				     "Klass",
				     "ConstMethod",
				     "ConstantPool",
				     "Symbol",
				     "JVMFlag",
				     "GrowableArray<int>",
				     "HeapBlock::Header" };

static void *pages(void)
{
	void *memory =
		mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* Tables that end as they should; every static field is at `statics`, all offsets are `offset`. */
static void fill_plausible(void *statics, uint64_t offset, uint64_t size)
{
	struct struct_entry *structs = pages();
	struct type_entry *type = pages();

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		structs[i] = (struct struct_entry){
			fields[i].type,	     fields[i].field, fields[i].type_string,
			fields[i].is_static, offset,	      statics
		};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		type[i] = (struct type_entry){ .type_name = types[i], .size = size };
	gHotSpotVMStructs = structs;
	gHotSpotVMTypes = type;
}

static void fill_endless(void)
{
	struct struct_entry *structs = pages();
	struct type_entry *type = pages();

	for (size_t i = 0; i < TABLE_BYTES / sizeof(*structs); i++)
		structs[i] = (struct struct_entry){ fields[i % 35].type,
						    fields[i % 35].field,
						    fields[i % 35].type_string,
						    1,
						    i,
						    structs };
	for (size_t i = 0; i < TABLE_BYTES / sizeof(*type); i++)
		type[i] = (struct type_entry){ .type_name = types[i % 15], .size = i };
	gHotSpotVMStructs = structs;
	gHotSpotVMTypes = type;
}

/* Every word points at a word that points at it. */
static void fill_loops(void)
{
	uint64_t *ring = pages();

	for (size_t i = 0; i < TABLE_BYTES / 8; i++)
		ring[i] = (uint64_t)(uintptr_t)(ring + (i + 1) % (TABLE_BYTES / 16));
	fill_plausible(ring, 8, 64);
}

static void fill_numbers(void)
{
	uint64_t *large = pages();

	memset(large, 0x7f, TABLE_BYTES);
	fill_plausible(large, INT64_MAX, UINT64_MAX);
}

static void *change(void *tables)
{
	uint64_t *words = tables;

	for (unsigned int seed = 1;; usleep(1000))
		for (size_t i = 0; i < 512; i++)
			words[i] = rand_r(&seed) % 4 ? (uint64_t)(uintptr_t)(words + i) :
						       (uint64_t)rand_r(&seed);
	return NULL;
}

static void fill_changing(void)
{
	void *words = pages();
	pthread_t thread;

	fill_plausible(words, 16, 128);
	if (pthread_create(&thread, NULL, change, words))
		abort();
}

static void fill_stalling(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *memory = pages();

	range.range.start = (uintptr_t)memory;
	range.range.len = TABLE_BYTES;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		perror("userfaultfd");
		exit(1);
	}
	/* `fd` stays open: nobody will answer. */
	gHotSpotVMStructs = memory;
	gHotSpotVMTypes = memory;
}

static void fill_file(const char *path, pid_t server)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, TABLE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);

	if (memory == MAP_FAILED || kill(server, SIGUSR1)) {
		perror(path);
		exit(1);
	}
	usleep(100000);
	gHotSpotVMStructs = memory;
	gHotSpotVMTypes = memory;
}

static void fill_null(void)
{
}

static void fill_empty(void)
{
	gHotSpotVMStructs = pages();
	gHotSpotVMTypes = pages();
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void burn_as_jvm(uint64_t until_ns)
{
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 20000; i++)
			sink = sink * 1.0000001 + 0.5;
}

/* Code without a name, which makes names of JIT code wanted. */
static countdown_fn make_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		abort();
	memcpy(code, countdown, sizeof(countdown));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		abort();
	__builtin___clear_cache((char *)code, (char *)code + sizeof(countdown));
	return (countdown_fn)(uintptr_t)code;
}

static void work(countdown_fn code, uint64_t percent)
{
	uint64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);

	burn_as_jvm(begin_ns + 4000000);
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < begin_ns + 5000000)
		code(100000);
	usleep((useconds_t)(5000 * (100 - percent) / percent));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fill)(void);
	} kinds[] = { { "endless", fill_endless },   { "loops", fill_loops },
		      { "numbers", fill_numbers },   { "changing", fill_changing },
		      { "stalling", fill_stalling }, { "empty", fill_empty },
		      { "null", fill_null },	     { "file", NULL } };
	const size_t kind_cnt = sizeof(kinds) / sizeof(kinds[0]);
	uint64_t seconds = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t percent = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	countdown_fn code;
	size_t kind = 0;

	while (argc > 3 && kind < kind_cnt && strcmp(kinds[kind].name, argv[1]) != 0)
		kind++;
	if (argc <= 3 || kind == kind_cnt || percent < 1 || percent > 100)
		return 2;
	code = make_code();
	if (kinds[kind].fill)
		kinds[kind].fill();
	else if (argc > 5)
		fill_file(argv[4], (pid_t)strtol(argv[5], NULL, 10));
	puts("READY");
	fflush(stdout);
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		work(code, percent);
	return 0;
}
