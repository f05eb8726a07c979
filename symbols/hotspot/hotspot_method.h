/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of methods of a running HotSpot, many at a time: Method -> ConstMethod -> ConstantPool ->
 * Symbols and Klass (src/hotspot/share/oops). Each step reads for all methods at once. What does not hold
 * together gives a method without a name.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_METHOD_H
#define JBPF_HOTSPOT_HOTSPOT_METHOD_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/hotspot_layout.h"
#include "user/host/remote_batch.h"
#include "user/util/strbuf.h"

struct hotspot_methods;

/* Room for `max` methods. Both arguments are borrowed. NULL only when memory is short. */
struct hotspot_methods *hotspot_methods__new(struct remote_batch *batch,
					     const struct hotspot_layout *layout, size_t max);
void hotspot_methods__free(struct hotspot_methods *methods); /* NULL is fine */

/* Forgets all methods. */
void hotspot_methods__clear(struct hotspot_methods *methods);
/* One more to be read; the same address twice is one. 0; -ENOSPC: `max` are there. */
__must_check int hotspot_methods__add(struct hotspot_methods *methods, uint64_t method,
				      size_t *idx_out);

/* Reads all that were added. 0, -ENOMEM, or nothing can be read any more (-ESRCH, -EPERM). */
__must_check int hotspot_methods__read(struct hotspot_methods *methods);
/*
 * Reads once more what led to the names, and takes the names of methods away where it changed.
 * A call for each method; not needed where something else proves that they live on. As
 * hotspot_methods__read().
 */
__must_check int hotspot_methods__read_again(struct hotspot_methods *methods);

/* Appends the name of method `idx`; *const_method_out may be NULL. 0; -EAGAIN: none; -ENOMEM. */
__must_check int hotspot_methods__name(const struct hotspot_methods *methods, size_t idx,
				       uint64_t *const_method_out, struct strbuf *out);

#endif
