// SPDX-License-Identifier: Apache-2.0
/* See probe_unwind.h. */
#include "user/collect/probe/probe_unwind.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "user/collect/probe/probe.h"
#include "user/collect/probe/probe_host.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define SMALL_CHUNKS_MAX 512 /* 2 MiB, all taken at once */
#define SMALL_SPACES_MAX 512
#define PAGE_BYTES	 (1u << JBPF_UNWIND_PAGE_SHIFT)

int probe_unwind_shrink(struct bpf_map *chunks, struct bpf_map *spaces)
{
	int err = bpf_map__set_max_entries(chunks, SMALL_CHUNKS_MAX);

	pr_debug("probe: maps of unwind tables are allocated at once on this kernel\n");
	return err ? err : bpf_map__set_max_entries(spaces, SMALL_SPACES_MAX);
}

void probe_unwind_init(struct probe_unwind *unwind, const struct bpf_map *chunks,
		       const struct bpf_map *spaces)
{
	unwind->chunks_fd = bpf_map__fd(chunks);
	unwind->chunk_max = bpf_map__max_entries(chunks);
	unwind->spaces.map_fd = bpf_map__fd(spaces);
	unwind->spaces.max = bpf_map__max_entries(spaces);
	unwind->spaces.exec_id_at = offsetof(struct jbpf_space, exec_id);
}

static uint32_t chunk_key(uint32_t table_id, uint32_t number)
{
	return table_id << JBPF_UNWIND_CHUNK_BITS | number;
}

int probe_unwind_set_table(const struct probe_unwind *unwind, uint32_t table_id,
			   const uint32_t *words, uint32_t word_cnt)
{
	uint32_t chunk_cnt = (word_cnt + JBPF_UNWIND_CHUNK_WORDS - 1) / JBPF_UNWIND_CHUNK_WORDS;
	int err = 0;

	if (!table_id || table_id > JBPF_UNWIND_MAX_TABLE || !word_cnt ||
	    word_cnt > JBPF_UNWIND_MAX_WORDS)
		return -EINVAL;
	for (uint32_t i = 0; i < chunk_cnt && !err; i++) {
		uint32_t chunk[JBPF_UNWIND_CHUNK_WORDS] = { 0 };
		uint32_t left = word_cnt - i * JBPF_UNWIND_CHUNK_WORDS, key;

		if (left > JBPF_UNWIND_CHUNK_WORDS)
			left = JBPF_UNWIND_CHUNK_WORDS;
		memcpy(chunk, words + (size_t)i * JBPF_UNWIND_CHUNK_WORDS, left * sizeof(*words));
		key = chunk_key(table_id, i);
		err = probe_host_map_put(unwind->chunks_fd, &key, chunk);
	}
	if (!err)
		return 0;
	probe_unwind_drop_table(unwind, table_id);
	return err == -E2BIG ? -ENOSPC : err;
}

void probe_unwind_drop_table(const struct probe_unwind *unwind, uint32_t table_id)
{
	if (!table_id || table_id > JBPF_UNWIND_MAX_TABLE)
		return;
	for (uint32_t i = 0; i < 1u << JBPF_UNWIND_CHUNK_BITS; i++) {
		uint32_t key = chunk_key(table_id, i);

		if (bpf_map_delete_elem(unwind->chunks_fd, &key))
			break;
	}
}

static bool mapping_is_valid(const struct jbpf_mapping *mapping)
{
	if (mapping->flags & ~JBPF_MAPPING_KEEPS_FP || !mapping->page_cnt)
		return false;
	return mapping->table <= JBPF_UNWIND_MAX_TABLE && mapping->page < JBPF_UNWIND_MAX_WORDS &&
	       (!mapping->table || mapping->page_cnt <= JBPF_UNWIND_MAX_WORDS - mapping->page);
}

bool probe_unwind_space_is_valid(const struct jbpf_space *space)
{
	uint64_t end = 0;

	if (space->mapping_cnt > JBPF_SPACE_MAX_MAPPINGS || space->flags & ~JBPF_SPACE_IS_PARTIAL)
		return false;
	for (uint32_t i = 0; i < space->mapping_cnt; i++) {
		uint64_t start = space->start[i];

		if (start % PAGE_BYTES || start < end || start >= JBPF_USER_ADDRESS_END ||
		    !mapping_is_valid(&space->mappings[i]))
			return false;
		end = start + (uint64_t)space->mappings[i].page_cnt * PAGE_BYTES;
	}
	for (uint32_t i = space->mapping_cnt; i < JBPF_SPACE_MAX_MAPPINGS; i++) {
		if (space->start[i] != UINT64_MAX)
			return false;
	}
	return end <= JBPF_USER_ADDRESS_END;
}

int probe_unwind_set_space(struct probe_unwind *unwind, uint32_t pid, uint64_t account_id,
			   const struct jbpf_space *space)
{
	struct jbpf_space entry = *space;

	if (!probe_unwind_space_is_valid(space))
		return -EINVAL;
	if (!++unwind->generation)
		unwind->generation = 1;
	entry.generation = unwind->generation;
	return probe_lives_set(&unwind->spaces, pid, account_id, &entry);
}

/* ---- as a probe's ---- */

int probe__set_unwind_table(struct probe *probe, uint32_t table_id, const uint32_t *words,
			    uint32_t word_cnt)
{
	return probe_unwind_set_table(probe__unwind(probe), table_id, words, word_cnt);
}

void probe__drop_unwind_table(struct probe *probe, uint32_t table_id)
{
	probe_unwind_drop_table(probe__unwind(probe), table_id);
}

int probe__set_space(struct probe *probe, uint32_t pid, uint64_t account_id,
		     const struct jbpf_space *space)
{
	return probe_unwind_set_space(probe__unwind(probe), pid, account_id, space);
}

void probe__drop_spaces(struct probe *probe)
{
	probe_lives_drop_all(&probe__unwind(probe)->spaces);
}

uint32_t probe__unwind_chunks(const struct probe *probe)
{
	return probe__unwind(probe)->chunk_max;
}
