// SPDX-License-Identifier: Apache-2.0
/* See probe_ranges.h. */
#include "user/collect/probe/probe_ranges.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "user/collect/probe/probe.h"
#include "user/collect/probe/probe_host.h"
#include "user/util/cleanup.h"

#define BLOCK_MAX_BYTES	  8192u
#define SEGMENT_SHIFT_MAX 16u
#define KNOWN_FLAGS \
	(JBPF_HOTSPOT_HAS_FRAME_SIZES | JBPF_HOTSPOT_CODE_IS_OFFSET | JBPF_HOTSPOT_ENTRY_IS_OFFSET)

void probe_ranges_init(struct probe_lives *ranges, int map_fd)
{
	ranges->map_fd = map_fd;
	ranges->max = JBPF_CODE_RANGES_MAX;
	ranges->exec_id_at = offsetof(struct jbpf_code_range, exec_id);
}

static bool is_user_range(uint64_t low, uint64_t high)
{
	return low <= high && high <= JBPF_USER_ADDRESS_END;
}

int probe_ranges_set(struct probe_lives *ranges, uint32_t pid, uint64_t account_id,
		     const struct jbpf_code_range *range)
{
	if (range->pad0 || !is_user_range(range->code_low, range->code_high) ||
	    !is_user_range(range->interpreter_low, range->interpreter_high))
		return -EINVAL;
	return probe_lives_set(ranges, pid, account_id, range);
}

void probe_hotspots_init(struct probe_lives *hotspots, int map_fd)
{
	hotspots->map_fd = map_fd;
	hotspots->max = JBPF_HOTSPOTS_MAX;
	hotspots->exec_id_at = offsetof(struct jbpf_hotspot, exec_id);
}

static bool is_user_memory(uint64_t low, uint64_t len)
{
	return low <= JBPF_USER_ADDRESS_END && len <= JBPF_USER_ADDRESS_END - low;
}

static bool heap_is_valid(const struct jbpf_hotspot_heap *heap)
{
	return !heap->pad0 && heap->segment_shift <= SEGMENT_SHIFT_MAX &&
	       is_user_memory(heap->low, heap->len) &&
	       is_user_memory(heap->segmap, heap->len >> heap->segment_shift);
}

static bool field_is_valid(const struct jbpf_hotspot_field *field, uint32_t end)
{
	bool is_width = field->bits == 0 || field->bits == 8 || field->bits == 16 ||
			field->bits == 32 || field->bits == 64;

	return is_width && !field->pad0 && field->at + field->bits / 8u <= end;
}

bool probe_hotspot_is_valid(const struct jbpf_hotspot *hotspot)
{
	const struct jbpf_hotspot_field *const fields[] = {
		&hotspot->used,	      &hotspot->length,		&hotspot->header_size,
		&hotspot->frame_size, &hotspot->frame_complete, &hotspot->code,
	};

	if (hotspot->flags & ~KNOWN_FLAGS || hotspot->pad0 ||
	    !is_user_memory(hotspot->barrier_low, hotspot->barrier_len) ||
	    !field_is_valid(&hotspot->entry, BLOCK_MAX_BYTES) ||
	    !field_is_valid(&hotspot->entry_bci, BLOCK_MAX_BYTES))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!field_is_valid(fields[i], JBPF_HOTSPOT_HEADER_BYTES))
			return false;
	for (size_t i = 0; i < JBPF_HOTSPOT_HEAPS_MAX; i++)
		if (!heap_is_valid(&hotspot->heaps[i]))
			return false;
	return true;
}

int probe_hotspots_set(struct probe_lives *hotspots, uint32_t pid, uint64_t account_id,
		       const struct jbpf_hotspot *hotspot)
{
	if (!probe_hotspot_is_valid(hotspot))
		return -EINVAL;
	return probe_lives_set(hotspots, pid, account_id, hotspot);
}

/* ---- leafs ---- */

bool probe_leaf_is_valid(const struct jbpf_leaf_key *key, const struct jbpf_leaf_proof *proof)
{
	bool is_fp_known = proof->fp == JBPF_LEAF_FP_SAME ||
			   (proof->fp % 8 == 0 && proof->fp < JBPF_LEAF_RA_MAX);

	return key->pid && !key->pad0 && key->address < JBPF_USER_ADDRESS_END &&
	       proof->place <= JBPF_LEAF_CALLER_POPS && proof->ra < JBPF_LEAF_RA_MAX &&
	       proof->ra % 8 == 0 && proof->arguments % 8 == 0 && proof->saved_at % 8 == 0 &&
	       is_fp_known;
}

/* The next one of this account from the hand on; the account has one. */
static uint32_t old_of(struct probe_leafs *leafs, uint64_t account_id)
{
	uint32_t at;

	do {
		at = leafs->hand++ % leafs->cnt;
	} while (leafs->owners[at].account_id != account_id);
	return at;
}

int probe_leafs_place(struct probe_leafs *leafs, uint64_t account_id,
		      const struct jbpf_leaf_key *key)
{
	uint32_t mine = 0;

	for (uint32_t i = 0; i < leafs->cnt; i++) {
		if (memcmp(&leafs->owners[i].key, key, sizeof(*key)) == 0)
			return (int)i;
		mine += leafs->owners[i].account_id == account_id;
	}
	if (mine < JBPF_LEAF_RULES_MAX - leafs->cnt)
		return (int)leafs->cnt;
	return mine ? (int)old_of(leafs, account_id) : -EDQUOT;
}

int probe_leafs_set(struct probe_leafs *leafs, uint64_t account_id, const struct jbpf_leaf_key *key,
		    const struct jbpf_leaf_proof *proof)
{
	int at, err;

	if (!probe_leaf_is_valid(key, proof))
		return -EINVAL;
	at = probe_leafs_place(leafs, account_id, key);
	if (at < 0)
		return at;
	if ((uint32_t)at < leafs->cnt && memcmp(&leafs->owners[at].key, key, sizeof(*key)) != 0)
		(void)bpf_map_delete_elem(leafs->map_fd, &leafs->owners[at].key);
	err = probe_host_map_put(leafs->map_fd, key, proof);
	if (err)
		return err;
	leafs->owners[at] = (struct probe_leaf_owner){
		.key = *key,
		.account_id = account_id,
		.start_ns = proof->start_ns,
		.exec_id = proof->exec_id,
	};
	leafs->cnt += (uint32_t)at == leafs->cnt;
	return 0;
}

void probe_leafs_expire(struct probe_leafs *leafs, const struct jbpf_notice *notice)
{
	if (notice->kind != JBPF_NOTICE_EXEC && notice->kind != JBPF_NOTICE_EXIT)
		return;
	for (uint32_t i = leafs->cnt; i-- > 0;) {
		const struct probe_leaf_owner *owner = &leafs->owners[i];

		if (owner->key.pid != notice->pid ||
		    !probe_life_is_over(owner->start_ns, owner->exec_id, notice))
			continue;
		(void)bpf_map_delete_elem(leafs->map_fd, &owner->key);
		leafs->owners[i] = leafs->owners[--leafs->cnt];
	}
}

/* ---- all ---- */

void probe_jvms_init(struct probe_jvms *jvms, const struct bpf_map *ranges,
		     const struct bpf_map *hotspots, const struct bpf_map *leafs)
{
	jvms->leafs.map_fd = bpf_map__fd(leafs);
	probe_ranges_init(&jvms->ranges, bpf_map__fd(ranges));
	probe_hotspots_init(&jvms->hotspots, bpf_map__fd(hotspots));
}

void probe_jvms_expire(struct probe_jvms *jvms, const struct jbpf_notice *notice)
{
	probe_lives_expire(&jvms->ranges, notice);
	probe_lives_expire(&jvms->hotspots, notice);
	probe_leafs_expire(&jvms->leafs, notice);
}

void probe_jvms_end_window(struct probe_jvms *jvms)
{
	probe_lives_end_window(&jvms->ranges);
	probe_lives_end_window(&jvms->hotspots);
}

/* ---- of a probe ---- */

int probe__set_code_range(struct probe *probe, uint32_t pid, uint64_t account_id,
			  const struct jbpf_code_range *range)
{
	return probe_ranges_set(&probe__jvms(probe)->ranges, pid, account_id, range);
}

int probe__set_hotspot(struct probe *probe, uint32_t pid, uint64_t account_id,
		       const struct jbpf_hotspot *hotspot)
{
	return probe_hotspots_set(&probe__jvms(probe)->hotspots, pid, account_id, hotspot);
}

int probe__set_leaf_rule(struct probe *probe, uint64_t account_id, const struct jbpf_leaf_key *key,
			 const struct jbpf_leaf_proof *proof)
{
	return probe_leafs_set(&probe__jvms(probe)->leafs, account_id, key, proof);
}
