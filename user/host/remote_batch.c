// SPDX-License-Identifier: Apache-2.0
/*
 * Pieces are grouped by the page they begin in, through a small hash table; a group is read as one
 * range from its lowest to its highest byte, into scratch memory, and dealt out from there. When a
 * group cannot be read (one of its pieces may reach into the next page) its pieces are tried one by
 * one, so that the result is that of reading each alone.
 */
#include "user/host/remote_batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT	12u
#define GROUP_MAX	256u
#define SLOT_CNT	1024u
#define CHUNK_PIECE_MAX 4096u
#define SHARED_MAX_LEN	512u /* longer pieces are groups of their own, without scratch */
#define GROUP_MAX_BYTES ((1u << PAGE_SHIFT) + SHARED_MAX_LEN)

struct group {
	uint64_t page;
	uint64_t begin;
	uint64_t end;
	const uint8_t *bytes; /* where `begin` was read to */
	uint32_t piece_cnt;
	bool is_alone; /* read in place */
};

struct remote_batch {
	const struct remote_mem *mem;
	struct group groups[GROUP_MAX];
	struct remote_piece reads[GROUP_MAX];
	size_t group_cnt;
	uint16_t slots[SLOT_CNT]; /* group + 1; 0 = free */
	uint16_t group_of[CHUNK_PIECE_MAX];
	uint8_t *scratch; /* GROUP_MAX * GROUP_MAX_BYTES; pages are touched as they are needed */
};

struct remote_batch *remote_batch__new(const struct remote_mem *mem)
{
	struct remote_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->mem = mem;
	batch->scratch = malloc((size_t)GROUP_MAX * GROUP_MAX_BYTES);
	if (!batch->scratch) {
		free(batch);
		return NULL;
	}
	return batch;
}

void remote_batch__free(struct remote_batch *batch)
{
	if (!batch)
		return;
	free(batch->scratch);
	free(batch);
}

/* ---- grouping ---- */

static bool piece_is_possible(const struct remote_piece *piece)
{
	uint64_t end;

	return !__builtin_add_overflow(piece->address, piece->len, &end);
}

/* The group of a page, made when new. NULL: no room for another one. */
static struct group *group_of_page(struct remote_batch *batch, uint64_t page)
{
	size_t slot = (size_t)(page * 0x9e3779b97f4a7c15ull >> 40) % SLOT_CNT;
	struct group *group;

	while (batch->slots[slot]) {
		group = &batch->groups[batch->slots[slot] - 1];
		if (group->page == page)
			return group;
		slot = (slot + 1) % SLOT_CNT;
	}
	if (batch->group_cnt == GROUP_MAX)
		return NULL;
	group = &batch->groups[batch->group_cnt++];
	*group = (struct group){ .page = page, .begin = UINT64_MAX };
	batch->slots[slot] = (uint16_t)batch->group_cnt;
	return group;
}

static struct group *group_alone(struct remote_batch *batch)
{
	if (batch->group_cnt == GROUP_MAX)
		return NULL;
	batch->groups[batch->group_cnt] = (struct group){ .begin = UINT64_MAX, .is_alone = true };
	return &batch->groups[batch->group_cnt++];
}

/* False: full, nothing was done. */
static bool piece_place(struct remote_batch *batch, const struct remote_piece *piece, size_t nth)
{
	struct group *group = piece->len > SHARED_MAX_LEN ?
				      group_alone(batch) :
				      group_of_page(batch, piece->address >> PAGE_SHIFT);

	if (!group)
		return false;
	if (piece->address < group->begin)
		group->begin = piece->address;
	if (piece->address + piece->len > group->end)
		group->end = piece->address + piece->len;
	group->piece_cnt++;
	if (group->is_alone)
		group->bytes = piece->out;
	batch->group_of[nth] = (uint16_t)(group - batch->groups);
	return true;
}

/* ---- reading ---- */

static int groups_read(struct remote_batch *batch)
{
	uint8_t *at = batch->scratch;

	for (size_t i = 0; i < batch->group_cnt; i++) {
		struct group *group = &batch->groups[i];
		size_t len = (size_t)(group->end - group->begin);

		if (!group->is_alone) {
			group->bytes = at;
			at += len;
		}
		batch->reads[i] = (struct remote_piece){ .address = group->begin,
							 .out = (void *)group->bytes,
							 .len = (uint32_t)len };
	}
	return remote_mem_read_pieces(batch->mem, batch->reads, batch->group_cnt);
}

static bool piece_is_wanted(const struct remote_piece *piece)
{
	return piece->len && piece_is_possible(piece);
}

/* Gives pieces [0, cnt) the bytes that were read for their groups. */
static int pieces_deal(struct remote_batch *batch, struct remote_piece *pieces, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct remote_piece *piece = &pieces[i];
		const struct group *group = &batch->groups[batch->group_of[i]];

		if (!piece_is_wanted(piece))
			continue;
		piece->err = batch->reads[batch->group_of[i]].err;
		if (piece->err && group->piece_cnt > 1)
			piece->err =
				remote_mem_read(batch->mem, piece->address, piece->out, piece->len);
		else if (!piece->err && !group->is_alone)
			memcpy(piece->out, group->bytes + (piece->address - group->begin),
			       piece->len);
		if (piece->err && !remote_mem_error_is_local(piece->err))
			return piece->err;
	}
	return 0;
}

/* Reads the pieces from the front on that fit; *done_out says how many. */
static int chunk_read(struct remote_batch *batch, struct remote_piece *pieces, size_t cnt,
		      size_t *done_out)
{
	size_t done = 0;
	int err;

	batch->group_cnt = 0;
	memset(batch->slots, 0, sizeof(batch->slots));
	while (done < cnt && done < CHUNK_PIECE_MAX) {
		struct remote_piece *piece = &pieces[done];

		piece->err = piece->len && !piece_is_possible(piece) ? -EFAULT : 0;
		if (piece_is_wanted(piece) && !piece_place(batch, piece, done))
			break;
		done++;
	}
	err = groups_read(batch);
	if (!err)
		err = pieces_deal(batch, pieces, done);
	*done_out = done;
	return err;
}

int remote_batch__read(struct remote_batch *batch, struct remote_piece *pieces, size_t cnt)
{
	while (cnt) {
		size_t done;
		int err = chunk_read(batch, pieces, cnt, &done);

		if (err) {
			for (size_t i = 0; i < cnt; i++)
				pieces[i].err = err;
			return err;
		}
		pieces += done;
		cnt -= done;
	}
	return 0;
}
