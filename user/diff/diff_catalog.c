// SPDX-License-Identifier: Apache-2.0
/*
 * Every item is a key in one string table, whose ids are the items' numbers. The first byte of a key
 * is the item's kind. Methods: kind of frame, name. Classes and packages: name. Places: number of
 * the place above, number of the method; a process, which has neither, by its name.
 *
 * The same stacks come again in every window: what a stack counts for is worked out once and kept
 * by its hash: its place in the tree, above which all others are, and the method by itself. A stack is
 * up to 60 KiB of text, so neither the text nor a list of all that it counts for is kept. Of stacks
 * that are deeper than the tree, the methods below it are.
 */
#include "user/diff/diff_catalog.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/diff/diff_spelling.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define KERNEL_PACKAGE	"[kernel]"
#define KEY_FRAME_BYTES 2 /* kind of item, kind of frame */
#define KEY_GROUP_BYTES 1 /* kind of item */

/* Key of a place; followed by the name when `parent` and `method` say that it is a process. */
struct place_key {
	uint8_t kind;
	uint8_t zero[3];
	uint32_t parent;
	uint32_t method;
};

_Static_assert(sizeof(struct place_key) == 12, "keys have no padding");

struct stack_items {
	uint32_t place;
	uint32_t self; /* DIFF_NONE: it is a process without frames */
	uint32_t deep; /* in `members`: how many methods follow; DIFF_NONE: none do */
};

/* DIFF_NONE: not asked for yet. */
struct method_items {
	uint32_t total;
	uint32_t self;
};

struct diff_catalog {
	struct strtab *keys;
	struct diff_item *items; /* by id of keys */
	uint32_t *seen;		 /* by item: serial of the last stack that was counted with it */
	size_t item_cap;
	uint32_t item_cnt;
	uint32_t serial;
	struct strtab *stacks;		 /* hashes */
	struct stack_items *stack_items; /* by id of stacks */
	size_t stack_cap;
	uint32_t *members; /* of deep stacks */
	size_t member_cnt;
	size_t member_cap;
	struct diff_spelling *spelling;
	struct method_items *methods; /* by text of diff_spelling */
	size_t method_cap;
	struct strbuf key; /* scratch */
};

struct diff_catalog *diff_catalog__new(void)
{
	struct diff_catalog *catalog = calloc(1, sizeof(*catalog));

	if (!catalog)
		return NULL;
	catalog->keys = strtab__new();
	catalog->stacks = strtab__new();
	catalog->spelling = diff_spelling__new();
	if (!catalog->keys || !catalog->stacks || !catalog->spelling) {
		diff_catalog__free(catalog);
		return NULL;
	}
	return catalog;
}

void diff_catalog__free(struct diff_catalog *catalog)
{
	if (!catalog)
		return;
	strtab__free(catalog->keys);
	strtab__free(catalog->stacks);
	free(catalog->items);
	free(catalog->seen);
	free(catalog->stack_items);
	free(catalog->members);
	diff_spelling__free(catalog->spelling);
	strbuf_release(&catalog->key);
	free(catalog->methods);
	free(catalog);
}

void diff_catalog__leave_out_parameters(struct diff_catalog *catalog)
{
	diff_spelling__leave_out_parameters(catalog->spelling);
}

static int reserve_item(struct diff_catalog *catalog)
{
	size_t cap;

	if (catalog->item_cnt >= DIFF_SIDE_ITEMS_MAX)
		return -E2BIG;
	if (catalog->item_cnt < catalog->item_cap)
		return 0;
	cap = vec_next_cap(catalog->item_cap, catalog->item_cnt + 1, 256, UINT32_MAX);
	if (!cap || vec_resize(catalog->items, cap) || vec_resize(catalog->seen, cap))
		return -ENOMEM;
	catalog->item_cap = cap;
	return 0;
}

/* The item whose key is in catalog->key; made from `item` when new. */
static int intern_item(struct diff_catalog *catalog, struct diff_item item, uint32_t *out)
{
	/* Room first: a key without an item must not stay behind. */
	int err = strbuf_error(&catalog->key);

	if (!err)
		err = reserve_item(catalog);

	if (err == -E2BIG) {
		*out = strtab__find(catalog->keys, catalog->key.data, catalog->key.len);
		return *out == STRTAB_NONE ? -E2BIG : 0;
	}
	if (!err)
		err = strtab__intern(catalog->keys, catalog->key.data, catalog->key.len, out);
	if (err || *out < catalog->item_cnt)
		return err;
	catalog->items[catalog->item_cnt] = item;
	catalog->seen[catalog->item_cnt] = 0;
	catalog->item_cnt++;
	return 0;
}

static bool is_java(enum frame_kind kind)
{
	return kind == FRAME_KIND_JIT || kind == FRAME_KIND_C1 || kind == FRAME_KIND_INTERPRETED ||
	       kind == FRAME_KIND_INLINED;
}

static enum frame_kind identity(enum frame_kind kind)
{
	return is_java(kind) ? FRAME_KIND_JIT : kind;
}

static void make_key(struct strbuf *key, enum diff_kind item_kind, enum frame_kind kind,
		     const char *name, size_t len)
{
	bool is_method = item_kind == DIFF_KIND_METHOD_SELF || item_kind == DIFF_KIND_METHOD_TOTAL;

	strbuf_clear(key);
	strbuf_putc(key, (char)item_kind);
	if (is_method)
		strbuf_putc(key, (char)identity(kind));
	strbuf_append(key, name, len);
}

static int intern_group(struct diff_catalog *catalog, enum diff_kind kind, const char *name,
			size_t len, uint32_t outer, uint32_t *out)
{
	struct diff_item item = {
		.kind = kind, .group = outer, .method = DIFF_NONE, .parent = DIFF_NONE
	};

	make_key(&catalog->key, kind, FRAME_KIND_NATIVE, name, len);
	return intern_item(catalog, item, out);
}

/* Length of the part before the last dot; 0 when there is none. */
static size_t before_last_dot(const char *name, size_t len)
{
	const char *dot = len ? memrchr(name, '.', len) : NULL;

	return dot ? (size_t)(dot - name) : 0;
}

/* The class of a Java method (with its package), the package of kernel code, else DIFF_NONE. */
static int intern_groups(struct diff_catalog *catalog, const struct stack_frame *frame,
			 bool is_total, uint32_t *out)
{
	enum diff_kind class_kind = is_total ? DIFF_KIND_CLASS_TOTAL : DIFF_KIND_CLASS_SELF;
	enum diff_kind package_kind = is_total ? DIFF_KIND_PACKAGE_TOTAL : DIFF_KIND_PACKAGE_SELF;
	uint32_t package = DIFF_NONE;
	int err = 0;

	*out = DIFF_NONE;
	if (frame->kind == FRAME_KIND_KERNEL)
		return intern_group(catalog, package_kind, KERNEL_PACKAGE, strlen(KERNEL_PACKAGE),
				    DIFF_NONE, out);
	if (!is_java(frame->kind))
		return 0;

	size_t class_len = before_last_dot(frame->name, frame->name_len);
	size_t package_len = before_last_dot(frame->name, class_len);

	if (package_len)
		err = intern_group(catalog, package_kind, frame->name, package_len, DIFF_NONE,
				   &package);
	if (!err && class_len)
		err = intern_group(catalog, class_kind, frame->name, class_len, package, out);
	return err;
}

static int intern_method(struct diff_catalog *catalog, const struct stack_frame *frame,
			 enum diff_kind kind, uint32_t total, uint32_t *out)
{
	struct diff_item item = { .kind = kind, .method = total, .parent = DIFF_NONE };
	int err = intern_groups(catalog, frame, kind == DIFF_KIND_METHOD_TOTAL, &item.group);

	make_key(&catalog->key, kind, frame->kind, frame->name, frame->name_len);
	return err ? err : intern_item(catalog, item, out);
}

/* A process has no method; its name makes the key. */
static int intern_place(struct diff_catalog *catalog, uint32_t parent, uint32_t method,
			const struct stack_frame *process, uint32_t *out)
{
	struct place_key key = { .kind = DIFF_KIND_PATH, .parent = parent, .method = method };
	struct diff_item item = {
		.kind = DIFF_KIND_PATH, .group = DIFF_NONE, .method = method, .parent = parent
	};

	strbuf_clear(&catalog->key);
	strbuf_append(&catalog->key, &key, sizeof(key));
	if (process)
		strbuf_append(&catalog->key, process->text, process->text_len);
	return intern_item(catalog, item, out);
}

/* A method below the tree. */
static int add_deep(struct diff_catalog *catalog, uint32_t method, struct stack_items *items)
{
	if (catalog->member_cnt + 1 >= DIFF_NONE)
		return -E2BIG;
	if (vec_reserve(catalog->members, catalog->member_cnt + 2, catalog->member_cap, 1024))
		return -ENOMEM;
	if (items->deep == DIFF_NONE) {
		items->deep = (uint32_t)catalog->member_cnt++;
		catalog->members[items->deep] = 0;
	}
	catalog->members[items->deep]++;
	catalog->members[catalog->member_cnt++] = method;
	return 0;
}

static int reserve_method(struct diff_catalog *catalog, uint32_t text)
{
	size_t before = catalog->method_cap;
	int err = vec_room(catalog->methods, text, catalog->method_cap, 256);

	for (size_t i = before; i < catalog->method_cap; i++)
		catalog->methods[i] = (struct method_items){ DIFF_NONE, DIFF_NONE };
	return err;
}

/* The method with what it calls of the frame with that text. */
static int find_total(struct diff_catalog *catalog, uint32_t text, uint32_t *total)
{
	struct stack_frame frame;
	int err = reserve_method(catalog, text);

	if (!err && catalog->methods[text].total == DIFF_NONE) {
		diff_spelling__frame(catalog->spelling, text, &frame);
		err = intern_method(catalog, &frame, DIFF_KIND_METHOD_TOTAL, DIFF_NONE,
				    &catalog->methods[text].total);
	}
	if (!err)
		*total = catalog->methods[text].total;
	return err;
}

static int find_self(struct diff_catalog *catalog, uint32_t text, uint32_t *self)
{
	struct stack_frame frame;
	uint32_t total = DIFF_NONE;
	int err = find_total(catalog, text, &total);

	if (!err && catalog->methods[text].self == DIFF_NONE) {
		diff_spelling__frame(catalog->spelling, text, &frame);
		err = intern_method(catalog, &frame, DIFF_KIND_METHOD_SELF, total,
				    &catalog->methods[text].self);
	}
	if (!err)
		*self = catalog->methods[text].self;
	return err;
}

static int add_process(struct diff_catalog *catalog, uint32_t text, struct stack_items *items)
{
	struct stack_frame process;

	diff_spelling__frame(catalog->spelling, text, &process);
	return intern_place(catalog, DIFF_NONE, DIFF_NONE, &process, &items->place);
}

static int add_frame(struct diff_catalog *catalog, uint32_t text, uint32_t depth,
		     struct stack_items *items)
{
	uint32_t total = DIFF_NONE;
	int err = find_total(catalog, text, &total);

	if (err)
		return err;
	return depth > DIFF_CATALOG_DEPTH_MAX ?
		       add_deep(catalog, total, items) :
		       intern_place(catalog, items->place, total, NULL, &items->place);
}

/* What a stack counts for. */
static int work_out(struct diff_catalog *catalog, const char *stack, size_t len,
		    struct stack_items *items)
{
	struct diff_spelling_walk walk;
	uint32_t text = 0, depth = 0;
	int err;

	*items = (struct stack_items){ .place = DIFF_NONE, .self = DIFF_NONE, .deep = DIFF_NONE };
	diff_spelling_walk(&walk, stack, len);
	while ((err = diff_spelling__next(catalog->spelling, &walk, &text)) > 0) {
		err = depth ? add_frame(catalog, text, depth, items) :
			      add_process(catalog, text, items);
		if (err)
			return err;
		depth++;
	}
	/* A process without frames has its place only. */
	return err || depth < 2 ? err : find_self(catalog, text, &items->self);
}

/* Makes room for the stack's entry, then the entry. */
static int learn_stack(struct diff_catalog *catalog, const void *hash, size_t hash_len,
		       const char *stack, size_t len, uint32_t *id_out)
{
	size_t known = strtab__count(catalog->stacks);
	size_t first = catalog->member_cnt;
	struct stack_items items;
	int err = vec_room(catalog->stack_items, known, catalog->stack_cap, 256);

	if (err)
		return err;
	err = work_out(catalog, stack, len, &items);
	if (!err)
		err = strtab__intern(catalog->stacks, hash, hash_len, id_out);
	if (err) {
		catalog->member_cnt = first;
		return err;
	}
	catalog->stack_items[*id_out] = items;
	return 0;
}

int diff_catalog__learn(struct diff_catalog *catalog, const char *stack, size_t len,
			uint32_t *stack_out)
{
	XXH128_canonical_t hash;

	XXH128_canonicalFromHash(&hash, XXH3_128bits(stack, len));

	uint32_t id = strtab__find(catalog->stacks, &hash, sizeof(hash));
	int err = 0;

	if (id == STRTAB_NONE)
		err = learn_stack(catalog, &hash, sizeof(hash), stack, len, &id);
	if (!err)
		*stack_out = id;
	return err;
}

uint64_t diff_catalog__stack_key(const struct diff_catalog *catalog, uint32_t stack)
{
	uint64_t key = 0;
	size_t len = 0;
	const char *hash = strtab__get(catalog->stacks, stack, &len);

	memcpy(&key, hash, sizeof(key));
	return key;
}

static void begin_count(struct diff_catalog *catalog)
{
	if (++catalog->serial != 0)
		return;
	memset(catalog->seen, 0, catalog->item_cnt * sizeof(*catalog->seen));
	catalog->serial = 1;
}

/* The item and the groups that it is in, each once: whoever has an item has its groups. */
static int count_item(const struct diff_catalog *catalog, struct diff_side *side, uint32_t item,
		      uint64_t count)
{
	int err = 0;

	for (; !err && item != DIFF_NONE && catalog->seen[item] != catalog->serial;
	     item = catalog->items[item].group) {
		catalog->seen[item] = catalog->serial;
		err = diff_side__add(side, item, count);
	}
	return err;
}

int diff_catalog__count(struct diff_catalog *catalog, struct diff_side *side, uint32_t stack,
			uint64_t count)
{
	const struct stack_items *at = &catalog->stack_items[stack];
	const uint32_t *deep = at->deep == DIFF_NONE ? NULL : &catalog->members[at->deep];
	int err = 0;

	begin_count(catalog);
	for (uint32_t place = at->place; !err && place != DIFF_NONE;
	     place = catalog->items[place].parent) {
		err = count_item(catalog, side, place, count);
		if (!err)
			err = count_item(catalog, side, catalog->items[place].method, count);
	}
	for (uint32_t i = 0; !err && deep && i < *deep; i++)
		err = count_item(catalog, side, deep[1 + i], count);
	return err ? err : count_item(catalog, side, at->self, count);
}

int diff_catalog__add(struct diff_catalog *catalog, struct diff_side *side, const char *stack,
		      size_t len, uint64_t count)
{
	uint32_t id = 0;
	int err = diff_catalog__learn(catalog, stack, len, &id);

	return err ? err : diff_catalog__count(catalog, side, id, count);
}

/* ---- cutting ---- */

/* to[i] = 0: it is to be kept, else DIFF_NONE. */
static int mark_heavy(const struct diff_catalog *catalog, struct diff_side *const *sides,
		      size_t side_cnt, uint64_t samples_min, uint32_t *to)
{
	__cleanup_free uint64_t *samples =
		reallocarray(NULL, (size_t)catalog->item_cnt + 1, sizeof(*samples));

	if (!samples)
		return -ENOMEM;
	memset(to, 0xff, catalog->item_cnt * sizeof(*to));
	for (size_t s = 0; s < side_cnt; s++) {
		memset(samples, 0, catalog->item_cnt * sizeof(*samples));
		for (size_t b = 0; b < diff_side__block_count(sides[s]); b++) {
			size_t cnt = 0;
			const struct diff_count *counts = diff_side__counts(sides[s], b, &cnt);

			for (size_t i = 0; i < cnt; i++)
				samples[counts[i].item] += counts[i].count;
		}
		for (uint32_t i = 0; i < catalog->item_cnt; i++)
			if (samples[i] >= samples_min)
				to[i] = 0;
	}
	return 0;
}

/* What an item is linked to came before it, and stays with it. */
static uint32_t number_anew(const struct diff_catalog *catalog, uint32_t *to)
{
	uint32_t cnt = 0;

	for (uint32_t i = catalog->item_cnt; i-- > 0;) {
		const struct diff_item *item = &catalog->items[i];
		const uint32_t links[] = { item->group, item->method, item->parent };

		for (size_t l = 0; to[i] == 0 && l < ARRAY_SIZE(links); l++)
			if (links[l] != DIFF_NONE)
				to[links[l]] = 0;
	}
	for (uint32_t i = 0; i < catalog->item_cnt; i++)
		if (to[i] == 0)
			to[i] = cnt++;
	return cnt;
}

static uint32_t link_anew(const uint32_t *to, uint32_t link)
{
	return link == DIFF_NONE ? DIFF_NONE : to[link];
}

/* Places have numbers in their keys. */
static void make_key_anew(struct diff_catalog *catalog, uint32_t id, const uint32_t *to,
			  struct strbuf *out)
{
	const struct diff_item *item = &catalog->items[id];
	struct place_key place = {
		.kind = DIFF_KIND_PATH,
		.parent = link_anew(to, item->parent),
		.method = link_anew(to, item->method),
	};
	size_t len = 0, skip = item->kind == DIFF_KIND_PATH ? sizeof(place) : 0;
	const char *key = strtab__get(catalog->keys, id, &len);

	strbuf_clear(out);
	strbuf_append(out, &place, skip);
	strbuf_append(out, key + skip, len - skip);
}

/* A catalog with the items that are kept. 0 or -ENOMEM. */
static int copy_items(struct diff_catalog *catalog, const uint32_t *to, uint32_t cnt,
		      struct diff_catalog *copy)
{
	int err = 0;

	copy->item_cap = (size_t)cnt + 1;
	if (vec_resize(copy->items, copy->item_cap) || vec_resize(copy->seen, copy->item_cap))
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < catalog->item_cnt; i++) {
		struct diff_item item = catalog->items[i];
		uint32_t id = 0;

		if (to[i] == DIFF_NONE)
			continue;
		item.group = link_anew(to, item.group);
		item.method = link_anew(to, item.method);
		item.parent = link_anew(to, item.parent);
		make_key_anew(catalog, i, to, &copy->key);
		err = intern_item(copy, item, &id);
	}
	return err;
}

int diff_catalog__cut(struct diff_catalog *catalog, struct diff_side *const *sides, size_t side_cnt,
		      uint64_t samples_min)
{
	__cleanup_free uint32_t *to =
		reallocarray(NULL, (size_t)catalog->item_cnt + 1, sizeof(*to));
	struct diff_catalog *copy = diff_catalog__new();
	int err = to && copy ? mark_heavy(catalog, sides, side_cnt, samples_min, to) : -ENOMEM;

	if (!err)
		err = copy_items(catalog, to, number_anew(catalog, to), copy);
	for (size_t s = 0; !err && s < side_cnt; s++)
		diff_side__renumber(sides[s], to, catalog->item_cnt);
	if (!err) {
		struct diff_catalog old = *catalog;

		*catalog = *copy;
		*copy = old;
	}
	diff_catalog__free(copy);
	return err;
}

const struct diff_item *diff_catalog__items(const struct diff_catalog *catalog, uint32_t *cnt_out)
{
	*cnt_out = catalog->item_cnt;
	return catalog->items;
}

struct diff_catalog_name diff_catalog__name(const struct diff_catalog *catalog, uint32_t item)
{
	const struct diff_item *at = &catalog->items[item];
	bool is_process = at->kind == DIFF_KIND_PATH && at->method == DIFF_NONE;

	if (at->kind == DIFF_KIND_PATH && !is_process)
		return diff_catalog__name(catalog, at->method);

	size_t len = 0;
	const char *key = strtab__get(catalog->keys, item, &len);
	bool is_method = at->kind == DIFF_KIND_METHOD_SELF || at->kind == DIFF_KIND_METHOD_TOTAL;
	size_t skip = is_process ? sizeof(struct place_key) :
		      is_method	 ? KEY_FRAME_BYTES :
				   KEY_GROUP_BYTES;

	return (struct diff_catalog_name){
		.text = key + skip,
		.len = len - skip,
		.kind = is_method ? (enum frame_kind)key[1] : FRAME_KIND_NATIVE,
	};
}

uint32_t diff_catalog__find(const struct diff_catalog *catalog, enum diff_kind item_kind,
			    enum frame_kind kind, const char *name, size_t len)
{
	__cleanup_strbuf struct strbuf key = STRBUF_INIT;
	uint32_t id;

	if (item_kind <= DIFF_KIND_NONE || item_kind >= DIFF_KIND_PATH)
		return DIFF_NONE;
	make_key(&key, item_kind, kind, name, len);
	if (strbuf_error(&key))
		return DIFF_NONE;
	id = strtab__find(catalog->keys, key.data, key.len);
	return id == STRTAB_NONE ? DIFF_NONE : id;
}
