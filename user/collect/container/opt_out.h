/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who does not want to be profiled: a process with JBPF_PROFILE=off in its environment, a container
 * with the label jbpf.profile=off. "0", "no" and "false" mean the same, in any case of letters. Most
 * environments are looked at by the BPF side (bpf/opt_out.bpf.h); this is for the others.
 */
#ifndef JBPF_CONTAINER_OPT_OUT_H
#define JBPF_CONTAINER_OPT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPT_OUT_VARIABLE "JBPF_PROFILE"
#define OPT_OUT_LABEL	 "jbpf.profile"

/* Why nothing of a process is recorded. */
enum opt_out {
	OPT_OUT_NONE = 0, /* it is recorded */
	OPT_OUT_BY_ENVIRONMENT,
	OPT_OUT_BY_LABEL,
	OPT_OUT_UNDECIDED, /* it ended before it could be asked */
};

/* Does this value of variable or label opt out? NULL does not. */
bool opt_out_value(const char *value);

/*
 * Finds the variable in an environment that comes in pieces, of which nothing is kept.
 * Zero-initialise.
 */
struct opt_out_scan {
	size_t name_len;     /* so much of the present string is that of "NAME=" */
	bool is_other;	     /* the present string is another variable */
	bool is_found;	     /* the first one counts, as it does for getenv() */
	bool is_value_whole; /* up to its NUL */
	char value[8];	     /* cut: what is longer does not opt out */
	size_t value_len;
};

void opt_out_scan_add(struct opt_out_scan *scan, const char *bytes, size_t len);
/* To be asked at the end of the environment. */
bool opt_out_scan_result(const struct opt_out_scan *scan);

/*
 * Reads /proc/PID/environ: what the process was started with. OPT_OUT_UNDECIDED when there is none
 * to be read: the process has ended, or is a kernel thread, or may not be looked at.
 */
enum opt_out opt_out_read(int proc_fd, uint32_t pid);

/* For people, to stand behind "it opted out of profiling: ". NULL for those that did not. */
const char *opt_out_reason(enum opt_out opt_out);

#endif
