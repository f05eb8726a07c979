/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of the parser process: started, watched while it works, killed when it does not answer,
 * started again, but not for ever: a container may hold any number of files that crash it.
 */
#ifndef JBPF_PARSER_PARSER_PROCESS_H
#define JBPF_PARSER_PARSER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "symbols/parser/parser.h"
#include "symbols/parser/parser_wire.h"
#include "user/sandbox/helper.h"

/* Of one request by default, CPU time and otherwise. The largest honest file takes a quarter of it. */
#define PARSER_REQUEST_MAX_NS (2000000000ull)
/* With the time that it waits for a CPU: on a busy host it gets a small share of one. */
#define PARSER_REQUEST_MAX_BUSY_NS (10000000000ull)

struct parser_limits {
	struct helper_limits request;
	/* Of starts after the first: so many at once, then one in this time. */
	uint32_t start_burst;
	uint64_t start_interval_ns;
	uint64_t rest_ns; /* of a file that was not read in time */
};

extern const struct parser_limits parser_limits_default;

struct parser_process {
	struct helper helper;
	struct helper_limits limits; /* of a request */
	uint64_t begin_bytes;	     /* memory that it had when it was ready */
	uint32_t sandbox;	     /* features in force */
	uint64_t renewal_cnt;	     /* of its starts, those after parser_process_renew() */
	bool next_is_free;	     /* the next start is a renewal */
	struct start_budget budget;
};

/* Starts nothing yet. */
void parser_process_init(struct parser_process *process, const struct child_starter *starter,
			 const struct parser_limits *limits);

/*
 * Starts it when it does not run, and waits until it is ready. 0; -EAGAIN: it was started too often
 * lately; -errno: it cannot be started, or cannot give up its rights.
 */
__must_check int parser_process_start(struct parser_process *process);

/* Ends it so that the next start is a fresh one, which is not counted among those after failures. */
void parser_process_renew(struct parser_process *process);

/* It is another process's: lets it go without ending it. The next start is as after a renewal. */
void parser_process_forget(struct parser_process *process);

/* The most memory that it has taken since it was ready; 0 when that is not known. */
uint64_t parser_process_peak_bytes(const struct parser_process *process);

/* Its next message. 0; -ETIMEDOUT: the watch has run out; -EPIPE: it has ended; -EBADMSG. */
__must_check int parser_process_receive(const struct parser_process *process,
					struct helper_watch *watch, struct parser_message *message);

#endif
