// SPDX-License-Identifier: Apache-2.0
/* URLs of servers: what is taken, and that no password is in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/remote/remote_url.h"
#include "user/util/cleanup.h"

static void url_has_its_parts_or_their_defaults(void **state)
{
	static const struct {
		const char *text, *user, *host, *database;
		uint16_t port;
		bool is_tls;
	} rows[] = {
		{ "clickhouse://h", "default", "h", "default", 8443, true },
		{ "clickhouse://h?tls=off", "default", "h", "default", 8123, false },
		{ "clickhouse://w@h.example:9/jbpf?tls=verify", "w", "h.example", "jbpf", 9, true },
		{ "clickhouse://w@[::1]:9/jbpf", "w", "[::1]", "jbpf", 9, true },
		{ "clickhouse://[::1]/", "default", "[::1]", "default", 8443, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_remote_url struct remote_url url = { 0 };
		char why[300];

		assert_int_equal(remote_url_parse(rows[i].text, &url, why, sizeof(why)), 0);
		assert_string_equal(url.user, rows[i].user);
		assert_string_equal(url.host, rows[i].host);
		assert_string_equal(url.database, rows[i].database);
		assert_int_equal(url.port, rows[i].port);
		assert_int_equal(url.is_tls, rows[i].is_tls);
	}
}

static void files_are_named_in_settings(void **state)
{
	__cleanup_remote_url struct remote_url url = { 0 };
	char why[300];

	(void)state;
	assert_int_equal(
		remote_url_parse(
			"clickhouse://h/d?password_file=/etc/a b&ca_file=/ca.pem&cluster=fleet-1",
			&url, why, sizeof(why)),
		0);
	assert_string_equal(url.password_file, "/etc/a b");
	assert_string_equal(url.ca_file, "/ca.pem");
	assert_string_equal(url.cluster, "fleet-1");
}

static void what_is_no_url_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "http://h", "does not begin" },
		{ "clickhouse://", "names no host" },
		{ "clickhouse://u:secret@h", "can be read by every user" },
		{ "clickhouse://u%20@h", "the user's name" },
		{ "clickhouse://h:0", "the port" },
		{ "clickhouse://h:65536", "the port" },
		{ "clickhouse://h:8x", "the port" },
		{ "clickhouse://[::1", "names no host" },
		{ "clickhouse://[::1]8", "the port" },
		{ "clickhouse://h/a-b", "a database's name" },
		{ "clickhouse://h/d?tls=maybe", "tls is verify or off" },
		{ "clickhouse://h/d?x=1", "the settings behind" },
		{ "clickhouse://h/d?ca_file=", "the name of a file" },
		{ "clickhouse://h/d?cluster=", "a cluster's name" },
		{ "clickhouse://h/d?cluster=a'b", "a cluster's name" },
		{ "clickhouse://h/d?cluster=a/b", "a cluster's name" },
		{ "clickhouse://h\n/d", "names no host" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct remote_url url = { 0 };
		char why[300] = "";

		assert_int_equal(remote_url_parse(rows[i].text, &url, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, rows[i].why));
		assert_null(strstr(why, "secret"));
		assert_null(url.host);
	}
}

static void urls_of_otlp_have_a_path_and_a_token(void **state)
{
	static const struct {
		const char *text, *host, *path, *token_file;
		uint16_t port;
		bool is_tls;
	} rows[] = {
		{ "otlp+http://h", "h", "/v1development/profiles", NULL, 4318, false },
		{ "otlp+https://h/", "h", "/v1development/profiles", NULL, 4318, true },
		{ "otlp+https://[::1]:443/otlp/v1?token_file=/t", "[::1]", "/otlp/v1", "/t", 443,
		  true },
	};
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "otlp://h", "does not begin" },
		{ "otlp+http://u:secret@h", "password_file" },
		{ "otlp+http://u@h?token_file=/t", "a token needs no user" },
		{ "otlp+http://h?password_file=/t", "whose is the password" },
		{ "otlp+http://h?tenant=a%20b", "a tenant has" },
		{ "otlp+http://h?tenant=", "a tenant has" },
		{ "otlp+http://h/a b", "a path has" },
		{ "otlp+http://h/?tls=off", "the settings behind" },
		{ "otlp+http://", "names no host" },
	};
	char why[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_remote_url struct remote_url url = { 0 };

		assert_true(remote_url_is_otlp(rows[i].text));
		assert_int_equal(remote_url_parse_otlp(rows[i].text, &url, why, sizeof(why)), 0);
		assert_string_equal(url.host, rows[i].host);
		assert_string_equal(url.database, rows[i].path);
		assert_int_equal(url.port, rows[i].port);
		assert_int_equal(url.is_tls, rows[i].is_tls);
		assert_null(url.user);
		assert_null(url.password_file);
		assert_true(!rows[i].token_file == !url.token_file);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct remote_url url = { 0 };

		assert_int_equal(remote_url_parse_otlp(wrong[i].text, &url, why, sizeof(why)),
				 -EINVAL);
		assert_non_null(strstr(why, wrong[i].why));
		assert_null(strstr(why, "secret"));
	}
}

static void urls_of_pyroscope_have_a_user_and_a_tenant(void **state)
{
	__cleanup_remote_url struct remote_url url = { 0 }, plain = { 0 };
	char why[300];

	(void)state;
	assert_true(remote_url_is_pyroscope("pyroscope+http://h"));
	assert_false(remote_url_is_pyroscope("otlp+http://h"));
	assert_int_equal(remote_url_parse_pyroscope(
				 "pyroscope+https://1234@h:443/a?password_file=/p&tenant=t.1", &url,
				 why, sizeof(why)),
			 0);
	assert_string_equal(url.user, "1234");
	assert_string_equal(url.password_file, "/p");
	assert_string_equal(url.tenant, "t.1");
	assert_string_equal(url.database, "/a");
	assert_int_equal(url.port, 443);
	assert_true(url.is_tls);
	assert_int_equal(remote_url_parse_pyroscope("pyroscope+http://h", &plain, why, sizeof(why)),
			 0);
	assert_string_equal(plain.database, "");
	assert_int_equal(plain.port, 4040);
	assert_false(plain.is_tls);
	assert_int_equal(remote_url_parse_pyroscope("otlp+http://h", &plain, why, sizeof(why)),
			 -EINVAL);
	assert_non_null(strstr(why, "pyroscope+http://"));
}

static void a_url_is_written_with_another_password_file(void **state)
{
	static const struct {
		const char *text, *file, *written;
	} rows[] = {
		{ "clickhouse://h", NULL, "clickhouse://default@h:8443/default" },
		{ "clickhouse://u@[::1]:1/d?password_file=/p", NULL, "clickhouse://u@[::1]:1/d" },
		{ "clickhouse://u@h/d?tls=off&password_file=/p", "/q",
		  "clickhouse://u@h:8123/d?tls=off&password_file=/q" },
		{ "clickhouse://u@h/d?ca_file=/c&tls=off", "/q",
		  "clickhouse://u@h:8123/d?tls=off&ca_file=/c&password_file=/q" },
		{ "clickhouse://u@h/d?ca_file=/c", NULL, "clickhouse://u@h:8443/d?ca_file=/c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_remote_url struct remote_url url = { 0 }, again = { 0 };
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		char why[300];

		assert_int_equal(remote_url_parse(rows[i].text, &url, why, sizeof(why)), 0);
		remote_url_write(&url, rows[i].file, &out);
		assert_string_equal(strbuf_str(&out), rows[i].written);
		assert_int_equal(remote_url_parse(out.data, &again, why, sizeof(why)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(url_has_its_parts_or_their_defaults),
		cmocka_unit_test(files_are_named_in_settings),
		cmocka_unit_test(a_url_is_written_with_another_password_file),
		cmocka_unit_test(what_is_no_url_is_refused_with_the_reason),
		cmocka_unit_test(urls_of_otlp_have_a_path_and_a_token),
		cmocka_unit_test(urls_of_pyroscope_have_a_user_and_a_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
