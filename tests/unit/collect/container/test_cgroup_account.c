// SPDX-License-Identifier: Apache-2.0
/* Which cgroups are one account: what one can make more of does not make more accounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/collect/container/cgroup_account.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID   "11111111-2222-3333-4444-555555555555"

static uint64_t id_of(const char *path)
{
	return cgroup_account_id(path, cgroup_account_len(path));
}

static void account_is_the_container_or_the_user_or_the_unit(void **state)
{
	static const struct {
		const char *path;
		const char *account;
	} rows[] = {
		{ "/docker/" ID, "/docker/" ID },
		{ "/docker/" ID "/init.scope/a", "/docker/" ID },
		{ "/system.slice/docker-" ID ".scope/x", "/system.slice/docker-" ID ".scope" },
		{ "/docker/" ID "/docker/" OTHER "/x", "/docker/" ID "/docker/" OTHER },
		{ "/kubepods/burstable/pod" UID "/" ID, "/kubepods/burstable/pod" UID "/" ID },
		{ "/kubepods/burstable/pod" UID, "/kubepods/burstable/pod" UID },
		{ "/lxc.payload.web/system.slice/a.service", "/lxc.payload.web" },
		/* Names below are the user's to choose. */
		{ "/user.slice/user-1000.slice/session-1.scope", "/user.slice/user-1000.slice" },
		{ "/user.slice/user-1000.slice/user@1000.service/docker-" ID ".scope",
		  "/user.slice/user-1000.slice" },
		{ "/user.slice", "/user.slice" },
		{ "/system.slice/nginx.service", "/system.slice/nginx.service" },
		{ "/system.slice/nginx.service/worker/1", "/system.slice/nginx.service" },
		{ "/init.scope", "/init.scope" },
		{ "/a//b/c", "/a//b" },
		{ "/", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char account[256];

		snprintf(account, sizeof(account), "%.*s", (int)cgroup_account_len(rows[i].path),
			 rows[i].path);
		assert_string_equal(account, rows[i].account);
	}
}

static void ids_are_equal_within_an_account_and_nowhere_else(void **state)
{
	(void)state;
	assert_int_equal(id_of("/docker/" ID), id_of("/docker/" ID "/a/b"));
	assert_int_not_equal(id_of("/docker/" ID), id_of("/docker/" OTHER));
	assert_int_not_equal(id_of("/user.slice/user-1.slice/a"),
			     id_of("/user.slice/user-10.slice/a"));
	assert_int_equal(id_of(""), ACCOUNT_NONE);
	assert_int_not_equal(id_of("/"), ACCOUNT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(account_is_the_container_or_the_user_or_the_unit),
		cmocka_unit_test(ids_are_equal_within_an_account_and_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
