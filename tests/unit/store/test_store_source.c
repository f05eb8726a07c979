// SPDX-License-Identifier: Apache-2.0
/* A source of windows, and the sum of several. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/store_source.h"

/* What a made-up source has, and whether it is still there. */
struct made {
	const char *host;
	const char *damaged; /* path of a damaged stretch; NULL = none */
	int err;	     /* of its visit */
	bool is_freed;
};

static int made_visit(void *ctx, uint64_t since_unix_ns, uint64_t until_unix_ns,
		      const struct store_visitor *visitor)
{
	const struct made *made = ctx;
	const struct window window = { .pid = 7,
				       .start_unix_ns = since_unix_ns,
				       .duration_ns = until_unix_ns - since_unix_ns,
				       .labels[WINDOW_LABEL_HOST] = made->host };
	const struct store_damage damage = { .path = made->damaged, .what = "torn tail" };

	if (made->damaged && visitor->damage)
		visitor->damage(visitor->ctx, &damage);
	if (made->err)
		return made->err;
	if (visitor->want && !visitor->want(visitor->ctx, &window))
		return 0;
	return visitor->window ? visitor->window(visitor->ctx, &window, "a 1\n", 4) : 0;
}

static void made_free(void *ctx)
{
	((struct made *)ctx)->is_freed = true;
}

static const struct store_source_ops made_ops = { .visit = made_visit, .free = made_free };

static struct store_source *joined(struct made *made, size_t cnt)
{
	static const char *const names[] = { "/a", "/b", "/c" };
	struct store_source *parts[3], *sum;

	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(store_source__new(&made_ops, &made[i], names[i], &parts[i]), 0);
	assert_int_equal(store_source__join(parts, cnt, &sum), 0);
	return sum;
}

/* What the visitor saw, as one text. */
struct seen {
	char text[256];
	const char *refused; /* host whose windows are not wanted */
	int end_with;
};

static bool want(void *ctx, const struct window *window)
{
	const struct seen *seen = ctx;

	return !seen->refused ||
	       strcmp(seen->refused, window_label(window, WINDOW_LABEL_HOST)) != 0;
}

static int see(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct seen *seen = ctx;
	size_t at = strlen(seen->text);

	assert_int_equal(len, strlen(text));
	(void)snprintf(seen->text + at, sizeof(seen->text) - at, "%s %d-%d; ",
		       window_label(window, WINDOW_LABEL_HOST), (int)window->start_unix_ns,
		       (int)window_end_unix_ns(window));
	return seen->end_with;
}

static void damage(void *ctx, const struct store_damage *stretch)
{
	struct seen *seen = ctx;
	size_t at = strlen(seen->text);

	(void)snprintf(seen->text + at, sizeof(seen->text) - at, "! %s; ", stretch->path);
}

static int visit(struct store_source *source, struct seen *seen)
{
	const struct store_visitor visitor = {
		.ctx = seen, .want = want, .window = see, .damage = damage
	};

	return store_source__visit(source, 10, 20, &visitor);
}

static void a_sum_visits_all_its_parts_in_order(void **state)
{
	struct made made[] = { { .host = "alpha" }, { .host = "beta" }, { .host = "gamma" } };
	struct store_source *sum = joined(made, 3);
	struct seen seen = { .refused = "beta" };

	(void)state;
	assert_int_equal(visit(sum, &seen), 0);
	assert_string_equal(seen.text, "alpha 10-20; gamma 10-20; ");
	store_source__free(sum);
	for (int i = 0; i < 3; i++)
		assert_true(made[i].is_freed);
}

static void a_visitor_without_callbacks_is_fine(void **state)
{
	struct made made[] = { { .host = "alpha", .damaged = "x" }, { .host = "beta" } };
	struct store_source *sum = joined(made, 2);
	const struct store_visitor visitor = { .ctx = NULL };

	(void)state;
	assert_int_equal(store_source__visit(sum, 0, 1, &visitor), 0);
	store_source__free(sum);
}

/* Of two stores the same hour may be damaged at the same place: these are two stretches. */
static void damage_of_a_sum_says_whose_it_is(void **state)
{
	struct made made[] = { { .host = "alpha", .damaged = "v1/x" },
			       { .host = "beta", .damaged = "v1/x" } };
	struct store_source *sum = joined(made, 2);
	struct seen seen = { .refused = NULL };

	(void)state;
	assert_int_equal(visit(sum, &seen), 0);
	assert_string_equal(seen.text, "! /a/v1/x; alpha 10-20; ! /b/v1/x; beta 10-20; ");
	store_source__free(sum);
}

static void the_first_failure_ends_the_walk_and_names_its_part(void **state)
{
	struct made made[] = { { .host = "alpha" },
			       { .host = "beta", .err = -EIO },
			       { .host = "gamma" } };
	struct store_source *sum = joined(made, 3);
	struct seen seen = { .refused = NULL };

	(void)state;
	assert_int_equal(visit(sum, &seen), -EIO);
	assert_string_equal(seen.text, "alpha 10-20; ");
	assert_string_equal(store_source__name(sum), "/b");
	store_source__free(sum);
}

static void what_the_visitor_returns_ends_the_walk(void **state)
{
	struct made made[] = { { .host = "alpha" }, { .host = "beta" } };
	struct store_source *sum = joined(made, 2);
	struct seen seen = { .end_with = 3 };

	(void)state;
	assert_int_equal(visit(sum, &seen), 3);
	assert_string_equal(seen.text, "alpha 10-20; ");
	store_source__free(sum);
}

static void parts_are_counted(void **state)
{
	struct made made[] = { { .host = "alpha" }, { .host = "beta" } };
	struct store_source *sum = joined(made, 2);

	(void)state;
	assert_string_equal(store_source__name(store_source__part(sum, 1)), "/b");
	assert_null(store_source__part(sum, 2));
	assert_ptr_equal(store_source__part(store_source__part(sum, 0), 0),
			 store_source__part(sum, 0));
	assert_null(store_source__part(store_source__part(sum, 0), 1));
	store_source__free(sum);
	store_source__free(NULL);
}

static void a_store_is_a_source(void **state)
{
	struct test_store store;
	struct store_source *source;
	struct seen seen = { .refused = NULL };

	(void)state;
	test_store_make(&store);
	assert_int_equal(store_source__open(store.dir, EVENT_CPU, &source), -ENOENT);
	test_fill(&store, 0, 1);
	assert_int_equal(store_source__open(store.dir, EVENT_CPU, &source), 0);
	assert_string_equal(store_source__name(source), store.dir);
	assert_int_equal(visit(source, &seen), 0);
	assert_string_equal(seen.text, "");
	store_source__free(source);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_visits_all_its_parts_in_order),
		cmocka_unit_test(a_visitor_without_callbacks_is_fine),
		cmocka_unit_test(damage_of_a_sum_says_whose_it_is),
		cmocka_unit_test(the_first_failure_ends_the_walk_and_names_its_part),
		cmocka_unit_test(what_the_visitor_returns_ends_the_walk),
		cmocka_unit_test(parts_are_counted),
		cmocka_unit_test(a_store_is_a_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
