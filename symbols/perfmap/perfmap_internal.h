/* SPDX-License-Identifier: Apache-2.0 */
/* What a perf map is made of: for perfmap.c and perfmap_wire.c alone. */
#ifndef JBPF_PERFMAP_PERFMAP_INTERNAL_H
#define JBPF_PERFMAP_PERFMAP_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#define PERFMAP_MAX_NAME_BYTES (16u << 10) /* longer names: the line is rejected */

struct perfmap_range {
	uint64_t end;
	uint32_t name_offset; /* in perfmap.names; while building: index of the line */
	uint32_t name_len;
};

struct perfmap {
	uint64_t *starts; /* ascending; apart from `ranges` for the lookup's cache misses */
	struct perfmap_range *ranges;
	size_t range_cnt;
	char *names;
	size_t name_bytes;
};

#endif
