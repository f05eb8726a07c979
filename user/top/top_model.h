/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jbpf top shows, from windows as they come: the last minute of every stream, added up to
 * rows, one per container and one per name of processes outside of containers. "Now" is the newest
 * window, or as many of the newest as make ten seconds. No I/O, no clock: time is that of the
 * windows.
 *
 * In: windows, from the store or a sampler (top_source.h). Out: rows, which the caller releases. `jbpf top`
 * owns the model.
 */
#ifndef JBPF_TOP_MODEL_H
#define JBPF_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/cli/streams.h"
#include "user/model/profile.h"
#include "user/model/select.h"
#include "user/model/window.h"
#include "user/util/attributes.h"

#define TOP_HISTORY_S 60
#define TOP_NOW_S     10
#define TOP_RUNNING_S 2 /* of the window that runs */

struct top_model;

enum top_span {
	TOP_SPAN_LIVE = 0,  /* now, and the minute before it; what is older is dropped */
	TOP_SPAN_WHOLE = 1, /* "now" is all that was added */
};

/* The selection is borrowed; its times are not looked at. NULL only when memory is short. */
struct top_model *top_model__new(const struct selection *selection, enum top_span span);
void top_model__free(struct top_model *model); /* NULL is fine */

/*
 * Adds a stream's window with its text, or a host record (pid 0), copied. What the selection does
 * not match is left out. 0 or -ENOMEM.
 */
__must_check int top_model__add(struct top_model *model, const struct window *window,
				const char *text, size_t len);
/*
 * Adds a stream's part of the window that runs, or the host record of all its parts of that time, which
 * comes last. As above.
 */
__must_check int top_model__add_running(struct top_model *model, const struct window *window);
/* Nobody tells of it any more. */
void top_model__forget_running(struct top_model *model);
/* Frozen: all questions are answered as of now, whatever is added; what they need is kept. */
void top_model__freeze(struct top_model *model, bool is_frozen);
/*
 * Some of the streams with samples that the selection left out, for a hint; of waits there are none, see struct
 * top_host. Valid until the next call of a function that adds.
 */
const struct streams *top_model__others(const struct top_model *model);
/* Changes whenever an answer may. */
uint64_t top_model__generation(const struct top_model *model);

/* The host as a whole. */
struct top_host {
	uint64_t end_unix_ns;	 /* of now; 0 = there is no window yet */
	uint64_t span_ns;	 /* of now, the sum of its windows */
	uint64_t samples;	 /* now, of all processes, selected or not; of waits see below */
	uint64_t selected;	 /* of these, of what is selected */
	uint64_t lost;		 /* samples in the minute, of all processes */
	uint64_t opted_out;	 /* the same */
	uint64_t waits_for_work; /* samples now, of waiting: in no row, nor in `samples` */
	uint64_t period;	 /* what a sample stands for; 0 = not known */
	uint32_t cpu_cnt;
	bool is_running; /* now is of the window that runs */
	/*
	 * Not everything is selected. What others wait for was not read then, so that of waits `samples`
	 * are those of the selection.
	 */
	bool is_selection;
};

struct top_row {
	char *key;  /* identity, for top_model__profile() */
	char *name; /* as it was recorded: escape it */
	bool is_container;
	uint64_t samples;   /* now */
	size_t process_cnt; /* with samples now */
	float history
		[TOP_HISTORY_S]; /* samples in each second up to the end of now, the oldest first */
	struct window_counts counts; /* of the minute */
	/* Of the JVM with most samples in the minute; all empty when there is none. */
	bool is_jvm;
	uint32_t preserve_frame_pointer; /* enum window_flag */
	uint32_t jit_source;		 /* enum jit_source */
	char *jvm_version;		 /* "" = not known */
	char *problem;			 /* one line: names, budget; "" = none */
	char *hottest; /* the leaf with most samples now, with its suffix; "" = none */
};

struct top_rows {
	struct top_row *items;
	size_t cnt;
	struct top_host host;  /* that amounts of rows are of */
	struct top_host named; /* that stacks are of: the same, or the newest windows */
};

/* All rows that have samples in the minute, in no order. 0 or -ENOMEM. End with top_rows_release(). */
__must_check int top_model__rows(struct top_model *model, enum event event, struct top_rows *out);
void top_rows_release(struct top_rows *rows);

/*
 * Adds the stacks that a row has now, of one thread's name or of all (NULL), Java code of every
 * tier as compiled, so that a method is one whatever its tier. 0 or -ENOMEM.
 */
__must_check int top_model__profile(const struct top_model *model, enum event event,
				    const char *key, const char *thread, struct profile *out);
/* The same for the names of its threads: stacks of one frame. */
__must_check int top_model__threads(const struct top_model *model, enum event event,
				    const char *key, struct profile *out);

/* What samples stand for: CPU cores, threads that wait, or events per second; 0 when that is not known. */
double top_amount(const struct top_host *host, enum event event, uint64_t samples);
/* The share of the host: of its cores, or of the event's samples; 0 to 1. */
double top_share(const struct top_host *host, enum event event, uint64_t samples);
/* Is it a share of what is selected instead? */
bool top_share_is_of_selection(const struct top_host *host, enum event event);

#endif
