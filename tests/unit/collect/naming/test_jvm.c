// SPDX-License-Identifier: Apache-2.0
/* When a JVM is asked for its map, and what is never done for it: opening its files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "symbols/symbols_process.h"
#include "symbols/symbols_shared.h"
#include "tests/unit/fake_tree.h"
#include "user/collect/naming/jvm.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define PID 42u

static int tables_err; /* of the process's tables */

static int tables(const void *state, struct hotspot_vm **out)
{
	(void)state;
	(void)out;
	return tables_err;
}

static const struct jit_source_ops source_ops = { .tables = tables };

/* A process that maps a libjvm.so, whose tables cannot be opened, and who watches that file. */
struct fixture {
	struct fake_tree proc;
	struct symbols_process symbols;
	struct symbols_share share;
	struct jvm_asks asks; /* whose launcher starts nobody */
	struct window window;
	struct jvm jvm;
	int watch_fd;
};

static void fixture_make(struct fixture *fixture, uint64_t start_s)
{
	char path[sizeof(fixture->proc.path) + 64];

	*fixture = (struct fixture){
		.symbols.jit_sources[0].ops = &source_ops,
		.share.account = account_of_host(),
		.asks.launcher = launcher__from_fd(-1),
		.window.counts = { .jit_frames = 100, .unknown_jit_frames = 100 },
		.jvm.is_hotspot = true,
		.watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
	};
	fixture->symbols.share = &fixture->share;
	assert_non_null(fixture->asks.launcher);
	fake_tree_make(&fixture->proc);
	fake_tree_writef(&fixture->proc, "42/stat",
			 "42 (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 30 0 %llu 0 0\n",
			 (unsigned long long)start_s * (unsigned long long)sysconf(_SC_CLK_TCK));
	fake_tree_write(&fixture->proc, "42/cgroup", "");
	fake_tree_write(&fixture->proc, "42/maps",
			"1000-2000 r-xp 00000000 fe:01 7 /x/libjvm.so\n");
	fake_tree_write(&fixture->proc, "42/map_files/1000-2000", "text");
	snprintf(path, sizeof(path), "%s/42/map_files/1000-2000", fixture->proc.path);
	assert_true(inotify_add_watch(fixture->watch_fd, path, IN_OPEN | IN_ACCESS) >= 0);
}

static void fixture_remove(struct fixture *fixture)
{
	launcher__free(fixture->asks.launcher);
	close(fixture->watch_fd);
	fake_tree_remove(&fixture->proc);
}

static enum jvm_attach_outcome ask(struct fixture *fixture, uint64_t start_s)
{
	const struct jvm_asker asker = {
		.proc_fd = fixture->proc.fd,
		.asks = &fixture->asks,
		.symbols = &fixture->symbols,
		.id = { .pid = PID, .start_ns = start_s * CLOCK_NS_PER_S },
		.timeout_ms = 1000,
	};

	fixture->jvm.outcome = JVM_ATTACH_NONE;
	assert_false(jvm_ask_for_map(&fixture->jvm, &asker, &fixture->window));
	return fixture->jvm.outcome;
}

static bool was_opened(const struct fixture *fixture)
{
	char events[4096];

	return read(fixture->watch_fd, events, sizeof(events)) > 0;
}

static void a_jvm_without_tables_is_left_alone_and_its_file_unopened(void **state)
{
	static const struct {
		int err;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ -EAGAIN, JVM_ATTACH_TOO_YOUNG },   { -ENOTSUP, JVM_ATTACH_NOT_HOTSPOT },
		{ -ENOENT, JVM_ATTACH_NOT_HOTSPOT }, { -ESRCH, JVM_ATTACH_GONE },
		{ -ETIMEDOUT, JVM_ATTACH_ERROR },    { -ENOTRECOVERABLE, JVM_ATTACH_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum jvm_attach_outcome outcome;
		struct fixture fixture;

		fixture_make(&fixture, 1);
		tables_err = rows[i].err;
		outcome = ask(&fixture, 1);
		assert_false(was_opened(&fixture));
		assert_int_equal(outcome, rows[i].outcome);
		/* Nor is it asked again at once, whatever may pass or not. */
		assert_int_equal(fixture.jvm.limiter.failure_cnt, 1);
		assert_int_equal(ask(&fixture, 1), JVM_ATTACH_NONE);
		fixture_remove(&fixture);
	}
}

static void a_jvm_that_has_just_begun_is_tried_again_with_the_next_window(void **state)
{
	uint64_t start_s = clock_boot_ns() / CLOCK_NS_PER_S + 1000;
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture, start_s);
	tables_err = -EAGAIN;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(&fixture, start_s), JVM_ATTACH_TOO_YOUNG);
	assert_int_equal(fixture.jvm.limiter.failure_cnt, 0);
	fixture_remove(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jvm_without_tables_is_left_alone_and_its_file_unopened),
		cmocka_unit_test(a_jvm_that_has_just_begun_is_tried_again_with_the_next_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
