// SPDX-License-Identifier: Apache-2.0
/*
 * See probe.h. Life: open the skeleton -> knobs and map sizes -> load -> count maps -> filters ->
 * tracepoints -> an event per CPU. Each result is checked; what fails is explained by probe_why().
 */
#include "user/collect/probe/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/jbpf.skel.h"

#include "user/collect/probe/count_map.h"
#include "user/collect/probe/cpus.h"
#include "user/collect/probe/probe_accounts.h"
#include "user/collect/probe/probe_change.h"
#include "user/collect/probe/probe_host.h"
#include "user/collect/probe/probe_queue.h"
#include "user/collect/probe/probe_ranges.h"
#include "user/collect/probe/probe_sizes.h"
#include "user/collect/probe/probe_why.h"
#include "user/collect/probe/stack_table.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/parse.h"

#define PROBE_IDLE_WINDOWS    3	       /* then a stack is forgotten */
#define PROBE_IN_FLIGHT_NS    10000000 /* a program lasts microseconds; its CPU may be taken */
#define PROBE_PROC_FILE_BYTES 65536
#define PROBE_LOG_BYTES	      256

struct probe {
	struct jbpf_bpf *skel;
	struct bpf_program *oncpu; /* the variant in use */
	struct cpu_events *events;
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
	uint64_t previous[JBPF_CNT_MAX];
	uint64_t stack_records;	 /* this window */
	uint64_t refused_stacks; /* records that did not fit into `stacks` table, this window */

	struct probe_accounts *accounts;
	struct probe_ranges *ranges;
	uint64_t (*per_cpu)[JBPF_COUNTER_SLOTS]; /* as read_counters() reads them */
	size_t possible_cpu_cnt;

	struct probe_queue *new_stacks;
	uint64_t emptied_boot_ns; /* what comes out of `stacks` now was sampled after this */

	/* During a call of probe__consume() or probe__drain(). */
	probe_notice_fn notice;
	void *notice_ctx;
};

/*
 * libbpf's print function gets no context, so its last complaint has to be kept here; written and
 * read by the thread that opens a probe.
 */
static __thread char libbpf_log[PROBE_LOG_BYTES];

static int libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	char *message = NULL;
	int len;

	if (level == LIBBPF_DEBUG && log_level() < LOG_LEVEL_DEBUG)
		return 0;
	len = vasprintf(&message, format, args);
	if (len < 0)
		return 0;
	if (level == LIBBPF_WARN)
		probe_why_keep_log(message, libbpf_log, sizeof(libbpf_log));
	/* A verifier's log has many lines. */
	for (char *rest = message, *line; (line = strsep(&rest, "\n"));) {
		if (*line)
			pr_debug("%s\n", line);
	}
	free(message);
	return len;
}

/* Which variant this kernel takes; asked of the kernel, not of its version. */
static void choose_oncpu(struct probe *probe, const struct probe_options *options)
{
	bool is_compat =
		options->force_compat ||
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 0;

	bpf_program__set_autoload(probe->skel->progs.oncpu, !is_compat);
	bpf_program__set_autoload(probe->skel->progs.oncpu_compat, is_compat);
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
	knobs->stacks_wakeup_bytes = sizes->stacks_bytes / 4;
	knobs->stacks_size = sizes->stacks_bytes;
	knobs->stack_bytes_max = sizes->window_stack_bytes;
	knobs->entries_max = sizes->count_entries;
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
	probe->ranges = calloc(1, sizeof(*probe->ranges));
	probe->possible_cpu_cnt = (size_t)libbpf_num_possible_cpus();
	probe->per_cpu = calloc(probe->possible_cpu_cnt, sizeof(*probe->per_cpu));
	probe->stacks = stack_table__new(&options);
	return probe->keys && probe->values && probe->counts && probe->ticks && probe->new_stacks &&
			       probe->accounts && probe->ranges && probe->per_cpu && probe->stacks ?
		       0 :
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

static int set_filters(struct probe *probe, const struct probe_options *options,
		       const char **subject)
{
	int pids_fd = bpf_map__fd(probe->skel->maps.filter_pids);
	int cgroups_fd = bpf_map__fd(probe->skel->maps.filter_cgroups);
	__u8 one = 1;

	for (size_t i = 0; i < options->pid_cnt; i++) {
		int err = bpf_map_update_elem(pids_fd, &options->pids[i], &one, BPF_ANY);

		if (err)
			return err;
	}
	for (__u32 i = 0; i < options->cgroup_cnt; i++) {
		__cleanup_fd int fd =
			open(options->cgroup_paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int err;

		*subject = options->cgroup_paths[i];
		if (fd < 0)
			return -errno;
		err = bpf_map_update_elem(cgroups_fd, &i, &fd, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
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

static void new_stack_push(struct probe *probe, const struct jbpf_stack *head)
{
	const struct probe_queue_item item = {
		.hash = head->hash,
		.start_ns = head->start_ns,
		.since_boot_ns = probe->emptied_boot_ns,
		.pid = head->pid,
		.exec_id = head->exec_id,
	};

	probe_queue_push(probe->new_stacks, &item);
}

static int on_stack(void *ctx, void *data, size_t len)
{
	struct probe *probe = ctx;
	const struct jbpf_stack *head = data; /* the ring buffer aligns to 8 */
	size_t cnt_before = stack_table__count(probe->stacks);
	int err = stack_table__add(probe->stacks, data, len);

	probe->stack_records++;
	if (!err) {
		if (head->kind == JBPF_STACK_USER && stack_table__count(probe->stacks) > cnt_before)
			new_stack_push(probe, head);
	} else if (len >= sizeof(*head)) {
		/* Without its words here it must not be known there: the next sample sends it. */
		(void)bpf_map_delete_elem(bpf_map__fd(probe->skel->maps.seen), &head->hash);
		probe->refused_stacks++;
	}
	return 0;
}

static int on_notice(void *ctx, void *data, size_t len)
{
	struct probe *probe = ctx;

	if (len >= sizeof(struct jbpf_notice))
		probe_ranges_expire(probe->ranges, data);
	if (len >= sizeof(struct jbpf_notice) && probe->notice)
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

static int open_events(struct probe *probe, const struct probe_options *options,
		       const uint32_t *cpus, size_t cpu_cnt, uint32_t *cpu_out)
{
	const struct cpu_events_options events_options = {
		.frequency_hz = options->frequency_hz,
		.program_fd = bpf_program__fd(probe->oncpu),
	};

	probe->events = cpu_events__new(&events_options);
	if (!probe->events)
		return -ENOMEM;
	return cpu_events__follow(probe->events, cpus, cpu_cnt, cpu_out);
}

static void note_room(struct probe *probe, const struct probe_options *options, size_t cpu_cnt)
{
	uint32_t pid_max = options->pid_cnt > PROBE_CHANGE_PIDS_MIN ? (uint32_t)options->pid_cnt :
								      PROBE_CHANGE_PIDS_MIN;

	probe_sizes(options->frequency_hz, cpu_cnt, options->window_ns, &probe->sizes);
	probe->room = (struct probe_room){
		.cpu_cnt = cpu_cnt,
		.count_entries = probe->sizes.count_entries,
		.max_depth = options->max_depth,
		.pid_max = options->pid_cnt ? pid_max : 0,
		.cgroup_max = (uint32_t)options->cgroup_cnt,
	};
}

/* All steps in turn; on failure `failure` says which one and about what. */
static int open_steps(struct probe *probe, const struct probe_options *options,
		      struct probe_failure *failure, char *cpu_text, size_t cpu_text_len)
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
	probe->cpu_cnt = (uint32_t)cpu_cnt;
	note_room(probe, options, cpu_cnt);
	probe->skel = jbpf_bpf__open();
	if (!probe->skel)
		return -errno;
	err = set_knobs(probe, options);
	if (!err)
		err = set_sizes(probe);
	if (!err)
		err = set_tick_log(probe, options, cpus[cpu_cnt - 1]);
	if (!err)
		err = alloc_counts(probe);
	if (err)
		return err;

	failure->step = PROBE_STEP_LOAD;
	choose_oncpu(probe, options);
	libbpf_log[0] = '\0'; /* asking for helpers complains, too */
	err = jbpf_bpf__load(probe->skel);
	if (err) {
		failure->log = libbpf_log[0] ? libbpf_log : NULL;
		return err;
	}

	failure->step = PROBE_STEP_MAPS;
	probe->accounts->map_fd = bpf_map__fd(probe->skel->maps.accounts_of);
	probe->ranges->map_fd = bpf_map__fd(probe->skel->maps.code_ranges);
	err = create_count_maps(probe);
	if (!err)
		err = tick_log_map(&probe->tick_log, bpf_map__fd(probe->skel->maps.ticks));
	if (!err)
		err = open_rings(probe);
	if (err)
		return err;

	failure->step = PROBE_STEP_FILTER;
	err = set_filters(probe, options, &failure->subject);
	if (err)
		return err;

	failure->step = PROBE_STEP_ATTACH;
	err = attach_tracepoints(probe, &failure->subject);
	if (err)
		return err;

	failure->step = PROBE_STEP_EVENT;
	err = open_events(probe, options, cpus, cpu_cnt, &cpu);
	snprintf(cpu_text, cpu_text_len, "%u", cpu);
	failure->subject = cpu_text;
	return err;
}

int probe__open(const struct probe_options *options, struct probe **out, char *why, size_t why_len)
{
	struct probe_failure failure = { .frequency_hz = options->frequency_hz };
	struct probe *probe = calloc(1, sizeof(*probe));
	char cpu_text[16] = "";

	if (!probe) {
		snprintf(why, why_len, "cannot prepare BPF programs: %s", errstr(-ENOMEM));
		return -ENOMEM;
	}
	probe->count_fds[0] = probe->count_fds[1] = -1;
	libbpf_set_print(libbpf_print);
	failure.err = open_steps(probe, options, &failure, cpu_text, sizeof(cpu_text));
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
	cpu_events__free(probe->events);
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
	free(probe->ranges);
	free(probe->per_cpu);
	free(probe->new_stacks);
	free(probe);
}

int probe__start(struct probe *probe)
{
	probe->swap_boot_ns = probe->emptied_boot_ns = clock_boot_ns();
	return cpu_events__enable(probe->events);
}

void probe__stop(struct probe *probe)
{
	cpu_events__disable(probe->events);
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
	if (err)
		return err;
	snprintf(why, why_len, "BPF maps or events refuse other options");
	if (options->pid_cnt)
		err = probe_change_pids(bpf_map__fd(probe->skel->maps.filter_pids), options->pids,
					options->pid_cnt);
	return err ? err : cpu_events__set_frequency(probe->events, options->frequency_hz);
}

int probe__fd(const struct probe *probe)
{
	return ring_buffer__epoll_fd(probe->ring);
}

int probe__consume(struct probe *probe, probe_notice_fn notice, void *ctx)
{
	uint64_t begin_boot_ns = clock_boot_ns();
	int taken;

	probe->notice = notice;
	probe->notice_ctx = ctx;
	taken = ring_buffer__consume(probe->ring);
	probe->notice = NULL;
	/* All that was there at the beginning is taken, but what a program was just writing. */
	if (taken >= 0)
		probe->emptied_boot_ns = begin_boot_ns - PROBE_IN_FLIGHT_NS;
	return taken < 0 ? taken : 0;
}

/* Compares what must group together first; the hashes only make the order repeatable. */
static int count_compare(const void *left, const void *right)
{
	const struct jbpf_key *a = &((const struct probe_count *)left)->key;
	const struct jbpf_key *b = &((const struct probe_count *)right)->key;
	int order = stream_compare(a, b);

	if (order)
		return order;
	if (a->user_hash != b->user_hash)
		return a->user_hash > b->user_hash ? 1 : -1;
	return (a->kernel_hash > b->kernel_hash) - (a->kernel_hash < b->kernel_hash);
}

/* What the counters gained since the last time. */
static int read_counters(struct probe *probe, uint64_t *gained)
{
	__u32 zero = 0;
	int err =
		bpf_map_lookup_elem(bpf_map__fd(probe->skel->maps.counters), &zero, probe->per_cpu);

	for (int i = 0; !err && i < JBPF_CNT_MAX; i++) {
		uint64_t total = 0;

		for (size_t cpu = 0; cpu < probe->possible_cpu_cnt; cpu++)
			total += probe->per_cpu[cpu][i];
		gained[i] = total - probe->previous[i];
		probe->previous[i] = total;
	}
	return err;
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
	err = cpu_events__follow(probe->events, cpus, cpu_cnt, &cpu);
	sampled = cpu_events__count(probe->events);
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
	__atomic_store_n(&probe->skel->bss->active_set, next, __ATOMIC_RELEASE);
	err = bpf_map_update_elem(bpf_map__fd(probe->skel->maps.counts), &next,
				  &probe->count_fds[next], BPF_ANY);
	if (err)
		__atomic_store_n(&probe->skel->bss->active_set, (__u32)probe->active,
				 __ATOMIC_RELEASE);
	else
		probe->active = (int)next;
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
	qsort(probe->counts, sample_cnt, sizeof(*probe->counts), count_compare);
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
	forget_stacks(probe);
	probe_ranges_end_window(probe->ranges);
	follow_cpus(probe);
	return 0;
}

uint64_t probe__stream_seed(const struct probe *probe)
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
	if (!entry)
		return -ENOENT;
	stack_fill(entry, out);
	return 0;
}

bool probe__next_new_stack(struct probe *probe, struct probe_new_stack *out)
{
	struct probe_queue_item next;

	while (probe_queue_pop(probe->new_stacks, &next)) {
		const struct stack_table_entry *entry = stack_table__find(probe->stacks, next.hash);

		if (!entry)
			continue; /* nobody asked for so long that it was forgotten */
		*out = (struct probe_new_stack){
			.start_ns = next.start_ns,
			.pid = next.pid,
			.exec_id = next.exec_id,
			.since_boot_ns = next.since_boot_ns,
		};
		stack_fill(entry, &out->stack);
		return true;
	}
	return false;
}

int probe__set_account(struct probe *probe, uint64_t cgroup_id, uint64_t account_id)
{
	return probe_accounts_set(probe->accounts, cgroup_id, account_id);
}

int probe__set_code_range(struct probe *probe, uint32_t pid, uint64_t account_id,
			  const struct jbpf_code_range *range)
{
	return probe_ranges_set(probe->ranges, pid, account_id, range);
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

/* "memlock:" of a map's fdinfo; 0 when it cannot be read. */
static uint64_t map_fd_bytes(int fd)
{
	static const char label[] = "\nmemlock:\t";
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	uint64_t bytes = 0;

	if (fs_read_filef(AT_FDCWD, PROBE_PROC_FILE_BYTES, &text, "/proc/self/fdinfo/%d", fd))
		return 0;
	at = strstr(strbuf_str(&text), label);
	if (!at)
		return 0;
	at += sizeof(label) - 1;
	if (parse_u64_n(at, strcspn(at, "\n"), 10, &bytes))
		return 0;
	return bytes;
}

uint64_t probe__map_bytes(const struct probe *probe)
{
	uint64_t bytes = map_fd_bytes(probe->count_fds[0]) + map_fd_bytes(probe->count_fds[1]);
	struct bpf_map *map;

	bpf_object__for_each_map(map, probe->skel->obj) bytes += map_fd_bytes(bpf_map__fd(map));
	return bytes;
}
