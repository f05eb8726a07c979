/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows into one profile, with labels in front, and only one kind of stacks or threads of some
 * name. No I/O.
 */
#ifndef JBPF_CMD_DUMP_STACKS_H
#define JBPF_CMD_DUMP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cmd/dump_view.h"
#include "user/model/profile.h"
#include "user/model/window.h"

/* What is wanted of the stacks. Borrowed, but for `known`. */
struct dump_stacks {
	const struct selection *selection;
	enum event event;	/* the view: which stacks, and what is counted */
	const enum dump_by *by; /* labels in front, in this order */
	size_t by_cnt;
	bool labels_only;   /* the labels are the whole stack */
	bool marks_threads; /* the thread stands behind the stack: see STACK_TEXT_THREAD_MARK */
	/* Stacks of idle threads are left out, and counted here by enum waiting_place; NULL: they are not. */
	uint64_t *hidden_samples;
	bool hides_waiting;	    /* so are those that wait for work in any of these places */
	struct event_stacks *known; /* of `event` */
};

/*
 * What the view wants; notes in `info` what writers need to know of it. Both are borrowed. 0 or -ENOMEM.
 * dump_stacks_release() in either case.
 */
__must_check int dump_stacks_init(struct dump_stacks *stacks, const struct dump_view *view,
				  const struct selection *selection, enum event event,
				  struct output_info *info);
void dump_stacks_release(struct dump_stacks *stacks);

/* Must the window come with its threads? */
bool dump_stacks_wants_threads(const struct dump_stacks *wanted);
/* Are labels_only and the window's counts not enough? */
bool dump_stacks_wants_text(const struct dump_stacks *wanted);

/* Is a window's text all that is added? A view has weights of its own, and time that is in no stack. */
bool dump_stacks_add_up(const struct dump_stacks *wanted);
/* If so: are these two added in the same way, whatever their stacks? Their texts may then be added as one, with either. */
bool dump_stacks_are_alike(const struct dump_stacks *wanted, const struct window *a,
			   const struct window *b);

/*
 * Adds a window's folded text to the profile as it is asked for. Lines that are not stacks are
 * skipped and added to *bad_line_cnt, as is a code of threads that is none. 0 or -ENOMEM.
 */
__must_check int dump_stacks_add(const struct dump_stacks *wanted, const struct window *window,
				 const char *text, size_t len, struct profile *profile,
				 size_t *bad_line_cnt);

/*
 * Unless dump_stacks_wants_text(): adds all samples of the window, whose text need not be read. 0 or
 * -ENOMEM.
 */
__must_check int dump_stacks_add_labels(const struct dump_stacks *wanted,
					const struct window *window, struct profile *profile);

#endif
