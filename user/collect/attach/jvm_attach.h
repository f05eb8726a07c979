/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ask a HotSpot JVM (17+) to write its perf map, by dynamic attach, without ever harming it: every
 * gate of jvm_gates.h must be open before anything is created or signalled. The caller looks first
 * (jvm_attach_check); the conversation happens in a child that takes the JVM's ids
 * (jvm_attach_main); the caller need not wait for it: see jvm_ask.h.
 *
 * In: a pid and its start. Out: an outcome, and a map in the JVM's /tmp, which a later request removes
 * again. Nothing is kept between requests: see jvm_ask.h for that.
 */
#ifndef JBPF_ATTACH_JVM_ATTACH_H
#define JBPF_ATTACH_JVM_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/model/jvm_facts.h"

struct hotspot_vm;

struct jvm_attach_request {
	int proc_fd;	   /* /proc */
	uint32_t pid;	   /* host pid */
	uint64_t start_ns; /* CLOCK_BOOTTIME ns; compared against /proc/PID/stat before and after */
	uint32_t timeout_ms;   /* for the whole conversation */
	struct hotspot_vm *vm; /* its tables, open; borrowed. NULL: it is left alone, since ... */
	int vm_err;	       /* ... they could not be opened: symbols_process__hotspot() */
};

struct jvm_attach_result {
	enum jvm_attach_outcome outcome;
	uint32_t wall_ms; /* from the first gate to the end */
	/* While the JVM worked on the command: the cost of it to the target at most. */
	uint32_t command_ms;
	bool map_existed;      /* a map was there before: leave it there */
	bool listener_started; /* we made the JVM create its attach listener */
};

/*
 * The gates that only read, and only files that the namer may read. JVM_ATTACH_OK: the rest is for
 * the child; *feature_out: the JVM's release, 0 = not known.
 */
enum jvm_attach_outcome jvm_attach_check(const struct jvm_attach_request *request,
					 int *feature_out);

/* What a request of ours made; a job that removes asks for nothing. */
enum jvm_attach_removes {
	JVM_ATTACH_REMOVES_NOTHING = 0,
	JVM_ATTACH_REMOVES_MAP = 1,
	JVM_ATTACH_REMOVES_TRIGGER = 2, /* when the JVM has seen it, or has ended */
	JVM_ATTACH_REMOVES_CNT = 3,
};

struct jvm_attach_job {
	uint32_t pid;
	uint32_t timeout_ms;
	uint64_t start_ns;
	int feature;
	enum jvm_attach_removes removes;
};

/* The child writes it, in one piece, to its socket. */
struct jvm_attach_report {
	int err; /* 0 or -errno */
	struct jvm_attach_result result;
};

/* The child: all gates that touch the JVM's /tmp, the conversation, the report. Its exit status. */
int jvm_attach_main(const struct jvm_attach_job *job, int report_fd);

/* When may this JVM be asked next? Pure; one per JVM. Zero-initialised = never asked. */
struct jvm_attach_limiter {
	uint64_t last_boot_ns;
	uint32_t failure_cnt; /* in a row */
	uint32_t request_cnt; /* that reached the JVM or its gates; not those that came too early */
	uint64_t total_command_ms;
	uint32_t last_command_ms;
	bool never_again;
};

/* `min_interval_ns`: for a JVM that answers quickly; widened by cost (the JVM may be held up at
 * most 0.1 % of the time) and doubled per failure up to an hour. */
bool jvm_attach_limiter_may(const struct jvm_attach_limiter *limiter, uint64_t now_boot_ns,
			    uint64_t min_interval_ns);
void jvm_attach_limiter_note(struct jvm_attach_limiter *limiter, uint64_t now_boot_ns,
			     const struct jvm_attach_result *result);

#endif
