/* SPDX-License-Identifier: Apache-2.0 */
/* The part of hotspot_vm that needs no process: tests open it on memory of their own making. */
#ifndef JBPF_HOTSPOT_HOTSPOT_VM_MEMORY_H
#define JBPF_HOTSPOT_HOTSPOT_VM_MEMORY_H

#include "symbols/hotspot/hotspot_vm.h"
#include "user/host/remote_mem.h"
#include "symbols/hotspot/vm_structs.h"

/* As hotspot_vm__open(), for tables that were found already. `mem` is copied. */
int hotspot_vm__open_memory(const struct remote_mem *mem, const struct vm_symbols *symbols,
			    struct hotspot_vm **out);

#endif
