/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that HotSpot exports for debuggers: which C++ types and fields it has and where they
 * lie (src/hotspot/share/runtime/vmStructs.hpp). Read once per JVM from its memory
 * and then asked by name. Presence decides, never a version number.
 *
 * In: the JVM's memory, and where in it the tables are. Out: fields, offsets and addresses by name, borrowed.
 * A hotspot_vm owns them.
 */
#ifndef JBPF_HOTSPOT_VM_STRUCTS_H
#define JBPF_HOTSPOT_VM_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/libjvm.h"
#include "user/host/remote_mem.h"

struct vm_field {
	const char *type;	 /* "JVMFlag" */
	const char *name;	 /* "_name" */
	const char *type_string; /* "const char*"; "" when the VM gives none */
	bool is_static;
	uint64_t offset;  /* in the object; of static fields 0 */
	uint64_t address; /* of a static field; else 0 */
};

struct vm_structs;

/*
 * 0; -EAGAIN: the tables are still empty (JVM starting); -ENOTSUP: a layout that is not
 * understood; -ENOMEM; or the error of reading memory.
 */
__must_check int vm_structs__read(const struct remote_mem *mem, const struct vm_symbols *symbols,
				  struct vm_structs **out);
void vm_structs__free(struct vm_structs *structs); /* NULL is fine */

/* NULL when this VM has no such field. Borrowed until vm_structs__free(). */
const struct vm_field *vm_structs__field(const struct vm_structs *structs, const char *type,
					 const char *name);
/* Offset of a field of objects, address of a static field. 0 or -ENOENT. */
__must_check int vm_structs__offset(const struct vm_structs *structs, const char *type,
				    const char *name, uint64_t *out);
__must_check int vm_structs__static_address(const struct vm_structs *structs, const char *type,
					    const char *name, uint64_t *out);
/* sizeof(type). 0 or -ENOENT. */
__must_check int vm_structs__type_size(const struct vm_structs *structs, const char *type,
				       uint64_t *out);

#endif
