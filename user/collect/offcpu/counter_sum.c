// SPDX-License-Identifier: Apache-2.0
/* See counter_sum.h. */
#include "user/collect/offcpu/counter_sum.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

int counter_sum_init(struct counter_sum *sum)
{
	sum->possible_cpu_cnt = (size_t)libbpf_num_possible_cpus();
	sum->per_cpu = calloc(sum->possible_cpu_cnt, sizeof(*sum->per_cpu));
	return sum->per_cpu ? 0 : -ENOMEM;
}

void counter_sum_release(struct counter_sum *sum)
{
	free(sum->per_cpu);
	sum->per_cpu = NULL;
}

int counter_sum_add(struct counter_sum *sum, int map_fd, uint64_t *gained)
{
	__u32 zero = 0;
	int err = bpf_map_lookup_elem(map_fd, &zero, sum->per_cpu);

	for (int i = 0; !err && i < JBPF_CNT_MAX; i++) {
		uint64_t total = 0;

		for (size_t cpu = 0; cpu < sum->possible_cpu_cnt; cpu++)
			total += sum->per_cpu[cpu][i];
		gained[i] += total - sum->previous[i];
		sum->previous[i] = total;
	}
	return err;
}
