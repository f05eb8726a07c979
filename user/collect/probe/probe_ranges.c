// SPDX-License-Identifier: Apache-2.0
/* See probe_ranges.h. */
#include "user/collect/probe/probe_ranges.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>

static bool is_user_range(uint64_t low, uint64_t high)
{
	return low <= high && high <= JBPF_USER_ADDRESS_END;
}

static void owner_drop(struct probe_ranges *ranges, uint32_t at)
{
	ranges->owners[at] = ranges->owners[--ranges->cnt];
}

static uint32_t owner_find(const struct probe_ranges *ranges, uint32_t pid)
{
	uint32_t at = 0;

	while (at < ranges->cnt && ranges->owners[at].pid != pid)
		at++;
	return at;
}

static bool has_room(const struct probe_ranges *ranges, uint64_t account_id)
{
	uint32_t mine = 0;

	for (uint32_t i = 0; i < ranges->cnt; i++)
		mine += ranges->owners[i].account_id == account_id;
	return mine < JBPF_CODE_RANGES_MAX - ranges->cnt;
}

/*
 * Drops what programs deleted and what is of processes that are no more: notices can be lost, and
 * what should have gone with one stays.
 */
static void sweep(struct probe_ranges *ranges)
{
	for (uint32_t i = ranges->cnt; i-- > 0;) {
		uint32_t pid = ranges->owners[i].pid;
		struct jbpf_code_range range;

		if (kill((pid_t)pid, 0) && errno == ESRCH)
			(void)bpf_map_delete_elem(ranges->map_fd, &pid);
		if (bpf_map_lookup_elem(ranges->map_fd, &pid, &range) == -ENOENT)
			owner_drop(ranges, i);
	}
	ranges->was_swept = true;
}

int probe_ranges_set(struct probe_ranges *ranges, uint32_t pid, uint64_t account_id,
		     const struct jbpf_code_range *range)
{
	uint32_t at = owner_find(ranges, pid);
	int err;

	if (!pid || range->pad0 || !is_user_range(range->code_low, range->code_high) ||
	    !is_user_range(range->interpreter_low, range->interpreter_high))
		return -EINVAL;
	if (at == ranges->cnt && !has_room(ranges, account_id)) {
		if (!ranges->was_swept)
			sweep(ranges);
		if (!has_room(ranges, account_id))
			return -EDQUOT;
		at = ranges->cnt;
	}
	err = bpf_map_update_elem(ranges->map_fd, &pid, range, BPF_ANY);
	if (err)
		return err == -E2BIG ? -ENOSPC : err;
	ranges->owners[at] = (struct probe_range_owner){ .account_id = account_id, .pid = pid };
	if (at == ranges->cnt)
		ranges->cnt++;
	return 0;
}

/*
 * Programs delete an entry when its process execs or ends. This is for one that was set after that,
 * before its owner heard of it; an entry for what came later stays.
 */
static bool is_expired(const struct jbpf_code_range *range, const struct jbpf_notice *notice)
{
	if (range->start_ns > notice->start_ns)
		return false;
	return notice->kind == JBPF_NOTICE_EXIT || range->start_ns != notice->start_ns ||
	       (int32_t)(range->exec_id - notice->exec_id) < 0;
}

void probe_ranges_expire(struct probe_ranges *ranges, const struct jbpf_notice *notice)
{
	struct jbpf_code_range range;
	uint32_t at;

	if (notice->kind != JBPF_NOTICE_EXEC && notice->kind != JBPF_NOTICE_EXIT)
		return;
	at = owner_find(ranges, notice->pid);
	if (at == ranges->cnt)
		return;
	if (!bpf_map_lookup_elem(ranges->map_fd, &notice->pid, &range)) {
		if (!is_expired(&range, notice))
			return;
		(void)bpf_map_delete_elem(ranges->map_fd, &notice->pid);
	}
	owner_drop(ranges, at);
}

void probe_ranges_end_window(struct probe_ranges *ranges)
{
	ranges->was_swept = false;
}
