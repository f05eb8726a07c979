// SPDX-License-Identifier: Apache-2.0
/* See unwind_feed.h. */
#include "user/collect/unwind_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/naming/naming_wire.h"
#include "user/collect/probe/probe_unwind.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/vec.h"

void unwind_feed_init(struct unwind_feed *feed, const struct sample_source *source,
		      struct namer_link *link)
{
	*feed = (struct unwind_feed){ .source = source, .link = link, .next_id = 1 };
}

void unwind_feed_release(struct unwind_feed *feed)
{
	free(feed->tables);
	*feed = (struct unwind_feed){ 0 };
}

/* What it does not hear makes it build nothing, or name tables that are not there: no wrong frames. */
static void say(const struct unwind_feed *feed, uint32_t kind, const struct iovec *parts,
		size_t part_cnt)
{
	if (namer_link__is_up(feed->link) &&
	    packet_stream_put(namer_link__stream(feed->link), kind, parts, part_cnt))
		pr_warn_limited("unwind: no memory to pass a packet on\n");
}

/* ---- tables ---- */

/* Where it is, or would be. */
static size_t table_at(const struct unwind_feed *feed, uint32_t id)
{
	size_t low = 0, high = feed->table_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (feed->tables[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* NULL when no entry has this id. */
static struct unwind_feed_table *table_find(const struct unwind_feed *feed, uint32_t id)
{
	size_t at = table_at(feed, id);

	return at < feed->table_cnt && feed->tables[at].id == id ? &feed->tables[at] : NULL;
}

static int table_insert(struct unwind_feed *feed, const struct unwind_feed_table *table)
{
	size_t at = table_at(feed, table->id);

	if (vec_room(feed->tables, feed->table_cnt, feed->table_cap, 64))
		return -ENOMEM;
	memmove(&feed->tables[at + 1], &feed->tables[at],
		(feed->table_cnt - at) * sizeof(feed->tables[0]));
	feed->tables[at] = *table;
	feed->table_cnt++;
	feed->chunk_cnt += table->chunk_cnt;
	return 0;
}

static void table_leave(struct unwind_feed *feed, struct unwind_feed_table *table)
{
	feed->left_cnt += !table->is_left;
	table->is_left = true;
}

static void drop_left(struct unwind_feed *feed)
{
	const struct sample_source *source = feed->source;
	size_t kept = 0;

	for (size_t i = 0; i < feed->table_cnt && feed->left_cnt; i++) {
		const struct unwind_feed_table table = feed->tables[i];

		if (!table.is_left) {
			feed->tables[kept++] = table;
			continue;
		}
		source->ops->drop_unwind_table(source->probe, table.id);
		feed->chunk_cnt -= table.chunk_cnt;
	}
	if (feed->left_cnt)
		feed->table_cnt = kept;
	feed->left_cnt = 0;
}

bool unwind_feed_is_on(const struct unwind_feed *feed)
{
	return feed->is_on;
}

void unwind_feed_end_window(struct unwind_feed *feed)
{
	drop_left(feed);
}

/* The namer counts it, and names it no more. */
static void refuse(const struct unwind_feed *feed, uint32_t id, int err)
{
	const struct naming_unwind_id refused = { .epoch = feed->epoch, .id = id };
	const struct iovec part = { (void *)(uintptr_t)&refused, sizeof(refused) };

	pr_debug("unwind: table %u not set: %s\n", id, errstr(err));
	say(feed, NAMING_UNWIND_REFUSED, &part, 1);
}

static int table_set(struct unwind_feed *feed, uint32_t id, const struct unwind_table *table)
{
	const struct sample_source *source = feed->source;
	uint32_t chunk_max = source->ops->unwind_chunks(source->probe);
	const struct unwind_feed_table entry = {
		.id = id,
		.page_cnt = table->page_cnt,
		.chunk_cnt = unwind_table_chunks(table),
	};
	int err;

	/* The namer has room since it left some; a walk that still is at these misses their rows. */
	if (entry.chunk_cnt > chunk_max - feed->chunk_cnt)
		drop_left(feed);
	if (entry.chunk_cnt > chunk_max - feed->chunk_cnt)
		return -ENOSPC;
	err = table_insert(feed, &entry);
	if (err)
		return err;
	err = source->ops->set_unwind_table(source->probe, id, table->words, table->word_cnt);
	if (err)
		table_leave(feed, table_find(feed, id));
	return err;
}

static void begin_anew(struct unwind_feed *feed);

int unwind_feed_take_table(struct unwind_feed *feed, const struct packet *packet)
{
	struct naming_unwind_id which;
	struct unwind_table table;
	int err = naming_unwind_table_read(packet->bytes, packet->len, &which, &table);

	if (err)
		return err;
	if (!feed->is_on || which.epoch != feed->epoch)
		return 0;
	/* One that was left is there for a while yet; none comes back so soon. */
	if (table_find(feed, which.id))
		return -EBADMSG;
	feed->next_id = which.id < JBPF_UNWIND_MAX_TABLE ? which.id + 1 : 1;
	err = table_set(feed, which.id, &table);
	if (err)
		refuse(feed, which.id, err);
	if (which.id == JBPF_UNWIND_MAX_TABLE)
		begin_anew(feed);
	return 0;
}

int unwind_feed_take_drop(struct unwind_feed *feed, const struct packet *packet)
{
	const struct naming_unwind_id *which = packet->bytes;
	struct unwind_feed_table *table = table_find(feed, which->id);

	if (feed->is_on && which->epoch == feed->epoch && table)
		table_leave(feed, table);
	return 0;
}

/* ---- spaces ---- */

/* Tables that the kernel did not take are named by spaces that were under way: these lack a rule. */
static int take_tables(const struct unwind_feed *feed, struct jbpf_space *space)
{
	for (uint32_t i = 0; i < space->mapping_cnt; i++) {
		struct jbpf_mapping *mapping = &space->mappings[i];
		const struct unwind_feed_table *table = table_find(feed, mapping->table);

		if (!table || table->is_left) {
			mapping->table = 0;
			mapping->page = 0;
		} else if (mapping->page >= table->page_cnt ||
			   mapping->page_cnt > table->page_cnt - mapping->page) {
			return -EBADMSG;
		}
	}
	return 0;
}

int unwind_feed_take_space(struct unwind_feed *feed, const struct packet *packet)
{
	const struct sample_source *source = feed->source;
	const struct naming_space *said = packet->bytes;
	struct jbpf_space space = said->space;
	int err;

	if (!probe_unwind_space_is_valid(&space) || !said->pid)
		return -EBADMSG;
	if (!feed->is_on || said->epoch != feed->epoch)
		return 0;
	err = take_tables(feed, &space);
	if (err)
		return err;
	err = source->ops->set_space(source->probe, said->pid, said->account, &space);
	if (!err)
		return 0;
	pr_debug("process %u: mappings not set: %s\n", said->pid, errstr(err));
	return 0;
}

/* ---- namers that begin ---- */

/* Spaces first: what is left of tables nobody names then. */
static void forget_all(struct unwind_feed *feed)
{
	if (!feed->is_on)
		return;
	feed->source->ops->drop_spaces(feed->source->probe);
	for (size_t i = 0; i < feed->table_cnt; i++)
		table_leave(feed, &feed->tables[i]);
}

/* Those that the namer may name. */
static size_t list_tables(const struct unwind_feed *feed, uint32_t *ids)
{
	size_t cnt = 0;

	for (size_t i = 0; i < feed->table_cnt; i++)
		if (!feed->tables[i].is_left)
			ids[cnt++] = feed->tables[i].id;
	return cnt;
}

void unwind_feed_begin(struct unwind_feed *feed, enum unwind_mode mode, enum unwind_feed_namer who)
{
	const struct sample_source *source = feed->source;
	__cleanup_free uint32_t *ids = calloc(feed->table_cnt + 1, sizeof(*ids));
	struct naming_unwind head = { .next_id = feed->next_id };

	/* Without memory for the ids it begins from nothing. */
	if (mode != UNWIND_MODE_AUTO || who == UNWIND_FEED_NEW_NAMER || !ids)
		forget_all(feed);
	if (mode == UNWIND_MODE_AUTO)
		head.chunk_max = source->ops->unwind_chunks(source->probe);
	feed->is_on = head.chunk_max > 0;
	head.epoch = ++feed->epoch;
	head.id_cnt = ids ? (uint32_t)list_tables(feed, ids) : 0;

	const struct iovec parts[] = { { &head, sizeof(head) },
				       { ids, head.id_cnt * sizeof(*ids) } };

	say(feed, NAMING_UNWIND, parts, ARRAY_SIZE(parts));
}

/*
 * Ids come round. The namer forgets processes that were idle for some windows, and does not tell them
 * when a table goes: their spaces may name any id. None of those is left when the first one names
 * another content, nor a table of that id; the namer, which is told now, makes it after that.
 */
static void begin_anew(struct unwind_feed *feed)
{
	unwind_feed_begin(feed, UNWIND_MODE_AUTO, UNWIND_FEED_NEW_NAMER);
	drop_left(feed);
}
