// SPDX-License-Identifier: Apache-2.0
/* See unwind_cache.h. */
#include "symbols/unwind/unwind_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/account.h"

#define DIGEST_BYTES 32u
#define PAGE_BYTES   (1ull << JBPF_UNWIND_PAGE_SHIFT)

/*
 * Windows until a table is tried again that was refused because there was no room, or could not be
 * read. The number doubles each time: another attempt costs as much as a success.
 */
#define RETRY_WINDOWS	  6u
#define RETRY_DOUBLES_MAX 7u

/*
 * One of four bytes of code that keeps frame pointers may have other rules: prologues, leaf
 * functions.
 */
#define KEEPS_FP_TIMES 3u

struct unwind_entry {
	struct unwind_entry *next;
	struct unwind_file *files; /* that have it */
	uint64_t account;
	uint32_t id;
	uint32_t page_cnt;
	uint32_t chunk_cnt;
	uint32_t last_use; /* window */
	uint8_t digest[DIGEST_BYTES];
};

struct unwind_cache {
	struct unwind_listener listener;
	struct unwind_entry *entries;
	uint32_t chunk_max; /* 0: no tables are wanted */
	uint32_t next_id;
	uint32_t window;
	struct unwind_stats stats;
};

struct unwind_cache *unwind_cache__new(void)
{
	struct unwind_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->next_id = 1;
	return cache;
}

void unwind_cache__free(struct unwind_cache *cache)
{
	if (!cache)
		return;
	while (cache->entries) {
		struct unwind_entry *next = cache->entries->next;

		free(cache->entries);
		cache->entries = next;
	}
	free(cache);
}

void unwind_cache_listen(struct unwind_cache *cache, const struct unwind_listener *listener)
{
	cache->listener = *listener;
}

/* ---- entries ---- */

static struct unwind_entry *entry_find(const struct unwind_cache *cache, uint32_t id)
{
	struct unwind_entry *entry = cache->entries;

	while (entry && entry->id != id)
		entry = entry->next;
	return entry;
}

static void set_retry(struct unwind_file *file, uint32_t window, uint64_t account)
{
	file->retry_window = window;
	file->retry_account = account;
}

/* Its files have no table any more, and are asked for again from `retry_window` on. */
static void entry_leave_files(struct unwind_entry *entry, uint32_t retry_window)
{
	while (entry->files) {
		struct unwind_file *file = entry->files;

		entry->files = file->next;
		file->next = NULL;
		file->entry = NULL;
		file->state = UNWIND_FILE_NEW;
		set_retry(file, retry_window, ACCOUNT_NONE);
	}
}

static void entry_free(struct unwind_cache *cache, struct unwind_entry *entry)
{
	struct unwind_entry **at = &cache->entries;

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	cache->stats.table_cnt--;
	cache->stats.chunk_cnt -= entry->chunk_cnt;
	free(entry);
}

static void entry_drop(struct unwind_cache *cache, struct unwind_entry *entry,
		       uint32_t retry_window)
{
	const struct unwind_listener *listener = &cache->listener;
	uint32_t id = entry->id;

	entry_leave_files(entry, retry_window);
	if (listener->leaving)
		listener->leaving(listener->ctx, id);
	entry_free(cache, entry);
	if (listener->drop)
		listener->drop(listener->ctx, id);
}

static void file_join(struct unwind_file *file, struct unwind_entry *entry, uint64_t address)
{
	file->state = UNWIND_FILE_TABLE;
	file->retry_cnt = 0;
	file->refusal = 0;
	file->address = address;
	file->entry = entry;
	file->next = entry->files;
	entry->files = file;
}

static void file_part(struct unwind_file *file)
{
	struct unwind_file **at = &file->entry->files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	file->next = NULL;
	file->entry = NULL;
}

/* ---- the other side ---- */

static bool has_id(const uint32_t *ids, size_t cnt, uint32_t id)
{
	size_t low = 0, high = cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ids[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < cnt && ids[low] == id;
}

void unwind_cache_begin(struct unwind_cache *cache, uint32_t chunk_max, uint32_t next_id,
			const uint32_t *ids, size_t id_cnt)
{
	const struct unwind_listener *listener = &cache->listener;
	struct unwind_entry *entry = cache->entries;

	cache->chunk_max = chunk_max;
	if (next_id > cache->next_id && next_id <= JBPF_UNWIND_MAX_TABLE)
		cache->next_id = next_id;
	while (entry) {
		struct unwind_entry *next = entry->next;

		if (!chunk_max || !has_id(ids, id_cnt, entry->id)) {
			entry_leave_files(entry, cache->window);
			entry_free(cache, entry);
		}
		entry = next;
	}
	for (size_t i = 0; i < id_cnt; i++)
		if (!entry_find(cache, ids[i]) && listener->drop)
			listener->drop(listener->ctx, ids[i]);
}

bool unwind_cache_is_on(const struct unwind_cache *cache)
{
	return cache->chunk_max > 0;
}

void unwind_cache_begin_window(struct unwind_cache *cache)
{
	cache->window++;
}

/* ---- room ---- */

static uint32_t held_by(const struct unwind_cache *cache, uint64_t account)
{
	uint32_t chunk_cnt = 0;

	for (const struct unwind_entry *entry = cache->entries; entry; entry = entry->next)
		if (entry->account == account)
			chunk_cnt += entry->chunk_cnt;
	return chunk_cnt;
}

/* The table that has been out of use for longest; NULL: all are in use. */
static struct unwind_entry *entry_stale(const struct unwind_cache *cache)
{
	struct unwind_entry *oldest = NULL;

	for (struct unwind_entry *entry = cache->entries; entry; entry = entry->next) {
		uint32_t age = cache->window - entry->last_use;

		if (age > 1 && (!oldest || age > cache->window - oldest->last_use))
			oldest = entry;
	}
	return oldest;
}

/* 0; -ENOSPC: all is in use; -EDQUOT: this account has its share. */
static int make_room(struct unwind_cache *cache, uint32_t chunk_cnt, uint64_t account)
{
	for (;;) {
		uint32_t used = cache->stats.chunk_cnt;
		uint32_t left = used < cache->chunk_max ? cache->chunk_max - used : 0;
		struct unwind_entry *stale;

		if (held_by(cache, account) + 2 * chunk_cnt <= left)
			return 0;
		stale = entry_stale(cache);
		if (!stale)
			return chunk_cnt <= left ? -EDQUOT : -ENOSPC;
		entry_drop(cache, stale, cache->window);
		cache->stats.evicted_cnt++;
	}
}

static uint32_t take_id(struct unwind_cache *cache)
{
	uint32_t id;

	do {
		id = cache->next_id;
		cache->next_id = id < JBPF_UNWIND_MAX_TABLE ? id + 1 : 1;
	} while (entry_find(cache, id));
	return id;
}

static struct unwind_entry *entry_equal(const struct unwind_cache *cache,
					const struct unwind_table *table, const uint8_t *digest)
{
	struct unwind_entry *entry = cache->entries;

	while (entry && (entry->page_cnt != table->page_cnt ||
			 memcmp(entry->digest, digest, DIGEST_BYTES) != 0))
		entry = entry->next;
	return entry;
}

/* ---- files ---- */

static bool has_to_wait(const struct unwind_cache *cache, const struct unwind_file *file)
{
	return (int32_t)(cache->window - file->retry_window) < 0;
}

static bool another_has_to_wait(const struct unwind_cache *cache, const struct unwind_file *file,
				uint64_t account)
{
	return has_to_wait(cache, file) && file->retry_account != ACCOUNT_NONE &&
	       file->retry_account != account;
}

bool unwind_cache_wants(const struct unwind_cache *cache, const struct unwind_file *file,
			uint64_t account)
{
	return cache->chunk_max && file->state == UNWIND_FILE_NEW &&
	       (!has_to_wait(cache, file) || another_has_to_wait(cache, file, account));
}

static void refuse(struct unwind_cache *cache, struct unwind_file *file, enum unwind_refusal why,
		   uint64_t account)
{
	cache->stats.refused_cnt[why]++;
	file->refusal = why + 1;
	/* Of a file that cannot be read it is said, but it is no fault of the file: another process may read it. */
	if (why == UNWIND_REFUSED_UNREADABLE)
		return;
	/* Of accounts without room the first waits by windows; its turn does not go to the next. */
	if (why == UNWIND_REFUSED_SHARE && another_has_to_wait(cache, file, account))
		return;
	if (why == UNWIND_REFUSED_LARGE || why == UNWIND_REFUSED_DAMAGED)
		file->state = UNWIND_FILE_REFUSED;
	else
		set_retry(file, cache->window + (RETRY_WINDOWS << file->retry_cnt), account);
	if (file->retry_cnt < RETRY_DOUBLES_MAX)
		file->retry_cnt++;
}

uint32_t unwind_table_chunks(const struct unwind_table *table)
{
	return (table->word_cnt + JBPF_UNWIND_CHUNK_WORDS - 1) / JBPF_UNWIND_CHUNK_WORDS;
}

static uint32_t row_bytes(const uint32_t *rows, uint32_t at, uint32_t cnt)
{
	uint32_t end = at + 1 < cnt ? rows[at + 1] & JBPF_ROW_PC_MASK : (uint32_t)PAGE_BYTES;

	return end - (rows[at] & JBPF_ROW_PC_MASK);
}

/*
 * Of the code of Node 94 %, of libjvm 95, of PostgreSQL 97 have rules by the frame pointer, of a C
 * library 16, of perl none: a file's compiler was told to keep them, or it was not.
 */
static bool table_keeps_fp(const struct unwind_table *table)
{
	uint64_t by_fp = 0, by_sp = 0;

	for (uint32_t page = 0; page < table->page_cnt; page++) {
		uint32_t word = table->words[page];
		const uint32_t *rows = &table->words[word >> JBPF_UNWIND_PAGE_CNT_BITS];
		uint32_t cnt = word ? (word & ((1u << JBPF_UNWIND_PAGE_CNT_BITS) - 1)) + 1 : 0;

		for (uint32_t i = 0; i < cnt; i++) {
			uint32_t kind = rows[i] >> JBPF_ROW_KIND_SHIFT & JBPF_ROW_KIND_MASK;
			uint32_t what = rows[i] >> JBPF_ROW_VALUE_SHIFT;

			if (kind == JBPF_ROW_FP || kind == JBPF_ROW_AT_FP ||
			    (kind == JBPF_ROW_SPECIAL && what == JBPF_SPECIAL_FRAME))
				by_fp += row_bytes(rows, i, cnt);
			else if (kind != JBPF_ROW_SPECIAL)
				by_sp += row_bytes(rows, i, cnt);
		}
	}
	return by_fp > KEEPS_FP_TIMES * by_sp;
}

int unwind_cache_put(struct unwind_cache *cache, struct unwind_file *file,
		     const struct unwind_table *table, uint64_t account)
{
	uint32_t chunk_cnt = unwind_table_chunks(table);
	uint8_t digest[DIGEST_BYTES];
	struct unwind_entry *entry;
	int err;

	unwind_file_forget(file);
	file->keeps_fp = table_keeps_fp(table);
	unwind_table_digest(table, digest);
	entry = entry_equal(cache, table, digest);
	if (!entry) {
		/* A table that takes more than it leaves free will never have room. */
		err = 2 * chunk_cnt > cache->chunk_max ? -EFBIG :
							 make_room(cache, chunk_cnt, account);
		if (err == -EFBIG)
			return err;
		if (err) {
			if (err == -EDQUOT)
				refuse(cache, file, UNWIND_REFUSED_SHARE, account);
			else
				refuse(cache, file, UNWIND_REFUSED_FULL, ACCOUNT_NONE);
			return err;
		}
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		*entry = (struct unwind_entry){
			.next = cache->entries,
			.account = account,
			.id = take_id(cache),
			.page_cnt = table->page_cnt,
			.chunk_cnt = chunk_cnt,
		};
		memcpy(entry->digest, digest, sizeof(entry->digest));
		cache->entries = entry;
		cache->stats.table_cnt++;
		cache->stats.chunk_cnt += chunk_cnt;
		cache->stats.built_cnt++;
		if (cache->listener.table)
			cache->listener.table(cache->listener.ctx, entry->id, table);
	}
	entry->last_use = cache->window;
	file_join(file, entry, table->address);
	return 0;
}

void unwind_cache_fail(struct unwind_cache *cache, struct unwind_file *file, int err)
{
	file->keeps_fp |= err == -EOPNOTSUPP;
	if (err == -ENODATA || err == -EOPNOTSUPP)
		file->state = UNWIND_FILE_NONE;
	else if (err == -EFBIG)
		refuse(cache, file, UNWIND_REFUSED_LARGE, ACCOUNT_NONE);
	else if (err == -ENOEXEC || err == -ENOTRECOVERABLE)
		refuse(cache, file, UNWIND_REFUSED_DAMAGED, ACCOUNT_NONE);
	else
		refuse(cache, file, UNWIND_REFUSED_UNREADABLE, ACCOUNT_NONE);
}

void unwind_cache_refuse(struct unwind_cache *cache, uint32_t id)
{
	struct unwind_entry *entry = entry_find(cache, id);

	if (!entry)
		return;
	cache->stats.refused_cnt[UNWIND_REFUSED_KERNEL]++;
	for (struct unwind_file *file = entry->files; file; file = file->next)
		file->refusal = UNWIND_REFUSED_KERNEL + 1;
	entry_drop(cache, entry, cache->window + RETRY_WINDOWS);
}

/* The table of its last file stays: the program may be started again soon. It goes when room is wanted. */
void unwind_file_forget(struct unwind_file *file)
{
	if (file->entry)
		file_part(file);
	file->state = UNWIND_FILE_NEW;
	file->refusal = 0;
}

uint32_t unwind_cache_use(const struct unwind_cache *cache, const struct unwind_file *file)
{
	if (!file->entry)
		return 0;
	file->entry->last_use = cache->window;
	return file->entry->id;
}

/* ---- places ---- */

static uint64_t overlap(const struct elf_code_segment *segment, uint64_t offset, uint64_t len)
{
	uint64_t begin = offset > segment->offset ? offset : segment->offset;
	uint64_t segment_end = segment->offset + segment->size;
	uint64_t end = offset + len < segment_end ? offset + len : segment_end;

	return begin < end ? end - begin : 0;
}

/* The one that has most of these bytes of the file, as segments may share a page; NULL: none has any. */
static const struct elf_code_segment *find_segment(const struct unwind_file *file, uint64_t offset,
						   uint64_t len)
{
	const struct elf_code_segment *found = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < file->segment_cnt; i++) {
		uint64_t here = overlap(&file->segments[i], offset, len);

		if (here <= most)
			continue;
		most = here;
		found = &file->segments[i];
	}
	return found;
}

void unwind_file_set_segments(struct unwind_file *file, const struct elf_code_segment *segments,
			      size_t cnt)
{
	file->segment_cnt = cnt < UNWIND_FILE_SEGMENTS ? (uint32_t)cnt : UNWIND_FILE_SEGMENTS;
	memcpy(file->segments, segments, file->segment_cnt * sizeof(*segments));
}

bool unwind_file_has_segments(const struct unwind_file *file)
{
	return file->segment_cnt > 0;
}

bool unwind_file_has_code(const struct unwind_file *file, uint64_t offset, uint64_t len)
{
	return find_segment(file, offset, len) != NULL;
}

void unwind_file_copy_segments(struct unwind_file *file, const struct unwind_file *from)
{
	file->segment_cnt = from->segment_cnt;
	memcpy(file->segments, from->segments, sizeof(file->segments));
}

bool unwind_file_refusal(const struct unwind_file *file, enum unwind_refusal *why_out)
{
	if (!file->refusal)
		return false;
	*why_out = (enum unwind_refusal)(file->refusal - 1);
	return true;
}

bool unwind_file_keeps_fp(const struct unwind_file *file)
{
	return file->keeps_fp;
}

bool unwind_file_span(const struct unwind_file *file, uint64_t start, uint64_t offset, uint64_t len,
		      struct unwind_span *out)
{
	const struct elf_code_segment *segment = find_segment(file, offset, len);
	uint64_t address, skipped, page, page_cnt;

	if (!segment || !file->entry)
		return false;
	/*
	 * The address, as the file's segments say, at which the mapping begins; sums wrap around
	 * together.
	 */
	address = segment->address - segment->offset + offset;
	page_cnt = len / PAGE_BYTES;
	if ((address - file->address) % PAGE_BYTES || start % PAGE_BYTES)
		return false;
	skipped = address < file->address ? (file->address - address) / PAGE_BYTES : 0;
	page = address < file->address ? 0 : (address - file->address) / PAGE_BYTES;
	if (skipped >= page_cnt || page >= file->entry->page_cnt)
		return false;
	page_cnt -= skipped;
	if (page_cnt > file->entry->page_cnt - page)
		page_cnt = file->entry->page_cnt - page;
	*out = (struct unwind_span){
		.start = start + skipped * PAGE_BYTES,
		.page_cnt = (uint32_t)page_cnt,
		.page = (uint32_t)page,
		.table = file->entry->id,
	};
	return true;
}

void unwind_cache_stats(const struct unwind_cache *cache, struct unwind_stats *out)
{
	*out = cache->stats;
}
