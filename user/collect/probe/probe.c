// SPDX-License-Identifier: Apache-2.0
/*
 * See probe.h. Life: open the skeleton -> knobs and map sizes -> load -> count maps -> filters ->
 * tracepoints -> an event per CPU. Each result is checked; what fails is explained by probe_why().
 */
#include "user/collect/probe/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/jbpf.skel.h"

#include "user/collect/probe/count_map.h"
#include "user/collect/probe/cpus.h"
#include "user/collect/offcpu/alloc.h"
#include "user/collect/offcpu/counter_sum.h"
#include "user/collect/offcpu/offcpu.h"
#include "user/collect/offcpu/sched.h"
#include "user/collect/probe/probe_accounts.h"
#include "user/collect/probe/probe_change.h"
#include "user/collect/probe/probe_host.h"
#include "user/collect/probe/probe_lives.h"
#include "user/collect/probe/probe_log.h"
#include "user/collect/probe/probe_queue.h"
#include "user/collect/probe/probe_ranges.h"
#include "user/collect/probe/probe_sizes.h"
#include "user/collect/probe/probe_unwind.h"
#include "user/collect/probe/probe_waits.h"
#include "user/collect/probe/probe_why.h"
#include "user/collect/probe/stack_table.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/host/ksymbol_watch.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define PROBE_IDLE_WINDOWS 3	    /* then a stack is forgotten */
#define PROBE_IN_FLIGHT_NS 10000000 /* a program lasts microseconds; its CPU may be taken */

struct probe {
	struct jbpf_bpf *skel;
	struct bpf_program *oncpu; /* the variant in use */
	struct bpf_program *onevent;
	struct cpu_event_set events;
	struct ring_buffer *ring; /* stacks and notices */
	struct stack_table *stacks;

	int count_fds[2];
	int active; /* which of them programs write to */
	struct probe_sizes sizes;
	struct probe_room room;
	struct jbpf_key *keys;
	struct jbpf_value *values;
	struct probe_count *counts;
	struct tick_log tick_log;
	struct probe_tick *ticks;

	int follow_err;	  /* of the last look for new CPUs */
	uint32_t cpu_cnt; /* online, as last seen */
	uint32_t unsampled_cpu_cnt;
	uint64_t swap_boot_ns; /* when the present window began */
	struct counter_sum counters;
	uint64_t stack_records;	 /* this window */
	uint64_t refused_stacks; /* records that did not fit into `stacks` table, this window */

	struct probe_accounts *accounts;
	struct probe_jvms *jvms;
	struct probe_unwind *unwind;
	struct offcpu *offcpu; /* NULL: that is not sampled */
	struct sched *sched;   /* the same */
	struct alloc *alloc;   /* the same */
	struct probe_waits waits;

	struct probe_queue *new_stacks;
	uint64_t emptied_boot_ns; /* what comes out of `stacks` now was sampled after this */

	/* During a call of probe__consume() or probe__drain(). */
	probe_notice_fn notice;
	void *notice_ctx;
};

/* Which variant this kernel takes; asked of the kernel, not of its version. */
static void choose_programs(struct probe *probe, const struct probe_options *options)
{
	bool has_others = cpus_have_counters(probe_events(options));
	bool is_compat =
		options->force_compat ||
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 0;

	bpf_program__set_autoload(probe->skel->progs.oncpu, !is_compat);
	bpf_program__set_autoload(probe->skel->progs.oncpu_compat, is_compat);
	bpf_program__set_autoload(probe->skel->progs.onevent, has_others && !is_compat);
	bpf_program__set_autoload(probe->skel->progs.onevent_compat, has_others && is_compat);
	probe->onevent = is_compat ? probe->skel->progs.onevent_compat : probe->skel->progs.onevent;
	probe->oncpu = is_compat ? probe->skel->progs.oncpu_compat : probe->skel->progs.oncpu;
	pr_debug("probe: samples are taken by %s\n", bpf_program__name(probe->oncpu));
}

/* A log for each CPU that is there; others that come later have none, and count that. */
static int set_tick_log(struct probe *probe, const struct probe_options *options, uint32_t last_cpu)
{
	struct jbpf_bpf__rodata *knobs = probe->skel->rodata;

	if (options->wants_ticks)
		tick_log_size(&probe->tick_log, options->frequency_hz, last_cpu + 1,
			      options->window_ns);
	if (options->wants_ticks && !probe->tick_log.stride)
		pr_warn("probe: windows are too long for so many CPUs to note when samples are taken\n");
	probe->room.tick_words = probe->tick_log.stride ? probe->tick_log.stride - 1 : 0;
	knobs->ticks_stride = probe->tick_log.stride;
	knobs->ticks_cpu_cnt = probe->tick_log.cpu_cnt;
	return bpf_map__set_max_entries(probe->skel->maps.ticks, tick_log_words(&probe->tick_log));
}

static int set_sizes(struct probe *probe)
{
	/* Written by user space when there are JVMs, containers, or tables to unwind by. */
	struct bpf_map *const rare[] = {
		probe->skel->maps.code_ranges,	 probe->skel->maps.hotspots,
		probe->skel->maps.leaf_rules,	 probe->skel->maps.accounts_of,
		probe->skel->maps.unwind_chunks, probe->skel->maps.spaces,
	};
	const struct probe_sizes *sizes = &probe->sizes;
	struct jbpf_bpf__rodata *knobs = probe->skel->rodata;
	uint32_t pid_cnt = probe->room.pid_max ? probe->room.pid_max : 1;
	int err = bpf_map__set_max_entries(probe->skel->maps.seen, sizes->seen_entries);

	if (!err)
		err = bpf_map__set_max_entries(probe->skel->maps.stacks, sizes->stacks_bytes);
	if (!err)
		err = bpf_map__set_max_entries(probe->skel->maps.known, sizes->known_entries);
	if (!err)
		err = bpf_map__set_max_entries(probe->skel->maps.filter_pids, pid_cnt);
	if (!err && probe_host_may_grow())
		err = probe_host_let_grow(rare, ARRAY_SIZE(rare));
	else if (!err)
		err = probe_unwind_shrink(probe->skel->maps.unwind_chunks,
					  probe->skel->maps.spaces);
	knobs->stacks_wakeup_bytes = sizes->stacks_bytes / 4;
	knobs->stacks_size = sizes->stacks_bytes;
	knobs->stack_bytes_max = sizes->window_stack_bytes;
	knobs->entries_max = sizes->count_entries;
	knobs->event_entries_max = sizes->event_entries;
	knobs->known_max = sizes->known_entries;
	return err;
}

static int set_knobs(struct probe *probe, const struct probe_options *options)
{
	struct jbpf_bpf__rodata *knobs = probe->skel->rodata;
	uint64_t seed = options->hash_seed;

	if (!options->max_depth || options->max_depth > JBPF_MAX_DEPTH || !options->frequency_hz ||
	    options->cgroup_cnt > JBPF_CGROUP_FILTER_MAX || options->pid_cnt > UINT32_MAX)
		return -EINVAL;
	if (!seed && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return -EIO;
	knobs->max_depth = options->max_depth;
	knobs->filter_pid_cnt = (uint32_t)options->pid_cnt;
	knobs->filter_cgroup_cnt = (uint32_t)options->cgroup_cnt;
	knobs->hash_seed = seed;
	knobs->honours_opt_out = !options->ignores_opt_out;
	knobs->keeps_digits = options->keeps_digits;
	return 0;
}

static int alloc_counts(struct probe *probe)
{
	uint32_t entries = probe->sizes.count_entries;
	const struct stack_table_options options = {
		.soft_bytes = probe->sizes.table_soft_bytes,
		.soft_cnt = probe->sizes.table_soft_cnt,
		.max_bytes = probe->sizes.table_max_bytes,
		.idle_windows = PROBE_IDLE_WINDOWS,
	};

	probe->keys = calloc(entries, sizeof(*probe->keys));
	probe->values = calloc(entries, sizeof(*probe->values));
	probe->counts = calloc(entries, sizeof(*probe->counts));
	probe->ticks = calloc(tick_log_max(&probe->tick_log) + 1, sizeof(*probe->ticks));
	probe->new_stacks = calloc(1, sizeof(*probe->new_stacks));
	probe->accounts = calloc(1, sizeof(*probe->accounts));
	probe->jvms = calloc(1, sizeof(*probe->jvms));
	probe->unwind = calloc(1, sizeof(*probe->unwind));
	probe->stacks = stack_table__new(&options);
	return probe->keys && probe->values && probe->counts && probe->ticks && probe->new_stacks &&
			       probe->accounts && probe->jvms && probe->unwind && probe->stacks ?
		       counter_sum_init(&probe->counters) :
		       -ENOMEM;
}

static int create_count_maps(struct probe *probe)
{
	int err = 0;

	for (__u32 i = 0; i < 2 && !err; i++) {
		probe->count_fds[i] = count_map_create(i ? "jbpf_counts1" : "jbpf_counts0",
						       probe->sizes.count_entries);
		if (probe->count_fds[i] < 0)
			return probe->count_fds[i];
		err = bpf_map_update_elem(bpf_map__fd(probe->skel->maps.counts), &i,
					  &probe->count_fds[i], BPF_ANY);
	}
	return err;
}

static int attach_tracepoints(struct probe *probe, const char **subject)
{
	struct {
		struct bpf_program *program;
		struct bpf_link **link;
	} const tracepoints[] = {
		{ probe->skel->progs.on_exec, &probe->skel->links.on_exec },
		{ probe->skel->progs.on_exit, &probe->skel->links.on_exit },
		{ probe->skel->progs.on_rename, &probe->skel->links.on_rename },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++) {
		*subject = bpf_program__section_name(tracepoints[i].program);
		*tracepoints[i].link = bpf_program__attach(tracepoints[i].program);
		if (!*tracepoints[i].link)
			return -errno;
	}
	return 0;
}

static int on_stack(void *ctx, void *data, size_t len)
{
	struct probe *probe = ctx;
	const struct jbpf_stack *head = data; /* the ring buffer aligns to 8 */
	size_t cnt_before = stack_table__count(probe->stacks);
	int err = stack_table__add(probe->stacks, data, len);

	probe->stack_records++;
	if (stack_table__count(probe->stacks) > cnt_before && head->kind == JBPF_STACK_USER) {
		probe_queue_note(probe->new_stacks, head, probe->emptied_boot_ns);
	} else if (err && len >= sizeof(*head)) {
		/* Without its words here it must not be known there: the next window sends it. */
		(void)bpf_map_delete_elem(bpf_map__fd(probe->skel->maps.seen), &head->hash);
		probe->refused_stacks++;
	}
	return 0;
}

static int on_notice(void *ctx, void *data, size_t len)
{
	struct probe *probe = ctx;

	if (len < sizeof(struct jbpf_notice))
		return 0;
	probe_jvms_expire(probe->jvms, data);
	probe_lives_expire(&probe->unwind->spaces, data);
	if (probe->notice)
		probe->notice(probe->notice_ctx, data);
	return 0;
}

static int open_rings(struct probe *probe)
{
	probe->ring =
		ring_buffer__new(bpf_map__fd(probe->skel->maps.stacks), on_stack, probe, NULL);
	if (!probe->ring)
		return -errno;
	return ring_buffer__add(probe->ring, bpf_map__fd(probe->skel->maps.notices), on_notice,
				probe);
}

/* All before the kernel hears of it. */
static int open_skeleton(struct probe *probe, const struct probe_options *options,
			 const uint32_t *cpus, size_t cpu_cnt)
{
	int err;

	probe->cpu_cnt = (uint32_t)cpu_cnt;
	probe_sizes(options, cpu_cnt, &probe->sizes);
	probe_change_room(options, &probe->sizes, cpu_cnt, &probe->room);
	probe->skel = jbpf_bpf__open();
	if (!probe->skel)
		return -errno;
	err = set_knobs(probe, options);
	if (!err)
		err = set_sizes(probe);
	if (!err)
		err = set_tick_log(probe, options, cpus[cpu_cnt - 1]);
	return err ? err : alloc_counts(probe);
}

static int open_maps(struct probe *probe)
{
	int err;

	probe->accounts->map_fd = bpf_map__fd(probe->skel->maps.accounts_of);
	probe_jvms_init(probe->jvms, probe->skel->maps.code_ranges, probe->skel->maps.hotspots,
			probe->skel->maps.leaf_rules);
	probe_unwind_init(probe->unwind, probe->skel->maps.unwind_chunks, probe->skel->maps.spaces);
	err = create_count_maps(probe);
	if (!err)
		err = tick_log_map(&probe->tick_log, bpf_map__fd(probe->skel->maps.ticks));
	return err ? err : open_rings(probe);
}

static int open_waits(struct probe *probe, const struct probe_options *options, char *why,
		      size_t why_len)
{
	const struct offcpu_options wanted = {
		.rate = options->off_cpu_rate,
		.is_of_few = options->pid_cnt,
		.force_compat = options->force_compat,
		.cgroup_paths = options->cgroup_paths,
		.cgroup_cnt = options->cgroup_cnt,
	};
	const struct sched_options measured = {
		.threshold_ns = options->sched_threshold_ns,
		.of_wakers = options->sched_of_wakers,
	};
	uint32_t events = probe_events(options);
	int err = 0;

	if (events & EVENT_BIT(EVENT_OFF_CPU))
		err = offcpu__open(probe->skel, &wanted, &probe->offcpu, why, why_len);
	if (!err && events & EVENT_BIT(EVENT_SCHED))
		err = sched__open(probe->skel, &measured, &probe->sched, why, why_len);
	if (!err && events & EVENT_BIT(EVENT_ALLOC))
		err = alloc__open(probe->skel, &options->alloc, &probe->alloc, why, why_len);
	return err;
}

/* All steps in turn; on failure `failure` says which one and about what. */
static int open_steps(struct probe *probe, const struct probe_options *options,
		      struct probe_failure *failure, char *text, size_t text_len)
{
	__cleanup_free uint32_t *cpus = NULL;
	size_t cpu_cnt = 0;
	uint32_t cpu = 0;
	int err;

	failure->step = PROBE_STEP_NO_CPU;
	err = cpus_online(&cpus, &cpu_cnt);
	if (err)
		return err;
	failure->step = PROBE_STEP_OPEN;
	err = open_skeleton(probe, options, cpus, cpu_cnt);
	if (err)
		return err;
	failure->step = PROBE_STEP_LOAD;
	choose_programs(probe, options);
	probe_log_clear(); /* asking for helpers complains, too */
	err = jbpf_bpf__load(probe->skel);
	if (err) {
		failure->log = probe_log_last();
		return err;
	}
	failure->step = PROBE_STEP_MAPS;
	err = open_maps(probe);
	if (err)
		return err;
	failure->step = PROBE_STEP_FILTER;
	err = probe_change_filters(bpf_map__fd(probe->skel->maps.filter_pids),
				   bpf_map__fd(probe->skel->maps.filter_cgroups), options,
				   &failure->subject);
	if (err)
		return err;
	failure->step = PROBE_STEP_ATTACH;
	err = attach_tracepoints(probe, &failure->subject);
	if (err)
		return err;
	failure->step = PROBE_STEP_EVENT;
	failure->subject = text;
	err = cpu_event_set_fill(&probe->events, options, bpf_program__fd(probe->oncpu),
				 bpf_program__fd(probe->onevent));
	if (!err)
		err = cpu_event_set_follow(&probe->events, cpus, cpu_cnt, &cpu);
	snprintf(text, text_len, "%u", cpu);
	if (err)
		return err;
	failure->step = PROBE_STEP_WAITS;
	return open_waits(probe, options, text, text_len);
}

int probe__open(const struct probe_options *options, struct probe **out, char *why, size_t why_len)
{
	struct probe_failure failure = { .frequency_hz = options->frequency_hz };
	struct probe *probe = calloc(1, sizeof(*probe));
	char text[256] = "";

	if (!probe) {
		snprintf(why, why_len, "cannot prepare BPF programs: %s", errstr(-ENOMEM));
		return -ENOMEM;
	}
	probe->count_fds[0] = probe->count_fds[1] = -1;
	probe_log_take();
	failure.err = open_steps(probe, options, &failure, text, sizeof(text));
	if (failure.err) {
		struct probe_host host;

		probe_host_read(&host);
		probe_why(&failure, &host, why, why_len);
		probe__free(probe);
		return failure.err;
	}
	*out = probe;
	return 0;
}

void probe__free(struct probe *probe)
{
	if (!probe)
		return;
	cpu_event_set_release(&probe->events);
	offcpu__free(probe->offcpu);
	sched__free(probe->sched);
	alloc__free(probe->alloc);
	probe_waits_release(&probe->waits);
	tick_log_unmap(&probe->tick_log);
	ring_buffer__free(probe->ring);
	jbpf_bpf__destroy(probe->skel);
	for (int i = 0; i < 2; i++) {
		if (probe->count_fds[i] >= 0)
			close(probe->count_fds[i]);
	}
	stack_table__free(probe->stacks);
	free(probe->keys);
	free(probe->values);
	free(probe->counts);
	free(probe->ticks);
	free(probe->accounts);
	free(probe->jvms);
	free(probe->unwind);
	counter_sum_release(&probe->counters);
	free(probe->new_stacks);
	free(probe);
}

int probe__start(struct probe *probe)
{
	int err;

	probe->swap_boot_ns = probe->emptied_boot_ns = clock_boot_ns();
	err = cpu_event_set_enable(&probe->events);
	if (!err) {
		sched__start(probe->sched);
		alloc__start(probe->alloc);
	}
	return err ? err : offcpu__start(probe->offcpu);
}

void probe__stop(struct probe *probe)
{
	cpu_event_set_disable(&probe->events);
	offcpu__stop(probe->offcpu);
	sched__stop(probe->sched);
	alloc__stop(probe->alloc);
}

int probe__may_change(const struct probe *probe, const struct probe_options *options, char *why,
		      size_t why_len)
{
	struct probe_room room = probe->room;

	room.max_sample_rate = probe_host_max_sample_rate();
	return probe_change_check(&room, options, why, why_len);
}

int probe__change(struct probe *probe, const struct probe_options *options, char *why,
		  size_t why_len)
{
	int cgroups_fd = bpf_map__fd(probe->skel->maps.filter_cgroups);
	int err = probe__may_change(probe, options, why, why_len);

	if (!err && options->cgroup_cnt)
		err = probe_change_cgroups(cgroups_fd, options, why, why_len);
	if (!err)
		err = offcpu__set_cgroups(probe->offcpu, options->cgroup_paths,
					  options->cgroup_cnt);
	if (err)
		return err;
	snprintf(why, why_len, "BPF maps or events refuse other options");
	if (options->pid_cnt)
		err = probe_change_pids(bpf_map__fd(probe->skel->maps.filter_pids), options->pids,
					options->pid_cnt);
	return err ? err : cpu_event_set_frequency(&probe->events, options->frequency_hz);
}

int probe__fd(const struct probe *probe)
{
	return ring_buffer__epoll_fd(probe->ring);
}

int probe__consume(struct probe *probe, probe_notice_fn notice, void *ctx)
{
	uint64_t begin_boot_ns = clock_boot_ns();
	int taken;

	offcpu__watch(probe->offcpu);
	probe->notice = notice;
	probe->notice_ctx = ctx;
	taken = ring_buffer__consume(probe->ring);
	probe->notice = NULL;
	/* All that was there at the beginning is taken, but what a program was just writing. */
	if (taken >= 0)
		probe->emptied_boot_ns = begin_boot_ns - PROBE_IN_FLIGHT_NS;
	return taken < 0 ? taken : 0;
}

/* What the counters gained since the last time. */
static int read_counters(struct probe *probe, uint64_t *gained)
{
	offcpu__add_counters(probe->offcpu, gained);
	sched__add_counters(probe->sched, gained);
	alloc__add_counters(probe->alloc, gained);
	return counter_sum_add(&probe->counters, bpf_map__fd(probe->skel->maps.counters), gained);
}

uint64_t probe__kernel_wakes_ns(const struct probe *probe)
{
	return sched__kernel_ns(probe->sched);
}

/* Deletes what the table is about to forget; see stack_table.h for the two phases. */
static void forget_stacks(struct probe *probe)
{
	int seen_fd = bpf_map__fd(probe->skel->maps.seen);
	const uint64_t *hashes;
	size_t cnt;
	int err = stack_table__end_window(probe->stacks, &hashes, &cnt);

	if (err)
		pr_warn("probe: %s, old stacks stay in memory\n", errstr(err));
	count_map_forget(seen_fd, hashes, cnt);
}

/* A CPU that cannot be opened (privileges were dropped) is told of once, and tried every window. */
static void follow_cpus(struct probe *probe)
{
	__cleanup_free uint32_t *cpus = NULL;
	size_t cpu_cnt = 0, sampled;
	uint32_t cpu = 0;
	int err = cpus_online(&cpus, &cpu_cnt);

	if (err) {
		pr_debug("probe: which CPUs are online cannot be read now: %s\n", errstr(err));
		return; /* they are as they were, for all we know */
	}
	probe->cpu_cnt = (uint32_t)cpu_cnt;
	err = cpu_event_set_follow(&probe->events, cpus, cpu_cnt, &cpu);
	sampled = cpu_event_set_count(&probe->events);
	/* Short of memory it changes nothing: those that were sampled are, and gone ones do no harm. */
	probe->unsampled_cpu_cnt = err && sampled < cpu_cnt ? (uint32_t)(cpu_cnt - sampled) : 0;
	if (probe->unsampled_cpu_cnt && err != probe->follow_err)
		pr_warn("probe: CPU %u came online and is not sampled: %s; restart to sample it\n",
			cpu, errstr(err));
	probe->follow_err = err;
}

/*
 * Makes programs write to the other set. When it returns, none of them uses the old one: the kernel
 * waits for all programs that run when a map of maps was written, also when nothing changed in it.
 */
static int swap_sets(struct probe *probe)
{
	__u32 next = !probe->active;
	int err;

	probe->skel->bss->all_entries[next] = 0;
	probe->skel->bss->all_stack_bytes[next] = 0;
	probe->skel->bss->all_event_bytes[next] = 0;
	__atomic_store_n(&probe->skel->bss->active_set, next, __ATOMIC_RELEASE);
	err = bpf_map_update_elem(bpf_map__fd(probe->skel->maps.counts), &next,
				  &probe->count_fds[next], BPF_ANY);
	if (err)
		__atomic_store_n(&probe->skel->bss->active_set, (__u32)probe->active,
				 __ATOMIC_RELEASE);
	else
		probe->active = (int)next;
	offcpu__settle(probe->offcpu);
	return err;
}

/*
 * Moves the idle map into probe->counts, sorted. What cannot be read now stays in the map and comes
 * with a later window.
 */
static uint32_t take_counts(struct probe *probe)
{
	uint32_t cnt = 0;
	int err = count_map_drain(probe->count_fds[!probe->active], probe->keys, probe->values,
				  probe->sizes.count_entries, &cnt);
	uint32_t sample_cnt = 0;

	if (err)
		pr_warn("probe: counts: %s, some come with a later window\n", errstr(err));
	probe->accounts->cnt = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		if (probe_accounts_take(probe->accounts, &probe->keys[i], &probe->values[i]))
			continue;
		probe->counts[sample_cnt].key = probe->keys[i];
		probe->counts[sample_cnt++].value = probe->values[i];
		(void)stack_table__use(probe->stacks, probe->keys[i].user_hash);
		(void)stack_table__use(probe->stacks, probe->keys[i].kernel_hash);
	}
	probe_accounts_end_drain(probe->accounts);
	qsort(probe->counts, sample_cnt, sizeof(*probe->counts), stream_count_compare);
	return sample_cnt;
}

int probe__drain(struct probe *probe, probe_notice_fn notice, void *ctx, struct probe_batch *out)
{
	uint64_t start_ns = probe->swap_boot_ns;
	uint64_t end_ns = clock_boot_ns();
	int err = swap_sets(probe);
	size_t count_cnt;

	/* After the swap: every stack that the idle map names was sent by now. */
	int ring_err = probe__consume(probe, notice, ctx);

	if (ring_err)
		pr_warn("probe: ring buffers: %s\n", errstr(ring_err));
	if (err)
		return err;
	probe->swap_boot_ns = end_ns;
	count_cnt = take_counts(probe);
	*out = (struct probe_batch){
		.counts = probe->counts,
		.count_cnt = count_cnt,
		.ticks = probe->ticks,
		.tick_cnt = tick_log_take(&probe->tick_log, !probe->active, start_ns, probe->ticks),
		.accounts = probe->accounts->items,
		.account_cnt = probe->accounts->cnt,
		.start_boot_ns = start_ns,
		.end_boot_ns = end_ns,
		.stack_records = probe->stack_records,
		.stack_bytes = stack_table__bytes(probe->stacks),
	};
	err = read_counters(probe, out->counters);
	if (err)
		pr_warn("probe: counters: %s, they come with a later window\n", errstr(err));
	out->counters[JBPF_CNT_STACK_BUFFER_FULL] += probe->refused_stacks;
	probe->stack_records = 0;
	probe->refused_stacks = 0;
	probe_jvms_end_window(probe->jvms);
	probe_lives_end_window(&probe->unwind->spaces);
	follow_cpus(probe);
	return 0;
}

int probe__peek(struct probe *probe, struct probe_peek *out)
{
	*out = (struct probe_peek){
		.keys = probe->keys,
		.values = probe->values,
		.start_boot_ns = probe->swap_boot_ns,
	};
	/* A drain needs these arrays only while it lasts. */
	return count_map_copy(probe->count_fds[probe->active], probe->keys, probe->values,
			      probe->sizes.count_entries, &out->cnt);
}

void probe__end_window(struct probe *probe, struct probe_batch *out)
{
	*out = (struct probe_batch){
		.start_boot_ns = probe->swap_boot_ns,
		.end_boot_ns = probe->swap_boot_ns,
		.stack_bytes = stack_table__bytes(probe->stacks),
	};
	probe_waits_take(&probe->waits, probe->offcpu, probe->stacks, out);
	/* Not with each drain: stacks of threads that wait all the time are used here alone. */
	forget_stacks(probe);
}

void probe__take_ksymbols(struct probe *probe, struct ksymbol_changes *out)
{
	ksymbol_watch__take(probe->events.ksymbols, out);
}

uint64_t probe__due_boot_ns(const struct probe *probe)
{
	return offcpu__due_boot_ns(probe->offcpu);
}

uint64_t probe__tick_seed(const struct probe *probe)
{
	return probe->skel->rodata->hash_seed;
}

static void stack_fill(const struct stack_table_entry *entry, struct probe_stack *out)
{
	*out = (struct probe_stack){
		.ips = entry->ips,
		.frame_cnt = entry->frame_cnt,
		.end = (enum jbpf_stack_end)entry->end,
		.leaf_words = stack_table_entry_leaf_words(entry),
		.leaf_rule = jbpf_leaf_rule_of(entry->flags),
		.leaf_guess = jbpf_leaf_guess_of(entry->flags),
		.leaf_code = stack_table_entry_leaf_code(entry),
	};
}

int probe__stack(const struct probe *probe, uint64_t hash, struct probe_stack *out)
{
	const struct stack_table_entry *entry = stack_table__find(probe->stacks, hash);

	if (hash == JBPF_HASH_CUT_ALL) {
		*out = (struct probe_stack){ .end = JBPF_END_CUT_ALL };
		return 0;
	}
	if (entry)
		stack_fill(entry, out);
	return entry ? 0 : -ENOENT;
}

bool probe__next_new_stack(struct probe *probe, struct probe_new_stack *out)
{
	struct probe_queue_item next;

	while (probe_queue_pop(probe->new_stacks, &next)) {
		const struct stack_table_entry *entry = stack_table__find(probe->stacks, next.hash);

		if (!entry)
			continue; /* nobody asked for so long that it was forgotten */
		*out = (struct probe_new_stack){
			.life = next.life,
			.since_boot_ns = next.since_boot_ns,
		};
		stack_fill(entry, &out->stack);
		return true;
	}
	return false;
}

int probe__set_account(struct probe *probe, uint64_t cgroup_id, uint64_t account_id)
{
	int err = probe_accounts_set(probe->accounts, cgroup_id, account_id);

	/* Also on failure: another cgroup may have been taken out for it. */
	__atomic_add_fetch(&probe->skel->bss->accounts_generation, 1, __ATOMIC_RELEASE);
	return err;
}

struct probe_jvms *probe__jvms(struct probe *probe)
{
	return probe->jvms;
}

struct probe_unwind *probe__unwind(const struct probe *probe)
{
	return probe->unwind;
}

int probe__try_maps(const struct probe *probe)
{
	struct jbpf_code_range range;
	uint32_t nobody = 0;
	int err = bpf_map_lookup_elem(bpf_map__fd(probe->skel->maps.code_ranges), &nobody, &range);

	return err == -ENOENT ? 0 : err;
}

uint32_t probe__cpus(const struct probe *probe)
{
	return probe->cpu_cnt;
}

uint32_t probe__unsampled_cpus(const struct probe *probe)
{
	return probe->unsampled_cpu_cnt;
}

/* An entry of a life that is over by now is nobody's: start and exec id are part of it. */
int probe__opt_out(struct probe *probe, uint32_t pid, const struct jbpf_known *process)
{
	struct jbpf_known entry = *process;
	int err;

	entry.flags = JBPF_KNOWN_OPTED_OUT;
	err = bpf_map_update_elem(bpf_map__fd(probe->skel->maps.known), &pid, &entry, BPF_ANY);
	if (!err)
		__atomic_store_n(&probe->skel->bss->has_opted_out, 1, __ATOMIC_RELEASE);
	return err;
}

uint64_t probe__map_bytes(const struct probe *probe)
{
	uint64_t bytes = probe_host_map_bytes(probe->count_fds[0]) +
			 probe_host_map_bytes(probe->count_fds[1]);
	struct bpf_map *map;
	int fds[8];
	size_t cnt = offcpu__map_fds(probe->offcpu, fds, ARRAY_SIZE(fds));

	for (size_t i = 0; i < cnt; i++)
		bytes += probe_host_map_bytes(fds[i]);
	bpf_object__for_each_map(map, probe->skel->obj)
		bytes += probe_host_map_bytes(bpf_map__fd(map));
	return bytes;
}
