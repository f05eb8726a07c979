/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of one mapping with HotSpot's tables in it, made by tests. Include it behind cmocka.h.
 */
#ifndef JBPF_TESTS_FAKE_TABLES_H
#define JBPF_TESTS_FAKE_TABLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "user/host/remote_mem.h"
#include "symbols/hotspot/vm_structs.h"
#include "user/util/cleanup.h"

#define MEMORY_BASE  0x7f0000010000ull
#define MEMORY_BYTES (96u * 4096u)
#define FIELD_MAX    128u
#define TYPE_MAX     32u
#define STRIDE	     48u
#define TYPE_STRIDE  40u

/* A process of one mapping. Bytes are handed out from the front. */
struct fake_vm {
	uint8_t bytes[MEMORY_BYTES];
	size_t used;
	struct remote_mem mem;
	struct vm_symbols symbols;
	size_t structs_at, types_at; /* where the next entry goes */
	/* Called before each read; may change memory. */
	void (*hook)(struct fake_vm *vm, uint64_t address, size_t len);
	void *hook_ctx;
	size_t read_cnt;
};

static inline int fake_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	struct fake_vm *vm = (struct fake_vm *)mem->ctx;

	vm->read_cnt++;
	if (vm->hook)
		vm->hook(vm, address, len);
	if (address < MEMORY_BASE || address - MEMORY_BASE > MEMORY_BYTES ||
	    len > MEMORY_BYTES - (address - MEMORY_BASE))
		return -EFAULT;
	memcpy(out, vm->bytes + (address - MEMORY_BASE), len);
	return 0;
}

static inline uint64_t take(struct fake_vm *vm, size_t bytes)
{
	size_t at = vm->used;

	vm->used = (at + bytes + 7) & ~(size_t)7;
	assert_true(vm->used <= MEMORY_BYTES);
	return MEMORY_BASE + at;
}

static inline void poke(struct fake_vm *vm, uint64_t address, uint64_t value, size_t size)
{
	memcpy(vm->bytes + (address - MEMORY_BASE), &value, size);
}

static inline uint64_t put(struct fake_vm *vm, uint64_t value)
{
	uint64_t address = take(vm, 8);

	poke(vm, address, value, 8);
	return address;
}

static inline uint64_t put_string(struct fake_vm *vm, const char *text)
{
	uint64_t address = take(vm, strlen(text) + 1);

	memcpy(vm->bytes + (address - MEMORY_BASE), text, strlen(text) + 1);
	return address;
}

static inline void add_field(struct fake_vm *vm, const char *type, const char *name,
			     const char *type_string, bool is_static, uint64_t offset_or_address)
{
	uint64_t entry = MEMORY_BASE + vm->structs_at;

	poke(vm, entry, put_string(vm, type), 8);
	poke(vm, entry + 8, put_string(vm, name), 8);
	poke(vm, entry + 16, type_string ? put_string(vm, type_string) : 0, 8);
	poke(vm, entry + 24, is_static, 4);
	poke(vm, entry + (is_static ? 40 : 32), offset_or_address, 8);
	vm->structs_at += STRIDE;
}

static inline void add_type(struct fake_vm *vm, const char *name, uint64_t size)
{
	uint64_t entry = MEMORY_BASE + vm->types_at;

	poke(vm, entry, put_string(vm, name), 8);
	poke(vm, entry + 32, size, 8);
	vm->types_at += TYPE_STRIDE;
}

/* An empty VM: symbols, layout variables, room for FIELD_MAX fields and TYPE_MAX types. */
static inline void fake_init(struct fake_vm *vm)
{
	static const struct {
		enum vm_symbol symbol;
		uint64_t value;
	} layout[] = {
		{ VM_SYMBOL_STRUCT_TYPE_NAME, 0 },    { VM_SYMBOL_STRUCT_FIELD_NAME, 8 },
		{ VM_SYMBOL_STRUCT_TYPE_STRING, 16 }, { VM_SYMBOL_STRUCT_IS_STATIC, 24 },
		{ VM_SYMBOL_STRUCT_OFFSET, 32 },      { VM_SYMBOL_STRUCT_ADDRESS, 40 },
		{ VM_SYMBOL_STRUCT_STRIDE, STRIDE },  { VM_SYMBOL_TYPE_TYPE_NAME, 0 },
		{ VM_SYMBOL_TYPE_SIZE, 32 },	      { VM_SYMBOL_TYPE_STRIDE, TYPE_STRIDE },
	};
	uint64_t structs, types;

	memset(vm, 0, sizeof(*vm));
	vm->mem = (struct remote_mem){ .read = fake_read, .ctx = vm, .pid = 1 };
	for (size_t i = 0; i < ARRAY_SIZE(layout); i++)
		vm->symbols.addresses[layout[i].symbol] = put(vm, layout[i].value);
	structs = take(vm, FIELD_MAX * STRIDE);
	types = take(vm, TYPE_MAX * TYPE_STRIDE);
	vm->structs_at = structs - MEMORY_BASE;
	vm->types_at = types - MEMORY_BASE;
	vm->symbols.addresses[VM_SYMBOL_STRUCTS] = put(vm, structs);
	vm->symbols.addresses[VM_SYMBOL_TYPES] = put(vm, types);
}

#endif
