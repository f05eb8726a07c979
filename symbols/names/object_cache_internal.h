/* SPDX-License-Identifier: Apache-2.0 */
/* Of object_cache.h, for tests whose files may lie on a tmpfs or an overlay; nobody else includes this. */
#ifndef JBPF_NAMES_OBJECT_CACHE_INTERNAL_H
#define JBPF_NAMES_OBJECT_CACHE_INTERNAL_H

#include "symbols/names/object_cache.h"

/* From now on files of any device are everybody's. */
void object_cache__trust_all_devices(struct object_cache *cache) __no_null;

#endif
