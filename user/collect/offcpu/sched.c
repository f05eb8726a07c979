// SPDX-License-Identifier: Apache-2.0
/* See sched.h. */
#include "user/collect/offcpu/sched.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/jbpf_sched.h"
#include "bpf/jbpf.skel.h"
#include "bpf/sched.skel.h"

#include "user/collect/offcpu/counter_sum.h"
#include "user/collect/offcpu/kick_buffers.h"
#include "user/collect/offcpu/shared_maps.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

/* What both objects have in .bss and .rodata lies in the same places: one map serves both. */
SHARED_PLACES(sched_bpf);

struct sched {
	struct sched_bpf *skel;
	struct kick_buffers kicks;
	struct counter_sum counters;
};

/* ---- loading ---- */

/* What the kernel lacks, for a line to the user; NULL: nothing. */
static const char *missing(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const char *what = NULL;

	if (!btf)
		return "BTF (CONFIG_DEBUG_INFO_BTF)";
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_task_pt_regs, NULL) <= 0)
		what = "Linux 5.15 or later (bpf_task_pt_regs)";
	else if (btf__find_by_name_kind(btf, "btf_trace_irq_work_entry", BTF_KIND_TYPEDEF) <= 0)
		what = "the tracepoint irq_work_entry, which x86 has";
	else if (btf__find_by_name_kind(btf, "sched_info", BTF_KIND_STRUCT) <= 0)
		what = "CONFIG_SCHED_INFO";
	btf__free(btf);
	return what;
}

static int share_maps(const struct sched_bpf *skel, const struct jbpf_bpf *base)
{
	const struct shared_map maps[] = { SHARED_MAPS(skel, base) };

	return shared_maps_reuse(maps, ARRAY_SIZE(maps));
}

static int load(struct sched *sched, const struct jbpf_bpf *base,
		const struct sched_options *options)
{
	struct jbpf_sched *shared;
	int err;

	sched->skel = sched_bpf__open();
	if (!sched->skel)
		return -errno;
	memcpy(sched->skel->rodata, base->rodata, sizeof(*base->rodata));
	shared = &sched->skel->data_sched->sched_shared;
	shared->threshold_ns = options->threshold_ns ? options->threshold_ns : SCHED_THRESHOLD_NS;
	shared->of_wakers = options->of_wakers;
	bpf_program__set_autoload(sched->skel->progs.on_kick, !options->of_wakers);
	bpf_program__set_autoload(sched->skel->progs.on_waking, options->of_wakers);
	bpf_program__set_autoload(sched->skel->progs.on_waker, options->of_wakers);
	err = share_maps(sched->skel, base);
	if (!err)
		err = bpf_map__set_max_entries(sched->skel->maps.kicks,
					       (uint32_t)sched->counters.possible_cpu_cnt);
	return err ? err : sched_bpf__load(sched->skel);
}

int sched__open(const struct jbpf_bpf *base, const struct sched_options *options,
		struct sched **out, char *why, size_t why_len)
{
	const char *lacks = missing();
	struct sched *sched = calloc(1, sizeof(*sched));
	int err;

	(void)snprintf(why, why_len, "sched: no memory");
	if (!sched)
		return -ENOMEM;
	err = counter_sum_init(&sched->counters);
	if (!err && lacks) {
		(void)snprintf(why, why_len,
			       "sched cannot be recorded on this kernel: it needs %s; --event "
			       "off-cpu shows waiting by samples",
			       lacks);
		err = -EOPNOTSUPP;
	} else if (!err) {
		(void)snprintf(why, why_len, "sched: its BPF programs cannot be loaded");
		err = load(sched, base, options);
	}
	if (!err)
		err = kick_buffers_open(&sched->kicks, bpf_map__fd(sched->skel->maps.kicks),
					sched->counters.possible_cpu_cnt);
	if (!err)
		err = sched_bpf__attach(sched->skel);
	if (err) {
		sched__free(sched);
		return err;
	}
	*out = sched;
	return 0;
}

void sched__free(struct sched *sched)
{
	if (!sched)
		return;
	sched_bpf__destroy(sched->skel);
	kick_buffers_release(&sched->kicks);
	counter_sum_release(&sched->counters);
	free(sched);
}

static void switch_to(struct sched *sched, uint32_t is_on)
{
	if (sched)
		__atomic_store_n(&sched->skel->data_sched->sched_shared.is_on, is_on,
				 __ATOMIC_RELEASE);
}

void sched__start(struct sched *sched)
{
	switch_to(sched, 1);
}

void sched__stop(struct sched *sched)
{
	switch_to(sched, 0);
}

uint64_t sched__kernel_ns(const struct sched *sched)
{
	const struct jbpf_sched *shared = sched ? &sched->skel->data_sched->sched_shared : NULL;

	return shared ? __atomic_load_n(&shared->kernel_units, __ATOMIC_RELAXED) *
				JBPF_SCHED_UNIT_NS :
			0;
}

void sched__add_counters(struct sched *sched, uint64_t *gained)
{
	if (sched)
		(void)counter_sum_add(&sched->counters, bpf_map__fd(sched->skel->maps.counters),
				      gained);
}
