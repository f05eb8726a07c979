/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose windows follow from their number, so that whoever reads it can tell which are
 * there, how often, and whether they are whole, also when they were merged into hours and days.
 */
#ifndef JBPF_TESTS_CRASH_STORE_H
#define JBPF_TESTS_CRASH_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/store/store.h"

#define CRASH_DIR_BYTES	  256
#define CRASH_STREAMS	  3
#define CRASH_NUMBERS_MAX 20000
#define CRASH_STEP_S	  120		/* between windows: 30 in an hour */
#define CRASH_T0_S	  1795262400ull /* 2026-11-21T12:00:00Z */

/* How the numbers lie in time. */
struct crash_clock {
	bool steps; /* every 25 windows an hour forth, back, back, forth, ... */
};

uint64_t crash_time_s(const struct crash_clock *clock, uint32_t number);

/* Adds window `number` and a host record. Does not return when it fails. */
void crash_add(struct store_writer *writer, const struct crash_clock *clock, uint32_t number);

struct crash_seen {
	bool has_cells;
	/* Samples of each number's own stack; a whole window has crash_own_samples(). */
	uint32_t own[CRASH_NUMBERS_MAX];
	uint64_t samples;      /* by the windows' word */
	uint64_t text_samples; /* by their texts */
	uint64_t line_samples; /* by their source lines */
	uint64_t cell_samples; /* by their cells */
	uint64_t windows;      /* with samples */
	uint64_t host_windows; /* host records */
	uint32_t cut_commits;  /* windows whose host record was never written whole; the caller's */
	uint64_t damage_cnt;
	char damage[256]; /* the first one */
};

uint32_t crash_own_samples(uint32_t number);
uint32_t crash_samples(uint32_t number);

/* Reads all of the store; merge_ns as in struct store_visitor. 0 or -errno. */
int crash_read(const char *dir, uint64_t merge_ns, struct crash_seen *seen);

/*
 * Are exactly the windows [first, last) there, each once and whole? One that is not is told on
 * stderr.
 */
bool crash_is_exactly(const struct crash_seen *seen, uint32_t first, uint32_t last);

/* ---- processes ---- */

/* What processes tell each other. */
struct crash_shared {
	_Atomic uint32_t committed; /* windows [0, committed) are on disk by the writer's word */
	_Atomic uint32_t deleted;   /* windows [0, deleted) may be gone, whole hours or days */
	_Atomic uint32_t reads;	    /* that were right */
	_Atomic bool is_over;
};

struct crash_shared *crash_shared_make(void);

/* fork(); the child dies with its parent. */
pid_t crash_fork(void);
void crash_sleep_us(uint32_t us);

/*
 * Merges what is closed at `now_s`, as jbpfd does; days when they are `day_age_s` old. Another
 * compaction or none to do is fine.
 */
void crash_compact(const char *dir, uint64_t now_s, uint64_t day_age_s);

/* The three ways; the program's exit code. */
int crash_sweep(void);
int crash_readers(void);

/* ---- directories ---- */

void crash_make_dir(char dir[static CRASH_DIR_BYTES]);
/* Removes a directory and all in it. */
void crash_remove(const char *dir);

/* A random number below `below` (above 0); the state is the caller's seed. */
uint32_t crash_random(uint64_t *state, uint32_t below);

#define crash_die(...) crash_die_at(__FILE__, __LINE__, __VA_ARGS__)
void crash_die_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

#endif
