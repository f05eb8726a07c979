// SPDX-License-Identifier: Apache-2.0
/* See offcpu.h. */
#include "user/collect/offcpu/offcpu.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/jbpf_offcpu.h"
#include "bpf/jbpf.skel.h"
#include "bpf/offcpu.skel.h"

#include "user/collect/offcpu/counter_sum.h"
#include "user/collect/offcpu/hang_watch.h"
#include "user/collect/offcpu/shared_maps.h"
#include "user/collect/offcpu/offcpu_child.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define BATCH_ENTRIES  256
#define SETTLE_WAIT_NS (100 * CLOCK_NS_PER_MS)
#define SETTLE_STEP_US 50
#define END_WAIT_MS    200
#define GONE_PASSES    4 /* a thread that so many passes did not find waiting runs, or has ended */

/* What both objects have in .bss and .rodata lies in the same places: one map serves both. */
SHARED_PLACES(offcpu_bpf);

struct offcpu {
	struct offcpu_bpf *skel;
	struct bpf_link *link; /* of the iterator; NULL: the other program is used */
	uint32_t rate_max;
	uint32_t rate; /* of this window */
	bool is_of_few;

	pid_t child; /* 0: there is none */
	int socket_fd;
	bool is_on;
	bool is_stuck; /* a child that was killed has not ended */
	uint64_t watch_boot_ns;
	uint32_t restarts;
	struct hang_watch hangs;

	struct pass_facts facts; /* of the last window */
	struct pass_facts since; /* sums until then, as far as they are sums */
	uint64_t child_cpu_ns;	 /* of the child, until then */
	uint64_t sample_cnt;	 /* of passes, the same */
	uint64_t mono_ns; /* when the window began: nothing passes while the host is suspended */
	struct pass_debt debt;

	struct counter_sum counters;
	struct jbpf_visit *visits; /* BATCH_ENTRIES */
};

/* Few rates: windows of different ones cannot be told in seconds together. */
uint32_t offcpu_rate(uint64_t threads, uint32_t rate_max)
{
	static const uint32_t rates[] = { 10, 5, 2, 1 };

	if (threads * rate_max <= OFFCPU_VISITS_MAX)
		return rate_max;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		if (rates[i] < rate_max && threads * rates[i] <= OFFCPU_VISITS_MAX)
			return rates[i];
	return 1;
}

/* ---- loading ---- */

static volatile struct jbpf_pass *pass_of(const struct offcpu *offcpu)
{
	return &offcpu->skel->data_pass->pass_state_shared;
}

static int share_maps(const struct offcpu_bpf *skel, const struct jbpf_bpf *base)
{
	const struct shared_map maps[] = { SHARED_MAPS(skel, base) };

	return shared_maps_reuse(maps, ARRAY_SIZE(maps));
}

/* Has the kernel this function, of those that programs may call? */
static bool has_function(const struct btf *btf, const char *name)
{
	return btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* See bpf/offcpu_visits.bpf.h: struct sched_info is empty without CONFIG_SCHED_INFO. */
static void warn_of_run_delay(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "sched_info", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	if (!type || !btf_vlen(type))
		pr_warn("off-cpu: this kernel does not say how long threads wait for a CPU (CONFIG_SCHED_INFO): it is not known\n");
}

static int load(struct offcpu *offcpu, const struct jbpf_bpf *base, bool by_iterator)
{
	int err;

	offcpu->skel = offcpu_bpf__open();
	if (!offcpu->skel)
		return -errno;
	memcpy(offcpu->skel->rodata, base->rodata, sizeof(*base->rodata));
	bpf_program__set_autoload(offcpu->skel->progs.pass, !by_iterator);
	bpf_program__set_autoload(offcpu->skel->progs.pass_one, by_iterator);
	err = share_maps(offcpu->skel, base);
	if (!err)
		err = offcpu_bpf__load(offcpu->skel);
	if (!err && by_iterator) {
		offcpu->link = bpf_program__attach_iter(offcpu->skel->progs.pass_one, NULL);
		err = offcpu->link ? 0 : -errno;
	}
	if (!err)
		return 0;
	offcpu_bpf__destroy(offcpu->skel);
	offcpu->skel = NULL;
	return err;
}

static int load_either(struct offcpu *offcpu, const struct jbpf_bpf *base,
		       const struct offcpu_options *options)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has_reader = has_function(btf, "bpf_copy_from_user_task");
	bool has_open = has_function(btf, "bpf_iter_task_new") &&
			has_function(btf, "bpf_task_from_pid") && !options->force_compat;
	int err;

	if (has_reader)
		warn_of_run_delay(btf);
	btf__free(btf);
	if (!has_reader)
		return -EOPNOTSUPP;
	err = has_open ? load(offcpu, base, false) : -EOPNOTSUPP;
	if (has_open && err)
		pr_debug("off-cpu: the fast pass cannot be loaded: %s\n", errstr(err));
	return err ? load(offcpu, base, true) : 0;
}

/* A first guess of how many threads there are: the kernel's own are among them. */
static uint64_t thread_guess(void)
{
	unsigned long long threads = 0;
	FILE *file = fopen("/proc/loadavg", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%*s %*s %*s %*u/%llu", &threads) != 1)
		threads = 0;
	fclose(file);
	return threads;
}

int offcpu__open(const struct jbpf_bpf *base, const struct offcpu_options *options,
		 struct offcpu **out, char *why, size_t why_len)
{
	struct offcpu *offcpu = calloc(1, sizeof(*offcpu));
	int err;

	(void)snprintf(why, why_len, "off-cpu: no memory");
	if (!offcpu)
		return -ENOMEM;
	offcpu->socket_fd = -1;
	offcpu->visits = calloc(BATCH_ENTRIES, sizeof(*offcpu->visits));
	offcpu->rate_max = options->rate ? options->rate : OFFCPU_RATE_MAX;
	offcpu->is_of_few = options->is_of_few;
	err = offcpu->visits ? counter_sum_init(&offcpu->counters) : -ENOMEM;
	if (!err)
		err = load_either(offcpu, base, options);
	if (!err)
		err = offcpu__set_cgroups(offcpu, options->cgroup_paths, options->cgroup_cnt);
	if (!err) {
		*out = offcpu;
		return 0;
	}
	offcpu__free(offcpu);
	if (err == -ENOMEM)
		return err;
	if (err == -EOPNOTSUPP)
		(void)snprintf(why, why_len,
			       "off-cpu cannot be sampled on this kernel: it needs 5.18 or later "
			       "(bpf_copy_from_user_task); leave it out of --event");
	else
		(void)snprintf(why, why_len, "off-cpu: its BPF programs cannot be loaded: %s",
			       errstr(err));
	return err;
}

static void child_end(struct offcpu *offcpu)
{
	if (!offcpu->child)
		return;
	pass_of(offcpu)->is_aborted = 1;
	close(offcpu->socket_fd);
	offcpu->socket_fd = -1;
	if (child_process_end(offcpu->child, END_WAIT_MS) == -1) {
		offcpu->is_stuck = true;
		return;
	}
	offcpu->child = 0;
}

void offcpu__free(struct offcpu *offcpu)
{
	if (!offcpu)
		return;
	child_end(offcpu);
	bpf_link__destroy(offcpu->link);
	offcpu_bpf__destroy(offcpu->skel);
	counter_sum_release(&offcpu->counters);
	free(offcpu->visits);
	free(offcpu);
}

int offcpu__set_cgroups(struct offcpu *offcpu, const char *const *paths, size_t cnt)
{
	volatile struct jbpf_pass *pass;

	if (!offcpu)
		return 0;
	pass = pass_of(offcpu);
	/* The id of a cgroup is the inode of its directory (kernfs). */
	for (size_t i = 0; i < cnt; i++) {
		struct stat st;

		if (stat(paths[i], &st))
			return -errno;
		pass->filter_cgroups[i] = st.st_ino;
	}
	pass->filter_cgroup_cnt = (uint32_t)cnt;
	return 0;
}

/* ---- the process that runs it ---- */

/* What passes of that rate may walk lasts a second, however many they are. */
static void allow_walks(const struct offcpu *offcpu, uint32_t rate)
{
	pass_of(offcpu)->pass_walks = OFFCPU_WALKS_MAX / rate;
}

static int child_begin(struct offcpu *offcpu)
{
	const struct offcpu_child ctx = {
		.program_fd = offcpu->link ? bpf_link__fd(offcpu->link) :
					     bpf_program__fd(offcpu->skel->progs.pass),
		.by_iterator = offcpu->link != NULL,
	};
	uint64_t period_ns = CLOCK_NS_PER_S / offcpu->rate;
	int err;

	offcpu->skel->data_state->pass_state.is_running = 0;
	allow_walks(offcpu, offcpu->rate);
	pass_of(offcpu)->tgid = 0;
	pass_of(offcpu)->begin_ns = pass_of(offcpu)->end_ns = clock_boot_ns();
	err = child_process_start(offcpu_child_main, &ctx, &offcpu->socket_fd, &offcpu->child);
	if (err) {
		offcpu->child = 0;
		return err;
	}
	if (send(offcpu->socket_fd, &period_ns, sizeof(period_ns), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

int offcpu__start(struct offcpu *offcpu)
{
	if (!offcpu)
		return 0;
	pass_of(offcpu)->window = 1;
	pass_of(offcpu)->window_start_ns = clock_boot_ns();
	offcpu->mono_ns = clock_monotonic_ns();
	offcpu->rate = offcpu_rate(offcpu->is_of_few ? 0 : thread_guess(), offcpu->rate_max);
	offcpu->is_on = true;
	return child_begin(offcpu);
}

void offcpu__stop(struct offcpu *offcpu)
{
	if (!offcpu)
		return;
	offcpu->is_on = false;
	child_end(offcpu);
}

/* Tells the passes whose threads are counted without stacks. */
static void tell_banned(const struct offcpu *offcpu, uint64_t now_ns)
{
	volatile struct jbpf_pass *pass = pass_of(offcpu);
	uint32_t tgids[JBPF_HUNG_MAX];
	size_t cnt = hang_watch_banned(&offcpu->hangs, now_ns, tgids);

	for (size_t i = 0; i < cnt; i++)
		pass->hung_tgids[i] = tgids[i];
	pass->hung_cnt = (uint32_t)cnt;
}

static void end_hung(struct offcpu *offcpu, uint32_t tgid, uint64_t now_ns)
{
	pr_warn("off-cpu: the memory of process %u cannot be read: its threads are counted without stacks for a while\n",
		tgid);
	hang_watch_ban(&offcpu->hangs, tgid, now_ns);
	offcpu->restarts++;
	child_end(offcpu);
	if (offcpu->is_stuck)
		pr_warn("off-cpu: nothing waiting is sampled until the file system of a file that process %u has in its memory answers, or its server ends\n",
			tgid);
}

bool offcpu_is_silent(const volatile struct jbpf_pass *pass, uint64_t now_ns)
{
	uint64_t begin_ns = pass->begin_ns, end_ns = pass->end_ns;

	return now_ns > (begin_ns > end_ns ? begin_ns : end_ns) + OFFCPU_SILENT_NS;
}

static void end_silent(struct offcpu *offcpu)
{
	pr_warn_limited("off-cpu: its process has made no pass for %llu s: another one begins\n",
			OFFCPU_SILENT_NS / CLOCK_NS_PER_S);
	offcpu->restarts++;
	child_end(offcpu);
}

void offcpu__watch(struct offcpu *offcpu)
{
	uint64_t now_ns = clock_boot_ns();
	uint32_t hung;
	int status, err;

	if (!offcpu || !offcpu->is_on)
		return;
	offcpu->watch_boot_ns = now_ns;
	hung = hang_watch_poll(&offcpu->hangs, pass_of(offcpu), now_ns);
	if (offcpu->child && child_process_has_ended(offcpu->child, &status)) {
		if (!offcpu->is_stuck) {
			pr_warn_limited("off-cpu: its process has ended (%s), another one begins\n",
					child_process_why(status));
			offcpu->restarts++;
			close(offcpu->socket_fd);
			offcpu->socket_fd = -1;
		}
		offcpu->child = 0;
		offcpu->is_stuck = false;
	}
	if (offcpu->child && !offcpu->is_stuck && hung)
		end_hung(offcpu, hung, now_ns);
	else if (offcpu->child && !offcpu->is_stuck && offcpu_is_silent(pass_of(offcpu), now_ns))
		end_silent(offcpu);
	tell_banned(offcpu, now_ns);
	if (offcpu->child)
		return;
	err = child_begin(offcpu);
	if (err)
		pr_warn_limited("off-cpu: no process for it: %s\n", errstr(err));
}

uint64_t offcpu__due_boot_ns(const struct offcpu *offcpu)
{
	return offcpu && offcpu->is_on ? offcpu->watch_boot_ns + CLOCK_NS_PER_S : UINT64_MAX;
}

void offcpu__settle(const struct offcpu *offcpu)
{
	uint64_t until_ns = clock_boot_ns() + SETTLE_WAIT_NS;

	if (!offcpu)
		return;
	while (__atomic_load_n(&pass_of(offcpu)->counting, __ATOMIC_SEQ_CST)) {
		if (clock_boot_ns() > until_ns) {
			pr_debug("off-cpu: the pass holds on to a set\n");
			return;
		}
		usleep(SETTLE_STEP_US);
	}
}

/* ---- what it counted ---- */

void offcpu__add_counters(struct offcpu *offcpu, uint64_t *gained)
{
	if (offcpu)
		(void)counter_sum_add(&offcpu->counters, bpf_map__fd(offcpu->skel->maps.counters),
				      gained);
}

/* What a thread has left of this window. */
static void take_wait(const struct jbpf_visit *visit, uint32_t window, uint64_t gone_ns,
		      offcpu_take_fn take, void *ctx)
{
	const struct jbpf_wait *wait = &visit->waits[window & 1];
	struct jbpf_value value = wait->value;

	/* Of one that has run they are samples that waited for a walk. */
	if (wait->window != window || !wait->value.count)
		return;
	/* One that waits for a disk all the time has something to do. */
	if (!wait->has_run && wait->value.last_ns >= gone_ns &&
	    wait->key.kernel_hash < JBPF_DISK_SLEEP)
		value.flags |= JBPF_VALUE_IDLE;
	take(ctx, &wait->key, &value);
}

static void take_waits(struct offcpu *offcpu, uint32_t window, uint64_t gone_ns,
		       offcpu_take_fn take, void *ctx)
{
	int fd = bpf_map__fd(offcpu->skel->maps.visits);
	__u32 tids[BATCH_ENTRIES], gone[BATCH_ENTRIES], at = 0;
	bool is_first = true;
	int err = 0;

	while (!err) {
		__u32 cnt = BATCH_ENTRIES, gone_cnt = 0;

		err = bpf_map_lookup_batch(fd, is_first ? NULL : &at, &at, tids, offcpu->visits,
					   &cnt, NULL);
		is_first = false;
		if (err && err != -ENOENT)
			break;
		for (__u32 i = 0; i < cnt; i++) {
			const struct jbpf_visit *visit = &offcpu->visits[i];

			take_wait(visit, window, gone_ns, take, ctx);
			if (visit->window + 1 < window && visit->run_window + 1 < window)
				gone[gone_cnt++] = tids[i];
		}
		for (__u32 i = 0; i < gone_cnt; i++)
			(void)bpf_map_delete_elem(fd, &gone[i]);
	}
	if (err != -ENOENT)
		pr_warn_limited("off-cpu: threads that wait: %s\n", errstr(err));
}

/* Another child has begun. */
static uint64_t gain(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static void note_facts(struct offcpu *offcpu, uint64_t window_ns)
{
	const volatile struct jbpf_pass *pass = pass_of(offcpu);
	uint64_t cpu_ns = clock_process_ns(offcpu->child);
	double share =
		(double)gain(cpu_ns, offcpu->child_cpu_ns) / (double)(window_ns ? window_ns : 1);

	offcpu->facts = (struct pass_facts){
		.passes = gain(pass->passes, offcpu->since.passes),
		.threads = pass->threads,
		.cpu_ppm = (uint64_t)(share * 1e6),
		.put_off = gain(pass->unwalked, offcpu->since.put_off),
		.restarts = offcpu->restarts,
		.unread = pass->hung_cnt,
		.has_run_delay = pass->has_run_delay,
	};
	offcpu->since.passes = pass->passes;
	offcpu->since.put_off = pass->unwalked;
	offcpu->child_cpu_ns = cpu_ns;
}

uint64_t offcpu_missed(struct pass_debt *debt, uint64_t window_ns, uint64_t period_ns,
		       uint64_t passes, uint64_t visits)
{
	int64_t period = (int64_t)period_ns, missed;

	if (passes)
		debt->visits = visits / passes;
	debt->ns += (int64_t)window_ns - (int64_t)passes * period;
	if (debt->ns < -period)
		debt->ns = -period;
	/* A pass comes anywhere in its period: one more or less in a window is as it should be. */
	if (debt->ns < 2 * period)
		return 0;
	missed = debt->ns / period;
	debt->ns -= missed * period;
	return (uint64_t)missed * debt->visits;
}

/* After note_facts(). */
static uint64_t note_missed(struct offcpu *offcpu, uint64_t period_ns)
{
	uint64_t now_ns = clock_monotonic_ns(), visits = pass_of(offcpu)->visits;
	uint64_t missed = offcpu_missed(&offcpu->debt, now_ns - offcpu->mono_ns, period_ns,
					offcpu->facts.passes, gain(visits, offcpu->sample_cnt));

	offcpu->mono_ns = now_ns;
	offcpu->sample_cnt = visits;
	return missed;
}

void offcpu__facts(const struct offcpu *offcpu, struct pass_facts *out)
{
	*out = offcpu ? offcpu->facts : (struct pass_facts){ 0 };
}

static void adapt_rate(struct offcpu *offcpu)
{
	uint32_t rate = offcpu_rate(pass_of(offcpu)->threads, offcpu->rate_max);
	uint64_t period_ns = CLOCK_NS_PER_S / rate;

	if (rate == offcpu->rate || offcpu->socket_fd < 0)
		return;
	pr_debug("off-cpu: %u passes a second for %" PRIu64 " threads\n", rate,
		 (uint64_t)pass_of(offcpu)->threads);
	if (send(offcpu->socket_fd, &period_ns, sizeof(period_ns), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
	offcpu->rate = rate;
	allow_walks(offcpu, rate);
}

void offcpu__end_window(struct offcpu *offcpu, offcpu_take_fn take, void *ctx, uint64_t *period_out,
			uint64_t *missed_out)
{
	uint64_t now_ns = clock_boot_ns(), period_ns;
	volatile struct jbpf_pass *pass;
	uint32_t window;

	if (!offcpu)
		return;
	pass = pass_of(offcpu);
	window = pass->window;
	period_ns = CLOCK_NS_PER_S / offcpu->rate;
	*period_out = period_ns;
	note_facts(offcpu, now_ns - pass->window_start_ns);
	*missed_out = note_missed(offcpu, period_ns);
	pass->window_start_ns = now_ns;
	__atomic_store_n(&pass->window, window + 1, __ATOMIC_SEQ_CST);
	offcpu__settle(offcpu);
	take_waits(offcpu, window, now_ns - GONE_PASSES * period_ns, take, ctx);
	pr_debug("off-cpu: %" PRIu64 " passes, %" PRIu64 " us each, %" PRIu64 " threads, %" PRIu64
		 " visits, %" PRIu64 " walks (%" PRIu64 " in vain, %" PRIu64 " put off), %" PRIu64
		 " copies\n",
		 (uint64_t)pass->passes,
		 (uint64_t)(pass->pass_ns / 1000 / (pass->passes + !pass->passes)),
		 (uint64_t)pass->threads, (uint64_t)pass->visits, (uint64_t)pass->walks,
		 (uint64_t)pass->moved, (uint64_t)pass->unwalked, (uint64_t)pass->copies);
	adapt_rate(offcpu);
}

size_t offcpu__map_fds(const struct offcpu *offcpu, int *fds, size_t max)
{
	const struct bpf_map *maps[] = {
		offcpu ? offcpu->skel->maps.visits : NULL,
		offcpu ? offcpu->skel->maps.visited_task : NULL,
		offcpu ? offcpu->skel->maps.scratch : NULL,
		offcpu ? offcpu->skel->maps.rule_memo : NULL,
		offcpu ? offcpu->skel->maps.blob_memo : NULL,
	};
	size_t cnt = 0;

	for (size_t i = 0; offcpu && i < ARRAY_SIZE(maps) && cnt < max; i++)
		fds[cnt++] = bpf_map__fd(maps[i]);
	return cnt;
}
