// SPDX-License-Identifier: Apache-2.0
/* See offcpu_child.h. */
#include "user/collect/offcpu/offcpu_child.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <stddef.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/sandbox/offcpu_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

static int pass_by_iterator(int link_fd)
{
	__cleanup_fd int fd = bpf_iter_create(link_fd);
	char nothing[64];
	ssize_t len;

	if (fd < 0)
		return -errno;
	do {
		len = read(fd, nothing, sizeof(nothing));
	} while (len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)));
	return len < 0 ? -errno : 0;
}

static int pass(const struct offcpu_child *child)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (child->by_iterator)
		return pass_by_iterator(child->program_fd);
	return bpf_prog_test_run_opts(child->program_fd, &options);
}

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
	return mixed ^ mixed >> 31;
}

uint64_t offcpu_child_due_ns(uint64_t number, uint64_t period_ns, uint64_t random)
{
	return number * period_ns + random % (period_ns * 4 / 5 + 1);
}

/* Waits until then. 1: a new period has come; 0; -errno; -EPIPE: the parent has ended. */
static int await(int socket_fd, uint64_t until_ns, uint64_t *period_ns)
{
	for (;;) {
		struct pollfd poll_fd = { .fd = socket_fd, .events = POLLIN };
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		const struct timespec timeout = {
			.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S),
			.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S),
		};
		int ready = ppoll(&poll_fd, 1, &timeout, NULL);

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0)
			return recv(socket_fd, period_ns, sizeof(*period_ns), 0) ==
						       sizeof(*period_ns) &&
					       *period_ns ?
				       1 :
				       -EPIPE;
		if (ready == 0 && clock_monotonic_ns() >= until_ns)
			return 0;
	}
}

static int passes_run(int socket_fd, const struct offcpu_child *child)
{
	uint64_t period_ns = 0, begin_ns = 0, number = 0, random = 0;
	int got = await(socket_fd, UINT64_MAX, &period_ns);

	if (getrandom(&random, sizeof(random), 0) < 0)
		return -errno;
	while (got >= 0) {
		int err = 0;

		if (got) {
			begin_ns = clock_monotonic_ns();
			number = 0;
		} else {
			err = pass(child);
			number++;
		}
		if (err)
			return err;
		/* What could not be done in time is left out: two passes at once say the same twice. */
		while (clock_monotonic_ns() > begin_ns + (number + 1) * period_ns)
			number++;
		got = await(socket_fd,
			    begin_ns + offcpu_child_due_ns(number, period_ns, random_next(&random)),
			    &period_ns);
	}
	return got == -EPIPE ? 0 : got;
}

int offcpu_child_main(int socket_fd, const void *ctx)
{
	struct offcpu_child child = *(const struct offcpu_child *)ctx;
	int err = offcpu_sandbox_enter(&socket_fd, &child.program_fd);

	return err ? err : passes_run(socket_fd, &child);
}
