/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of hotspot_scopes and hotspot_lines that need a layout and memory but no JVM: tests
 * run them on bytes of their own making. They cannot tell whether the nmethod is still the same;
 * that is what the functions of hotspot_scopes.h add.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_SCOPES_MEMORY_H
#define JBPF_HOTSPOT_HOTSPOT_SCOPES_MEMORY_H

#include "user/util/attributes.h"
#include "symbols/hotspot/hotspot_scopes.h"
#include "user/host/remote_mem.h"

/* As hotspot_scopes__read(), without -ENOTSUP. */
__must_check int hotspot_scopes_read_memory(const struct remote_mem *mem, bool excludes_zero,
					    const struct hotspot_blob *blob,
					    struct hotspot_scopes **out);

/* As hotspot_lines__read(). */
int hotspot_lines_read_memory(const struct remote_mem *mem, const struct hotspot_layout *layout,
			      uint64_t method, struct hotspot_lines **out);

#endif
