// SPDX-License-Identifier: Apache-2.0
/* Addresses of metrics: the loopback and Unix sockets, and what of a path is ours to remove. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"
#include "user/serve/address.h"
#include "user/serve/page.h"
#include "user/util/cleanup.h"

static void only_this_host_can_be_served(void **state)
{
	static const struct {
		const char *text;
		int err;
	} rows[] = {
		{ "unix:/run/jbpf/metrics.sock", 0 },
		{ "unix:/a", 0 },
		{ "127.0.0.1:9464", 0 },
		{ "127.0.0.1:1", 0 },
		{ "[::1]:65535", 0 },
		{ "", -EINVAL },
		{ "unix:", -EINVAL },
		{ "unix:relative", -EINVAL },
		{ "unix:/run/", -EINVAL },
		{ "/run/jbpf/metrics.sock", -EINVAL },
		{ "0.0.0.0:9464", -EINVAL },
		{ "[::]:9464", -EINVAL },
		{ "::1:9464", -EINVAL },
		{ "192.168.0.1:9464", -EINVAL },
		{ "127.0.0.2:9464", -EINVAL },
		{ "localhost:9464", -EINVAL },
		{ ":9464", -EINVAL },
		{ "9464", -EINVAL },
		{ "127.0.0.1", -EINVAL },
		{ "127.0.0.1:", -EINVAL },
		{ "127.0.0.1:0", -EINVAL },
		{ "127.0.0.1:65536", -EINVAL },
		{ "127.0.0.1:9464x", -EINVAL },
		{ "127.0.0.1:9464/metrics", -EINVAL },
	};
	char path[256] = "unix:/";
	struct serve_address address;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (serve_address_parse(rows[i].text, &address) != rows[i].err)
			fail_msg("'%s'", rows[i].text);
	}
	/* The longest path that a socket's name has room for, and one byte more. */
	memset(path + 6, 'x', 106);
	assert_int_equal(serve_address_parse(path, &address), 0);
	assert_int_equal(strlen(serve_address_path(&address)), 107);
	path[6 + 106] = 'x';
	assert_int_equal(serve_address_parse(path, &address), -EINVAL);
	assert_int_equal(serve_address_parse("[::1]:80", &address), 0);
	assert_null(serve_address_path(&address));
}

static void hosts_of_other_sites_are_foreign(void **state)
{
	static const struct {
		const char *host;
		bool is_foreign;
	} rows[] = {
		{ "localhost", false },
		{ "LOCALHOST:9464", false },
		{ "127.0.0.1", false },
		{ "127.0.0.1:1", false },
		{ "[::1]", false },
		{ "[::1]:9464", false },
		{ NULL, true },
		{ "", true },
		{ "evil.example", true },
		{ "localhost.evil.example", true },
		{ "127.0.0.1.evil.example", true },
		{ "localhost:", true },
		{ "localhost:x", true },
		{ "127.0.0.1:9464.evil", true },
		{ "::1", true },
		{ "127.0.0.2", true },
		{ "localhost ", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (serve_host_is_foreign(rows[i].host) != rows[i].is_foreign)
			fail_msg("'%s'", rows[i].host);
	}
}

/* A folder, and a socket's address in a folder below it. */
struct place {
	char folder[32];
	char path[64];
	struct serve_address address;
};

static int place_make(void **state)
{
	static struct place place;
	char text[80];

	strcpy(place.folder, "/tmp/jbpf-test-XXXXXX");
	assert_non_null(mkdtemp(place.folder));
	snprintf(place.path, sizeof(place.path), "%s/run/m.sock", place.folder);
	snprintf(text, sizeof(text), "unix:%s", place.path);
	assert_int_equal(serve_address_parse(text, &place.address), 0);
	*state = &place;
	return 0;
}

static int place_remove(void **state)
{
	const struct place *place = *state;
	return remove_tree(place->folder);
}

static void a_socket_is_for_owner_and_group_and_a_stale_one_is_replaced(void **state)
{
	struct place *place = *state;
	int fd = serve_address_listen(&place->address);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(lstat(place->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(serve_address_listen(&place->address), -EADDRINUSE);
	close(fd);
	fd = serve_address_listen(&place->address);
	assert_true(fd >= 0);
	close(fd);
}

static void what_is_no_socket_is_left_alone(void **state)
{
	struct place *place = *state;
	char target[80];
	int fd;

	close(serve_address_listen(&place->address));
	assert_int_equal(unlink(place->path), 0);
	fd = open(place->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(serve_address_listen(&place->address), -EEXIST);
	assert_int_equal(access(place->path, F_OK), 0);

	/* Nor does a link lead anywhere. */
	snprintf(target, sizeof(target), "%s/target", place->folder);
	assert_int_equal(rename(place->path, target), 0);
	assert_int_equal(symlink(target, place->path), 0);
	assert_int_equal(serve_address_listen(&place->address), -EEXIST);
	assert_int_equal(access(target, F_OK), 0);
}

static void a_page_is_read_as_it_was_written_and_never_written_by_its_reader(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT, got = STRBUF_INIT;
	const struct serve_page_view *view;
	struct serve_page *page;
	const struct serve_beat told = { .until_boot_ns = 42, .naming = SERVE_NAMING_DEAD };
	struct serve_beat beat = { .until_boot_ns = 1 };

	(void)state;
	assert_int_equal(serve_page__new(&page), 0);
	view = serve_page_view(serve_page__fd(page));
	assert_non_null(view);
	assert_int_equal(serve_page_read(view, &got), 0);
	assert_int_equal(got.len, 0);
	serve_page_beat(view, &beat);
	assert_int_equal(beat.until_boot_ns, 0);
	assert_int_equal(beat.naming, SERVE_NAMING_GOES_ON);

	strbuf_puts(&text, "one 1\n");
	serve_page__beat(page, &told);
	assert_int_equal(serve_page__write(page, &text), 0);
	assert_int_equal(serve_page_read(view, &got), 0);
	assert_string_equal(strbuf_str(&got), "one 1\n");
	serve_page_beat(view, &beat);
	assert_int_equal(beat.until_boot_ns, 42);
	assert_int_equal(beat.naming, SERVE_NAMING_DEAD);

	while (text.len <= SERVE_PAGE_TEXT_MAX)
		strbuf_puts(&text, "more 123456789 123456789\n");
	assert_int_equal(serve_page__write(page, &text), -E2BIG);
	strbuf_truncate(&text, SERVE_PAGE_TEXT_MAX);
	assert_int_equal(serve_page__write(page, &text), 0);
	assert_int_equal(serve_page_read(view, &got), 0);
	assert_int_equal(got.len, SERVE_PAGE_TEXT_MAX);
	assert_memory_equal(got.data, text.data, got.len);

	assert_true(write(serve_page__fd(page), "x", 1) < 0);
	assert_int_equal(errno, EPERM);
	assert_true(ftruncate(serve_page__fd(page), 1 << 20) < 0);
	serve_page__free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_this_host_can_be_served),
		cmocka_unit_test(hosts_of_other_sites_are_foreign),
		cmocka_unit_test_setup_teardown(
			a_socket_is_for_owner_and_group_and_a_stale_one_is_replaced, place_make,
			place_remove),
		cmocka_unit_test_setup_teardown(what_is_no_socket_is_left_alone, place_make,
						place_remove),
		cmocka_unit_test(a_page_is_read_as_it_was_written_and_never_written_by_its_reader),
	};

	return cmocka_run_group_tests_name("serve_address", tests, NULL, NULL);
}
