// SPDX-License-Identifier: Apache-2.0
/*
 * HotSpot's tables for debuggers in memory of any bytes: a process that only calls its library
 * libjvm.so. Reading ends, with bounded memory; every field that is there is found by its names; and
 * the texts lie in the memory that was read. fuzz_hotspot damages the memory of real JVMs instead.
 *
 * Input: 12 symbols as offsets (2 bytes each), then the memory, which repeats from BASE on.
 */
#include "symbols/vm_structs.h"
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
		fuzz_must(remote_mem_read_uint(mem, symbols->addresses[i], 8, &values[i]) == 0);
	for (size_t i = 0; i < FIELDS_MAX; i++) {
		uint64_t entry = values[VM_SYMBOL_STRUCTS] + i * values[VM_SYMBOL_STRUCT_STRIDE];
		uint64_t type_at, name_at = 0;
		char type[600] = "", name[600] = "";
		const struct vm_field *field;

		if (remote_mem_read_uint(mem, entry + values[VM_SYMBOL_STRUCT_TYPE_NAME], 8,
					 &type_at) ||
		    !type_at)
			return;
		fuzz_must(remote_mem_read_uint(mem, entry + values[VM_SYMBOL_STRUCT_FIELD_NAME], 8,
					       &name_at) == 0);
		fuzz_must(remote_mem_read_some(mem, type_at, type, sizeof(type) - 1) > 0);
		if (name_at)
			fuzz_must(remote_mem_read_some(mem, name_at, name, sizeof(name) - 1) > 0);
		field = vm_structs__field(structs, type, name);
		fuzz_must(field && strcmp(field->type, type) == 0 &&
			  strcmp(field->name, name) == 0);
		fuzz_must(field->is_static ? !field->offset : !field->address);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };
	struct vm_symbols symbols;
	struct vm_structs *structs = NULL;
	struct memory memory;
	struct remote_mem mem = { .read = memory_read, .ctx = &memory, .pid = 1 };
	uint64_t value;
	int err;

	for (int i = 0; i < VM_SYMBOL_CNT; i++) {
		value = fuzz_uint(&input, 2);
		symbols.addresses[i] = value ? BASE + value : 0;
	}
	memory = (struct memory){ .bytes = input.at, .len = input.left };
	err = vm_structs__read(&mem, &symbols, &structs);
	fuzz_must(memory.read_cnt <= READS_MAX && memory.read_bytes <= BYTES_MAX);
	fuzz_must(err == 0 || err == -EAGAIN || err == -ENOTSUP || err == -EFAULT);
	if (err)
		return 0;
	check_fields(structs, &symbols, &mem);
	(void)vm_structs__offset(structs, "Method", "_constMethod", &value);
	(void)vm_structs__static_address(structs, "CodeCache", "_heaps", &value);
	(void)vm_structs__type_size(structs, "Method", &value);
	vm_structs__free(structs);
	return 0;
}
