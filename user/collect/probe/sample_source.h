/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe, and how it is asked: in life by the functions of probe.h, which need a kernel; in a test by
 * those of the test, which defines its own `struct probe` and fills batches by hand.
 */
#ifndef JBPF_PROBE_SAMPLE_SOURCE_H
#define JBPF_PROBE_SAMPLE_SOURCE_H

#include "user/collect/probe/probe.h"

/* Each is the function of probe.h that has its name. */
struct sample_source_ops {
	int (*open)(const struct probe_options *options, struct probe **out, char *why,
		    size_t why_len);
	void (*free)(struct probe *probe);
	int (*may_change)(const struct probe *probe, const struct probe_options *options, char *why,
			  size_t why_len);
	int (*change)(struct probe *probe, const struct probe_options *options, char *why,
		      size_t why_len);
	int (*try_maps)(const struct probe *probe);
	int (*start)(struct probe *probe);
	void (*stop)(struct probe *probe);
	int (*fd)(const struct probe *probe);

	/* What was sampled. */
	int (*consume)(struct probe *probe, probe_notice_fn notice, void *ctx);
	int (*drain)(struct probe *probe, probe_notice_fn notice, void *ctx,
		     struct probe_batch *out);
	int (*peek)(struct probe *probe, struct probe_peek *out);
	void (*end_window)(struct probe *probe, struct probe_batch *out);
	uint64_t (*due_boot_ns)(const struct probe *probe);
	int (*stack)(const struct probe *probe, uint64_t hash, struct probe_stack *out);
	bool (*next_new_stack)(struct probe *probe, struct probe_new_stack *out);
	void (*take_ksymbols)(struct probe *probe, struct ksymbol_changes *out);
	uint64_t (*tick_seed)(const struct probe *probe);

	/* What the kernel is to know. */
	int (*set_account)(struct probe *probe, uint64_t cgroup_id, uint64_t account_id);
	int (*set_code_range)(struct probe *probe, uint32_t pid, uint64_t account_id,
			      const struct jbpf_code_range *range);
	int (*set_hotspot)(struct probe *probe, uint32_t pid, uint64_t account_id,
			   const struct jbpf_hotspot *hotspot);
	int (*set_leaf_rule)(struct probe *probe, uint64_t account_id,
			     const struct jbpf_leaf_key *key, const struct jbpf_leaf_proof *proof);
	int (*set_unwind_table)(struct probe *probe, uint32_t table_id, const uint32_t *words,
				uint32_t word_cnt);
	void (*drop_unwind_table)(struct probe *probe, uint32_t table_id);
	int (*set_space)(struct probe *probe, uint32_t pid, uint64_t account_id,
			 const struct jbpf_space *space);
	void (*drop_spaces)(struct probe *probe);
	uint32_t (*unwind_chunks)(const struct probe *probe);
	int (*opt_out)(struct probe *probe, uint32_t pid, const struct jbpf_known *process);

	uint32_t (*cpus)(const struct probe *probe);
	uint32_t (*unsampled_cpus)(const struct probe *probe);
	uint64_t (*map_bytes)(const struct probe *probe);
	uint64_t (*kernel_wakes_ns)(const struct probe *probe);
};

struct sample_source {
	const struct sample_source_ops *ops;
	struct probe *probe;
};

/* BPF's. */
extern const struct sample_source_ops sample_source_probe;

#endif
