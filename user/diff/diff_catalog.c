// SPDX-License-Identifier: Apache-2.0
/*
 * Every item is a key in one string table, whose ids are the items' numbers. The first byte of a key
 * is the item's kind. Methods: kind of frame, name. Classes and packages: name. Places: number of
 * the place above, number of the method; a process, which has neither, by its name.
 *
 * The same stacks come again in every window: what a stack counts for is worked out once and kept
 * by its hash. A stack is up to 60 KiB of text, so the text itself is not kept.
 */
#include "user/diff/diff_catalog.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/diff/diff_spelling.h"
#include "user/model/stack_text.h"
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
	size_t first; /* in `members` */
	uint32_t cnt;
};

struct diff_catalog {
	struct strtab *keys;
	struct diff_item *items; /* by id of keys */
	uint32_t *seen;		 /* by item: serial of the last stack that had it */
	size_t item_cap;
	uint32_t item_cnt;
	uint32_t serial;
	struct strtab *stacks;		 /* hashes */
	struct stack_items *stack_items; /* by id of stacks */
	size_t stack_cap;
	uint32_t *members;
	size_t member_cnt;
	size_t member_cap;
	struct diff_spelling *spelling;
	struct strbuf key;   /* scratch */
	struct strbuf stack; /* scratch */
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
	strbuf_release(&catalog->stack);
	free(catalog);
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

/* Adds an item to those of the stack being worked out, once. */
static int add_member(struct diff_catalog *catalog, uint32_t item)
{
	if (catalog->seen[item] == catalog->serial)
		return 0;
	if (vec_room(catalog->members, catalog->member_cnt, catalog->member_cap, 1024))
		return -ENOMEM;
	catalog->seen[item] = catalog->serial;
	catalog->members[catalog->member_cnt++] = item;
	return 0;
}

/* The item and the groups it is in. */
static int add_with_groups(struct diff_catalog *catalog, uint32_t item)
{
	int err = 0;

	for (; !err && item != DIFF_NONE; item = catalog->items[item].group)
		err = add_member(catalog, item);
	return err;
}

static int add_frame(struct diff_catalog *catalog, const struct stack_frame *frame, uint32_t depth,
		     uint32_t *place)
{
	uint32_t total = DIFF_NONE;
	int err = intern_method(catalog, frame, DIFF_KIND_METHOD_TOTAL, DIFF_NONE, &total);

	if (!err)
		err = add_with_groups(catalog, total);
	if (err || depth > DIFF_CATALOG_DEPTH_MAX)
		return err;
	err = intern_place(catalog, *place, total, NULL, place);
	return err ? err : add_member(catalog, *place);
}

static int add_self(struct diff_catalog *catalog, const struct stack_frame *frame)
{
	uint32_t total = DIFF_NONE;
	uint32_t self = DIFF_NONE;
	int err = intern_method(catalog, frame, DIFF_KIND_METHOD_TOTAL, DIFF_NONE, &total);

	if (!err)
		err = intern_method(catalog, frame, DIFF_KIND_METHOD_SELF, total, &self);
	return err ? err : add_with_groups(catalog, self);
}

/* What a stack counts for, as members[first ..]. */
static int work_out(struct diff_catalog *catalog, const char *stack, size_t len)
{
	struct stack_frame frame;
	uint32_t place = DIFF_NONE;
	uint32_t depth = 0;
	int err = 0;

	if (++catalog->serial == 0) {
		memset(catalog->seen, 0, catalog->item_cnt * sizeof(*catalog->seen));
		catalog->serial = 1;
	}
	for (; !err && stack_text_next(&stack, &len, &frame); depth++) {
		if (depth) {
			err = add_frame(catalog, &frame, depth, &place);
			continue;
		}
		err = intern_place(catalog, DIFF_NONE, DIFF_NONE, &frame, &place);
		if (!err)
			err = add_member(catalog, place);
	}
	/* A process without frames has its place only. */
	if (!err && depth > 1)
		err = add_self(catalog, &frame);
	return err;
}

/* Makes room for the stack's entry, then the entry. */
static int learn_stack(struct diff_catalog *catalog, const void *hash, size_t hash_len,
		       const char *stack, size_t len, uint32_t *id_out)
{
	size_t known = strtab__count(catalog->stacks);
	size_t first = catalog->member_cnt;
	int err = vec_room(catalog->stack_items, known, catalog->stack_cap, 256);

	if (err)
		return err;
	strbuf_clear(&catalog->stack);
	err = diff_spelling__stack(catalog->spelling, stack, len, &catalog->stack);
	if (!err)
		err = work_out(catalog, strbuf_str(&catalog->stack), catalog->stack.len);
	else if (err == -E2BIG)
		err = work_out(catalog, stack, len); /* a bit too long as it should be written */
	if (!err)
		err = strtab__intern(catalog->stacks, hash, hash_len, id_out);
	if (err) {
		catalog->member_cnt = first;
		return err;
	}
	catalog->stack_items[*id_out] = (struct stack_items){
		.first = first,
		.cnt = (uint32_t)(catalog->member_cnt - first),
	};
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

int diff_catalog__count(const struct diff_catalog *catalog, struct diff_side *side, uint32_t stack,
			uint64_t count)
{
	const struct stack_items *at = &catalog->stack_items[stack];
	int err = 0;

	for (uint32_t i = 0; !err && i < at->cnt; i++)
		err = diff_side__add(side, catalog->members[at->first + i], count);
	return err;
}

int diff_catalog__add(struct diff_catalog *catalog, struct diff_side *side, const char *stack,
		      size_t len, uint64_t count)
{
	uint32_t id = 0;
	int err = diff_catalog__learn(catalog, stack, len, &id);

	return err ? err : diff_catalog__count(catalog, side, id, count);
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
