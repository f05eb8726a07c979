// SPDX-License-Identifier: Apache-2.0
/* See probe_ranges.h. */
#include "user/collect/probe_ranges.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>

static bool is_user_range(uint64_t low, uint64_t high)
{
	return low <= high && high <= JBPF_USER_ADDRESS_END;
}

/*
 * Deletes the entries of processes that are no more: notices can be lost, and what should have gone
 * with one stays. True: there is room again.
 */
static bool sweep(int map_fd)
{
	bool has_room = false;
	uint32_t pid, next;
	int err = bpf_map_get_next_key(map_fd, NULL, &next);

	/* Bounded, because programs delete meanwhile, and then the walk may begin anew. */
	for (uint32_t i = 0; !err && i < 2 * JBPF_CODE_RANGES_MAX; i++) {
		pid = next;
		err = bpf_map_get_next_key(map_fd, &pid, &next);
		if (kill((pid_t)pid, 0) && errno == ESRCH && !bpf_map_delete_elem(map_fd, &pid))
			has_room = true;
	}
	return has_room;
}

int probe_ranges_set(int map_fd, uint32_t pid, const struct jbpf_code_range *range)
{
	int err;

	if (!pid || range->pad0 || !is_user_range(range->code_low, range->code_high) ||
	    !is_user_range(range->interpreter_low, range->interpreter_high))
		return -EINVAL;
	err = bpf_map_update_elem(map_fd, &pid, range, BPF_ANY);
	if (err == -E2BIG && sweep(map_fd))
		err = bpf_map_update_elem(map_fd, &pid, range, BPF_ANY);
	return err == -E2BIG ? -ENOSPC : err;
}

/*
 * Programs delete an entry when its process execs or ends. This is for one that was set after that,
 * before its owner heard of it; an entry for what came later stays.
 */
void probe_ranges_expire(int map_fd, const struct jbpf_notice *notice)
{
	struct jbpf_code_range range;

	if (notice->kind != JBPF_NOTICE_EXEC && notice->kind != JBPF_NOTICE_EXIT)
		return;
	if (bpf_map_lookup_elem(map_fd, &notice->pid, &range) || range.start_ns > notice->start_ns)
		return;
	if (notice->kind == JBPF_NOTICE_EXEC && range.start_ns == notice->start_ns &&
	    (int32_t)(range.exec_id - notice->exec_id) >= 0)
		return;
	(void)bpf_map_delete_elem(map_fd, &notice->pid);
}
