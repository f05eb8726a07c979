// SPDX-License-Identifier: Apache-2.0
/* See probe_lives.h. */
#include "user/collect/probe/probe_lives.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "user/collect/probe/probe_host.h"

static void owner_drop(struct probe_lives *lives, uint32_t at)
{
	lives->owners[at] = lives->owners[--lives->cnt];
}

static uint32_t owner_find(const struct probe_lives *lives, uint32_t pid)
{
	uint32_t at = 0;

	while (at < lives->cnt && lives->owners[at].pid != pid)
		at++;
	return at;
}

bool probe_lives_has_room(const struct probe_lives *lives, uint64_t account_id)
{
	uint32_t mine = 0;

	for (uint32_t i = 0; i < lives->cnt; i++)
		mine += lives->owners[i].account_id == account_id;
	return lives->cnt < lives->max && mine < lives->max - lives->cnt;
}

/*
 * Drops what programs deleted and what is of processes that are no more: notices can be lost, and
 * what should have gone with one stays.
 */
static void sweep(struct probe_lives *lives)
{
	for (uint32_t i = lives->cnt; i-- > 0;) {
		uint32_t pid = lives->owners[i].pid;
		union probe_life value;

		if (kill((pid_t)pid, 0) && errno == ESRCH)
			(void)bpf_map_delete_elem(lives->map_fd, &pid);
		if (bpf_map_lookup_elem(lives->map_fd, &pid, &value) == -ENOENT)
			owner_drop(lives, i);
	}
	lives->was_swept = true;
}

int probe_lives_set(struct probe_lives *lives, uint32_t pid, uint64_t account_id, const void *value)
{
	uint32_t at = owner_find(lives, pid);
	int err;

	if (!pid)
		return -EINVAL;
	if (at == lives->cnt && !probe_lives_has_room(lives, account_id)) {
		if (!lives->was_swept)
			sweep(lives);
		if (!probe_lives_has_room(lives, account_id))
			return -EDQUOT;
		at = lives->cnt;
	}
	err = probe_host_map_put(lives->map_fd, &pid, value);
	if (err)
		return err == -E2BIG ? -ENOSPC : err;
	lives->owners[at] = (struct probe_life_owner){ .account_id = account_id, .pid = pid };
	if (at == lives->cnt)
		lives->cnt++;
	return 0;
}

void probe_lives_drop(struct probe_lives *lives, uint32_t pid)
{
	uint32_t at = owner_find(lives, pid);

	(void)bpf_map_delete_elem(lives->map_fd, &pid);
	if (at < lives->cnt)
		owner_drop(lives, at);
}

void probe_lives_drop_all(struct probe_lives *lives)
{
	while (lives->cnt)
		probe_lives_drop(lives, lives->owners[lives->cnt - 1].pid);
}

/*
 * Programs delete an entry when its process execs or ends. This is for one that was set after that,
 * before its owner heard of it; an entry for what came later stays.
 */
bool probe_life_is_over(uint64_t start_ns, uint32_t exec_id, const struct jbpf_notice *notice)
{
	if (start_ns > notice->start_ns)
		return false;
	return notice->kind == JBPF_NOTICE_EXIT || start_ns != notice->start_ns ||
	       (int32_t)(exec_id - notice->exec_id) < 0;
}

void probe_lives_expire(struct probe_lives *lives, const struct jbpf_notice *notice)
{
	union probe_life value;
	uint32_t at, exec_id;

	if (notice->kind != JBPF_NOTICE_EXEC && notice->kind != JBPF_NOTICE_EXIT)
		return;
	at = owner_find(lives, notice->pid);
	if (at == lives->cnt)
		return;
	if (!bpf_map_lookup_elem(lives->map_fd, &notice->pid, &value)) {
		memcpy(&exec_id, (const char *)&value + lives->exec_id_at, sizeof(exec_id));
		if (!probe_life_is_over(value.start_ns, exec_id, notice))
			return;
		(void)bpf_map_delete_elem(lives->map_fd, &notice->pid);
	}
	owner_drop(lives, at);
}

void probe_lives_end_window(struct probe_lives *lives)
{
	lives->was_swept = false;
}
