/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one container may cost the profiler, and what it did: its budget and its bill. Processes,
 * execs and cgroups below one's own are free, so whatever is counted by those can be multiplied; an
 * account is what a neighbour cannot make more of (cgroup_account.h says which one is whose).
 *
 * Budgets are wide. Of programs that work hard none came to more than a quarter of one, alone on two
 * CPUs or all at once: javac over 1,560 files beside classes that come and go, on each of JDK 8, 11, 17,
 * 21 and 25; g++ -O2 on templates; make -j4 of jbpf; three Node servers with perf maps and up to 30,000
 * functions; a build farm of which 120 processes a second were sampled. Windows of 10 s, 99 Hz; the most
 * that one container used stands at each budget. Who is over one is cut first, and on the bill, which
 * status shows; nobody else notices.
 *
 * No I/O, no clock: times are CLOCK_BOOTTIME ns and given. One thread. An account is counted by its
 * users; one without users is forgotten by accounts__begin_window() when nothing is owed any more.
 */
#ifndef JBPF_UTIL_ACCOUNT_H
#define JBPF_UTIL_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define ACCOUNT_NONE 0u /* id of what is nobody's */

/*
 * CPU time of the parser. The most that was owed at the end of a window was 0.22 s (Node's program and
 * three perf maps that grow); JVMs owed 0.05 s, the compilers and the build farm 0.03 s. Single files:
 * Node 81 ms, libjvm of JDK 8 to 25 1 to 32 ms each, LLVM 15 ms, GCC's cc1plus 15 ms, Chromium 1 ms, a
 * C library 5 ms. A request may begin while there is credit, and is never cut short for want of it: what
 * it uses up beyond is a debt, which is paid off first. So a single large file is always read, and no
 * container gets more than the refill for long.
 */
#define ACCOUNT_CPU_BURST_NS	   4000000000ull
#define ACCOUNT_CPU_REFILL_PERCENT 1u /* of one CPU */
/* Of all accounts: beyond, nothing is refilled, but whoever has credit is served. */
#define ACCOUNT_HOST_CPU_BURST_NS	20000000000ull
#define ACCOUNT_HOST_CPU_REFILL_PERCENT 10u
/*
 * CPU time of the process that names: what it reads of processes, and their stacks. The most was 5.9 % of
 * one CPU for long (the build farm); a JVM that is met takes some 0.1 s, 200 samples a second 0.4 %. Who
 * is over it has samples without frames until the refill has paid its debt.
 */
#define ACCOUNT_WORK_BURST_NS		    20000000000ull
#define ACCOUNT_WORK_REFILL_PERCENT	    20u /* of one CPU */
#define ACCOUNT_WORK_REFILL_PERCENT_PER_CPU 2u	/* and that for each CPU of the host */
/* Failures (crashes, timeouts) of its files that it may have at once; then one in this time. */
#define ACCOUNT_FAILURES_BURST	     8u
#define ACCOUNT_FAILURES_INTERVAL_NS 30000000000ull
/* Files whose server does not answer, at once: a process hangs over each. */
#define ACCOUNT_MAX_HANGING 2u

/*
 * What is held in memory. Each has a pool for all accounts together, of which one alone gets half. The
 * most were 0.5 of 32 MiB of names (JDK 25) and 23 of 96 MiB of perf maps (Node).
 */
enum account_pool {
	ACCOUNT_POOL_NAMES = 0, /* interned names */
	ACCOUNT_POOL_MAPS,	/* perf maps */
	ACCOUNT_POOL_TABLES,	/* symbol tables of files: more than its share is dropped first */
	ACCOUNT_POOL_CNT,
};

/* How much of its stacks a container is given in this window's text. */
enum account_text {
	ACCOUNT_TEXT_WHOLE = 0,
	ACCOUNT_TEXT_SHORT_NAMES, /* names are cut to ACCOUNT_TEXT_SHORT_NAME_BYTES */
	ACCOUNT_TEXT_SHALLOW,	  /* and only ACCOUNT_TEXT_SHALLOW_FRAMES frames are kept */
	ACCOUNT_TEXT_LEAF,	  /* the leaf only */
	ACCOUNT_TEXT_NOTHING,	  /* samples, but no frames */
	ACCOUNT_TEXT_CNT,
};

/*
 * Text of a window that is given whole; of what comes then, in three steps, half as much. The most was
 * 1.2 of 8 MiB (javac on JDK 25, two CPUs); 990 samples of one CPU, all different and 100 Java frames
 * deep, are 4 MiB.
 */
#define ACCOUNT_TEXT_BYTES_PER_CPU ((size_t)4 << 20)
#define ACCOUNT_TEXT_MIN_BYTES	   ((size_t)8 << 20)
#define ACCOUNT_TEXT_MAX_BYTES	   ((size_t)48 << 20)

#define ACCOUNT_TEXT_SHORT_NAME_BYTES 64u
#define ACCOUNT_TEXT_SHALLOW_FRAMES   16u

/* Why something is not as it would be. */
enum account_cut {
	ACCOUNT_CUT_NAMES = 0,	 /* frames, times samples, whose names were not kept */
	ACCOUNT_CUT_SHORT_NAMES, /* samples whose stacks have short names only */
	ACCOUNT_CUT_DEPTH,	 /* samples whose stacks were cut to their leaf end */
	ACCOUNT_CUT_LEAF,	 /* samples that kept their leaf, or nothing */
	ACCOUNT_CUT_FILES,  /* times a file was not read: no CPU time left, or too many failures */
	ACCOUNT_CUT_FAILED, /* times the parser failed at a file, or ended, or was killed over it */
	ACCOUNT_CUT_MAPS,   /* perf maps that were not kept */
	ACCOUNT_CUT_HANGING, /* times a file was not opened: others hang */
	ACCOUNT_CUT_LOST,    /* samples that found no room in the kernel */
	ACCOUNT_CUT_WORK,    /* samples that were not named: no CPU time left for that */
	ACCOUNT_CUT_CNT,
};

/*
 * What one may use up without being mentioned: CPU time at once (a JVM that is met takes some 0.1 s) and, in
 * percent of one CPU, for long (with its tables and names javac on JDK 25 took 1.6, the build farm 5.9); memory. Nothing is cut there: account__cost() says whose it was.
 */
#define ACCOUNT_TOLD_CPU_NS	 200000000ull
#define ACCOUNT_TOLD_CPU_PERCENT 1u
#define ACCOUNT_TOLD_BYTES	 (16u << 20) /* held: names, maps and tables */
/* For as long as one of its files is read: Node's program takes 23 MiB, containerd 16, libjvm of JDK 25 8. */
#define ACCOUNT_TOLD_READING_BYTES (32u << 20)
#define ACCOUNT_TOLD_BYTES_PER_CPU (1u << 20) /* of new stacks, of text */

#define ACCOUNT_NAME_BYTES 256u /* longer names are cut */

struct account;
struct accounts;

/* NULL only when memory is short. */
struct accounts *accounts__new(void);
/* For a host of so many CPUs: the text of a window grows with them. */
void accounts__scale(struct accounts *accounts, uint32_t cpu_cnt, uint64_t window_ns);
/* With all accounts: nobody may use one any more. NULL is fine. */
void accounts__free(struct accounts *accounts);

/*
 * The account of this id, made when new, with one more user: account__put() ends that. NULL when
 * memory is short. `name` is for people (a cgroup path), copied, "" = not known.
 */
struct account *accounts__get(struct accounts *accounts, uint64_t id, const char *name);
/* One more user of one that is used already. Returns it; NULL is fine. */
struct account *account__ref(struct account *account);
/* One user less. NULL is fine. */
void account__put(struct account *account);
/* The account, without another user; NULL when there is none. */
struct account *accounts__find(const struct accounts *accounts, uint64_t id);

/* Between windows: bills and text begin again. Accounts without users that owe nothing are freed. */
void accounts__begin_window(struct accounts *accounts, uint64_t now_ns);
size_t accounts__count(const struct accounts *accounts);

uint64_t account__id(const struct account *account);
const char *account__name(const struct account *account);

/*
 * The host's own: what only root can have written, and whoever looks at a single process by hand.
 * Without limits, and without a bill. There is one, which nobody frees.
 */
struct account *account_of_host(void);

/* All functions below refuse NULL: nothing may be done for it, and nothing is counted. */

/* May one of its files be read now? What is not read for it is for the caller to put on the bill. */
bool account__may_read(struct account *account, uint64_t now_ns);
/* CPU time that was spent on it. */
void account__spend(struct account *account, uint64_t cpu_ns, uint64_t now_ns);
/* One of its files ended, or would have ended, what was reading it. The caller puts it on the bill. */
void account__note_failure(struct account *account, uint64_t now_ns);

/*
 * May one of its files be opened, which may wait? Not while ACCOUNT_MAX_HANGING do, nor when it has
 * no failures left: a file that timed out is one, even if it answers a moment later.
 */
bool account__may_open(struct account *account, uint64_t now_ns);
/* A file of it hangs; it does not any more. */
void account__note_hanging(struct account *account);
void account__note_answered(struct account *account);

/*
 * Memory of a pool. An account may hold as much as all others leave free, so that one alone has
 * half of the pool and a newcomer always finds room; and a guaranteed part even in a full pool, but
 * for pools that are full twice over. 0 or -EDQUOT.
 */
__must_check int account__take(struct account *account, enum account_pool pool, size_t bytes);
void account__give(struct account *account, enum account_pool pool, size_t bytes);
size_t account__held(const struct account *account, enum account_pool pool);
/* Does it hold more than an equal part of what accounts hold? What it has goes first then. */
bool account__is_over_share(const struct account *account, enum account_pool pool);
/* Do all accounts hold more than half of the pool? */
bool account__is_crowded(const struct account *account, enum account_pool pool);
size_t accounts__held(const struct accounts *accounts, enum account_pool pool);

/* What the next stack of this window may have. */
enum account_text account__text(const struct account *account);
/* So much text was added to a profile. */
void account__add_text(struct account *account, size_t bytes);

/* CPU time that looking into it took, in the process that names. */
void account__note_work(struct account *account, uint64_t cpu_ns);
/* May more of that be spent? What is not done for it is for the caller to put on the bill. */
bool account__may_work(struct account *account, uint64_t now_ns);
/* Memory that reading one of its files took in the parser; the most in a window is on the bill. */
void account__note_reading(struct account *account, uint64_t bytes);
/* Bytes of stacks that it had first, in this window; on the bill only. */
void account__note_stacks(struct account *account, uint64_t bytes);

void account__note_cut(struct account *account, enum account_cut cut, uint64_t cnt);
/*
 * One line for people of what was cut in this window, and what it used up; "" when nothing was cut.
 * NUL-terminated, cut to `len`.
 */
#define ACCOUNT_BILL_BYTES 640u
void account__bill(const struct account *account, char *out, size_t len);
/* The same of what it used up, where that is much though nothing was cut: who works hard is no culprit. */
#define ACCOUNT_COST_BYTES 192u
void account__cost(const struct account *account, char *out, size_t len);
uint64_t account__cut_cnt(const struct account *account, enum account_cut cut);
/* What it used of its budgets. */
struct account_usage {
	size_t text_bytes;     /* of this window ... */
	size_t text_max_bytes; /* ... that one may have whole */
	uint64_t cpu_ns;       /* of this window: parser, readers and naming */
	int64_t credit_ns;     /* left of ACCOUNT_CPU_BURST_NS; below 0 a debt */
	uint64_t stack_bytes;  /* of this window */
	size_t held[ACCOUNT_POOL_CNT];
};

void account__usage(const struct account *account, struct account_usage *out);
/* Each account, in no order. */
typedef void (*account_fn)(void *ctx, const struct account *account);
void accounts__each(const struct accounts *accounts, account_fn fn, void *ctx);

/* Of all accounts. */
uint64_t accounts__cut_cnt(const struct accounts *accounts, enum account_cut cut);

#endif
