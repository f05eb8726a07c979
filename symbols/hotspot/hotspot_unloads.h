/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many classes a HotSpot has unloaded: its own counter, java.cls.unloadedClasses, in the memory
 * that jstat reads (share/services/classLoadingService.cpp). It is increased before any memory of
 * the class is freed, by every collector of JDK 8 to 25: as long as it stays the same, no address
 * of a method goes over to the method of another class. (Old versions of methods of redefined classes
 * are freed without being counted; their memory stays with the same class loader.)
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_UNLOADS_H
#define JBPF_HOTSPOT_HOTSPOT_UNLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/host/remote_mem.h"
#include "symbols/hotspot/vm_structs.h"

/* Caller-owned; nothing to release. */
struct hotspot_unloads {
	uint64_t start_address; /* of PerfMemory::_start; 0 = this VM has none */
	uint64_t counter;	/* 0 = not found yet */
	uint64_t compiles;	/* where it counts compiled methods; 0 = not found (yet) */
	bool has_none;		/* not found: -XX:-UsePerfData, or a format of its own */
};

void hotspot_unloads_init(struct hotspot_unloads *unloads, const struct vm_structs *structs);

/*
 * The number, read now. 0; -EAGAIN: the JVM is starting; -ENOENT: this JVM has no such counter;
 * -errno of reading.
 */
__must_check int hotspot_unloads_read(struct hotspot_unloads *unloads, const struct remote_mem *mem,
				      uint64_t *out);

/*
 * How many methods it has compiled: sun.ci.totalCompiles, beside the other one, counted when the code
 * is there or a moment later (CompileBroker::collect_statistics() in share/compiler/compileBroker.cpp).
 * Wrappers of native methods and code that JVMCI installs by itself are not counted. 0; -ENOENT: not
 * found, or the number of unloaded classes was not read before; -errno of reading.
 */
__must_check int hotspot_compiles_read(const struct hotspot_unloads *unloads,
				       const struct remote_mem *mem, uint64_t *out);

#endif
