// SPDX-License-Identifier: Apache-2.0
/*
 * See sight_table.h. A hash table with chains; it grows with its contents. The run of the program
 * is hashed, too: a process that executes without end has thousands, which would share one chain.
 */
#include "user/collect/namer/sight_table.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_BUCKETS	 256u
#define IDLE_WINDOWS_MAX 8u /* longer than the namer keeps a silent process */

struct sight {
	struct sight *next;
	struct jbpf_notice notice; /* as JBPF_NOTICE_SEEN */
	void *labels;		   /* NULL: it is not known whether it wants to be recorded */
	uint64_t labels_cgroup;	   /* in which it is called so */
	uint32_t labels_len;
	uint32_t idle_windows;
	bool has_ended;
	bool is_recorded;
	bool is_opted_out;
	bool has_space;
};

struct sight_table {
	struct sight **buckets;
	size_t bucket_cnt; /* power of two */
	size_t cnt;
};

static void sight_free(struct sight *sight)
{
	free(sight->labels);
	free(sight);
}

struct sight_table *sight_table__new(void)
{
	struct sight_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->buckets = calloc(FIRST_BUCKETS, sizeof(struct sight *));
	table->bucket_cnt = FIRST_BUCKETS;
	if (!table->buckets) {
		free(table);
		return NULL;
	}
	return table;
}

void sight_table__free(struct sight_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->bucket_cnt; i++)
		while (table->buckets[i]) {
			struct sight *sight = table->buckets[i];

			table->buckets[i] = sight->next;
			sight_free(sight);
		}
	free(table->buckets);
	free(table);
}

static size_t bucket_of(const struct sight_table *table, const struct process_life *life)
{
	return XXH3_64bits(life, sizeof(*life)) & (table->bucket_cnt - 1);
}

static struct sight *find(const struct sight_table *table, struct process_life life)
{
	struct sight *sight = table->buckets[bucket_of(table, &life)];

	while (sight && process_life_compare(&process_life_of(&sight->notice), &life) != 0)
		sight = sight->next;
	return sight;
}

static void grow(struct sight_table *table)
{
	struct sight_table larger = { .bucket_cnt = table->bucket_cnt * 2 };

	larger.buckets = calloc(larger.bucket_cnt, sizeof(struct sight *));
	if (!larger.buckets)
		return; /* chains grow instead */
	for (size_t i = 0; i < table->bucket_cnt; i++)
		while (table->buckets[i]) {
			struct sight *sight = table->buckets[i];
			size_t bucket = bucket_of(&larger, &process_life_of(&sight->notice));

			table->buckets[i] = sight->next;
			sight->next = larger.buckets[bucket];
			larger.buckets[bucket] = sight;
		}
	free(table->buckets);
	table->buckets = larger.buckets;
	table->bucket_cnt = larger.bucket_cnt;
}

static void note_seen(struct sight_table *table, const struct jbpf_notice *notice)
{
	struct sight *sight = find(table, process_life_of(notice));
	size_t bucket;

	if (!sight) {
		if (table->cnt >= 2 * table->bucket_cnt)
			grow(table);
		sight = calloc(1, sizeof(*sight));
		if (!sight)
			return;
		bucket = bucket_of(table, &process_life_of(notice));
		sight->next = table->buckets[bucket];
		table->buckets[bucket] = sight;
		table->cnt++;
	}
	sight->notice = *notice;
	sight->idle_windows = 0;
}

void sight_table__note(struct sight_table *table, const struct jbpf_notice *notice)
{
	struct process_life life = process_life_of(notice);
	struct sight *sight;

	if (notice->kind == JBPF_NOTICE_SEEN) {
		note_seen(table, notice);
		return;
	}
	/* An exec is told with the run that it begins. */
	life.exec_id -= notice->kind == JBPF_NOTICE_EXEC;
	sight = find(table, life);
	if (!sight)
		return;
	if (notice->kind == JBPF_NOTICE_RENAME)
		memcpy(sight->notice.comm, notice->comm, sizeof(sight->notice.comm));
	else
		sight->has_ended = true;
}

void sight_table__note_recorded(struct sight_table *table, struct process_life life)
{
	struct sight *sight = find(table, life);

	if (sight)
		sight->is_recorded = true;
}

void sight_table__note_opted_out(struct sight_table *table, struct process_life life)
{
	struct sight *sight = find(table, life);

	if (sight)
		sight->is_opted_out = true;
}

void sight_table__note_called(struct sight_table *table, const struct sight_called *called)
{
	struct sight *sight = find(table, called->stream.life);
	void *labels;

	if (!sight)
		return;
	sight->labels_cgroup = called->stream.cgroup_id;
	if (sight->labels && sight->labels_len == called->labels_len &&
	    memcmp(sight->labels, called->labels, called->labels_len) == 0)
		return;
	/* One byte at least: none would be NULL. */
	labels = malloc(called->labels_len + 1);
	free(sight->labels);
	sight->labels = labels;
	sight->labels_len = called->labels_len;
	if (labels)
		memcpy(labels, called->labels, called->labels_len);
}

bool sight_table__called(const struct sight_table *table, struct sight_called *called)
{
	const struct sight *sight = find(table, called->stream.life);

	if (!sight || !sight->labels || sight->is_opted_out ||
	    sight->labels_cgroup != called->stream.cgroup_id)
		return false;
	called->labels = sight->labels;
	called->labels_len = sight->labels_len;
	return true;
}

bool sight_table__is_opted_out(const struct sight_table *table, struct process_life life)
{
	const struct sight *sight = find(table, life);

	return sight && sight->is_opted_out;
}

bool sight_table__is_recorded(const struct sight_table *table, struct process_life life)
{
	const struct sight *sight = find(table, life);

	return sight && sight->is_recorded && !sight->is_opted_out;
}

bool sight_table__is_known(const struct sight_table *table, struct process_life life)
{
	const struct sight *sight = find(table, life);

	return sight && sight->is_recorded && !sight->is_opted_out && !sight->has_ended;
}

void sight_table__note_space(struct sight_table *table, struct process_life life)
{
	struct sight *sight = find(table, life);

	if (sight)
		sight->has_space = true;
}

size_t sight_table__without_space(const struct sight_table *table)
{
	size_t cnt = 0;

	for (size_t i = 0; i < table->bucket_cnt; i++)
		for (const struct sight *sight = table->buckets[i]; sight; sight = sight->next)
			cnt += !sight->has_ended && !sight->is_opted_out && !sight->has_space;
	return cnt;
}

void sight_table__use(struct sight_table *table, struct process_life life)
{
	struct sight *sight = find(table, life);

	if (sight)
		sight->idle_windows = 0;
}

int sight_table__each(const struct sight_table *table,
		      int (*fn)(void *ctx, const struct jbpf_notice *notice), void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < table->bucket_cnt && !err; i++)
		for (const struct sight *sight = table->buckets[i]; sight && !err;
		     sight = sight->next)
			if (!sight->has_ended)
				err = fn(ctx, &sight->notice);
	return err;
}

void sight_table__expire(struct sight_table *table)
{
	for (size_t i = 0; i < table->bucket_cnt; i++)
		for (struct sight **at = &table->buckets[i]; *at;) {
			struct sight *sight = *at;

			if (++sight->idle_windows <= (sight->has_ended ? 1 : IDLE_WINDOWS_MAX)) {
				at = &sight->next;
				continue;
			}
			*at = sight->next;
			sight_free(sight);
			table->cnt--;
		}
}

size_t sight_table__count(const struct sight_table *table)
{
	return table->cnt;
}
