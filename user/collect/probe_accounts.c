// SPDX-License-Identifier: Apache-2.0
/* See probe_accounts.h. */
#include "user/collect/probe_accounts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Takes one cgroup out, another one each time. Its processes have the account of the cgroup above
 * until somebody names theirs again.
 */
static int make_room(struct probe_accounts *accounts)
{
	uint64_t next;
	int err = bpf_map_get_next_key(accounts->map_fd, &accounts->cursor, &next);

	if (err)
		err = bpf_map_get_next_key(accounts->map_fd, NULL, &next);
	if (err)
		return err;
	/* The one behind it is where to go on; a key that is gone begins from the front again. */
	err = bpf_map_get_next_key(accounts->map_fd, &next, &accounts->cursor);
	if (err)
		accounts->cursor = 0;
	return bpf_map_delete_elem(accounts->map_fd, &next);
}

int probe_accounts_set(struct probe_accounts *accounts, uint64_t cgroup_id, uint64_t account_id)
{
	int err;

	if (!account_id) {
		err = bpf_map_delete_elem(accounts->map_fd, &cgroup_id);
		return err == -ENOENT ? 0 : err;
	}
	err = bpf_map_update_elem(accounts->map_fd, &cgroup_id, &account_id, BPF_ANY);
	if (err != -E2BIG)
		return err;
	err = make_room(accounts);
	if (!err)
		err = bpf_map_update_elem(accounts->map_fd, &cgroup_id, &account_id, BPF_ANY);
	return err;
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

void probe_accounts_sort(struct probe_accounts *accounts)
{
	qsort(accounts->items, accounts->cnt, sizeof(accounts->items[0]), account_compare);
}
