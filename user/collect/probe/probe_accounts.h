/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of the BPF side: which cgroup has which, and what they used in a window. */
#ifndef JBPF_PROBE_PROBE_ACCOUNTS_H
#define JBPF_PROBE_PROBE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"

#include "user/collect/probe/probe.h"

/* In one window; what is more than that is left out. */
#define PROBE_ACCOUNTS_MAX 4096

/* A cgroup as `accounts_of` has it. */
struct probe_cgroup {
	uint64_t cgroup_id;
	uint64_t account_id;
	uint32_t used;	 /* the last drain that had samples of the account, or when it was set */
	bool is_current; /* no other cgroup of the account was set since it was */
};

/* Zero-initialise; only `items` and `cnt` are for others. */
struct probe_accounts {
	int map_fd; /* `accounts_of`; borrowed */
	struct probe_cgroup cgroups[JBPF_ACCOUNTS_OF_MAX];
	size_t cgroup_cnt;
	uint32_t drain_cnt;
	struct probe_account items[PROBE_ACCOUNTS_MAX];
	size_t cnt;
};

/* As probe__set_account(). */
int probe_accounts_set(struct probe_accounts *accounts, uint64_t cgroup_id, uint64_t account_id);

/* Is this one of the count map's entries an account's record? Then it is added to `items`. */
bool probe_accounts_take(struct probe_accounts *accounts, const struct jbpf_key *key,
			 const struct jbpf_value *value);
/* All was taken: sorts `items` by account, and notes which cgroups are in use. */
void probe_accounts_end_drain(struct probe_accounts *accounts);

#endif
