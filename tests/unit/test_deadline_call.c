// SPDX-License-Identifier: Apache-2.0
/* Calls that hang: they are left behind, and what comes of them is released. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/util/clock.h"
#include "user/util/deadline_call.h"

#define LONG_NS	 (60 * CLOCK_NS_PER_S)
#define SHORT_NS (CLOCK_NS_PER_MS)

/* Runs until its pipe can be read; says on the other one that it was released. */
struct work {
	int wait_fd;
	int released_fd;
	int result;
};

static void work_run(void *ctx)
{
	struct work *work = ctx;
	char byte;

	work->result = read(work->wait_fd, &byte, 1) == 1 ? 42 : -1;
}

static void work_release(void *ctx)
{
	struct work *work = ctx;

	assert_int_equal(write(work->released_fd, "r", 1), 1);
	free(work);
}

static const struct deadline_work pipe_work = { .run = work_run, .release = work_release };

struct scene {
	int go[2];
	int released[2];
};

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (!scene || pipe(scene->go) || pipe(scene->released))
		return -1;
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 2; i++) {
		close(scene->go[i]);
		close(scene->released[i]);
	}
	free(scene);
	return 0;
}

static struct work *new_work(const struct scene *scene)
{
	struct work *work = calloc(1, sizeof(*work));

	assert_non_null(work);
	work->wait_fd = scene->go[0];
	work->released_fd = scene->released[1];
	return work;
}

static void wait_released(const struct scene *scene, uint32_t cnt)
{
	char byte;

	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(read(scene->released[0], &byte, 1), 1);
}

static void assert_none_released(const struct scene *scene)
{
	struct pollfd wait = { .fd = scene->released[0], .events = POLLIN };

	assert_int_equal(poll(&wait, 1, 0), 0);
}

static void call_that_returns_gives_its_result_back(void **state)
{
	struct scene *scene = *state;
	struct work *work = new_work(scene);

	assert_int_equal(write(scene->go[1], "g", 1), 1);
	assert_int_equal(deadline_call(&pipe_work, work, LONG_NS), 0);
	assert_int_equal(work->result, 42);
	assert_none_released(scene);
	assert_int_equal(deadline_call_left(), 0);
	work_release(work);
}

static void call_that_hangs_is_left_behind_and_released_when_it_ends(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(deadline_call(&pipe_work, new_work(scene), SHORT_NS), -ETIMEDOUT);
	assert_int_equal(deadline_call_left(), 1);
	assert_none_released(scene);
	assert_int_equal(write(scene->go[1], "g", 1), 1);
	wait_released(scene, 1);
	while (deadline_call_left())
		(void)poll(NULL, 0, 1);
}

static void no_more_are_left_behind_than_may(void **state)
{
	struct scene *scene = *state;

	for (uint32_t i = 0; i < DEADLINE_CALL_MAX_LEFT; i++)
		assert_int_equal(deadline_call(&pipe_work, new_work(scene), SHORT_NS), -ETIMEDOUT);
	assert_none_released(scene);
	assert_int_equal(deadline_call(&pipe_work, new_work(scene), LONG_NS), -EBUSY);
	wait_released(scene, 1);
	assert_int_equal(write(scene->go[1], "gggggggg", DEADLINE_CALL_MAX_LEFT),
			 DEADLINE_CALL_MAX_LEFT);
	wait_released(scene, DEADLINE_CALL_MAX_LEFT);
	while (deadline_call_left())
		(void)poll(NULL, 0, 1);
	/* And then there is room again. */
	call_that_returns_gives_its_result_back(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(call_that_returns_gives_its_result_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			call_that_hangs_is_left_behind_and_released_when_it_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(no_more_are_left_behind_than_may, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
