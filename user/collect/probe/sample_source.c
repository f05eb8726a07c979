// SPDX-License-Identifier: Apache-2.0
/* See sample_source.h. */
#include "user/collect/probe/sample_source.h"

const struct sample_source_ops sample_source_probe = {
	.open = probe__open,
	.free = probe__free,
	.may_change = probe__may_change,
	.change = probe__change,
	.try_maps = probe__try_maps,
	.start = probe__start,
	.stop = probe__stop,
	.fd = probe__fd,
	.consume = probe__consume,
	.drain = probe__drain,
	.stack = probe__stack,
	.next_new_stack = probe__next_new_stack,
	.stream_seed = probe__stream_seed,
	.set_account = probe__set_account,
	.set_code_range = probe__set_code_range,
	.opt_out = probe__opt_out,
	.cpus = probe__cpus,
	.unsampled_cpus = probe__unsampled_cpus,
	.map_bytes = probe__map_bytes,
};
