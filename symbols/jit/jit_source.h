/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source of names for JIT code, as a table of operations. A process has some of them, the best
 * first (symbols_process_jit.c chooses); each holds what it knows in a state of its own:
 *
 *     jit_source_hotspot.c  the tables of a HotSpot, through jit_vm.h: it knows where its code lies,
 *                           and is read while the code that was sampled is still there
 *     jit_source_perfmap.c  perf maps, through jit_perfmaps.h: one name for one address
 *
 * A source may leave out whole groups of operations (NULL); docs/hacking.md says how to add one.
 *
 * In: an address of JIT code and when it was sampled. Out: frames as numbers of a name table. Each process
 * owns its sources.
 */
#ifndef JBPF_JIT_JIT_SOURCE_H
#define JBPF_JIT_JIT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/jit/jit_perfmaps.h"
#include "symbols/jit/jit_vm.h"
#include "symbols/names/addr_cache.h"
#include "user/host/procmaps.h"
#include "user/model/jvm_facts.h"

struct account;
struct hotspot_vm;
struct jbpf_hotspot;
struct name_table;
struct parser;

/* The process, as its sources see it; lives longer than they do. */
struct jit_target {
	int proc_fd;
	uint32_t pid;
	struct parser *parser;
	struct account *account;
	struct name_table *names;
	bool is_hotspot; /* these as the mappings say now */
	bool has_jit_code;
	struct procmap hotspot_map; /* if it is one: of the file with its tables */
};

struct jit_refresh {
	enum jit_perfmaps_force force; /* ALWAYS: a map that was asked for is there now */
	enum jit_source source;	       /* what a map counts as */
	uint64_t oldest_boot_ns; /* of the samples that are still to be named; 0 = not known */
};

/* What is known about the names; see struct symbols_jit_status. */
struct jit_source_facts {
	enum jit_source source;
	uint64_t loaded_boot_ns;
	uint64_t map_mtime_ns;
	size_t entry_cnt;
	uint64_t rejected_cnt;
	bool has_inlined;
	bool has_interpreted;
	bool is_starting;
	const char *fallback;
	const char *problem;
};

/* Called for every range of code that has a name; what is not 0 ends it. */
typedef int (*jit_source_fn)(void *ctx, uint64_t start, uint64_t len, const char *name);

struct jit_source_ops {
	/* `is_naming`: false when only what it says besides names is wanted. 0 or -ENOMEM. */
	int (*open)(const struct jit_target *target, bool is_naming, void **state_out);
	void (*close)(void *state);

	/* Before a window is named. 0; 1: all its names are new ones; -ENOMEM, -ESRCH. */
	int (*refresh)(void *state, const struct jit_refresh *how);
	/* The names were reset: all ids are void. NULL: keeps none. */
	void (*forget_names)(void *state);

	/*
	 * For sources that name one address at a time: name and frame_kind of *out. 0; -ENOENT;
	 * -EXDEV: several names are possible; -ENOMEM. An answer is good for one epoch.
	 */
	int (*lookup)(const void *state, uint64_t address, uint64_t since_boot_ns,
		      struct answer *out);
	uint32_t (*epoch)(const void *state, uint64_t since_boot_ns);

	/* For sources that know where their code lies: no other is asked about it. */
	bool (*covers)(const void *state, uint64_t address);
	bool (*ranges)(const void *state, struct hotspot_ranges *out); /* false: not known (yet) */
	bool (*unwind)(void *state, struct jbpf_hotspot *out); /* as hotspot_code__unwind() */
	/* As jit_vm__read_frames(). */
	int (*read_frames)(void *state, const struct jit_vm_query *query,
			   struct jit_vm_answer *out);

	/* As jit_vm__class_name(). NULL: it knows no classes. */
	int (*class_name)(void *state, uint64_t klass, uint64_t boot_ns, struct strbuf *out);

	/* As jit_vm__prove_leaf(). NULL: it cannot. */
	bool (*prove_leaf)(void *state, const struct jit_vm_query *query, struct jit_vm_proof *out);

	/* For those that are read soon after a sample; they have the group before, too. */
	bool (*begin_prefetch)(void *state); /* false: there is nothing to read (yet) */
	uint64_t (*read_cnt)(const void *state);
	uint64_t (*prefetch_interval_ns)(const void *state);
	/* What was read since then is another program's; nothing is read any more. */
	void (*end)(void *state, uint64_t since_boot_ns);

	/* All code, as it is now. 0; -ENOENT: no names; what `fn` returned; -errno. */
	int (*each)(void *state, jit_source_fn fn, void *ctx);
	/* Adds to what the sources behind it said. `is_last`: there is none. */
	void (*describe)(const void *state, bool is_last, struct jit_source_facts *facts);
	/* As symbols_process__hotspot(). NULL: it has none. */
	int (*tables)(const void *state, struct hotspot_vm **out);
	size_t (*bytes)(const void *state);
};

extern const struct jit_source_ops jit_source_hotspot;
extern const struct jit_source_ops jit_source_perfmap;

/* For tests: `vm`, which is taken over, in place of a JVM that is opened. */
void jit_source_hotspot_use(void *state, struct jit_vm *vm);

/* One source of one process. */
struct jit_source_use {
	const struct jit_source_ops *ops;
	void *state;
};

#endif
