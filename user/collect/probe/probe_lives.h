/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a BPF map that says something of single processes, by pid. Programs ignore an entry
 * that is not of the very run of a program they look at, and delete entries whose run an exec or
 * exit has ended, so a stale entry costs a slot, no more. An account has at most as many as are free:
 * one that makes thousands of processes leaves room for those of others.
 */
#ifndef JBPF_PROBE_PROBE_LIVES_H
#define JBPF_PROBE_PROBE_LIVES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_unwind.h"

#define PROBE_LIVES_MAX JBPF_CODE_RANGES_MAX

_Static_assert(JBPF_SPACES_MAX <= PROBE_LIVES_MAX, "owners of all spaces have room");

/* Zeroed but for the first three is empty. */
struct probe_lives {
	int map_fd;	   /* borrowed */
	uint32_t max;	   /* entries of the map, <= PROBE_LIVES_MAX */
	size_t exec_id_at; /* offset in a value, which begins with start_ns, 64 bits */
	uint32_t cnt;
	struct probe_life_owner {
		uint64_t account_id;
		uint32_t pid;
	} owners[PROBE_LIVES_MAX];
	bool was_swept; /* in this window */
};

/* The values such a map may have. */
union probe_life {
	uint64_t start_ns;
	struct jbpf_code_range range;
	struct jbpf_space space;
	struct jbpf_hotspot hotspot;
};

/*
 * 0; -EINVAL: no process; -EDQUOT: this account has as many as are left for all others; -ENOSPC: too
 * many processes; -errno. `value` is of the map's size.
 */
__must_check int probe_lives_set(struct probe_lives *lives, uint32_t pid, uint64_t account_id,
				 const void *value);

/* What there is of the process is gone. */
void probe_lives_drop(struct probe_lives *lives, uint32_t pid);
void probe_lives_drop_all(struct probe_lives *lives);

/* Deletes what `notice` made nobody's. */
void probe_lives_expire(struct probe_lives *lives, const struct jbpf_notice *notice);

/* Looking for room costs some milliseconds, and is done once in a window. */
void probe_lives_end_window(struct probe_lives *lives);

/* May one more entry be of this account? Pure. */
bool probe_lives_has_room(const struct probe_lives *lives, uint64_t account_id);

/* Did `notice` make an entry of this life nobody's? Pure. */
bool probe_life_is_over(uint64_t start_ns, uint32_t exec_id, const struct jbpf_notice *notice);

#endif
