/* SPDX-License-Identifier: Apache-2.0 */
/* What naming.c and naming_window.c share; nobody else includes this. */
#ifndef JBPF_NAMING_NAMING_INTERNAL_H
#define JBPF_NAMING_NAMING_INTERNAL_H

#include "user/collect/naming/ban_list.h"
#include "user/collect/naming/retry_queue.h"
#include "user/collect/naming/naming.h"
#include "user/collect/naming/process.h"
#include "user/collect/naming/stack_namer.h"
#include "user/collect/naming/tick_join.h"
#include "user/collect/naming/window_cells.h"
#include "user/util/account.h"
#include "user/util/strbuf.h"

#define TOLD_ACCOUNTS 256u

struct naming {
	struct naming_config config;
	int proc_fd;
	int root_fd;
	struct symbolizer *symbolizer;
	struct container_resolver *containers;
	struct process_table *processes;
	struct accounts *accounts;
	struct jvm_asks asks;
	struct account *worked_for;		   /* just now; NULL = nobody */
	uint64_t work_begin_ns;			   /* CLOCK_THREAD_CPUTIME_ID */
	struct naming_account told[TOLD_ACCOUNTS]; /* since the last window, by cgroup id */
	struct ban_list bans;
	struct retry_queue retries;
	struct retry_queue looks; /* the slow ones */
	uint32_t unwind_epoch;
	uint64_t leafs_proved;
	/* Of the stream being named. */
	struct stack_namer namer;
	struct tick_join ticks; /* of the window */
	uint32_t *places; /* by count: number of its stack in the profile, then line of the text */
	size_t place_cap;
	uint32_t line_cnt; /* of the text */
	struct strbuf folded;
	struct strbuf lines;
	struct strbuf walk; /* label */
	struct strbuf threads;
	struct window_cells cells;
	char bill[ACCOUNT_BILL_BYTES]; /* labels */
	char cost[ACCOUNT_COST_BYTES];
};

/* Notes that what comes next is done with this process. */
void naming_work_on(struct naming *naming, const struct process *process);
/* The same of one that is not known yet. */
void naming_work_on_sight(struct naming *naming, const struct process_sight *sight);
/* That work is over, and charged to who it was for. */
void naming_rest(struct naming *naming);
/* Has its account CPU time left for that? Of a process with symbols. */
bool naming_may_work_on(const struct process *process);
/* The same in the midst of work: what was done since is charged first. The note of it stays as it is. */
bool naming_may_go_on(struct naming *naming, const struct process *process);
/* A ban that is over is lifted: while the note says that this process is worked on. 0 or -ENOMEM. */
int naming_lift_old_ban(struct naming *naming, struct process *process);
/* Reports the account of the process's cgroup, once between two windows. */
void naming_tell_account(struct naming *naming, const struct process *process);
/* What it is called, borrowed from it. */
void naming_fill_labels(const struct process *process, struct window *window);
/* Stops the sampling of a process that opted out: neither its stacks nor their cost are wanted. */
void naming_stop_sampling(struct naming *naming, const struct process *process);
/* Version, flags and code range, while the JVM lives. True when it is still starting. */
bool naming_update_jvm(struct naming *naming, struct process *process);

#endif
