/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window that was counted and is being named by the namer. It keeps everything that the namer
 * needs until each stream is answered, so that another namer can go on where the first one stopped.
 */
#ifndef JBPF_NAMER_PENDING_WINDOW_H
#define JBPF_NAMER_PENDING_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/namer/sight_table.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/probe/sample_source.h"
#include "user/util/packet_stream.h"
#include "user/util/strbuf.h"

struct pending_stream {
	size_t at; /* index of its first count */
	size_t cnt;
	bool is_answered;
};

/* Zero-initialise; fields are read-only outside. */
struct pending_window {
	struct pending_window *next; /* of its owner */
	uint64_t id;
	uint64_t start_boot_ns; /* 0: nothing was added yet */
	uint64_t end_boot_ns;
	uint64_t start_unix_ns; /* set by its owner, once, so that all its streams agree */
	uint32_t frequency_hz;	/* set by its owner */
	uint32_t cpu_cnt;
	uint32_t events; /* set by its owner: EVENT_BIT() of what was sampled */
	uint64_t periods[EVENT_CNT];
	uint64_t wait_period_ns;  /* of EVENT_OFF_CPU in this window; 0: that is not sampled */
	struct pass_facts passes; /* the same */
	uint64_t missed_samples;  /* the same: passes that did not come */
	uint64_t closed_ns;	  /* CLOCK_BOOTTIME: when it was over */
	uint64_t sent_ns; /* CLOCK_MONOTONIC, set by its owner: a suspended namer names nothing */
	struct strbuf counts;	/* of struct probe_count */
	uint32_t part_cnt;	/* drains that had something to add */
	struct strbuf ticks;	/* of struct probe_tick */
	struct strbuf accounts; /* of struct probe_account; one for each drain that has it */
	struct strbuf stacks;	/* records of naming_stack_put() */
	struct pending_stream *streams;
	size_t stream_cnt;
	uint64_t counters[JBPF_CNT_MAX];
	uint64_t stack_bytes;
	/* Samples of each event that found no room here, ... */
	uint64_t lost_memory[EVENT_CNT];
	uint64_t given_up[EVENT_CNT]; /* ... that nobody named in time, and that are not kept */
	bool is_given_up;	      /* its host record is written; later answers are dropped */
	bool owes_part;		      /* its part was sent, and is not yet answered */
	bool is_unsent;		/* there was no memory to send it: none but its part is answered */
	struct naming_end said; /* sums of parts that were answered */
	struct strbuf early; /* of its owner: answers that came before it is this window's turn */
};

/* What of a window is sent. */
enum pending_part {
	PENDING_LEFT,  /* all that is not answered, without the part that was sent before it */
	PENDING_KNOWN, /* a part: those that were read before, and still are what they were */
};

void pending_window_release(struct pending_window *window);

/*
 * Adds the counts of a drain, with their stacks, as far as all can be sent. Samples for which there
 * is no memory are counted in lost_memory.
 */
void pending_window_add(struct pending_window *window, const struct sample_source *source,
			const struct probe_batch *batch);

/*
 * Adds the counts of these processes so far to `records` (of NAMING_STACKS), each stack with the
 * moment of its last sample. 0, or -ENOMEM: some are missing.
 */
__must_check int pending_window_stacks(const struct pending_window *window,
				       const struct sample_source *source, const uint32_t *pids,
				       size_t pid_cnt, struct strbuf *records);

/*
 * Leaves out stacks until those that remain have at most `max_bytes`: the deepest ones. So a
 * process with very many deep stacks loses them; ordinary ones stay. Returns how many; where one is
 * missing, its samples show a lost stack.
 */
size_t pending_window_trim(struct pending_window *window, size_t max_bytes);

/* It is over: sorts, and finds its streams. 0, or -ENOMEM: all of it is in lost_memory. */
__must_check int pending_window_close(struct pending_window *window, uint64_t now_boot_ns);

/*
 * Queues streams that were not answered yet, first those of processes that were read before. `head` needs
 * its numbers but the counts. A part without a stream is not sent. 0; -errno: not sent, and no answer will
 * come, unless it is sent to another namer.
 */
__must_check int pending_window_send(struct pending_window *window, enum pending_part part,
				     const struct sight_table *sights,
				     const struct naming_window *head,
				     struct packet_stream *stream);

/* The stream that a named window is of, or NULL. */
struct pending_stream *pending_window_find(const struct pending_window *window,
					   const struct window *named);

const struct probe_count *pending_window_counts(const struct pending_window *window);

/*
 * Puts samples and losses into the host's record of CPU time, or of the first event when that is
 * not sampled; which event it is of is there. `end` is the namer's answer.
 */
void pending_window_losses(const struct pending_window *window, const struct naming_end *end,
			   struct window *host);
/*
 * The same for the record of a further event. What the kernel lost of those is known of all of them
 * together: each record says that.
 */
void pending_window_event_losses(const struct pending_window *window, const struct naming_end *end,
				 struct window *host);

/* Samples of streams that the namer has not answered, of each of EVENT_CNT events. */
void pending_window_unanswered(const struct pending_window *window, uint64_t *out);

#endif
