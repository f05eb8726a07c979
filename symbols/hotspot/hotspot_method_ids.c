// SPDX-License-Identifier: Apache-2.0
/* Open addressing, at most half full. */
#include "symbols/hotspot/hotspot_method_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/strtab.h"

int address_ids_init(struct address_ids *ids, size_t max)
{
	memset(ids, 0, sizeof(*ids));
	if (max > UINT32_MAX / 2)
		return -ENOMEM;
	ids->slot_cnt = 4;
	while (ids->slot_cnt < max * 2)
		ids->slot_cnt *= 2;
	ids->max = max;
	ids->seed = strtab_seed();
	ids->addresses = calloc(max ? max : 1, sizeof(*ids->addresses));
	ids->slots = calloc(ids->slot_cnt, sizeof(*ids->slots));
	return ids->addresses && ids->slots ? 0 : -ENOMEM;
}

void address_ids_release(struct address_ids *ids)
{
	free(ids->addresses);
	free(ids->slots);
	memset(ids, 0, sizeof(*ids));
}

void address_ids_clear(struct address_ids *ids)
{
	if (ids->cnt)
		memset(ids->slots, 0, ids->slot_cnt * sizeof(*ids->slots));
	ids->cnt = 0;
}

static size_t slot_of(const struct address_ids *ids, uint64_t address)
{
	return (size_t)strtab_hash_number(address, ids->seed) & (ids->slot_cnt - 1);
}

int address_ids_add(struct address_ids *ids, uint64_t address, size_t *id_out)
{
	size_t slot = slot_of(ids, address);

	while (ids->slots[slot]) {
		if (ids->addresses[ids->slots[slot] - 1] == address) {
			*id_out = ids->slots[slot] - 1;
			return 0;
		}
		slot = (slot + 1) & (ids->slot_cnt - 1);
	}
	if (ids->cnt == ids->max)
		return -ENOSPC;
	ids->addresses[ids->cnt] = address;
	*id_out = ids->cnt++;
	ids->slots[slot] = (uint32_t)ids->cnt;
	return 0;
}
