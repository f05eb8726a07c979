// SPDX-License-Identifier: Apache-2.0
/* See compare_records.h. */
#include "user/compare/compare_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

void compare_records_release(struct compare_records *records)
{
	free(records->items);
	strtab__free(records->keys);
	strbuf_release(&records->key);
	memset(records, 0, sizeof(*records));
}

static int find(struct compare_records *records, uint32_t block, const struct window *window,
		struct compare_record **out)
{
	uint32_t id = 0;
	int err = vec_room(records->items, records->cnt, records->cap, 64);

	if (!err && !records->keys) {
		records->keys = strtab__new();
		err = records->keys ? 0 : -ENOMEM;
	}
	if (err)
		return err;
	strbuf_clear(&records->key);
	strbuf_append(&records->key, &block, sizeof(block));
	strbuf_puts(&records->key, window_label(window, WINDOW_LABEL_HOST));
	err = strbuf_error(&records->key);
	if (!err)
		err = strtab__intern(records->keys, records->key.data, records->key.len, &id);
	if (err)
		return err;
	if (id == records->cnt)
		records->items[records->cnt++] = (struct compare_record){ .block = block };
	*out = &records->items[id];
	return 0;
}

static void widen(struct compare_cover_stretch *stretch, const struct compare_cover_stretch *by)
{
	if (!stretch->end_unix_ns || by->start_unix_ns < stretch->start_unix_ns)
		stretch->start_unix_ns = by->start_unix_ns;
	if (by->end_unix_ns > stretch->end_unix_ns)
		stretch->end_unix_ns = by->end_unix_ns;
}

int compare_records_add(struct compare_records *records, uint32_t block,
			const struct window *window)
{
	const struct compare_cover_stretch stretch = { window->start_unix_ns,
						       window_end_unix_ns(window) };
	struct compare_record *record;
	int err = find(records, block, window, &record);

	if (err)
		return err;
	widen(&record->host.stretch, &stretch);
	record->host.recorded_ns += window_recorded_ns(window);
	record->host.lost += (double)window_lost_samples(window->lost);
	record->host_samples += window->counts.samples;
	return 0;
}

int compare_records_take(struct compare_records *records, uint32_t block,
			 const struct window *window, uint64_t samples, uint64_t amount)
{
	struct compare_record *record;
	int err = find(records, block, window, &record);

	if (err)
		return err;
	record->is_of_side = true;
	record->own_samples += samples;
	record->own_amount = add_saturated(record->own_amount, amount);
	return 0;
}

void compare_record_add_up(const struct compare_record *record, uint64_t unit,
			   struct compare_recorded *block)
{
	uint64_t samples = record->host_samples > record->own_samples ? record->host_samples :
									record->own_samples;
	double own = unit ? (double)record->own_amount / (double)unit : (double)record->own_samples;
	double lost_share = samples ? record->host.lost / (double)samples : 0;

	if (!record->is_of_side || !record->host.stretch.end_unix_ns)
		return;
	widen(&block->stretch, &record->host.stretch);
	block->recorded_ns += record->host.recorded_ns;
	block->lost += samples ? lost_share * own : record->host.lost;
	block->lost_samples += samples ? lost_share * (double)record->own_samples :
					 record->host.lost;
}
