/* SPDX-License-Identifier: Apache-2.0 */
/* One process, as the files symbols_process*.c and the symbolizer see it. */
#ifndef JBPF_SYMBOLS_PROCESS_H
#define JBPF_SYMBOLS_PROCESS_H

#include "user/util/attributes.h"
#include "symbols/names/addr_cache.h"
#include "symbols/jit/jit_source.h"
#include "symbols/symbols_shared.h"
#include "user/host/procmaps.h"
#include "user/model/unwind_facts.h"
#include "user/util/clock.h"

#define SYMBOLS_JIT_SOURCES 2 /* that there are */

/* What is behind a mapping; beside maps.items[i]. */
struct process_file {
	struct object *object; /* NULL = no file, or it could not be opened */
	uint64_t
		rules_after_ns; /* CLOCK_BOOTTIME; this process does not have its table built before */
};

/* Samples whose stacks ended in a file for want of a rule; 0 = there is none. */
struct process_end {
	uint64_t samples;
	enum stack_end end; /* the first of them */
	char name[UNWIND_FACTS_NAME_BYTES];
};

struct symbols_process {
	struct symbols_process *next;  /* of all that are open */
	struct symbols_process **link; /* what points to it */
	struct symbols_process *next_prefetched;
	int pid_fd;		      /* holds the pid of a JVM; -1 = not held */
	uint64_t prefetched_ns;	      /* begin of the first prefetch of this round; 0 = none */
	uint64_t prefetched_read_cnt; /* reads from the JVM before it */
	struct symbols_shared *shared;
	struct symbols_share *share;
	struct name_table *names; /* of the share */
	struct process_life id;
	struct procmaps maps;
	struct process_file *files; /* maps.cnt of them */
	struct addr_cache answers;
	struct jit_target target;
	struct jit_source_use
		jit_sources[SYMBOLS_JIT_SOURCES + 1]; /* the best first; ends with 0 */
	uint64_t jit_low;  /* bounds of all code that one of them has for its own; */
	uint64_t jit_high; /* low >= high: there is none */
	/* Size of the address space when the mappings were read; 0 = not known. */
	uint64_t vm_pages;
	/* CLOCK_BOOTTIME; mappings that are in doubt are not taken before; 0: none are */
	uint64_t maps_after_ns;
	uint64_t load_ns;      /* CPU time spent on reading its files so far, */
	uint64_t load_debt_ns; /* less what was paid off with time, */
	uint64_t load_paid_ns; /* up to this moment of CLOCK_BOOTTIME */
	uint32_t refresh_cnt;
	uint32_t maps_age;	  /* refreshes since the mappings were read */
	size_t identify_at;	  /* of maps.items: where files that could not be had are next */
	uint64_t unknown_jit_cnt; /* of the present generation of JIT names */
	uint64_t ambiguous_jit_cnt;
	uint64_t space_after_ns; /* CLOCK_BOOTTIME; no tables before; the smallest is next */
	uint32_t *space_tables;	 /* that the kernel's entry names */
	uint32_t space_table_cnt;
	bool is_space_due; /* the kernel's entry is not what it should be */
	bool is_space_told;
	struct process_end ends[UNWIND_FACTS_FILES];
	struct {
		bool is_there; /* of the stack that was prefetched last */
		uint64_t address;
		uint64_t code[2];
		struct jit_vm_proof proof;
	} leaf;
	bool is_superseded;  /* another program took over this process since */
	bool maps_are_fresh; /* read since the last refresh */
};

/* ---- symbols_process_check.c ---- */
/* 0 when the process of this id still is what has the pid; -ESRCH, or -errno of reading. */
__must_check int symbols_process_check(const struct symbols_process *process);
/* Makes that cheap from now on. For JVMs, which are asked often; when it fails nothing changes. */
void symbols_process_hold(struct symbols_process *process);

/* ---- symbols_process.c ---- */
/*
 * `is_superseded`: another program is known to have taken it over already. 0 or -ENOMEM; a process
 * that is gone gives an object without mappings.
 */
__must_check int symbols_process_open(struct symbols_shared *shared, const struct process_life *id,
				      struct account *account, bool is_superseded,
				      struct symbols_process **out);
/*
 * The frame at an address that is in the code of no source of JIT names. Reads the mappings again
 * when no known one has it, and the file behind its mapping when its symbols were dropped. 0 or
 * -ENOMEM.
 */
__must_check int symbols_process_read_answer(struct symbols_process *process, uint64_t address,
					     uint64_t since_boot_ns, struct answer *out);
size_t symbols_process_bytes(const struct symbols_process *process);
/* What symbols_process_space.c needs of its files. An O_PATH descriptor of one, or -errno. */
__must_check int symbols_process_open_map(const struct symbols_process *process, size_t index);
/*
 * Reads the symbols of a mapping's object, from the file that `path_fd` stands for. The mapping may have
 * another object then. 0 or -errno.
 */
__must_check int symbols_process_load_object(struct symbols_process *process, size_t index,
					     int path_fd);
/* Where debug files of its programs may be. What cannot be reached is left out. */
struct debug_file_roots symbols_process_open_roots(const struct symbols_process *process);
void symbols_process_close_roots(struct debug_file_roots *roots);
/* CPU time that reading files has cost so far, here and in the parser. */
uint64_t symbols_process_load_clock_ns(const struct symbols_process *process);
/* May it have more of that? What is not read for it is for the caller to put on the bill. */
bool symbols_process_may_load(struct symbols_process *process);
/* So much of it was spent on this process, with this outcome: nothing is charged for what was only put off. */
void symbols_process_charge_load(struct symbols_process *process, uint64_t cpu_ns, int err);

/* ---- symbols_process_space.c ---- */
/* Its mappings are others: the kernel is to be told. */
void symbols_process_note_maps(struct symbols_process *process);
void symbols_process_release_space(struct symbols_process *process);
/* The table goes: processes whose entries name it get others. */
void symbols_space_leaving(struct symbols_shared *shared, uint32_t table);

/* ---- symbols_process_jit.c ---- */
/* The sources for this process. 0 or -ENOMEM; what was opened is closed by the other one. */
__must_check int symbols_process_open_jit(struct symbols_process *process);
void symbols_process_close_jit(struct symbols_process *process);
void symbols_process_forget_jit_names(struct symbols_process *process);
/* Reads what there is of HotSpot's tables and of perf maps. 0, -ENOMEM, -ESRCH. */
__must_check int symbols_process_refresh_jit(struct symbols_process *process,
					     enum jit_source source, enum jit_perfmaps_force force);
/* Finds jit_low and jit_high again. */
void symbols_process_bound_jit(struct symbols_process *process);
/* The source that has its code at an address; NULL: none. */
const struct jit_source_use *symbols_process_jit_owner(const struct symbols_process *process,
						       uint64_t address);
/* An address of JIT code that no source has for its own. 0 or -ENOMEM. */
__must_check int symbols_process_answer_jit(struct symbols_process *process, uint64_t address,
					    uint64_t since_boot_ns, struct answer *out);
/* The same where no mapping is known. */
__must_check int symbols_process_answer_missing(struct symbols_process *process, uint64_t address,
						uint64_t since_boot_ns, struct answer *out);
uint32_t symbols_process_jit_epoch(const struct symbols_process *process, uint64_t since_boot_ns);
/* Of all sources: see jit_source.h. */
bool symbols_process_begin_jit_prefetch(struct symbols_process *process);
uint64_t symbols_process_jit_read_cnt(const struct symbols_process *process);
uint64_t symbols_process_jit_prefetch_interval_ns(const struct symbols_process *process);
void symbols_process_end_jit(struct symbols_process *process, uint64_t since_boot_ns);
size_t symbols_process_jit_bytes(const struct symbols_process *process);

/* ---- symbols_process_stack.c ---- */
/* How soon after a sample the next prefetch should come when no process wants them sooner. */
#define SYMBOLS_PREFETCH_QUIET_NS (2 * CLOCK_NS_PER_S)
/* Ends this round of prefetching for this process. Returns how soon it wants the next one. */
uint64_t symbols_process_end_prefetch(struct symbols_process *process);

#endif
