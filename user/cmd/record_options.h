/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf record as a value. Pure. */
#ifndef JBPF_CMD_RECORD_OPTIONS_H
#define JBPF_CMD_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/cli/option_groups.h"
#include "user/cmd/dump_view.h"
#include "user/model/select.h"

#define RECORD_UNTIL_END UINT64_MAX

/* Texts are borrowed from argv. */
struct record_options {
	struct selection selection;
	char *const *command; /* the program to run, and its arguments; NULL = none */
	uint64_t duration_ns; /* RECORD_UNTIL_END: until it ends */
	enum event event;
	uint32_t period; /* of EVENT_CPU none; 0 = event_default_period() */
	uint32_t frequency_hz;
	enum jit_mode jit;
	bool keeps_parameters; /* names of methods in Java have theirs */
	enum unwind_mode unwind;
	struct dump_view view;
	bool keeps_digits;     /* of threads' names */
	uint32_t off_cpu_rate; /* 0 = as many as are good for the host */
	uint64_t threshold_ns; /* of EVENT_SCHED; 0 = what is good for most */
	bool of_wakers;	       /* of EVENT_SCHED: who ends waits, below whom it wakes */
	bool ignores_opt_out;
	struct option_info info;
};

extern const struct option_table record_option_table;

/* 0, or -EINVAL with one line for the user in `why`. */
__must_check int record_options_parse(int argc, char **argv, struct record_options *out, char *why,
				      size_t why_len);

#endif
