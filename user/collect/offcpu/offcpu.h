/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads wait for: the second object of BPF programs, which shares maps with the first, and the
 * process that runs it (offcpu_child.h). Nothing in the kernel runs for it but in that process: a host
 * where it is not wanted pays nothing.
 *
 * A pass that hangs on the memory of a process (hang_watch.h) is ended: the process that runs it is killed
 * and another one begins; threads of the process it hung on are counted without their stacks for a while.
 *
 * In: the maps of the first object, and how often to pass. Out: counts, in these maps. The probe owns it.
 */
#ifndef JBPF_OFFCPU_OFFCPU_H
#define JBPF_OFFCPU_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "user/model/pass_facts.h"
#include "user/util/attributes.h"

#define OFFCPU_RATE_MAX	  10	/* passes a second, unless there are more threads than */
#define OFFCPU_VISITS_MAX 10000 /* visits a second: then fewer passes, down to one */
#define OFFCPU_WALKS_MAX  640	/* stacks walked a second, on average */
#define OFFCPU_SILENT_NS  5000000000ull

struct jbpf_bpf; /* of the first object's skeleton */
struct offcpu;

struct offcpu_options {
	uint32_t rate;	   /* visits a second, at most; 0 = OFFCPU_RATE_MAX */
	bool is_of_few;	   /* only some processes are sampled: not all threads count for the rate */
	bool force_compat; /* the pass for kernels before 6.7 even here: for tests */
	const char *const *cgroup_paths; /* only below these cgroup v2 directories; NULL = all */
	size_t cgroup_cnt;		 /* <= JBPF_CGROUP_FILTER_MAX */
};

/* What a thread has left of a window. Borrowed for the call. */
typedef void (*offcpu_take_fn)(void *ctx, const struct jbpf_key *key,
			       const struct jbpf_value *value);

/*
 * Loads the programs beside those of `base`, which is loaded. 0, or -errno with a line in `why`;
 * -EOPNOTSUPP: this kernel cannot.
 */
__must_check int offcpu__open(const struct jbpf_bpf *base, const struct offcpu_options *options,
			      struct offcpu **out, char *why, size_t why_len);
void offcpu__free(struct offcpu *offcpu); /* NULL is fine, here and below */

/* Passes begin, and end. */
__must_check int offcpu__start(struct offcpu *offcpu);
void offcpu__stop(struct offcpu *offcpu);

/* Looks after the process; at least once a second. */
void offcpu__watch(struct offcpu *offcpu);
/* When that is due next, CLOCK_BOOTTIME; UINT64_MAX: never. */
uint64_t offcpu__due_boot_ns(const struct offcpu *offcpu);

/* After the sets were swapped: when it returns, nothing is added to the old one any more. */
void offcpu__settle(const struct offcpu *offcpu);

/* Adds what its counters gained since the last time to those of the first object. */
void offcpu__add_counters(struct offcpu *offcpu, uint64_t *gained);

/*
 * The window is over: hands out what is kept with threads, most of it of those that never ran in
 * it, whose values have JBPF_VALUE_IDLE. *period_out is the ns of waiting that a sample of this
 * window stands for, *missed_out how many samples there are too few, as passes did not come.
 */
void offcpu__end_window(struct offcpu *offcpu, offcpu_take_fn take, void *ctx, uint64_t *period_out,
			uint64_t *missed_out);

/* What the passes of the last window were and took; all 0 where there is no offcpu. */
void offcpu__facts(const struct offcpu *offcpu, struct pass_facts *out);

/* Other cgroups. 0 or -errno. */
__must_check int offcpu__set_cgroups(struct offcpu *offcpu, const char *const *paths, size_t cnt);

/* Descriptors of the maps that are its own: at most `max`. Returns how many. */
size_t offcpu__map_fds(const struct offcpu *offcpu, int *fds, size_t max);

struct jbpf_pass;

/* Has no pass begun or ended for so long that the process of the passes must be stopped, or lost? */
bool offcpu_is_silent(const volatile struct jbpf_pass *pass, uint64_t now_ns);

/* Time that passes should have covered, and did not. Zero-initialise. */
struct pass_debt {
	int64_t ns;	 /* negative: they came early */
	uint64_t visits; /* samples of a pass, when one came last */
};

/*
 * A window of this length had so many passes, which had so many samples together. About how many samples
 * are missing, for passes that were left out; what is less than a pass counts with the next window.
 */
uint64_t offcpu_missed(struct pass_debt *debt, uint64_t window_ns, uint64_t period_ns,
		       uint64_t passes, uint64_t visits);

/* Passes a second for so many threads. */
uint32_t offcpu_rate(uint64_t threads, uint32_t rate_max);

#endif
