// SPDX-License-Identifier: Apache-2.0
/*
 * See stack_table.h. Open addressing; the kernel's hashes are mixed and seeded, so their low bits
 * serve as they are. Entries leave only at the end of a window, when the slots are laid out again.
 */
#include "user/collect/probe/stack_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

#define STACK_TABLE_MIN_SLOTS 1024 /* power of two */

#define LEAF_WORDS     2
#define LEAF_ALL_WORDS (LEAF_WORDS + JBPF_LEAF_CODE_BYTES / sizeof(uint64_t))

struct stack_table_slot {
	uint64_t hash; /* 0 = free */
	struct stack_table_entry *entry;
};

struct stack_table {
	struct stack_table_options options;
	struct stack_table_slot *slots;
	size_t slot_cnt; /* power of two, at least a third of it free */
	size_t cnt;
	size_t entry_bytes;
	uint32_t window; /* the present one; the first is 1 */
	uint64_t *forget;
	size_t forget_cap;
};

struct stack_table *stack_table__new(const struct stack_table_options *options)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->options = *options;
	table->window = 1;
	table->slot_cnt = STACK_TABLE_MIN_SLOTS;
	table->slots = calloc(table->slot_cnt, sizeof(*table->slots));
	if (!table->slots) {
		free(table);
		return NULL;
	}
	return table;
}

void stack_table__free(struct stack_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->slot_cnt; i++)
		free(table->slots[i].entry);
	free(table->slots);
	free(table->forget);
	free(table);
}

/* Most stacks carry no leaf, and there are many: it has no place in those. */
static size_t entry_bytes(uint32_t frame_cnt, uint16_t flags)
{
	size_t words = frame_cnt + (flags ? LEAF_ALL_WORDS : 0);

	return sizeof(struct stack_table_entry) + words * sizeof(uint64_t);
}

static struct stack_table_slot *slot_of(struct stack_table_slot *slots, size_t slot_cnt,
					uint64_t hash)
{
	size_t at = hash & (slot_cnt - 1);

	while (slots[at].hash && slots[at].hash != hash)
		at = (at + 1) & (slot_cnt - 1);
	return &slots[at];
}

/* True if the entry can be freed: it left `seen` two windows ago and nobody asked for it since. */
static bool entry_is_dead(const struct stack_table *table, const struct stack_table_entry *entry)
{
	return entry->forgotten_window && entry->used_window <= entry->forgotten_window &&
	       table->window - entry->forgotten_window >= 2;
}

/* Moves living entries to a new array of slots; frees the dead. */
static int table_relayout(struct stack_table *table, size_t slot_cnt)
{
	struct stack_table_slot *slots = calloc(slot_cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->slot_cnt; i++) {
		struct stack_table_slot *slot = &table->slots[i];

		if (!slot->hash)
			continue;
		if (entry_is_dead(table, slot->entry)) {
			table->entry_bytes -=
				entry_bytes(slot->entry->frame_cnt, slot->entry->flags);
			table->cnt--;
			free(slot->entry);
			continue;
		}
		*slot_of(slots, slot_cnt, slot->hash) = *slot;
	}
	free(table->slots);
	table->slots = slots;
	table->slot_cnt = slot_cnt;
	return 0;
}

/* Slots for `cnt` entries: at most two thirds are used. */
static size_t slots_for(size_t cnt)
{
	size_t slot_cnt = STACK_TABLE_MIN_SLOTS;

	while (slot_cnt / 3 * 2 < cnt)
		slot_cnt *= 2;
	return slot_cnt;
}

static int record_parse(const void *record, size_t len, struct jbpf_stack *head)
{
	if (len < sizeof(*head))
		return -EINVAL;
	memcpy(head, record, sizeof(*head));
	if (!head->hash || !head->frame_cnt || head->frame_cnt > JBPF_MAX_DEPTH)
		return -EINVAL;
	if ((head->flags & JBPF_STACK_LEAF_GUESS_MASK) &&
	    jbpf_leaf_rule_of(head->flags) != JBPF_LEAF_RULE_GUESSED)
		return -EINVAL;
	/* The ring buffer rounds nothing: a record is as long as the program said. */
	if (len != sizeof(*head) + head->frame_cnt * sizeof(uint64_t))
		return -EINVAL;
	return 0;
}

static struct stack_table_entry *entry_new(const struct jbpf_stack *head, const void *words,
					   size_t bytes)
{
	struct stack_table_entry *entry = malloc(bytes);

	if (!entry)
		return NULL;
	entry->forgotten_window = 0;
	entry->frame_cnt = head->frame_cnt;
	entry->end = head->end;
	entry->flags = head->flags;
	memcpy(entry->ips, words, head->frame_cnt * sizeof(entry->ips[0]));
	if (head->flags) {
		uint64_t *leaf = &entry->ips[head->frame_cnt];

		memcpy(leaf, head->leaf_words, sizeof(head->leaf_words));
		memcpy(leaf + LEAF_WORDS, head->leaf_code, sizeof(head->leaf_code));
	}
	return entry;
}

int stack_table__add(struct stack_table *table, const void *record, size_t len)
{
	struct stack_table_slot *slot;
	struct jbpf_stack head;
	size_t bytes;
	int err = record_parse(record, len, &head);

	if (err)
		return err;
	slot = slot_of(table->slots, table->slot_cnt, head.hash);
	if (slot->hash) {
		slot->entry->used_window = table->window;
		slot->entry->forgotten_window = 0;
		return 0;
	}
	bytes = entry_bytes(head.frame_cnt, head.flags);
	if (stack_table__bytes(table) + bytes > table->options.max_bytes)
		return -ENOSPC;
	if (slots_for(table->cnt + 1) > table->slot_cnt) {
		err = table_relayout(table, slots_for(table->cnt + 1));
		if (err)
			return err;
		slot = slot_of(table->slots, table->slot_cnt, head.hash);
	}
	slot->entry = entry_new(&head, (const char *)record + sizeof(head), bytes);
	if (!slot->entry)
		return -ENOMEM;
	slot->entry->used_window = table->window;
	slot->hash = head.hash;
	table->cnt++;
	table->entry_bytes += bytes;
	return 0;
}

const uint64_t *stack_table_entry_leaf_words(const struct stack_table_entry *entry)
{
	return entry->flags & JBPF_STACK_LEAF_WORDS ? &entry->ips[entry->frame_cnt] : NULL;
}

const uint8_t *stack_table_entry_leaf_code(const struct stack_table_entry *entry)
{
	if (!(entry->flags & JBPF_STACK_LEAF_CODE))
		return NULL;
	return (const uint8_t *)&entry->ips[entry->frame_cnt + LEAF_WORDS];
}

const struct stack_table_entry *stack_table__find(const struct stack_table *table, uint64_t hash)
{
	return hash ? slot_of(table->slots, table->slot_cnt, hash)->entry : NULL;
}

const struct stack_table_entry *stack_table__use(struct stack_table *table, uint64_t hash)
{
	struct stack_table_entry *entry;

	if (!hash)
		return NULL;
	entry = slot_of(table->slots, table->slot_cnt, hash)->entry;
	if (entry)
		entry->used_window = table->window;
	return entry;
}

static bool is_under_pressure(const struct stack_table *table)
{
	return stack_table__bytes(table) > table->options.soft_bytes ||
	       (table->options.soft_cnt && table->cnt > table->options.soft_cnt);
}

int stack_table__end_window(struct stack_table *table, const uint64_t **forget_out,
			    size_t *forget_cnt_out)
{
	uint32_t idle_windows = table->options.idle_windows;
	size_t forget_cnt = 0, dead_cnt = 0;
	int err = 0;

	*forget_out = NULL;
	*forget_cnt_out = 0;
	if (is_under_pressure(table))
		idle_windows = 1;
	if (table->cnt > table->forget_cap) {
		uint64_t *forget = reallocarray(table->forget, table->cnt, sizeof(*forget));

		if (!forget) {
			table->window++;
			return -ENOMEM;
		}
		table->forget = forget;
		table->forget_cap = table->cnt;
	}
	for (size_t i = 0; i < table->slot_cnt; i++) {
		struct stack_table_slot *slot = &table->slots[i];

		if (!slot->hash)
			continue;
		if (entry_is_dead(table, slot->entry)) {
			dead_cnt++;
		} else if (table->window - slot->entry->used_window >= idle_windows &&
			   (!slot->entry->forgotten_window ||
			    slot->entry->used_window > slot->entry->forgotten_window)) {
			slot->entry->forgotten_window = table->window;
			table->forget[forget_cnt++] = slot->hash;
		}
	}
	if (dead_cnt)
		err = table_relayout(table, slots_for(table->cnt - dead_cnt));
	table->window++;
	*forget_out = table->forget;
	*forget_cnt_out = forget_cnt;
	/* Dead entries that could not be laid out again stay and are tried again. */
	return err == -ENOMEM && !forget_cnt ? err : 0;
}

size_t stack_table__count(const struct stack_table *table)
{
	return table->cnt;
}

size_t stack_table__bytes(const struct stack_table *table)
{
	return table->entry_bytes + table->slot_cnt * sizeof(*table->slots);
}
