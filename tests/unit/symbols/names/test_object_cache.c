// SPDX-License-Identifier: Apache-2.0
/* Shared tables, their eviction and return; the caches of addresses and of names. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/sysmacros.h>

#include "symbols/names/addr_cache.h"
#include "symbols/names/name_table.h"
#include "symbols/names/object_cache.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

static struct fake_proc tree;
static struct account *payer; /* of what put_object() loads */

static int tree_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	return fake_proc_make(&tree);
}

static int tree_remove(void **state)
{
	(void)state;
	return fake_proc_remove(&tree);
}

/* The object of a file with one function, loaded. */
static struct object *put_object(struct object_cache *cache, const char *path, const char *function)
{
	struct debug_file_roots nowhere = { .container_fd = -1, .host_fd = -1 };
	struct tiny_symbol symbol = { .name = function, .size = 16 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1 };
	static uint8_t bytes[TINY_ELF_MAX];
	struct object *object;
	struct stat st;
	int fd;

	if (function)
		fake_proc_put(&tree, path, bytes, tiny_elf_write(&elf, bytes));
	fd = openat(tree.fd, path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	object = object_cache__get(cache, &st, payer);
	assert_non_null(object);
	if (object_needs_load(object))
		assert_int_equal(object_cache__load(cache, &object, fd, path, &nowhere, payer), 0);
	close(fd);
	return object;
}

static void check(struct object_cache *cache, struct object *object, const char *name, int err)
{
	struct elf_symbol symbol = { .name = NULL };

	assert_int_equal(object_cache__lookup(cache, object, TINY_TEXT_OFFSET, &symbol), err);
	if (name)
		assert_string_equal(symbol.name, name);
}

static void object_of_one_file_is_one_object(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct object *a = put_object(cache, "a", "f");
	struct object *again = put_object(cache, "a", NULL);

	(void)state;
	assert_ptr_equal(a, again);
	check(cache, a, "f", 0);
	object_cache__put(cache, a);
	object_cache__put(cache, again);
	object_cache__put(cache, NULL);
	/* Unused ones are kept: the next process of this program costs nothing. */
	assert_ptr_equal(put_object(cache, "a", NULL), a);
	assert_false(object_needs_load(a));
	object_cache__free(cache);
}

static void object_of_a_rewritten_file_is_another_object(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct object *before = put_object(cache, "a", "f");
	struct object *after = put_object(cache, "a", "g");

	(void)state;
	assert_ptr_not_equal(before, after);
	check(cache, before, "f", 0);
	check(cache, after, "g", 0);
	object_cache__free(cache);
}

static void object_tables_of_equal_content_are_kept_once(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct object *a = put_object(cache, "a", "same");
	size_t one = object_cache__bytes(cache);
	struct object *b = put_object(cache, "b", "same");
	size_t two = object_cache__bytes(cache);
	size_t three;

	(void)state;
	put_object(cache, "c", "other");
	three = object_cache__bytes(cache);
	assert_ptr_not_equal(a, b);
	assert_true(three - two > two - one);
	check(cache, a, "same", 0);
	check(cache, b, "same", 0);
	object_cache__free(cache);
}

static void object_tables_used_longest_ago_are_dropped_and_come_back(void **state)
{
	struct object_cache *cache = object_cache__new(1, parser_here());
	struct object *a = put_object(cache, "a", "f");
	struct object *also_a, *b;

	(void)state;
	/* Larger than the cap all by itself, but wanted right now. */
	check(cache, a, "f", 0);
	also_a = put_object(cache, "copy", "f");
	check(cache, a, "f", 0);
	b = put_object(cache, "b", "g");
	check(cache, b, "g", 0);
	check(cache, a, NULL, -EAGAIN);
	check(cache, also_a, NULL, -EAGAIN);
	assert_true(object_is_elf(a));
	assert_true(object_needs_load(a));
	object_cache__put(cache, put_object(cache, "a", NULL));
	check(cache, a, "f", 0);
	check(cache, b, NULL, -EAGAIN);
	object_cache__free(cache);
}

/* One that brings more and more files drops its own, and not what another one uses now and then. */
static void object_tables_of_an_account_over_its_share_go_first(void **state)
{
	struct accounts *accounts = accounts__new();
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct object *few, *many[20];
	size_t table_bytes;

	(void)state;
	payer = accounts__get(accounts, 1, "");
	few = put_object(cache, "few", "f");
	table_bytes = account__held(payer, ACCOUNT_POOL_TABLES);
	assert_true(table_bytes > 0);
	object_cache__free(cache);
	assert_int_equal(account__held(payer, ACCOUNT_POOL_TABLES), 0);

	cache = object_cache__new(5 * table_bytes + table_bytes / 2, parser_here());
	few = put_object(cache, "few", "f");
	payer = accounts__get(accounts, 2, "");
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		char name[8];

		snprintf(name, sizeof(name), "m%02zu", i);
		many[i] = put_object(cache, name, name);
		check(cache, many[i], name, 0);
	}
	check(cache, few, "f", 0);
	check(cache, many[0], NULL, -EAGAIN);
	check(cache, many[19], "m19", 0);
	object_cache__free(cache);
	payer = NULL;
	accounts__free(accounts);
}

static void object_that_is_no_elf_file_is_asked_once(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct object *object;

	(void)state;
	fake_proc_text(&tree, "script", "#!/bin/sh\n");
	object = put_object(cache, "script", NULL);
	assert_false(object_is_elf(object));
	assert_false(object_needs_load(object));
	check(cache, object, NULL, -ENOENT);
	object_cache__free(cache);
	object_cache__free(NULL);
}

/* A file system in user space says of its files what it likes, and another one may get its number next. */
static void object_of_a_file_without_a_disk_is_the_accounts_alone(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct accounts *accounts = accounts__new();
	struct account *one = accounts__get(accounts, 1, "");
	struct account *other = accounts__get(accounts, 2, "");
	struct stat st = { .st_dev = makedev(0, 50), .st_ino = 7, .st_size = 1 };
	struct object *ones = object_cache__get(cache, &st, one);

	(void)state;
	assert_ptr_equal(object_cache__get(cache, &st, one), ones);
	assert_ptr_not_equal(object_cache__get(cache, &st, other), ones);
	st.st_dev = makedev(8, 1);
	ones = object_cache__get(cache, &st, one);
	assert_ptr_equal(object_cache__get(cache, &st, other), ones);
	object_cache__free(cache);
	account__put(one);
	account__put(other);
	accounts__free(accounts);
}

static void object_cache_forgets_unused_files_past_its_cap(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct stat st = { .st_size = 1 };
	struct object *used;
	size_t bytes;

	(void)state;
	st.st_ino = 1;
	used = object_cache__get(cache, &st, payer);
	for (ino_t i = 2; i < OBJECT_CACHE_MAX_OBJECTS + 1; i++) {
		st.st_ino = i;
		object_cache__put(cache, object_cache__get(cache, &st, payer));
	}
	bytes = object_cache__bytes(cache);
	for (ino_t i = 10000; i < 10100; i++) {
		st.st_ino = i;
		object_cache__put(cache, object_cache__get(cache, &st, payer));
	}
	assert_int_equal(object_cache__bytes(cache), bytes);
	st.st_ino = 1;
	assert_ptr_equal(object_cache__get(cache, &st, payer), used);
	object_cache__free(cache);
}

/* The object of a file with this inode number, without a user more. */
static struct object *find_object(struct object_cache *cache, ino_t inode)
{
	struct stat st = { .st_size = 1, .st_ino = inode };
	struct object *object = object_cache__get(cache, &st, payer);

	assert_non_null(object);
	object_cache__put(cache, object);
	return object;
}

static void file_that_is_unused_for_longest_is_forgotten_first(void **state)
{
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct object *objects[4];
	size_t bytes;

	(void)state;
	for (ino_t i = 0; i < OBJECT_CACHE_MAX_OBJECTS; i++) {
		struct object *object = find_object(cache, i + 1);

		if (i < ARRAY_SIZE(objects))
			objects[i] = object;
	}
	bytes = object_cache__bytes(cache);
	/* Used again: the first and the third are not the oldest any more. */
	assert_ptr_equal(find_object(cache, 1), objects[0]);
	assert_ptr_equal(find_object(cache, 3), objects[2]);
	find_object(cache, OBJECT_CACHE_MAX_OBJECTS + 1);
	find_object(cache, OBJECT_CACHE_MAX_OBJECTS + 2);
	assert_int_equal(object_cache__bytes(cache), bytes);
	assert_ptr_equal(find_object(cache, 1), objects[0]);
	assert_ptr_equal(find_object(cache, 3), objects[2]);
	object_cache__free(cache);
}

/* As when a process that maps very many files ends. With a search for each this takes minutes. */
static void very_many_files_are_forgotten_one_by_one(void **state)
{
	static struct object *objects[60000];
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct stat st = { .st_size = 1 };
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		st.st_ino = i + 1;
		objects[i] = object_cache__get(cache, &st, payer);
		assert_non_null(objects[i]);
	}
	bytes = object_cache__bytes(cache);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		object_cache__put(cache, objects[i]);
	assert_true(object_cache__bytes(cache) < bytes / 10);
	object_cache__free(cache);
}

static void addr_cache_finds_what_was_put(void **state)
{
	struct addr_cache cache = { 0 };

	(void)state;
	assert_null(addr_cache_find(&cache, 0));
	for (uint32_t i = 0; i < 10000; i++)
		addr_cache_put(&cache, i * 16ull,
			       (struct answer){ .kind = ANSWER_KIND_FIXED, .name = i });
	for (uint32_t i = 0; i < 10000; i++) {
		const struct answer *answer = addr_cache_find(&cache, i * 16ull);

		assert_non_null(answer);
		assert_int_equal(answer->name, i);
		assert_null(addr_cache_find(&cache, i * 16ull + 1));
	}
	addr_cache_put(&cache, 16, (struct answer){ .kind = ANSWER_KIND_JIT, .name = 7 });
	assert_int_equal(addr_cache_find(&cache, 16)->name, 7);
	addr_cache_clear(&cache);
	assert_null(addr_cache_find(&cache, 16));
	addr_cache_release(&cache);
}

static void addr_cache_starts_anew_at_its_cap(void **state)
{
	struct addr_cache cache = { 0 };
	size_t most = 0;

	(void)state;
	for (uint64_t i = 0; i < 3 * ADDR_CACHE_MAX_ENTRIES; i++) {
		addr_cache_put(&cache, i * 8, (struct answer){ .kind = ANSWER_KIND_FIXED });
		most = addr_cache_bytes(&cache) > most ? addr_cache_bytes(&cache) : most;
		assert_non_null(addr_cache_find(&cache, i * 8));
	}
	assert_int_equal(most, 65536 * 16);
	addr_cache_release(&cache);
}

static void names_past_the_cap_are_not_kept(void **state)
{
	static char text[NAME_MAX_BYTES];
	struct name_table *names;
	uint32_t first, id = 0;

	(void)state;
	assert_int_equal(name_table__new(parser_here(), account_of_host(), &names), 0);
	assert_int_equal(name_table__native(names, "_Z3foov", 7, &first), 0);
	assert_string_equal(name_table__text(names, first), "foo");
	assert_false(name_table__is_large(names));
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < NAME_TABLE_MAX_BYTES / sizeof(text) + 10; i++) {
		snprintf(text, sizeof(text), "%08u", i);
		text[8] = 'x';
		assert_int_equal(name_table__plain(names, text, sizeof(text), &id), 0);
	}
	assert_true(name_table__is_large(names));
	assert_string_equal(name_table__text(names, id), "[too many names]");
	assert_true(name_table__is_unknown(names, id));
	assert_false(name_table__is_unknown(names, first));
	assert_true(name_table__bytes(names) < NAME_TABLE_MAX_BYTES + (1u << 20));
	/* What is known stays known; what is new has no name. */
	assert_int_equal(name_table__native(names, "_Z3foov", 7, &id), 0);
	assert_int_equal(id, first);
	assert_int_equal(name_table__native(names, "_Z3barv", 7, &id), 0);
	assert_string_equal(name_table__text(names, id), "[too many names]");
	assert_int_equal(name_table__reset(names), 0);
	assert_false(name_table__is_large(names));
	assert_int_equal(name_table__native(names, "_Z3barv", 7, &id), 0);
	assert_string_equal(name_table__text(names, id), "bar");
	assert_int_equal(name_table__native(names, "_Z3foov", 7, &id), 0);
	assert_string_equal(name_table__text(names, id), "foo");
	name_table__free(names);
	name_table__free(NULL);
}

/* Frames with such names are no names; what reads them would find an empty text. */
static void names_that_are_none_are_unknown(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} none[] = { { "", 0 }, { "\0", 1 }, { "\0evil", 5 }, { "half\0evil", 9 }, { "end\0", 4 } };
	enum frame_kind kind;
	struct name_table *names;
	uint32_t id;

	(void)state;
	assert_int_equal(name_table__new(parser_here(), account_of_host(), &names), 0);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		assert_int_equal(name_table__plain(names, none[i].text, none[i].len, &id), 0);
		assert_string_equal(name_table__text(names, id), "[unknown]");
		assert_true(name_table__is_unknown(names, id));
	}
	for (size_t i = 1; i < ARRAY_SIZE(none); i++) {
		assert_int_equal(
			name_table__jit(names, none[i].text, none[i].len, true, &id, &kind), 0);
		assert_true(name_table__is_unknown(names, id));
	}
	assert_int_equal(name_table__plain(names, "good", 4, &id), 0);
	assert_false(name_table__is_unknown(names, id));
	name_table__free(names);
}

static void long_names_are_cut_at_a_character_when_they_come_in(void **state)
{
	char text[3 * NAME_MAX_BYTES];
	struct name_table *names;
	const char *kept;
	uint32_t id;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	assert_int_equal(name_table__new(parser_here(), account_of_host(), &names), 0);
	assert_int_equal(name_table__plain(names, text, NAME_MAX_BYTES + 2, &id), 0);
	kept = name_table__text(names, id);
	assert_true(strlen(kept) <= NAME_MAX_BYTES);
	assert_true(strlen(kept) > NAME_MAX_BYTES - 6);
	assert_int_equal((strlen(kept) - 3) % 3, 0);
	assert_string_equal(kept + strlen(kept) - 3, "...");
	assert_false(name_table__is_unknown(names, id));
	name_table__free(names);
}

/* Of two methods of a class with such a name, each stays what it is. */
static void methods_with_long_names_are_told_apart(void **state)
{
	static const size_t lens[] = { 1000, NAME_MAX_BYTES, NAME_METHOD_MAX_BYTES - 9, 60000 };
	struct name_table *names;

	(void)state;
	assert_int_equal(name_table__new(parser_here(), account_of_host(), &names), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		__cleanup_strbuf struct strbuf raw = STRBUF_INIT;
		enum frame_kind kind;
		const char *kept;
		uint32_t id, other;

		strbuf_puts(&raw, "L");
		for (size_t at = 0; at < lens[i]; at++)
			strbuf_putc(&raw, 'x');
		strbuf_puts(&raw, ";::first(LLong;)V");
		assert_int_equal(name_table__jit(names, raw.data, raw.len, true, &id, &kind), 0);
		memcpy(strstr(raw.data, "first"), "other", 5);
		assert_int_equal(name_table__jit(names, raw.data, raw.len, true, &other, &kind), 0);
		kept = name_table__text(names, id);
		assert_int_not_equal(id, other);
		assert_string_equal(kept + strlen(kept) - 6, ".first");
		assert_int_equal(strlen(kept), lens[i] + 6 < NAME_METHOD_MAX_BYTES ?
						       lens[i] + 6 :
						       NAME_METHOD_MAX_BYTES);
		assert_int_equal(strstr(kept, "...") != NULL, lens[i] == 60000);
	}
	name_table__free(names);
}

/* Names of one container, that makes as many as it can, and of one that comes later. */
static void names_of_one_account_leave_room_for_those_of_others(void **state)
{
	struct accounts *accounts = accounts__new();
	struct account *one = accounts__get(accounts, 1, "");
	struct account *other = accounts__get(accounts, 2, "");
	struct name_table *many, *few;
	char text[NAME_MAX_BYTES];
	uint32_t id;

	(void)state;
	assert_int_equal(name_table__new(parser_here(), one, &many), 0);
	assert_int_equal(name_table__new(parser_here(), other, &few), 0);
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "%08u", i);
		text[8] = 'x';
		assert_int_equal(name_table__plain(many, text, sizeof(text), &id), 0);
	}
	assert_string_equal(name_table__text(many, id), "[too many names]");
	assert_true(name_table__is_unknown(many, id));
	assert_true(accounts__held(accounts, ACCOUNT_POOL_NAMES) <= NAME_TABLE_MAX_BYTES / 2);
	assert_int_equal(name_table__plain(few, text, sizeof(text), &id), 0);
	assert_false(name_table__is_unknown(few, id));
	/* It begins again, and the other does not notice. */
	assert_true(name_table__is_large(many));
	assert_false(name_table__is_large(few));
	assert_int_equal(name_table__reset(many), 0);
	assert_int_equal(account__held(one, ACCOUNT_POOL_NAMES), 0);
	name_table__free(many);
	name_table__free(few);
	assert_int_equal(accounts__held(accounts, ACCOUNT_POOL_NAMES), 0);
	account__put(one);
	account__put(other);
	accounts__free(accounts);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
	const struct CMUnitTest tests[] = {
		TEST(object_of_one_file_is_one_object),
		TEST(object_of_a_rewritten_file_is_another_object),
		TEST(object_tables_of_equal_content_are_kept_once),
		TEST(object_tables_used_longest_ago_are_dropped_and_come_back),
		TEST(object_that_is_no_elf_file_is_asked_once),
		TEST(object_of_a_file_without_a_disk_is_the_accounts_alone),
		TEST(object_cache_forgets_unused_files_past_its_cap),
		TEST(file_that_is_unused_for_longest_is_forgotten_first),
		TEST(very_many_files_are_forgotten_one_by_one),
		cmocka_unit_test(addr_cache_finds_what_was_put),
		cmocka_unit_test(addr_cache_starts_anew_at_its_cap),
		TEST(names_past_the_cap_are_not_kept),
		TEST(names_that_are_none_are_unknown),
		TEST(long_names_are_cut_at_a_character_when_they_come_in),
		TEST(methods_with_long_names_are_told_apart),
		TEST(names_of_one_account_leave_room_for_those_of_others),
		TEST(object_tables_of_an_account_over_its_share_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
