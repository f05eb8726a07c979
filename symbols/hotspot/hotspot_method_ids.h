/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of addresses with a fixed bound: each gets the number 0, 1, 2, ... of its first sight. For
 * reading each object of a process once although many others point to it.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_METHOD_IDS_H
#define JBPF_HOTSPOT_HOTSPOT_METHOD_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/* Zero-initialise; end with address_ids_release(). */
struct address_ids {
	uint64_t *addresses; /* by number */
	size_t cnt;
	size_t max;
	uint32_t *slots; /* number + 1; 0 = free */
	size_t slot_cnt; /* a power of two */
	uint64_t seed;
};

/* 0 or -ENOMEM. */
__must_check int address_ids_init(struct address_ids *ids, size_t max);
void address_ids_release(struct address_ids *ids);
void address_ids_clear(struct address_ids *ids);
/* 0 or -ENOSPC. */
__must_check int address_ids_add(struct address_ids *ids, uint64_t address, size_t *id_out);

#endif
