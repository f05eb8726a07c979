// SPDX-License-Identifier: Apache-2.0
/* Event loop of one window; see sampling.h. */
#include "user/cmd/sampling.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/util/clock.h"

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
	return len < 0 && errno != EAGAIN ? -errno : 0;
}

int sampling_wait(struct recorder *recorder, int signal_fd, uint64_t deadline_boot_ns)
{
	struct pollfd fds[] = {
		{ .fd = recorder__fd(recorder), .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
	};

	for (;;) {
		uint64_t now_ns = clock_boot_ns();
		struct timespec timeout;
		int ready;
		int result;

		if (now_ns >= deadline_boot_ns)
			return 0;
		timeout.tv_sec = (time_t)((deadline_boot_ns - now_ns) / CLOCK_NS_PER_S);
		timeout.tv_nsec = (long)((deadline_boot_ns - now_ns) % CLOCK_NS_PER_S);
		ready = ppoll(fds, 2, &timeout, NULL);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready <= 0)
			continue;
		if (fds[0].revents) {
			result = recorder__consume(recorder);
			if (result < 0)
				return result;
		}
		if (fds[1].revents) {
			result = read_signal(signal_fd);
			if (result)
				return result;
		}
	}
}
