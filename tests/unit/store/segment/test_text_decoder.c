// SPDX-License-Identifier: Apache-2.0
/* Decoding ahead: large and small texts mixed come back whole, in order, and only while wanted. */
#include "tests/unit/store_testing.h"

#include <sched.h>

#include "user/util/cleanup.h"

#define WINDOWS 40

/* Small ones stay with the caller, large ones go to the thread, empty ones are host records. */
static size_t line_count(uint32_t number)
{
	static const size_t counts[] = { 3, 20000, 0, 5000, 1, 15000, 15000, 2 };

	return counts[number % ARRAY_SIZE(counts)];
}

static struct strbuf texts[WINDOWS];

static int texts_make(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < WINDOWS; number++)
		for (size_t i = 0; i < line_count(number); i++)
			strbuf_printf(&texts[number], "java;window_%u;line_%05zu 1\n", number, i);
	return 0;
}

static int texts_release(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < WINDOWS; number++)
		strbuf_release(&texts[number]);
	return 0;
}

static struct window make_window(uint32_t number)
{
	struct window window = number_to_window(number);

	window.labels[WINDOW_LABEL_CONTAINER] = number % 2 ? "odd" : "even, with a longer name";
	return window;
}

static void fill(struct test_store *store)
{
	struct store_writer *writer;

	test_store_make(store);
	writer = test_writer(store);
	for (uint32_t number = 0; number < WINDOWS; number++) {
		struct window window = make_window(number);

		assert_int_equal(store_writer__add(writer, &window, strbuf_str(&texts[number]),
						   texts[number].len),
				 0);
		if (number % 7 == 0)
			test_commit(writer);
	}
	test_commit(writer);
	store_writer__free(writer);
}

struct expect {
	uint32_t next;
	uint32_t step;
	uint32_t stop_at; /* this one ends the walk */
	size_t damage_cnt;
};

static bool expect_want(void *ctx, const struct window *window)
{
	const struct expect *expect = ctx;

	return (window->pid - 1000) % expect->step == 0;
}

static int expect_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct expect *expect = ctx;
	uint32_t number = expect->next;

	assert_int_equal(window->pid, 1000 + number);
	assert_string_equal(window_label(window, WINDOW_LABEL_CONTAINER),
			    make_window(number).labels[WINDOW_LABEL_CONTAINER]);
	assert_int_equal(len, texts[number].len);
	assert_int_equal(memcmp(text, strbuf_str(&texts[number]), len), 0);
	expect->next += expect->step;
	return number == expect->stop_at ? 31 : 0;
}

static void expect_damage(void *ctx, const struct store_damage *damage)
{
	struct expect *expect = ctx;

	(void)damage;
	expect->damage_cnt++;
}

static struct store_visitor expect_visitor(struct expect *expect)
{
	return (struct store_visitor){
		.ctx = expect,
		.want = expect_want,
		.window = expect_window,
		.damage = expect_damage,
	};
}

static void texts_of_all_sizes_come_in_order(void **state)
{
	struct store_reader *reader;
	struct test_store store;

	(void)state;
	fill(&store);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	for (uint32_t step = 1; step < 6; step++) {
		struct expect expect = { .step = step, .stop_at = UINT32_MAX };
		const struct store_visitor visitor = expect_visitor(&expect);

		assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
		assert_int_equal(expect.next, (WINDOWS + step - 1) / step * step);
		assert_int_equal(expect.damage_cnt, 0);
	}
	store_reader__free(reader);
	test_store_remove(&store);
}

static void visitor_that_stops_sees_nothing_more(void **state)
{
	struct store_reader *reader;
	struct test_store store;

	(void)state;
	fill(&store);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	for (uint32_t stop_at = 0; stop_at < WINDOWS; stop_at++) {
		struct expect expect = { .step = 1, .stop_at = stop_at };
		const struct store_visitor visitor = expect_visitor(&expect);

		/* The same reader goes on with a queue that is empty again. */
		assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 31);
		assert_int_equal(expect.next, stop_at + 1);
	}
	store_reader__free(reader);
	test_store_remove(&store);
}

static void one_cpu_is_enough(void **state)
{
	struct expect expect = { .step = 1, .stop_at = UINT32_MAX };
	const struct store_visitor visitor = expect_visitor(&expect);
	struct store_reader *reader;
	struct test_store store;
	cpu_set_t before, one;

	(void)state;
	fill(&store);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	assert_int_equal(expect.next, WINDOWS);
	store_reader__free(reader);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	test_store_remove(&store);
}

static void damaged_large_texts_do_not_disturb_the_others(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct store_reader *reader;

	(void)state;
	fill(&store);
	test_read(&store, TEST_FILE, &bytes);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	srand(3);
	for (int round = 0; round < 40; round++) {
		struct got got = { 0 };
		const struct store_visitor visitor = { .ctx = &got, .damage = got_damage };
		size_t at = (size_t)rand() % bytes.len;

		bytes.data[at] ^= 4;
		test_write(&store, TEST_FILE, bytes.data, bytes.len);
		assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
		assert_int_equal(got.damage_cnt, 1);
		bytes.data[at] ^= 4;
	}
	store_reader__free(reader);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_all_sizes_come_in_order),
		cmocka_unit_test(visitor_that_stops_sees_nothing_more),
		cmocka_unit_test(one_cpu_is_enough),
		cmocka_unit_test(damaged_large_texts_do_not_disturb_the_others),
	};

	return cmocka_run_group_tests_name("store_decoder", tests, texts_make, texts_release);
}
