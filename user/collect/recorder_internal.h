/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a recorder whose samples come from where they say. */
#ifndef JBPF_COLLECT_RECORDER_INTERNAL_H
#define JBPF_COLLECT_RECORDER_INTERNAL_H

#include "user/collect/probe/sample_source.h"
#include "user/collect/recorder.h"

/* As recorder__open(). `source` is borrowed for the recorder's life. */
int recorder_open_with(const struct recorder_options *options, const struct recorder_sink *sink,
		       const struct sample_source_ops *source, struct recorder **out, char *why,
		       size_t why_len);

#endif
