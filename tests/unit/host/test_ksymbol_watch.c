// SPDX-License-Identifier: Apache-2.0
/* Watching BPF programs come and go. What needs rights is left out where there are none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "user/collect/probe/cpus.h"
#include "user/host/ksymbol_watch.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

static struct ksymbol_watch *watch;
static uint32_t *cpus;
static size_t cpu_cnt;

static int begin(void **state)
{
	(void)state;
	watch = ksymbol_watch__new();
	return !watch || cpus_online(&cpus, &cpu_cnt);
}

static int end(void **state)
{
	(void)state;
	ksymbol_watch__free(watch);
	free(cpus);
	return 0;
}

static struct ksymbol_changes changes;

/* A test ends here where nobody may watch. */
static void watch_all(void)
{
	ksymbol_watch__follow(watch, cpus, cpu_cnt);
	ksymbol_watch__take(watch, &changes);
	if (!changes.until_boot_ns)
		skip();
}

/* "return 0": a descriptor, or -errno. */
static int load_program(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, NULL, "GPL", insns, ARRAY_SIZE(insns),
			     NULL);
}

static void assert_anything_changed(void)
{
	assert_int_equal(changes.cnt, 1);
	assert_int_equal(changes.items[0].start, 0);
	assert_int_equal(changes.items[0].end, UINT64_MAX);
	assert_int_equal(changes.items[0].boot_ns, changes.until_boot_ns);
}

static void as_long_as_a_cpu_is_not_watched_nothing_is_known(void **state)
{
	const uint32_t none = CPUS_MAX - 1;

	(void)state;
	ksymbol_watch__take(watch, &changes);
	assert_int_equal(changes.until_boot_ns, 0);
	ksymbol_watch__follow(watch, &none, 1);
	ksymbol_watch__take(watch, &changes);
	assert_int_equal(changes.until_boot_ns, 0);
	assert_int_equal(changes.cnt, 0);
}

static void where_a_cpu_comes_or_goes_anything_may_have_changed(void **state)
{
	(void)state;
	watch_all();
	assert_anything_changed();
	ksymbol_watch__follow(watch, cpus, cpu_cnt - 1);
	ksymbol_watch__follow(watch, cpus, cpu_cnt);
	ksymbol_watch__take(watch, &changes);
	assert_anything_changed();
}

static uint64_t program_address(int fd)
{
	uint64_t address = 0;
	struct bpf_prog_info info = { .jited_ksyms = (uintptr_t)&address, .nr_jited_ksyms = 1 };
	uint32_t len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	return address;
}

/* A test ends here where nobody may load one, and where there is no compiler: it is interpreted then. */
static int load_compiled_program(uint64_t *address_out)
{
	int fd = load_program();

	if (fd < 0)
		skip();
	*address_out = program_address(fd);
	if (!*address_out)
		skip();
	return fd;
}

/* Others on this host may load programs as well. */
static struct ksymbol_change wait_change(uint64_t address)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (;;) {
		ksymbol_watch__take(watch, &changes);
		for (size_t i = 0; i < changes.cnt; i++)
			if (changes.items[i].start == address)
				return changes.items[i];
		(void)nanosleep(&pause, NULL);
	}
}

static void a_program_that_is_loaded_and_unloaded_changes_its_addresses_twice(void **state)
{
	struct ksymbol_change loaded, unloaded;
	uint64_t before_ns, between_ns, address;
	int fd;

	(void)state;
	watch_all();
	before_ns = clock_boot_ns();
	fd = load_compiled_program(&address);
	loaded = wait_change(address);
	between_ns = clock_boot_ns();
	close(fd);
	/* The kernel unloads it later, by itself. */
	unloaded = wait_change(address);
	assert_true(loaded.end > loaded.start);
	assert_true(loaded.end - loaded.start < 4096);
	assert_int_equal(unloaded.end, loaded.end);
	assert_true(loaded.boot_ns >= before_ns && loaded.boot_ns <= between_ns);
	assert_true(unloaded.boot_ns >= between_ns && unloaded.boot_ns <= clock_boot_ns());
}

static void beside_others_who_watch_a_change_has_its_own_time(void **state)
{
	struct ksymbol_watch *others[2], *own = watch;
	uint64_t before_ns, address;
	int fd;

	(void)state;
	watch_all();
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = ksymbol_watch__new();
		assert_non_null(others[i]);
		watch = others[i];
		watch_all();
	}
	before_ns = clock_boot_ns();
	fd = load_compiled_program(&address);
	/* Whoever comes first has no word of the others'. */
	for (size_t i = 0; i <= ARRAY_SIZE(others); i++) {
		struct ksymbol_change loaded;

		watch = i < ARRAY_SIZE(others) ? others[i] : own;
		loaded = wait_change(address);
		assert_true(loaded.boot_ns >= before_ns && loaded.boot_ns <= clock_boot_ns());
	}
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		ksymbol_watch__free(others[i]);
}

/* A ring has room for some fifty. */
static void of_too_many_changes_none_is_left_out_silently(void **state)
{
	int fd;

	(void)state;
	watch_all();
	for (int i = 0; i < 400; i++) {
		fd = load_program();
		if (fd < 0)
			skip();
		close(fd);
	}
	ksymbol_watch__take(watch, &changes);
	assert_anything_changed();
	/* And it goes on. */
	fd = load_program();
	ksymbol_watch__take(watch, &changes);
	ksymbol_watch__take(watch, &changes);
	assert_true(changes.until_boot_ns != 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_long_as_a_cpu_is_not_watched_nothing_is_known,
						begin, end),
		cmocka_unit_test_setup_teardown(where_a_cpu_comes_or_goes_anything_may_have_changed,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_program_that_is_loaded_and_unloaded_changes_its_addresses_twice, begin,
			end),
		cmocka_unit_test_setup_teardown(beside_others_who_watch_a_change_has_its_own_time,
						begin, end),
		cmocka_unit_test_setup_teardown(of_too_many_changes_none_is_left_out_silently,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
