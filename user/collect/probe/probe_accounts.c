// SPDX-License-Identifier: Apache-2.0
/* See probe_accounts.h. */
#include "user/collect/probe/probe_accounts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/probe_host.h"

/*
 * So many drains in a row without a sample of its account, and without being set again, make a cgroup
 * one that may go. A drain is a window, or a second of one.
 */
#define IDLE_DRAINS 3

static bool is_idle(const struct probe_accounts *accounts, const struct probe_cgroup *cgroup)
{
	return !cgroup->is_current || accounts->drain_cnt - cgroup->used >= IDLE_DRAINS;
}

static struct probe_cgroup *cgroup_find(struct probe_accounts *accounts, uint64_t cgroup_id)
{
	for (size_t i = 0; i < accounts->cgroup_cnt; i++)
		if (accounts->cgroups[i].cgroup_id == cgroup_id)
			return &accounts->cgroups[i];
	return NULL;
}

static int cgroup_remove(struct probe_accounts *accounts, struct probe_cgroup *cgroup)
{
	int err = bpf_map_delete_elem(accounts->map_fd, &cgroup->cgroup_id);

	if (err && err != -ENOENT)
		return err;
	*cgroup = accounts->cgroups[--accounts->cgroup_cnt];
	return 0;
}

/* Takes out the one that has been idle for longest. -ENOSPC: all are in use. */
static int make_room(struct probe_accounts *accounts)
{
	struct probe_cgroup *oldest = NULL;

	for (size_t i = 0; i < accounts->cgroup_cnt; i++) {
		struct probe_cgroup *cgroup = &accounts->cgroups[i];

		if (is_idle(accounts, cgroup) && (!oldest || cgroup->used < oldest->used))
			oldest = cgroup;
	}
	return oldest ? cgroup_remove(accounts, oldest) : -ENOSPC;
}

/*
 * Another cgroup of the account was set: the older ones have most likely been removed. Those that live
 * are set again before long. So an account that names many can have no more than one of them kept.
 */
static void outdate_others(struct probe_accounts *accounts, uint64_t account_id)
{
	for (size_t i = 0; i < accounts->cgroup_cnt; i++)
		if (accounts->cgroups[i].account_id == account_id)
			accounts->cgroups[i].is_current = false;
}

static int cgroup_add(struct probe_accounts *accounts, uint64_t cgroup_id, uint64_t account_id)
{
	int err;

	outdate_others(accounts, account_id);
	if (accounts->cgroup_cnt == JBPF_ACCOUNTS_OF_MAX) {
		err = make_room(accounts);
		if (err)
			return err;
	}
	err = probe_host_map_put(accounts->map_fd, &cgroup_id, &account_id);
	if (err)
		return err;
	accounts->cgroups[accounts->cgroup_cnt++] = (struct probe_cgroup){
		.cgroup_id = cgroup_id,
		.account_id = account_id,
		.used = accounts->drain_cnt,
		.is_current = true,
	};
	return 0;
}

int probe_accounts_set(struct probe_accounts *accounts, uint64_t cgroup_id, uint64_t account_id)
{
	struct probe_cgroup *cgroup = cgroup_find(accounts, cgroup_id);
	int err = 0;

	if (!account_id)
		return cgroup ? cgroup_remove(accounts, cgroup) : 0;
	if (!cgroup)
		return cgroup_add(accounts, cgroup_id, account_id);
	if (cgroup->account_id != account_id)
		err = probe_host_map_put(accounts->map_fd, &cgroup_id, &account_id);
	if (err)
		return err;
	cgroup->account_id = account_id;
	cgroup->used = accounts->drain_cnt;
	cgroup->is_current = true;
	return 0;
}

bool probe_accounts_take(struct probe_accounts *accounts, const struct jbpf_key *key,
			 const struct jbpf_value *value)
{
	struct jbpf_account record;

	if (key->kind != JBPF_KEY_ACCOUNT)
		return false;
	if (accounts->cnt == PROBE_ACCOUNTS_MAX)
		return true;
	memcpy(&record, value, sizeof(record));
	accounts->items[accounts->cnt++] = (struct probe_account){
		.account_id = key->start_ns,
		.stack_bytes = record.stack_bytes,
		.entries = record.entries,
		.processes = record.processes,
		.cut_samples = record.cut_samples,
		.leaf_samples = record.leaf_samples,
		.bare_samples = record.bare_samples,
		.lost_samples = record.lost_samples,
	};
	return true;
}

static int account_compare(const void *left, const void *right)
{
	const struct probe_account *a = left, *b = right;

	return (a->account_id > b->account_id) - (a->account_id < b->account_id);
}

void probe_accounts_end_drain(struct probe_accounts *accounts)
{
	qsort(accounts->items, accounts->cnt, sizeof(accounts->items[0]), account_compare);
	accounts->drain_cnt++;
	for (size_t i = 0; i < accounts->cgroup_cnt; i++) {
		struct probe_cgroup *cgroup = &accounts->cgroups[i];
		const struct probe_account wanted = { .account_id = cgroup->account_id };

		if (bsearch(&wanted, accounts->items, accounts->cnt, sizeof(wanted),
			    account_compare))
			cgroup->used = accounts->drain_cnt;
	}
}
