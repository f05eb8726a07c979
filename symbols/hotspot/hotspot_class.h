/* SPDX-License-Identifier: Apache-2.0 */
/* The name of one class of a running HotSpot: Klass -> Symbol (src/hotspot/share/oops/klass.hpp, symbol.hpp). */
#ifndef JBPF_HOTSPOT_HOTSPOT_CLASS_H
#define JBPF_HOTSPOT_HOTSPOT_CLASS_H

#include <stdint.h>

#include "symbols/hotspot/hotspot_layout.h"
#include "user/host/remote_mem.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends its name in the JVM: "java/lang/String", "[[B". 0; -EAGAIN: what is there is no class; -ENOMEM, or as
 * remote_mem_read().
 */
__must_check int hotspot_class_name(const struct remote_mem *mem,
				    const struct hotspot_layout *layout, uint64_t klass,
				    struct strbuf *out);

#endif
