/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other sampling options for a probe that runs. Programs are loaded and maps are made once, with
 * privileges that are given up afterwards: what can be changed is what fits into them.
 */
#ifndef JBPF_PROBE_PROBE_CHANGE_H
#define JBPF_PROBE_PROBE_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/probe/probe.h"

/* Room in the filter by pid, so that another list can be taken over. */
#define PROBE_CHANGE_PIDS_MIN 64

/* What programs and maps were made for. */
struct probe_room {
	size_t cpu_cnt;
	uint32_t count_entries; /* of each count map */
	uint32_t tick_words;	/* moments per CPU and window; 0: none are noted */
	uint32_t max_depth;	/* constant in the programs */
	uint32_t pid_max;	/* 0: programs do not look at pids */
	uint32_t cgroup_max;	/* 0: nor at cgroups */
	uint32_t events;	/* EVENT_BIT(): programs and events are there for these */
	uint64_t periods[EVENT_CNT];
	uint32_t off_cpu_rate;
	uint32_t max_sample_rate; /* kernel.perf_event_max_sample_rate; 0 = not known */
};

struct probe_sizes;

/* What these options have room for, but moments. */
void probe_change_room(const struct probe_options *options, const struct probe_sizes *sizes,
		       size_t cpu_cnt, struct probe_room *out);

/*
 * 0; -EOPNOTSUPP with a line in `why`: that needs a restart; else -errno: it would not start either.
 * Of the host it looks only at whether the cgroups are there.
 */
__must_check int probe_change_check(const struct probe_room *room,
				    const struct probe_options *wanted, char *why, size_t why_len);

/* Fills both filters, which are empty. 0, or -errno and of a cgroup its path in `subject`. */
__must_check int probe_change_filters(int pids_fd, int cgroups_fd,
				      const struct probe_options *options, const char **subject);
/* Makes the filter's map hold just these. 0 or -errno. */
__must_check int probe_change_pids(int map_fd, const uint32_t *pids, size_t cnt);
/* The same with the cgroups of `wanted`; where one cannot be opened nothing is changed. */
__must_check int probe_change_cgroups(int map_fd, const struct probe_options *wanted, char *why,
				      size_t why_len);

#endif
