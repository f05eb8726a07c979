// SPDX-License-Identifier: Apache-2.0
/*
 * HotSpot's tables for debuggers in memory of any bytes: a process that only calls its library
 * libjvm.so. Reading ends, with bounded memory; every field that is there is found by its names; and
 * the texts lie in the memory that was read. fuzz_hotspot damages the memory of real JVMs instead.
 *
 * Likewise the counter of unloaded classes in memory like jstat's: where it is found, its name stands.
 *
 * Input: one byte (odd: jstat's memory), 12 symbols as offsets (2 bytes each, not for jstat), then the
 * memory, which repeats from BASE on.
 */
#include "symbols/hotspot/hotspot_unloads.h"
#include "symbols/hotspot/vm_structs.h"
#include "tests/fuzz/fuzz.h"

#define BASE	   0x7f0000000000ull
#define SPAN	   0x10000u /* what can be read, from BASE on */
#define BYTES_MAX  (64u << 20)
#define READS_MAX  200000u
#define FIELDS_MAX 64

struct memory {
	const uint8_t *bytes;
	size_t len;
	size_t read_cnt;
	size_t read_bytes;
};

static int memory_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	struct memory *memory = (struct memory *)mem->ctx;

	memory->read_cnt++;
	memory->read_bytes += len;
	if (!memory->len || address < BASE || address - BASE > SPAN ||
	    len > SPAN - (address - BASE))
		return -EFAULT;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = memory->bytes[(address - BASE + i) % memory->len];
	return 0;
}

/* What the entries say, read slowly. */
static void check_fields(const struct vm_structs *structs, const struct vm_symbols *symbols,
			 const struct remote_mem *mem)
{
	uint64_t values[VM_SYMBOL_CNT];

	for (int i = 0; i < VM_SYMBOL_CNT; i++)
		must(remote_mem_read_uint(mem, symbols->addresses[i], 8, &values[i]) == 0);
	for (size_t i = 0; i < FIELDS_MAX; i++) {
		uint64_t entry = values[VM_SYMBOL_STRUCTS] + i * values[VM_SYMBOL_STRUCT_STRIDE];
		uint64_t type_at, name_at = 0;
		char type[600] = "", name[600] = "";
		const struct vm_field *field;

		if (remote_mem_read_uint(mem, entry + values[VM_SYMBOL_STRUCT_TYPE_NAME], 8,
					 &type_at) ||
		    !type_at)
			return;
		must(remote_mem_read_uint(mem, entry + values[VM_SYMBOL_STRUCT_FIELD_NAME], 8,
					  &name_at) == 0);
		must(remote_mem_read_some(mem, type_at, type, sizeof(type) - 1) > 0);
		if (name_at)
			must(remote_mem_read_some(mem, name_at, name, sizeof(name) - 1) > 0);
		field = vm_structs__field(structs, type, name);
		must(field && strcmp(field->type, type) == 0 && strcmp(field->name, name) == 0);
		must(field->is_static ? !field->offset : !field->address);
	}
}

static uint64_t again_value(const struct remote_mem *mem, uint64_t address)
{
	uint64_t value;

	must(remote_mem_read_uint(mem, address, 8, &value) == 0);
	return value;
}

static bool find_repeated(const struct memory *memory, const char *text, size_t len)
{
	for (size_t from = 0; from < memory->len; from++) {
		size_t same = 0;

		while (same < len &&
		       memory->bytes[(from + same) % memory->len] == (uint8_t)text[same])
			same++;
		if (same == len)
			return true;
	}
	return false;
}

/* A pointer to the memory behind it lies first. */
static void check_unloads(struct memory *memory, const struct remote_mem *mem)
{
	static const char name[] = "java.cls.unloadedClasses";
	struct hotspot_unloads unloads = { .start_address = BASE };
	uint64_t start, value, again;
	int err = hotspot_unloads_read(&unloads, mem, &value);

	must(err == 0 || err == -EAGAIN || err == -ENOENT || err == -EFAULT);
	must(unloads.has_none == (err == -ENOENT) && memory->read_bytes <= 4 << 20);
	if (err)
		return;
	must(remote_mem_read_uint(mem, BASE, 8, &start) == 0);
	must(unloads.counter > start && unloads.counter - start < 1 << 20);
	must(unloads.counter % 8 == 0 && value == again_value(mem, unloads.counter));
	/* In memory that repeats, the name stands in any two turns of it. */
	must(find_repeated(memory, name, sizeof(name)));
	must(hotspot_unloads_read(&unloads, mem, &again) == 0 && again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };
	struct vm_symbols symbols;
	struct vm_structs *structs = NULL;
	struct memory memory;
	struct remote_mem mem = { .read = memory_read, .ctx = &memory, .pid = 1 };
	uint64_t value;
	bool is_jstat = fuzz_u8(&input) & 1;
	int err;

	for (int i = 0; i < VM_SYMBOL_CNT && !is_jstat; i++) {
		value = fuzz_uint(&input, 2);
		symbols.addresses[i] = value ? BASE + value : 0;
	}
	memory = (struct memory){ .bytes = input.at, .len = input.left };
	if (is_jstat) {
		check_unloads(&memory, &mem);
		return 0;
	}
	err = vm_structs__read(&mem, &symbols, &structs);
	must(memory.read_cnt <= READS_MAX && memory.read_bytes <= BYTES_MAX);
	must(err == 0 || err == -EAGAIN || err == -ENOTSUP || err == -EFAULT);
	if (err)
		return 0;
	check_fields(structs, &symbols, &mem);
	(void)vm_structs__offset(structs, "Method", "_constMethod", &value);
	(void)vm_structs__static_address(structs, "CodeCache", "_heaps", &value);
	(void)vm_structs__type_size(structs, "Method", &value);
	vm_structs__free(structs);
	return 0;
}
