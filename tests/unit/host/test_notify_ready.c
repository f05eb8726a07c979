// SPDX-License-Identifier: Apache-2.0
/* What the service manager is sent, at a socket that stands for its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/util/clock.h"
#include "user/host/notify_ready.h"

struct manager {
	struct sockaddr_un addr;
	int fd;
};

static int manager_start(void **state)
{
	struct manager *manager = calloc(1, sizeof(*manager));

	assert_non_null(manager);
	manager->addr.sun_family = AF_UNIX;
	(void)snprintf(manager->addr.sun_path, sizeof(manager->addr.sun_path),
		       "/tmp/jbpf-notify.%d", (int)getpid());
	(void)unlink(manager->addr.sun_path);
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(manager->fd, (const struct sockaddr *)&manager->addr,
			      sizeof(manager->addr)),
			 0);
	setenv("NOTIFY_SOCKET", manager->addr.sun_path, 1);
	unsetenv("WATCHDOG_USEC");
	*state = manager;
	return 0;
}

static int manager_stop(void **state)
{
	struct manager *manager = *state;

	close(manager->fd);
	(void)unlink(manager->addr.sun_path);
	free(manager);
	return 0;
}

static void assert_told(const struct manager *manager, const char *want)
{
	char text[128];
	ssize_t len = recv(manager->fd, text, sizeof(text) - 1, 0);

	assert_true(len >= 0);
	text[len] = '\0';
	assert_string_equal(text, want);
}

static void assert_told_nothing(const struct manager *manager)
{
	char byte;

	assert_int_equal(recv(manager->fd, &byte, 1, 0), -1);
}

static void a_manager_is_sent_each_step(void **state)
{
	struct manager *manager = *state;
	int fd = notify_ready_open();

	assert_true(fd >= 0);
	assert_null(getenv("NOTIFY_SOCKET")); /* children are not to speak in its name */
	notify_ready_started(fd, 10 * CLOCK_NS_PER_S);
	assert_told(manager, "READY=1");
	notify_ready_alive(fd);
	assert_told(manager, "WATCHDOG=1");
	notify_ready_stopping(fd);
	assert_told(manager, "STOPPING=1");
	close(fd);
}

static void the_watchdog_waits_for_six_windows_at_least(void **state)
{
	struct manager *manager = *state;
	int fd = notify_ready_open();

	setenv("WATCHDOG_USEC", "120000000", 1);
	notify_ready_started(fd, 10 * CLOCK_NS_PER_S);
	assert_told(manager, "READY=1\nWATCHDOG_USEC=120000000");
	notify_ready_started(fd, 600 * CLOCK_NS_PER_S);
	assert_told(manager, "READY=1\nWATCHDOG_USEC=3600000000");
	setenv("WATCHDOG_USEC", "0", 1);
	notify_ready_started(fd, 10 * CLOCK_NS_PER_S);
	assert_told(manager, "READY=1");
	setenv("WATCHDOG_USEC", "nonsense", 1);
	notify_ready_started(fd, 10 * CLOCK_NS_PER_S);
	assert_told(manager, "READY=1");
	close(fd);
}

static void without_a_manager_nothing_is_sent(void **state)
{
	static const char *const addresses[] = { "", "/", "relative", "/nowhere/socket" };
	char too_long[256];

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		setenv("NOTIFY_SOCKET", addresses[i], 1);
		assert_int_equal(notify_ready_open(), -1);
	}
	memset(too_long, '/', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	setenv("NOTIFY_SOCKET", too_long, 1);
	assert_int_equal(notify_ready_open(), -1);
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_ready_open(), -1);
	notify_ready_started(-1, CLOCK_NS_PER_S);
	notify_ready_alive(-1);
	notify_ready_stopping(-1);
	assert_told_nothing(*state);
}

/* Its queue is full: the message is lost, and nothing waits. */
static void a_manager_that_does_not_listen_holds_nobody_up(void **state)
{
	int fd = notify_ready_open();

	(void)state;
	for (int i = 0; i < 10000; i++)
		notify_ready_alive(fd);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_manager_is_sent_each_step, manager_start,
						manager_stop),
		cmocka_unit_test_setup_teardown(the_watchdog_waits_for_six_windows_at_least,
						manager_start, manager_stop),
		cmocka_unit_test_setup_teardown(without_a_manager_nothing_is_sent, manager_start,
						manager_stop),
		cmocka_unit_test_setup_teardown(a_manager_that_does_not_listen_holds_nobody_up,
						manager_start, manager_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
