// SPDX-License-Identifier: Apache-2.0
/* Shared symbol tables; see object_cache.h. */
#include "symbols/names/object_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <xxhash.h>

#include "symbols/names/object_cache_internal.h"
#include "symbols/parser/parser.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define OBJECT_CACHE_FIRST_BUCKETS 1024u

struct object_key { /* hashed as bytes: without padding */
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	struct timespec modified;
	struct timespec changed; /* what the owner cannot set back */
};

_Static_assert(sizeof(struct object_key) == 3 * sizeof(uint64_t) + 2 * sizeof(struct timespec) &&
		       sizeof(struct timespec) == 2 * sizeof(uint64_t),
	       "no padding");

struct object_table {
	struct object_table *next;
	struct elf_symtab *symtab;
	struct account *account; /* that brought it; a user of it */
	uint64_t hash[2];
	uint64_t last_use;
	size_t user_cnt; /* objects */
};

enum object_state {
	OBJECT_STATE_NEW = 0,
	OBJECT_STATE_ELF = 1, /* `table` may have been dropped */
	OBJECT_STATE_NOT_ELF = 2,
	OBJECT_STATE_UNPARSABLE = 3, /* the parser failed on it: never again */
};

struct object {
	struct object *next; /* in its bucket */
	struct object_key key;
	/*
	 * Read with a debug file of a container, or of a device that anybody may make: this account's
	 * alone, also if that is ACCOUNT_NONE.
	 */
	bool is_own;
	uint64_t account_id; /* ACCOUNT_NONE of everybody's */
	struct object_table *table;
	enum object_state state;
	bool is_hotspot;
	struct unwind_file unwind;
	size_t user_cnt; /* mappings */
	/* Neighbours among the objects without users; NULL while it has some. */
	struct object *older;
	struct object *newer;
};

struct object_cache {
	struct parser *parser; /* borrowed */
	struct object **buckets;
	size_t bucket_cnt; /* a power of two */
	struct object_table *tables;
	struct object *oldest_unused; /* has been without users for longest */
	struct object *newest_unused;
	size_t object_cnt;
	size_t table_bytes;
	size_t max_bytes;
	uint64_t clock; /* counts uses */
	uint64_t seed;
	bool trusts_all_devices;
};

struct object_cache *object_cache__new(size_t max_bytes, struct parser *parser)
{
	struct object_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->buckets = calloc(OBJECT_CACHE_FIRST_BUCKETS, sizeof(struct object *));
	if (!cache->buckets) {
		free(cache);
		return NULL;
	}
	cache->bucket_cnt = OBJECT_CACHE_FIRST_BUCKETS;
	cache->parser = parser;
	cache->max_bytes = max_bytes ? max_bytes : OBJECT_CACHE_MAX_BYTES;
	/* Nobody outside shall be able to construct two tables of one hash, or files of one bucket. */
	if (getrandom(&cache->seed, sizeof(cache->seed), 0) != sizeof(cache->seed))
		cache->seed = (uintptr_t)cache;
	return cache;
}

static void object_table_put(struct object_cache *cache, struct object_table *table)
{
	struct object_table **at = &cache->tables;

	if (!table || --table->user_cnt)
		return;
	while (*at != table)
		at = &(*at)->next;
	*at = table->next;
	cache->table_bytes -= elf_symtab__bytes(table->symtab);
	account__give(table->account, ACCOUNT_POOL_TABLES, elf_symtab__bytes(table->symtab));
	account__put(table->account);
	elf_symtab__free(table->symtab);
	free(table);
}

static void object_free(struct object_cache *cache, struct object *object)
{
	object_table_put(cache, object->table);
	unwind_file_forget(&object->unwind);
	free(object);
	cache->object_cnt--;
}

void object_cache__free(struct object_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->bucket_cnt; i++)
		while (cache->buckets[i]) {
			struct object *next = cache->buckets[i]->next;

			object_free(cache, cache->buckets[i]);
			cache->buckets[i] = next;
		}
	free(cache->buckets);
	free(cache);
}

static struct object **object_bucket(struct object_cache *cache, const struct object_key *key)
{
	uint64_t hash = XXH3_64bits_withSeed(key, sizeof(*key), cache->seed);

	return &cache->buckets[hash & (cache->bucket_cnt - 1)];
}

/*
 * Objects in use have no bound of their own, and a container can map very many files. Without memory the chains are
 * as long as they are.
 */
static void object_cache_resize(struct object_cache *cache, size_t bucket_cnt)
{
	struct object **buckets = calloc(bucket_cnt, sizeof(struct object *));
	struct object **old = cache->buckets;
	size_t old_cnt = cache->bucket_cnt;

	if (!buckets)
		return;
	cache->buckets = buckets;
	cache->bucket_cnt = bucket_cnt;
	for (size_t i = 0; i < old_cnt; i++)
		while (old[i]) {
			struct object *object = old[i];
			struct object **bucket = object_bucket(cache, &object->key);

			old[i] = object->next;
			object->next = *bucket;
			*bucket = object;
		}
	free(old);
}

static bool object_key_equal(const struct object_key *a, const struct object_key *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static void object_note_unused(struct object_cache *cache, struct object *object)
{
	object->older = cache->newest_unused;
	object->newer = NULL;
	*(object->older ? &object->older->newer : &cache->oldest_unused) = object;
	cache->newest_unused = object;
}

static void object_note_used(struct object_cache *cache, struct object *object)
{
	*(object->older ? &object->older->newer : &cache->oldest_unused) = object->newer;
	*(object->newer ? &object->newer->older : &cache->newest_unused) = object->older;
	object->older = NULL;
	object->newer = NULL;
}

/*
 * Forgets the object that has been without users for longest. A container can map 60,000 files and
 * end: this comes that often then, and must not look for it.
 */
static void object_cache_shrink(struct object_cache *cache)
{
	struct object *object = cache->oldest_unused;
	struct object **at;

	if (!object)
		return;
	object_note_used(cache, object);
	at = object_bucket(cache, &object->key);
	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	object_free(cache, object);
	if (cache->bucket_cnt > OBJECT_CACHE_FIRST_BUCKETS &&
	    cache->object_cnt <= cache->bucket_cnt / 4)
		object_cache_resize(cache, cache->bucket_cnt / 2);
}

static struct object_key object_key_of(const struct stat *st)
{
	return (struct object_key){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.modified = st->st_mtim,
		.changed = st->st_ctim,
	};
}

/* With one more user; NULL: there is none. */
static struct object *object_find(struct object_cache *cache, const struct object_key *key,
				  bool is_own, uint64_t account_id)
{
	struct object *object = *object_bucket(cache, key);

	while (object && !(object->is_own == is_own && object->account_id == account_id &&
			   object_key_equal(&object->key, key)))
		object = object->next;
	if (!object)
		return NULL;
	if (object->user_cnt++ == 0)
		object_note_used(cache, object);
	return object;
}

/* With one user. */
static struct object *object_new(struct object_cache *cache, const struct object_key *key,
				 bool is_own, uint64_t account_id)
{
	struct object **bucket;
	struct object *object;

	if (cache->object_cnt >= OBJECT_CACHE_MAX_OBJECTS)
		object_cache_shrink(cache);
	if (cache->object_cnt >= cache->bucket_cnt)
		object_cache_resize(cache, cache->bucket_cnt * 2);
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	bucket = object_bucket(cache, key);
	object->key = *key;
	object->is_own = is_own;
	object->account_id = account_id;
	object->next = *bucket;
	*bucket = object;
	object->user_cnt = 1;
	cache->object_cnt++;
	return object;
}

/*
 * A file system without a disk has the lowest number that is free (get_anon_bdev() in fs/super.c), which
 * is the next one's when it is gone. One in user space, which every user may mount, chooses the inode,
 * size and times of its files: those of a library that others will have at that number, too.
 */
static bool device_may_lie(const struct object_cache *cache, const struct stat *st)
{
	return major(st->st_dev) == 0 && !cache->trusts_all_devices;
}

struct object *object_cache__get(struct object_cache *cache, const struct stat *st,
				 const struct account *account)
{
	struct object_key key = object_key_of(st);
	uint64_t account_id = account__id(account);
	struct object *object = object_find(cache, &key, true, account_id);

	if (!object && device_may_lie(cache, st))
		return object_new(cache, &key, true, account_id);
	if (!object)
		object = object_find(cache, &key, false, ACCOUNT_NONE);
	return object ? object : object_new(cache, &key, false, ACCOUNT_NONE);
}

void object_cache__trust_all_devices(struct object_cache *cache)
{
	cache->trusts_all_devices = true;
}

void object_cache__put(struct object_cache *cache, struct object *object)
{
	if (!object)
		return;
	if (--object->user_cnt)
		return;
	object_note_unused(cache, object);
	if (cache->object_cnt > OBJECT_CACHE_MAX_OBJECTS)
		object_cache_shrink(cache);
}

/* Puts *object and has `own` in its place, if that is one. */
static void object_replace(struct object_cache *cache, struct object **object, struct object *own)
{
	if (!own)
		return;
	object_cache__put(cache, *object);
	*object = own;
}

void object_cache__find_own(struct object_cache *cache, struct object **object,
			    const struct account *account)
{
	if (!(*object)->is_own)
		object_replace(cache, object,
			       object_find(cache, &(*object)->key, true, account__id(account)));
}

int object_cache__make_own(struct object_cache *cache, struct object **object,
			   const struct account *account)
{
	const struct object *shared;
	struct object *own;

	object_cache__find_own(cache, object, account);
	shared = *object;
	if (shared->is_own)
		return 0;
	own = object_new(cache, &shared->key, true, account__id(account));
	if (!own)
		return -ENOMEM;
	own->state = shared->state;
	own->is_hotspot = shared->is_hotspot;
	own->table = shared->table;
	if (own->table)
		own->table->user_cnt++;
	unwind_file_copy_segments(&own->unwind, &shared->unwind);
	object_replace(cache, object, own);
	return 0;
}

bool object_needs_load(const struct object *object)
{
	return object->state == OBJECT_STATE_NEW ||
	       (object->state == OBJECT_STATE_ELF && !object->table);
}

bool object_is_elf(const struct object *object)
{
	return object->state == OBJECT_STATE_ELF;
}

bool object_is_hotspot(const struct object *object)
{
	return object->is_hotspot;
}

bool object_is_file(const struct object *object, const struct stat *st)
{
	struct object_key key = object_key_of(st);

	return object_key_equal(&object->key, &key);
}

struct unwind_file *object_unwind(struct object *object)
{
	return &object->unwind;
}

int object_learn_segments(struct object *object)
{
	struct elf_code_segment segments[UNWIND_FILE_SEGMENTS];
	size_t cnt;

	if (object_needs_load(object))
		return -EAGAIN;
	if (!object->table)
		return -ENODATA;
	cnt = elf_symtab__code_segments(object->table->symtab, segments, UNWIND_FILE_SEGMENTS);
	unwind_file_set_segments(&object->unwind, segments, cnt);
	return cnt ? 0 : -ENODATA;
}

int object_find_function(const struct object *object, const char *prefix, uint64_t *file_offset_out)
{
	if (object_needs_load(object))
		return -EAGAIN;
	return object->table ? elf_symtab__find(object->table->symtab, prefix, file_offset_out) :
			       -ENOENT;
}

static void object_cache_drop_table(struct object_cache *cache, struct object_table *table)
{
	size_t left = table->user_cnt;

	for (size_t i = 0; i < cache->bucket_cnt && left; i++)
		for (struct object *object = cache->buckets[i]; object && left;
		     object = object->next)
			if (object->table == table) {
				object->table = NULL;
				object_table_put(cache, table);
				left--;
			}
}

/* Before another one? Its account holds too much, or it has not been used for longer. */
static bool object_table_goes_before(const struct object_table *table,
				     const struct object_table *other)
{
	bool is_over = account__is_over_share(table->account, ACCOUNT_POOL_TABLES);

	if (is_over != account__is_over_share(other->account, ACCOUNT_POOL_TABLES))
		return is_over;
	return table->last_use < other->last_use;
}

static void object_cache_evict(struct object_cache *cache, const struct object_table *keep)
{
	while (cache->table_bytes > cache->max_bytes) {
		struct object_table *oldest = NULL;

		for (struct object_table *table = cache->tables; table; table = table->next)
			if (table != keep && (!oldest || object_table_goes_before(table, oldest)))
				oldest = table;
		/* Whoever brings one that has no room beside the others' does not push these out. */
		if (!oldest || (account__is_over_share(keep->account, ACCOUNT_POOL_TABLES) &&
				!account__is_over_share(oldest->account, ACCOUNT_POOL_TABLES)))
			return;
		object_cache_drop_table(cache, oldest);
	}
}

/* Takes the symtab over: shares an equal one that is there, or keeps it. NULL: out of memory. */
static struct object_table *object_cache_share(struct object_cache *cache,
					       struct elf_symtab *symtab, struct account *account)
{
	struct object_table *table = cache->tables;
	uint64_t hash[2];

	elf_symtab__hash(symtab, cache->seed, hash);
	while (table && (table->hash[0] != hash[0] || table->hash[1] != hash[1]))
		table = table->next;
	if (table) {
		elf_symtab__free(symtab);
	} else {
		table = calloc(1, sizeof(*table));
		if (!table) {
			elf_symtab__free(symtab);
			return NULL;
		}
		table->symtab = symtab;
		table->hash[0] = hash[0];
		table->hash[1] = hash[1];
		table->next = cache->tables;
		cache->tables = table;
		cache->table_bytes += elf_symtab__bytes(symtab);
		table->account = account__ref(account);
		(void)account__take(account, ACCOUNT_POOL_TABLES, elf_symtab__bytes(symtab));
	}
	table->user_cnt++;
	table->last_use = ++cache->clock;
	return table;
}

/* What the parser said of it: `err`, or *elf. 0 or -errno. */
static int object_set(struct object_cache *cache, struct object *object, const char *path, int err,
		      const struct elf_object *elf, struct account *account)
{
	if (err == -ENOEXEC) {
		object->state = OBJECT_STATE_NOT_ELF;
		return 0;
	}
	if (err == -ENOTRECOVERABLE)
		object->state = OBJECT_STATE_UNPARSABLE;
	if (err)
		return err;
	object->is_hotspot = elf->is_hotspot;
	if (elf_symtab__dropped(elf->symtab))
		pr_debug("symbols: '%s': %zu symbols too many\n", path,
			 elf_symtab__dropped(elf->symtab));
	object->table = object_cache_share(cache, elf->symtab, account);
	if (!object->table)
		return -ENOMEM;
	object->state = OBJECT_STATE_ELF;
	object_cache_evict(cache, object->table);
	return 0;
}

int object_cache__load(struct object_cache *cache, struct object **object, int fd, const char *path,
		       const struct debug_file_roots *roots, struct account *account)
{
	struct debug_file_roots noting = *roots;
	bool own_was_used = false;
	struct elf_object elf = { .symtab = NULL };
	int err;

	object_cache__find_own(cache, object, account);
	if (!object_needs_load(*object))
		return 0;
	noting.own_was_used = &own_was_used;
	parser__charge(cache->parser, account);
	err = parser__elf(cache->parser, fd, path, &noting, &elf);
	if (own_was_used && object_cache__make_own(cache, object, account)) {
		elf_symtab__free(elf.symtab);
		return -ENOMEM;
	}
	return object_set(cache, *object, path, err, &elf, account);
}

int object_cache__lookup(struct object_cache *cache, struct object *object, uint64_t file_offset,
			 struct elf_symbol *out)
{
	uint64_t address;
	int err;

	if (object_needs_load(object))
		return -EAGAIN;
	if (!object->table)
		return -ENOENT;
	object->table->last_use = ++cache->clock;
	err = elf_symtab__address_of_offset(object->table->symtab, file_offset, &address);
	return err ? err : elf_symtab__lookup(object->table->symtab, address, out);
}

size_t object_cache__bytes(const struct object_cache *cache)
{
	return sizeof(*cache) + cache->bucket_cnt * sizeof(struct object *) + cache->table_bytes +
	       cache->object_cnt * sizeof(struct object);
}
