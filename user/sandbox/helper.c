// SPDX-License-Identifier: Apache-2.0
/* See helper.h. */
#include "user/sandbox/helper.h"

#include <errno.h>
#include <poll.h>

#include "user/host/proc_stat.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

struct helper helper_of(const struct child_starter *starter)
{
	return (struct helper){ .starter = *starter, .socket_fd = -1 };
}

int helper_start(struct helper *helper)
{
	int err = helper->starter.start(helper->starter.ctx, &helper->socket_fd, &helper->pid);

	helper->start_cnt += !err;
	return err;
}

void helper_forget(struct helper *helper)
{
	close_fd(&helper->socket_fd);
	helper->pid = 0;
}

int helper_end(struct helper *helper, int *left_out)
{
	int status = -1;

	/* One that sees its socket closed first ends by itself, with another status. */
	if (helper->pid)
		status = helper->starter.end(helper->starter.ctx, helper->pid);
	if (left_out)
		*left_out = status < 0 ? take_fd(&helper->socket_fd) : -1;
	helper_forget(helper);
	return status;
}

/* ---- watching ---- */

struct helper_watch helper_watch_begin(const struct helper *helper,
				       const struct helper_limits *limits)
{
	uint64_t cpu_ns = clock_process_ns(helper->pid);

	return (struct helper_watch){
		.limits = limits,
		.cpu_begin_ns = cpu_ns,
		.cpu_ns = cpu_ns,
	};
}

/* False: it has had enough time. */
static bool watch_tick(const struct helper *helper, struct helper_watch *watch)
{
	const struct helper_limits *limits = watch->limits;
	uint64_t cpu_ns = clock_process_ns(helper->pid);
	bool is_stalled = cpu_ns == watch->cpu_ns;
	/* One that gets nothing from a busy host does not hang. */
	bool is_ready = proc_stat_wants_cpu(helper->pid);

	watch->all_ticks++;
	watch->ticks += !is_ready;
	watch->stalled_ticks = is_stalled && !is_ready ? watch->stalled_ticks + 1 : 0;
	watch->cpu_ns = cpu_ns;
	return watch->ticks < limits->max_ticks && watch->all_ticks < limits->max_all_ticks &&
	       watch->stalled_ticks < limits->max_stalled_ticks &&
	       cpu_ns - watch->cpu_begin_ns < limits->max_cpu_ns;
}

int helper_await(const struct helper *helper, struct helper_watch *watch)
{
	for (;;) {
		struct pollfd wait = { .fd = helper->socket_fd, .events = POLLIN };
		int ready = poll(&wait, 1, (int)watch->limits->tick_ms);

		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && !watch_tick(helper, watch))
			return -ETIMEDOUT;
	}
}

/* ---- how often ---- */

bool start_budget_take(struct start_budget *budget, uint64_t now_ns)
{
	uint64_t back = (now_ns - budget->since_ns) / budget->interval_ns;

	budget->used_cnt -= (uint32_t)(back < budget->used_cnt ? back : budget->used_cnt);
	budget->since_ns += back * budget->interval_ns;
	if (!budget->used_cnt)
		budget->since_ns = now_ns;
	if (budget->used_cnt == budget->burst)
		return false;
	budget->used_cnt++;
	return true;
}
