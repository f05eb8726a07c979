// SPDX-License-Identifier: Apache-2.0
/*
 * Version and flags of a running HotSpot. Layers: remote_mem (bytes of the process), libjvm (where
 * the tables are), vm_structs (the tables), and here what is made of them. The flag table is read
 * once, at the first question; values are read each time.
 */
#include "symbols/hotspot/hotspot_vm.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_vm_memory.h"
#include "symbols/elf/libjvm.h"
#include "symbols/parser/parser.h"
#include "user/host/remote_mem.h"
#include "symbols/hotspot/vm_structs.h"
#include "user/util/cleanup.h"
#include "user/util/strtab.h"

#define LIBJVM_MAX	    8u /* files of that name in one process */
#define VERSION_MAX_BYTES   128u
#define FLAG_MAX_BYTES	    256u   /* sizeof(JVMFlag): 24 to 40 so far */
#define FLAG_MAX_CNT	    16384u /* about 1500 so far */
#define FLAG_NAME_MAX_BYTES 256u
#define FLAG_ORIGIN_MASK    15u

struct vm_flag {
	uint32_t name_id;
	uint64_t value_address;
	uint64_t flags_address;
};

struct hotspot_vm {
	struct remote_mem mem;
	struct vm_structs *structs;
	char version[VERSION_MAX_BYTES];
	int feature_version;
	struct strtab *flag_names; /* NULL until a flag was asked for; id = index in `flags` */
	struct vm_flag *flags;
	size_t flag_cnt;
};

/* ---- version ---- */

/* A printable string a static `const char*` points to; "" when it cannot be read. */
static void version_read(struct hotspot_vm *vm)
{
	uint64_t address, text_address;
	char text[VERSION_MAX_BYTES];
	ssize_t got, len = 0;

	if (vm_structs__static_address(vm->structs, "Abstract_VM_Version", "_s_vm_release",
				       &address) ||
	    remote_mem_read_uint(&vm->mem, address, 8, &text_address) || !text_address)
		return;
	got = remote_mem_read_some(&vm->mem, text_address, text, sizeof(text) - 1);
	while (len < got && text[len] >= ' ' && text[len] <= '~')
		len++;
	memcpy(vm->version, text, (size_t)len);
	vm->version[len] = '\0';
}

/* JDK_Version::_current._major (8 to 21): right for 8 too, whose VM calls itself 25. */
static int feature_from_jdk_version(const struct hotspot_vm *vm)
{
	const struct vm_field *major = vm_structs__field(vm->structs, "JDK_Version", "_major");
	uint64_t current, size, value;

	if (!major || major->is_static ||
	    vm_structs__static_address(vm->structs, "JDK_Version", "_current", &current))
		return 0;
	if (vm_structs__type_size(vm->structs, major->type_string, &size))
		size = 1;
	if (remote_mem_read_uint(&vm->mem, current + major->offset, size, &value) || value > 255)
		return 0;
	return (int)value;
}

/* Without JDK_Version (22 on) the VM's own number is the JDK's. */
static int feature_from_vm_version(const struct hotspot_vm *vm)
{
	uint64_t address, value;

	if (vm_structs__static_address(vm->structs, "Abstract_VM_Version", "_vm_major_version",
				       &address) ||
	    remote_mem_read_uint(&vm->mem, address, 4, &value) || value > 255)
		return 0;
	return (int)value;
}

static int feature_read(const struct hotspot_vm *vm)
{
	if (vm_structs__field(vm->structs, "JDK_Version", "_current"))
		return feature_from_jdk_version(vm);
	return feature_from_vm_version(vm);
}

/* ---- flags ---- */

struct flag_layout {
	uint64_t array;
	uint64_t cnt;
	uint64_t stride;
	uint64_t name_offset;
	uint64_t value_offset;
	uint64_t flags_offset;
};

/* `class`: "JVMFlag", in JDK 8 "Flag". */
static int flag_layout_read(const struct hotspot_vm *vm, const char *class,
			    struct flag_layout *layout)
{
	const struct vm_structs *structs = vm->structs;
	uint64_t array_address, cnt_address;
	int err;

	if (vm_structs__static_address(structs, class, "flags", &array_address) ||
	    vm_structs__static_address(structs, class, "numFlags", &cnt_address) ||
	    vm_structs__type_size(structs, class, &layout->stride) ||
	    vm_structs__offset(structs, class, "_name", &layout->name_offset) ||
	    vm_structs__offset(structs, class, "_addr", &layout->value_offset) ||
	    vm_structs__offset(structs, class, "_flags", &layout->flags_offset))
		return -ENOTSUP;
	err = remote_mem_read_uint(&vm->mem, array_address, 8, &layout->array);
	if (!err)
		err = remote_mem_read_uint(&vm->mem, cnt_address, 8, &layout->cnt);
	if (err)
		return err;
	if (!layout->array || !layout->cnt)
		return -EAGAIN;
	if (layout->cnt > FLAG_MAX_CNT || layout->stride > FLAG_MAX_BYTES || layout->stride < 8 ||
	    layout->name_offset > layout->stride - 8 || layout->value_offset > layout->stride - 8 ||
	    layout->flags_offset > layout->stride - 4)
		return -ENOTSUP;
	return 0;
}

static uint64_t pointer_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static int flag_add(struct hotspot_vm *vm, struct remote_cache *cache,
		    const struct flag_layout *layout, const uint8_t *entry, uint64_t address)
{
	uint64_t name_address = pointer_at(entry + layout->name_offset);
	char name[FLAG_NAME_MAX_BYTES];
	uint32_t id;
	int err;

	if (!name_address) /* the array's end mark */
		return 0;
	err = remote_cache__string(cache, name_address, name, sizeof(name));
	if (err)
		return err == -ENAMETOOLONG ? -ENOTSUP : err;
	err = strtab__intern(vm->flag_names, name, strlen(name), &id);
	if (err)
		return err;
	if (id != vm->flag_cnt) /* a name for the second time */
		return 0;
	vm->flags[vm->flag_cnt++] = (struct vm_flag){
		.name_id = id,
		.value_address = pointer_at(entry + layout->value_offset),
		.flags_address = address + layout->flags_offset,
	};
	return 0;
}

static int flags_fill(struct hotspot_vm *vm, struct remote_cache *cache,
		      const struct flag_layout *layout)
{
	size_t bytes = (size_t)(layout->cnt * layout->stride);
	__cleanup_free uint8_t *array = malloc(bytes);
	int err;

	vm->flags = reallocarray(NULL, (size_t)layout->cnt, sizeof(*vm->flags));
	if (!array || !vm->flags)
		return -ENOMEM;
	err = remote_mem_read(&vm->mem, layout->array, array, bytes);
	for (size_t i = 0; i < layout->cnt && !err; i++)
		err = flag_add(vm, cache, layout, array + i * layout->stride,
			       layout->array + i * layout->stride);
	return err;
}

static void flags_drop(struct hotspot_vm *vm)
{
	strtab__free(vm->flag_names);
	vm->flag_names = NULL;
	free(vm->flags);
	vm->flags = NULL;
	vm->flag_cnt = 0;
}

static int flags_load(struct hotspot_vm *vm)
{
	struct remote_cache *cache;
	struct flag_layout layout;
	int err;

	if (vm->flag_names)
		return 0;
	err = flag_layout_read(vm, "JVMFlag", &layout);
	if (err == -ENOTSUP)
		err = flag_layout_read(vm, "Flag", &layout);
	if (err)
		return err;
	cache = remote_cache__new(&vm->mem);
	vm->flag_names = strtab__new();
	err = cache && vm->flag_names ? flags_fill(vm, cache, &layout) : -ENOMEM;
	remote_cache__free(cache);
	if (err)
		flags_drop(vm);
	return err;
}

int hotspot_vm__bool_flag(struct hotspot_vm *vm, const char *name, bool *value_out,
			  enum hotspot_flag_origin *origin_out)
{
	uint64_t value, flags;
	uint32_t id;
	int err = flags_load(vm);

	if (err)
		return err;
	id = strtab__find(vm->flag_names, name, strlen(name));
	if (id == STRTAB_NONE)
		return -ENOENT;
	err = remote_mem_read_uint(&vm->mem, vm->flags[id].value_address, 1, &value);
	if (!err)
		err = remote_mem_read_uint(&vm->mem, vm->flags[id].flags_address, 4, &flags);
	if (err)
		return err;
	if (value > 1) /* not a bool, or not a flag at all */
		return -EINVAL;
	*value_out = value == 1;
	if (origin_out)
		*origin_out = (enum hotspot_flag_origin)(flags & FLAG_ORIGIN_MASK);
	return 0;
}

/* ---- object ---- */

int hotspot_vm__open_memory(const struct remote_mem *mem, const struct vm_symbols *symbols,
			    struct hotspot_vm **out)
{
	struct hotspot_vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->mem = *mem;
	err = vm_structs__read(&vm->mem, symbols, &vm->structs);
	if (err) {
		hotspot_vm__free(vm);
		return err;
	}
	version_read(vm);
	vm->feature_version = feature_read(vm);
	*out = vm;
	return 0;
}

/*
 * Errors of finding and opening the file that say nothing of the JVM: the host is short of something,
 * the opener cannot be started, was killed, or waits for a server, or the mapping changed meanwhile.
 */
static int err_of_opening(int err)
{
	static const int passing[] = {
		-EBUSY, -ETIMEDOUT, -EIO, -EMFILE, -ENFILE, -ENOMEM, -ESTALE
	};

	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		if (err == passing[i])
			return -EBUSY;
	return err;
}

static int open_mapping(int proc_fd, uint32_t pid, struct parser *parser,
			const struct libjvm_mapping *mapping, struct hotspot_vm **out)
{
	struct remote_mem mem = remote_mem_of_process(proc_fd, pid);
	__cleanup_fd int fd = libjvm_open(proc_fd, pid, parser__opener(parser), mapping);
	struct vm_symbols symbols;
	int err = fd < 0 ? err_of_opening(fd) : parser__libjvm(parser, fd, mapping, &symbols);

	if (!err)
		err = hotspot_vm__open_memory(&mem, &symbols, out);
	if (!err)
		remote_mem_hold(&(*out)->mem);
	return err;
}

/*
 * Of several files of that name, the first one whose tables can be read; of the errors, one that
 * may pass wins.
 */
int hotspot_vm__open(int proc_fd, uint32_t pid, struct parser *parser, const struct procmap *known,
		     struct hotspot_vm **out)
{
	__cleanup_free struct libjvm_mapping *mappings = calloc(LIBJVM_MAX, sizeof(*mappings));
	int err, result = -ENOENT;
	size_t cnt;

	if (!mappings)
		return -EBUSY;
	err = libjvm_find_with(proc_fd, pid, known, mappings, LIBJVM_MAX, &cnt);
	if (err)
		return err_of_opening(err);
	for (size_t i = 0; i < cnt; i++) {
		err = open_mapping(proc_fd, pid, parser, &mappings[i], out);
		if (!err)
			return 0;
		if (result == -ENOENT || err == -EAGAIN)
			result = err;
	}
	return result;
}

void hotspot_vm__free(struct hotspot_vm *vm)
{
	if (!vm)
		return;
	remote_mem_release(&vm->mem);
	vm_structs__free(vm->structs);
	flags_drop(vm);
	free(vm);
}

const char *hotspot_vm__version(const struct hotspot_vm *vm)
{
	return vm->version;
}

int hotspot_vm__feature_version(const struct hotspot_vm *vm)
{
	return vm->feature_version;
}

const struct remote_mem *hotspot_vm__mem(const struct hotspot_vm *vm)
{
	return &vm->mem;
}

const struct vm_structs *hotspot_vm__structs(const struct hotspot_vm *vm)
{
	return vm->structs;
}
