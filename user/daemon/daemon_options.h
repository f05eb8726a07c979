/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of jbpfd from the command line and the config file (lines "option = value" with the long
 * names of the options, "#" comments). The command line wins. Pure but for reading the file.
 */
#ifndef JBPF_DAEMON_DAEMON_OPTIONS_H
#define JBPF_DAEMON_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/collect/probe/probe.h"
#include "user/cli/option_groups.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define DAEMON_PIDS_MAX	     64
#define DAEMON_MIN_WINDOW_NS 1000000000ull
#define DAEMON_MAX_WINDOW_NS 600000000000ull
#define DAEMON_MAX_FREQUENCY 10000

/* In the order of the words. */
enum daemon_probe {
	DAEMON_PROBE_NONE = 0,
	DAEMON_PROBE_LIVE = 1,
	DAEMON_PROBE_READY = 2,
};

/* Texts are borrowed from argv and from `config_text`. */
struct daemon_options {
	const char *store;
	const char *config; /* NULL = none */
	const char *host;   /* name of this host in profiles; NULL = its own */
	uint32_t events;    /* EVENT_BIT() of what is sampled */
	uint32_t frequency_hz;
	uint32_t page_fault_period; /* faults per sample */
	uint32_t off_cpu_rate;	    /* visits of a waiting thread per second */
	uint64_t window_ns;
	uint32_t max_depth;
	enum jit_mode jit;
	bool keeps_parameters; /* names of methods in Java have theirs */
	enum unwind_mode unwind;
	uint64_t keep_age_ns;
	uint64_t keep_bytes;
	uint64_t keep_moments_ns;
	bool compact;	     /* closed hours */
	const char *metrics; /* where they are served: see user/serve/address.h; NULL = nowhere */
	uint32_t pids[DAEMON_PIDS_MAX];
	size_t pid_cnt;
	const char *cgroups[JBPF_CGROUP_FILTER_MAX];
	size_t cgroup_cnt;
	enum log_level log_level;
	bool check;
	enum daemon_probe probe; /* of the jbpfd that serves `metrics` */
	struct option_info info;
	struct strbuf config_text; /* the config file, cut into names and values */
};

/*
 * Defaults, then the config file named by --config, then the command line. 0; -EINVAL wrong usage;
 * else -errno of the config file. On error `why` holds one line for the user. Release in any case.
 */
__must_check int daemon_options_parse(int argc, char **argv, struct daemon_options *out, char *why,
				      size_t why_len);
void daemon_options_release(struct daemon_options *options);

/* Do they differ in an option that needs other BPF programs, maps or symbol tables? */
bool daemon_options_sampling_differs(const struct daemon_options *a,
				     const struct daemon_options *b);

extern const struct option_table daemon_option_table;

#endif
