/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the BPF programs know of JVMs: the entries of the BPF maps `code_ranges`, where they keep their
 * JIT code, `hotspots`, how frames of it are found without frame pointers (see probe_lives.h for
 * both), and `leaf_rules`.
 */
#ifndef JBPF_PROBE_PROBE_RANGES_H
#define JBPF_PROBE_PROBE_RANGES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_leaf.h"
#include "user/collect/probe/probe_lives.h"
#include "user/util/attributes.h"

void probe_ranges_init(struct probe_lives *ranges, int map_fd);

/*
 * 0; -EINVAL: no ranges of user memory; -EDQUOT: this account has as many as are left for all
 * others; -ENOSPC: too many processes; -errno.
 */
__must_check int probe_ranges_set(struct probe_lives *ranges, uint32_t pid, uint64_t account_id,
				  const struct jbpf_code_range *range);

/* ---- leafs ---- */

/*
 * The entries of the BPF map `leaf_rules`: where callers of interrupted JIT code are. Code comes
 * and goes, and nobody says when a rule is of no use any more. So one that is needed takes the
 * place of an old one of the same account; those of processes that ended go with them.
 */

/* Zeroed but for map_fd is empty. */
struct probe_leafs {
	int map_fd; /* borrowed */
	uint32_t cnt;
	uint32_t hand; /* where an old one is looked for next */
	struct probe_leaf_owner {
		struct jbpf_leaf_key key;
		uint64_t account_id;
		uint64_t start_ns;
		uint32_t exec_id;
	} owners[JBPF_LEAF_RULES_MAX];
};

/* 0; -EINVAL: not valid; -EDQUOT: others have all, and this account nothing to give; -errno. */
__must_check int probe_leafs_set(struct probe_leafs *leafs, uint64_t account_id,
				 const struct jbpf_leaf_key *key,
				 const struct jbpf_leaf_proof *proof);

/* Deletes what `notice` made nobody's. */
void probe_leafs_expire(struct probe_leafs *leafs, const struct jbpf_notice *notice);

/* Is it such as a program can use? Pure. */
bool probe_leaf_is_valid(const struct jbpf_leaf_key *key, const struct jbpf_leaf_proof *proof);

/*
 * Which owner a rule is to replace: that of the same key, or an old one of the account when it has as
 * many as are free; leafs->cnt: none, it is one more; -EDQUOT. Pure but for the hand.
 */
int probe_leafs_place(struct probe_leafs *leafs, uint64_t account_id,
		      const struct jbpf_leaf_key *key);

/* ---- all ---- */

struct bpf_map;
struct probe;

/* All that is said of JVMs. */
struct probe_jvms {
	struct probe_lives ranges;
	struct probe_lives hotspots;
	struct probe_leafs leafs;
};

/* `jvms` is zeroed; for its maps `code_ranges`, `hotspots` and `leaf_rules`. */
void probe_jvms_init(struct probe_jvms *jvms, const struct bpf_map *ranges,
		     const struct bpf_map *hotspots, const struct bpf_map *leafs);
void probe_jvms_expire(struct probe_jvms *jvms, const struct jbpf_notice *notice);
void probe_jvms_end_window(struct probe_jvms *jvms);
/* Those of a probe; borrowed. Is in probe.c. */
struct probe_jvms *probe__jvms(struct probe *probe);

void probe_hotspots_init(struct probe_lives *hotspots, int map_fd);

/*
 * 0; -EINVAL: not valid; -EDQUOT: this account has as many as are left for all others; -ENOSPC: too
 * many processes; -errno.
 */
__must_check int probe_hotspots_set(struct probe_lives *hotspots, uint32_t pid, uint64_t account_id,
				    const struct jbpf_hotspot *hotspot);

/* Are all numbers such as programs can use: within a block, in user memory, shifts of a word? Pure. */
bool probe_hotspot_is_valid(const struct jbpf_hotspot *hotspot);

#endif
