/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a HotSpot JVM read from outside, through the tables that libjvm.so exports
 * (gHotSpotVMStructs and friends, src/hotspot/share/runtime/vmStructs.hpp) with
 * process_vm_readv. Touches nothing in the JVM. Decides by which fields exist, never by version.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_VM_H
#define JBPF_HOTSPOT_HOTSPOT_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/jvm_facts.h"

struct hotspot_vm;
struct parser;
struct procmap;
struct remote_mem;
struct vm_structs;

/*
 * Looks for libjvm.so in the process's maps, or for the file of the mapping `known` (NULL: none), has
 * `parser` find its symbols and reads the tables. 0; -ENOENT: no HotSpot in this process; -EAGAIN: the
 * tables are not filled yet (JVM starting), or the parser rests; -EBUSY: the file cannot be opened now;
 * -ENOTSUP: tables of a layout that is not understood; else -errno of reading (-EPERM, -ESRCH).
 */
__must_check int hotspot_vm__open(int proc_fd, uint32_t pid, struct parser *parser,
				  const struct procmap *known, struct hotspot_vm **out);
void hotspot_vm__free(struct hotspot_vm *vm); /* NULL is fine */

/* "17.0.15+6-Debian-1" as far as it can be read, "" when not. Lives as long as `vm`. */
const char *hotspot_vm__version(const struct hotspot_vm *vm);
/* Feature release (8, 11, 17, ...) or 0 when not known. */
int hotspot_vm__feature_version(const struct hotspot_vm *vm);

/* Its memory and its tables. They live as long as `vm`. */
const struct remote_mem *hotspot_vm__mem(const struct hotspot_vm *vm);
const struct vm_structs *hotspot_vm__structs(const struct hotspot_vm *vm);

/* Value of a bool flag such as "PreserveFramePointer", read now. 0, -ENOENT no such flag, -errno. */
__must_check int hotspot_vm__bool_flag(struct hotspot_vm *vm, const char *name, bool *value_out,
				       enum hotspot_flag_origin *origin_out);

#endif
