/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of samples that a test fills by hand: what the next drain gives, what is reported meanwhile,
 * and what was asked of it.
 */
#ifndef JBPF_TESTS_FAKE_SOURCE_H
#define JBPF_TESTS_FAKE_SOURCE_H

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "user/collect/probe/sample_source.h"
#include "user/host/ksymbol_watch.h"
#include "user/util/clock.h"

#define SOURCE_MAX 8u

#define SOURCE_SEED	       1u
#define SOURCE_CPUS	       2u
#define SOURCE_UNSAMPLED       3u
#define SOURCE_KERNEL_WAKES_NS 77u
#define SOURCE_MAP_BYTES       4096u
#define SOURCE_STACK_CNT       2u /* words of each stack */
#define SOURCE_LOST_STACK      404u

/* A stack that is not as all others are. */
struct source_words {
	uint64_t hash;
	const uint64_t *ips;
	uint32_t cnt;
};

struct probe {
	/* What each drain gives. */
	struct probe_count counts[SOURCE_MAX];
	size_t count_cnt;
	uint64_t counters[JBPF_CNT_MAX];
	int drain_err; /* of the next one only */
	/* What a look finds beside the counts. */
	struct jbpf_key peek_keys[SOURCE_MAX];
	struct jbpf_value peek_values[SOURCE_MAX];
	uint64_t begun_ns; /* when counting began */
	struct ksymbol_changes ksymbols;
	bool were_ksymbols_late; /* taken last when it had started */
	int peek_err;
	/* What the next consume gives. */
	struct jbpf_notice notices[SOURCE_MAX];
	size_t notice_cnt;
	struct probe_new_stack stacks[SOURCE_MAX];
	uint64_t stack_hashes[SOURCE_MAX]; /* of these; 0: any */
	size_t stack_cnt;
	const struct source_words *words; /* ends with hash 0; NULL = none */
	int consume_err;
	/* What may go wrong. */
	int open_err;
	int change_err;
	uint32_t hotspot_pid;
	uint32_t leaf_pid;
	int order_err; /* of set_account(), set_code_range(), opt_out() */
	/* What it was asked. */
	size_t drain_cnt;
	uint64_t drained_ns;
	uint32_t frequency_hz;
	bool is_started;
	uint32_t range_pid;
	uint64_t account_cgroup;
	uint32_t opted_out_pid;
	uint32_t unwind_chunks;	     /* there are */
	uint32_t tables[SOURCE_MAX]; /* ids */
	size_t table_cnt;
	struct jbpf_space space; /* the last */
	uint32_t space_pid;	 /* 0: they were dropped */
	size_t space_cnt;
	int fd;
};

static struct probe source_;

static int source_open(const struct probe_options *options, struct probe **out, char *why,
		       size_t why_len)
{
	if (source_.open_err) {
		snprintf(why, why_len, "no BPF here");
		return source_.open_err;
	}
	source_.frequency_hz = options->frequency_hz;
	source_.fd = epoll_create1(EPOLL_CLOEXEC);
	*out = &source_;
	return 0;
}

static void source_free(struct probe *source)
{
	if (source)
		close(source->fd);
}

static int source_may_change(const struct probe *source, const struct probe_options *options,
			     char *why, size_t why_len)
{
	(void)options;
	if (source->change_err)
		snprintf(why, why_len, "it cannot be so");
	return source->change_err;
}

static int source_change(struct probe *source, const struct probe_options *options, char *why,
			 size_t why_len)
{
	int err = source_may_change(source, options, why, why_len);

	if (!err)
		source->frequency_hz = options->frequency_hz;
	return err;
}

static int source_try_maps(const struct probe *source)
{
	return source->order_err;
}

static int source_start(struct probe *source)
{
	source->is_started = true;
	return 0;
}

static void source_stop(struct probe *source)
{
	source->is_started = false;
}

static int source_fd(const struct probe *source)
{
	return source->fd;
}

static int source_consume(struct probe *source, probe_notice_fn notice, void *ctx)
{
	for (size_t i = 0; i < source->notice_cnt; i++)
		notice(ctx, &source->notices[i]);
	source->notice_cnt = 0;
	return source->consume_err;
}

static int source_drain(struct probe *source, probe_notice_fn notice, void *ctx,
			struct probe_batch *out)
{
	int err = source->drain_err;

	(void)source_consume(source, notice, ctx);
	source->drain_err = 0;
	if (err)
		return err;
	source->drain_cnt++;
	for (size_t i = 0; i < source->count_cnt; i++)
		source->counts[i].value.last_ns = clock_boot_ns();
	*out = (struct probe_batch){
		.counts = source->counts,
		.count_cnt = source->count_cnt,
		.start_boot_ns = source->drained_ns ? source->drained_ns : clock_boot_ns() - 1,
		.stack_bytes = 77,
	};
	memcpy(out->counters, source->counters, sizeof(out->counters));
	out->end_boot_ns = source->drained_ns = clock_boot_ns();
	return 0;
}

/* Every stack but one is here. */
static int source_stack(const struct probe *source, uint64_t hash, struct probe_stack *out)
{
	static const uint64_t ips[SOURCE_STACK_CNT] = { 0x1000, 0x2000 };

	*out = (struct probe_stack){ .ips = ips, .frame_cnt = SOURCE_STACK_CNT };
	for (const struct source_words *own = source->words; own && own->hash; own++)
		if (own->hash == hash)
			*out = (struct probe_stack){ .ips = own->ips, .frame_cnt = own->cnt };
	return hash != SOURCE_LOST_STACK ? 0 : -ENOENT;
}

static bool source_next_new_stack(struct probe *source, struct probe_new_stack *out)
{
	if (!source->stack_cnt)
		return false;
	*out = source->stacks[--source->stack_cnt];
	(void)source_stack(source, source->stack_hashes[source->stack_cnt], &out->stack);
	return true;
}

static void source_take_ksymbols(struct probe *source, struct ksymbol_changes *out)
{
	source->were_ksymbols_late = source->is_started;
	*out = source->ksymbols;
}

static uint64_t source_seed(const struct probe *source)
{
	(void)source;
	return SOURCE_SEED;
}

static int source_set_account(struct probe *source, uint64_t cgroup_id, uint64_t account_id)
{
	(void)account_id;
	source->account_cgroup = cgroup_id;
	return source->order_err;
}

static int source_set_code_range(struct probe *source, uint32_t pid, uint64_t account_id,
				 const struct jbpf_code_range *range)
{
	(void)account_id;
	(void)range;
	source->range_pid = pid;
	return source->order_err;
}

static int source_set_hotspot(struct probe *source, uint32_t pid, uint64_t account_id,
			      const struct jbpf_hotspot *hotspot)
{
	(void)account_id;
	(void)hotspot;
	source->hotspot_pid = pid;
	return source->order_err;
}

static int source_set_leaf_rule(struct probe *source, uint64_t account_id,
				const struct jbpf_leaf_key *key,
				const struct jbpf_leaf_proof *proof)
{
	(void)account_id;
	(void)proof;
	source->leaf_pid = key->pid;
	return source->order_err;
}

static int source_opt_out(struct probe *source, uint32_t pid, const struct jbpf_known *process)
{
	(void)process;
	source->opted_out_pid = pid;
	return source->order_err;
}

static uint32_t source_unwind_chunks(const struct probe *source)
{
	return source->unwind_chunks;
}

static int source_set_unwind_table(struct probe *source, uint32_t table_id, const uint32_t *words,
				   uint32_t word_cnt)
{
	(void)words;
	(void)word_cnt;
	if (!source->order_err)
		source->tables[source->table_cnt++] = table_id;
	return source->order_err;
}

static void source_drop_unwind_table(struct probe *source, uint32_t table_id)
{
	for (size_t i = 0; i < source->table_cnt; i++)
		if (source->tables[i] == table_id)
			source->tables[i] = source->tables[--source->table_cnt];
}

static int source_set_space(struct probe *source, uint32_t pid, uint64_t account_id,
			    const struct jbpf_space *space)
{
	(void)account_id;
	source->space = *space;
	source->space_pid = pid;
	source->space_cnt++;
	return source->order_err;
}

static void source_drop_spaces(struct probe *source)
{
	source->space_pid = 0;
}

static uint32_t source_cpus(const struct probe *source)
{
	(void)source;
	return SOURCE_CPUS;
}

static uint32_t source_unsampled_cpus(const struct probe *source)
{
	(void)source;
	return SOURCE_UNSAMPLED;
}

static uint64_t source_map_bytes(const struct probe *source)
{
	(void)source;
	return SOURCE_MAP_BYTES;
}

static uint64_t source_kernel_wakes_ns(const struct probe *source)
{
	(void)source;
	return SOURCE_KERNEL_WAKES_NS;
}

/* It has no waiting threads. */
static void source_end_window(struct probe *source, struct probe_batch *out)
{
	*out = (struct probe_batch){ .counts = source->counts };
}

static int source_peek(struct probe *source, struct probe_peek *out)
{
	for (size_t i = 0; i < source->count_cnt; i++) {
		source->peek_keys[i] = source->counts[i].key;
		source->peek_values[i] = source->counts[i].value;
	}
	*out = (struct probe_peek){
		.keys = source->peek_keys,
		.values = source->peek_values,
		.cnt = (uint32_t)source->count_cnt,
		.start_boot_ns = source->begun_ns,
	};
	return source->peek_err;
}

static uint64_t source_due_boot_ns(const struct probe *source)
{
	(void)source;
	return UINT64_MAX;
}

static const struct sample_source_ops source_ops = {
	.open = source_open,
	.free = source_free,
	.may_change = source_may_change,
	.change = source_change,
	.try_maps = source_try_maps,
	.start = source_start,
	.stop = source_stop,
	.fd = source_fd,
	.consume = source_consume,
	.drain = source_drain,
	.end_window = source_end_window,
	.peek = source_peek,
	.due_boot_ns = source_due_boot_ns,
	.stack = source_stack,
	.next_new_stack = source_next_new_stack,
	.take_ksymbols = source_take_ksymbols,
	.tick_seed = source_seed,
	.set_account = source_set_account,
	.set_code_range = source_set_code_range,
	.set_hotspot = source_set_hotspot,
	.set_leaf_rule = source_set_leaf_rule,
	.opt_out = source_opt_out,
	.unwind_chunks = source_unwind_chunks,
	.set_unwind_table = source_set_unwind_table,
	.drop_unwind_table = source_drop_unwind_table,
	.set_space = source_set_space,
	.drop_spaces = source_drop_spaces,
	.cpus = source_cpus,
	.unsampled_cpus = source_unsampled_cpus,
	.map_bytes = source_map_bytes,
	.kernel_wakes_ns = source_kernel_wakes_ns,
};

/* One row of counts more: samples of one stack of one run of a program. Rows come in the order of streams. */
static inline void source_count(uint32_t pid, uint32_t exec_id, uint64_t hash, uint64_t samples)
{
	struct probe_count *count = &source_.counts[source_.count_cnt++];

	*count = (struct probe_count){
		.key = { .pid = pid, .start_ns = pid, .exec_id = exec_id, .user_hash = hash },
		.value = { .count = samples, .ns_pid = 7 },
	};
	snprintf(count->value.comm, sizeof(count->value.comm), "prog%u", pid);
	source_.counters[JBPF_CNT_SAMPLES] += samples;
}

/* The next consume or drain reports it. */
static inline void source_notice(uint32_t kind, uint32_t pid, uint32_t exec_id)
{
	source_.notices[source_.notice_cnt++] = (struct jbpf_notice){
		.kind = kind,
		.pid = pid,
		.start_ns = pid,
		.exec_id = exec_id,
	};
}

#endif
