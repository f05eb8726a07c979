/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf maps as a value. Pure. */
#ifndef JBPF_CMD_MAPS_OPTIONS_H
#define JBPF_CMD_MAPS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/option_groups.h"

#define MAPS_MAX_PIDS 256

/* Texts are borrowed from argv. */
struct maps_options {
	uint32_t pids[MAPS_MAX_PIDS]; /* each once */
	size_t pid_cnt;		      /* 0 = all JVMs */
	const char *container;
	const char *dir;
	bool is_forced;
	struct option_info info;
};

extern const struct option_table maps_option_table;

/* 0, or -EINVAL with one line for the user in `why`. */
__must_check int maps_options_parse(int argc, char **argv, struct maps_options *out, char *why,
				    size_t why_len);

#endif
