// SPDX-License-Identifier: Apache-2.0
/* Event loop of one window; see sampling.h. */
#include "user/collect/sampling.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/saturate.h"

int sampling_signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int read_signal(int signal_fd)
{
	struct signalfd_siginfo info;
	ssize_t len = read(signal_fd, &info, sizeof(info));

	if (len == (ssize_t)sizeof(info))
		return (int)info.ssi_signo;
	/* It stays there, to be read by the next turn. */
	if (len < 0 && errno != EAGAIN)
		pr_warn_limited("signals: %s\n", errstr(errno));
	return 0;
}

static struct timespec timeout_until(uint64_t until_ns, uint64_t now_ns)
{
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

	return (struct timespec){
		.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S),
	};
}

static uint64_t aside_due_ns(const struct sampling_aside *aside)
{
	return aside ? aside->due_boot_ns(aside->ctx) : UINT64_MAX;
}

int sampling_wait(struct recorder *recorder, int signal_fd, uint64_t deadline_boot_ns,
		  const struct sampling_aside *aside)
{
	struct pollfd fds[] = {
		{ .fd = recorder__fd(recorder), .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = aside ? aside->fd : -1, .events = POLLIN },
	};

	for (;;) {
		uint64_t now_ns = clock_boot_ns();
		uint64_t due_ns = recorder__due_boot_ns(recorder);
		struct timespec timeout;
		int ready;
		int result;

		if (now_ns >= deadline_boot_ns)
			return 0;
		timeout = timeout_until(
			min_u64(min_u64(due_ns, aside_due_ns(aside)), deadline_boot_ns), now_ns);
		fds[0].revents = fds[1].revents = fds[2].revents = 0;
		ready = ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents || clock_boot_ns() >= due_ns) {
			result = recorder__consume(recorder);
			if (result < 0)
				return result;
		}
		if (aside && (fds[2].revents || clock_boot_ns() >= aside_due_ns(aside)))
			aside->step(aside->ctx);
		if (fds[1].revents) {
			result = read_signal(signal_fd);
			if (result)
				return result;
		}
	}
}
