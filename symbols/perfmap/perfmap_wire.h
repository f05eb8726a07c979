/* SPDX-License-Identifier: Apache-2.0 */
/* A perf map as bytes, on its way from the parser process; see elf_symtab_wire.h. */
#ifndef JBPF_PERFMAP_PERFMAP_WIRE_H
#define JBPF_PERFMAP_PERFMAP_WIRE_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "symbols/perfmap/perfmap.h"
#include "user/util/wire_sink.h"

int perfmap__encode(const struct perfmap *map, const struct perfmap_stats *stats,
		    const struct wire_sink *sink);

/* 0; -EBADMSG when it is not one that perfmap__parse() could have made; -ENOMEM. */
__must_check int perfmap_decode(const void *bytes, size_t len, struct perfmap **out,
				struct perfmap_stats *stats);

#endif
