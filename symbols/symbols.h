/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses -> frames, as a library. "What is at this address of this process at this time."
 *
 * A symbols_process is what is known about one process's address space: its mappings, the symbol
 * tables behind them (shared between processes that map the same file) and its JIT code. It is
 * made at the first sample and keeps answering after the process is gone.
 *
 * One thread. Errors are -errno; an address without a name is not an error but a visible frame
 * ("[unknown]", "[libfoo.so]", "[unknown jit]"). A wrong name is worse than an unknown one.
 *
 * In: a process, the stacks of its samples, the moments of these. Out: frames with names, borrowed until
 * the next question. The naming room owns the symbolizer, and the symbolizer everything behind it.
 */
#ifndef JBPF_SYMBOLS_H
#define JBPF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/host/ksymbol_watch.h"
#include "user/util/attributes.h"
#include "user/model/jvm_facts.h"
#include "user/model/frame_kind.h"
#include "user/model/process_life.h"
#include "user/model/stack_end.h"
#include "user/model/unwind_facts.h"
#include "symbols/unwind/unwind_cache.h"

struct account;
struct hotspot_vm;
struct jbpf_space;
struct symbolizer;
struct symbols_process;

/* --jit */
enum jit_mode {
	JIT_MODE_AUTO = 0,
	JIT_MODE_VMSTRUCTS = 1,
	JIT_MODE_PERFMAP = 2, /* read maps that are there, never ask for one */
	JIT_MODE_ATTACH = 3,
	JIT_MODE_OFF = 4,
};

/* --unwind */
enum unwind_mode {
	UNWIND_MODE_AUTO = 0, /* tables where there are some */
	UNWIND_MODE_FP = 1,   /* frame pointers alone */
};

/* May HotSpot's own tables be read? */
static inline bool jit_mode_reads_vm(enum jit_mode mode)
{
	return mode == JIT_MODE_AUTO || mode == JIT_MODE_VMSTRUCTS;
}

/* May a JVM be asked for its map? */
static inline bool jit_mode_may_attach(enum jit_mode mode)
{
	return mode == JIT_MODE_AUTO || mode == JIT_MODE_ATTACH;
}

struct jbpf_hotspot;
struct jbpf_leaf_key;
struct jbpf_leaf_proof;
struct parser;
struct child_starter;

struct symbolizer_options {
	int proc_fd; /* O_DIRECTORY of /proc or of a test tree; borrowed for the symbolizer's life */
	enum jit_mode jit;
	bool keeps_parameters; /* names of methods in Java have theirs: "a.B.c(int)" */
	/* Of parser_child_main() and opener_child_main(), in processes apart: copied, never NULL. */
	const struct child_starter *parser_starter;
	const struct child_starter *opener_starter;
	int kallsyms_fd; /* /proc/kallsyms, opened with more rights, taken over; 0: opened here */
};

struct frame {
	/* Canonical, not yet escaped for folded text; lives as long as the symbolizer. */
	const char *name;
	/* Source file without directories ("Work.java") of a leaf; NULL = not known. As name. */
	const char *file;
	uint32_t line; /* 0 = not known */
	enum frame_kind kind;
	/* No name was found: it is one of the bracketed placeholders, or "libfoo.so+0x3a0". */
	bool is_unknown;
};

/* Did a stack's leaf, in JIT code, have its caller in the frame-pointer chain? */
enum leaf_repair {
	LEAF_REPAIR_NONE = 0,	  /* leaf not in JIT code, or nothing is known about it */
	LEAF_REPAIR_NOT_NEEDED,	  /* its frame was set up */
	LEAF_REPAIR_DONE,	  /* the caller was missing, and the code proved where it is */
	LEAF_REPAIR_NOT_POSSIBLE, /* the caller is missing, or may be, and nothing proves it */
};

/* Zero-initialise; end with frame_list_release(). Keeps its memory between uses. */
struct frame_list {
	struct frame *items;
	size_t cnt;
	size_t cap;
	enum leaf_repair leaf_repair; /* of the last user stack resolved into the list */
	bool is_leaf_refuted;	      /* likewise: its callers were none, and are left out */
};

void frame_list_release(struct frame_list *list);
/* Appends a copy of a frame, whose name is borrowed for as long as the list uses it. 0 or -ENOMEM. */
__must_check int frame_list_push(struct frame_list *list, const struct frame *frame);

/* Starts the parser process: early, while the caller's memory is small. 0 or -errno. */
__must_check int symbolizer__open(const struct symbolizer_options *options,
				  struct symbolizer **out);
void symbolizer__free(struct symbolizer *symbolizer); /* NULL is fine */
/* Other names for JIT code, see symbolizer_options, of processes that are opened from here on. */
void symbolizer__set_jit(struct symbolizer *symbolizer, enum jit_mode jit, bool keeps_parameters);

/* What parses for it, for others who have files to parse. */
struct parser *symbolizer__parser(const struct symbolizer *symbolizer);

/*
 * The process of this id, whose mappings and files are read now: call it at the first sample, while
 * the process lives, and once. A process that is gone already gives an object without mappings.
 * `account` (user/util/account.h): whose it is, and at whose cost; it gets users, which end with the
 * symbolizer at the latest. What is returned ends with
 * symbols_process__close(), at the latest with the symbolizer. 0 or -ENOMEM.
 */
__must_check int symbolizer__open_process(struct symbolizer *symbolizer,
					  const struct process_life *id, struct account *account,
					  struct symbols_process **out);
/*
 * It runs another program now, which is another process here: nothing more is read of it, and what was
 * known stays known. NULL is fine.
 */
void symbols_process__note_exec(struct symbols_process *process);
/*
 * What was read of it just now may be that other program's, of which the kernel has not told yet: it is
 * forgotten, and read by a refresh some seconds later. 0 or -ENOMEM.
 */
__must_check int symbols_process__doubt_maps(struct symbols_process *process);
/* Frees what is known about it. NULL is fine. */
void symbols_process__close(struct symbols_process *process);

/* That of its symbolizer; what is asked of it next is at the cost of the process's account. */
struct parser *symbols_process__parser(const struct symbols_process *process);
/* NULL = nobody's. */
struct account *symbols_process__account(const struct symbols_process *process);

/*
 * Once per window before resolving: re-reads the mappings and, when it changed, the perf map.
 * Answers of earlier windows that may have changed are forgotten. -ESRCH when the process is gone
 * (or the pid is another process by now): what was known stays known. So it does with -EAGAIN: the
 * mappings may be those of another program, of which the kernel has not told yet. 0 or -errno.
 */
__must_check int symbols_process__refresh(struct symbols_process *process);

/*
 * Has its address space another size than when its mappings were read? Costs far less than a refresh; no
 * answer for a process that is gone.
 */
bool symbols_process__has_new_size(const struct symbols_process *process);

/* As _refresh, but reads the perf map even when it looks unchanged; `source` is what it counts as. */
__must_check int symbols_process__reload_jit(struct symbols_process *process,
					     enum jit_source source);

/* This bit marks a word that is no address but the Method* of the interpreted frame before it. */
#define SYMBOLS_WORD_METHOD (1ull << 63)

/*
 * A user stack as the kernel took it, leaf first. words[0] is an instruction address, all others
 * are return addresses (looked up at address - 1) or marked by SYMBOLS_WORD_METHOD. Borrowed.
 */
struct symbols_stack {
	const uint64_t *words;
	size_t word_cnt;
	/* Where the leaf lies in the process's code ranges, else NULL: */
	/*
	 * [sp], [sp + 8]; 0 for one that is not in these ranges. Beside one of the interpreter the other
	 * may be its Method*, marked as such.
	 */
	const uint64_t *leaf_words;
	const uint8_t *leaf_code; /* LEAF_CODE_BYTES bytes at words[0] */
	/* enum jbpf_leaf_rule: which way the walk found the leaf's caller; 0: by frame pointers. */
	uint32_t leaf_rule;
	uint16_t leaf_guess;	/* JBPF_LEAF_GUESS_*, of JBPF_LEAF_RULE_GUESSED */
	bool is_cut_at_leaf;	/* the walk found no caller of a leaf in JIT code */
	uint64_t until_boot_ns; /* its samples are not younger than this; 0 = not known */
};

/*
 * Appends the frames of a user stack to `out`, leaf first; one address may give several frames
 * (inlined code). `since_boot_ns`: begin of the window the samples are from, or later if it is known
 * that all samples of this stack are younger; JIT names that changed between it and the stack's
 * until_boot_ns are ambiguous and come out as "[unknown jit]". What is not known is read: the mappings
 * once between two refreshes, a file whose symbols were dropped, the JVM's memory within a budget of
 * time. 0 or -ENOMEM.
 */
__must_check int symbols_process__read_and_resolve(struct symbols_process *process,
						   const struct symbols_stack *stack,
						   uint64_t since_boot_ns, struct frame_list *out);

/*
 * Soon after a stack was first seen: reads what names its JIT frames, so that the names are those
 * of the time of the sample. `sampled_boot_ns`: it is not older than this. After some of them comes
 * symbolizer__end_prefetch(), before anything else is done with the process. 0 or -ENOMEM.
 */
__must_check int symbols_process__prefetch(struct symbols_process *process,
					   const struct symbols_stack *stack,
					   uint64_t sampled_boot_ns);

/*
 * Ends a round of prefetching: what was read of a process that is not the same any more is dropped.
 * Returns how soon after a sample the next round should come, and so how often: most JVMs reuse the
 * memory of freed code after minutes or never, some within a second.
 */
uint64_t symbolizer__end_prefetch(struct symbolizer *symbolizer);

/* Where the JIT code of a HotSpot lies; see struct jbpf_code_range. */
struct symbols_code_range {
	uint64_t code_low; /* [low, high) */
	uint64_t code_high;
	uint64_t interpreter_low; /* both 0: not known */
	uint64_t interpreter_high;
};

/* False: not a HotSpot whose tables can be read (yet). Ask again after each refresh: it may change. */
bool symbols_process__code_range(const struct symbols_process *process,
				 struct symbols_code_range *out);

/*
 * How code is unwound (bpf/jbpf_unwind.h): what the kernel is to know of files and of processes.
 * Without a listener, and until symbolizer__begin_unwind(), nothing of it is done.
 */
struct symbols_unwind_listener {
	void *ctx;
	/* A table under a new id, before the first space that names it. */
	void (*table)(void *ctx, uint32_t id, const struct unwind_table *table);
	/* It is gone, and no process that lives has it in its space any more. */
	void (*drop)(void *ctx, uint32_t id);
	/* Where a process has which code: all but its generation. */
	void (*space)(void *ctx, const struct process_life *id, uint64_t account,
		      const struct jbpf_space *space);
};

void symbolizer__set_unwind_listener(struct symbolizer *symbolizer,
				     const struct symbols_unwind_listener *listener);
/*
 * What the kernel has at the beginning, and whenever that changed: see unwind_cache_begin(). All
 * spaces are told again.
 */
void symbolizer__begin_unwind(struct symbolizer *symbolizer, uint32_t chunk_max, uint32_t next_id,
			      const uint32_t *ids, size_t id_cnt);
/* The kernel did not take this table. */
void symbolizer__refuse_unwind(struct symbolizer *symbolizer, uint32_t id);
/* Once per window, after it. */
void symbolizer__end_unwind_window(struct symbolizer *symbolizer);
void symbolizer__unwind_stats(const struct symbolizer *symbolizer, struct unwind_stats *out);

/* A process whose space is to be told, and when to step; CLOCK_BOOTTIME ns, UINT64_MAX and NULL: none. */
uint64_t symbolizer__due_space(const struct symbolizer *symbolizer, struct symbols_process **out);

enum symbols_step {
	SYMBOLS_STEP_KNOWN, /* tells the space when nothing is to be built for it, which is soon done */
	SYMBOLS_STEP_BUILD, /* builds one table that is missing, or tells the space */
};

/* True: there is more to do. */
bool symbols_process__step_space(struct symbols_process *process, enum symbols_step step);
/* It was sampled in this window: its tables are in use. */
void symbols_process__note_sampled(struct symbols_process *process);
/* So many samples' stacks ended at this address for want of a rule. */
void symbols_process__note_end(struct symbols_process *process, uint64_t address,
			       enum stack_end end, uint64_t samples);
/* Why a file was refused a table, for users. */
enum unwind_why symbols_unwind_why(enum unwind_refusal refusal);
/* How its stacks are walked, but for those of compiled Java. False: the kernel was not told yet. */
bool symbols_process__unwind_facts(const struct symbols_process *process, struct unwind_facts *out);
const struct process_life *symbols_process__id(const struct symbols_process *process);

/*
 * How its frames are found without frame pointers (bpf/jbpf_hotspot.h), but for whose it is. False:
 * not known (yet), or its tables lack something.
 */
bool symbols_process__hotspot_unwind(struct symbols_process *process, struct jbpf_hotspot *out);

/*
 * The rule for the leaf of the stack that was prefetched last (bpf/jbpf_leaf.h), but for whose it is:
 * when the walk found no caller, or a wrong one, and the code proves where it is. Once; false: none.
 */
bool symbols_process__take_leaf_proof(struct symbols_process *process, struct jbpf_leaf_key *key,
				      struct jbpf_leaf_proof *out);

/* What `jbpf maps` writes: called for every range of JIT code that has a name, in any order. */
typedef int (*symbols_jit_fn)(void *ctx, uint64_t start, uint64_t len, const char *name);

/*
 * Names all JIT code of the process as it is now, from the best source there is. 0; -ENOENT: no
 * JIT code or no names (symbols_process__jit_status() says why); what `fn` returned if not 0; -errno.
 */
__must_check int symbols_process__each_jit(struct symbols_process *process, symbols_jit_fn fn,
					   void *ctx);

/*
 * Appends the class of the process's JVM whose Klass* this is, and was at this moment (CLOCK_BOOTTIME);
 * "[unknown class]" when that is not sure. 0 or -ENOMEM.
 */
__must_check int symbols_process__read_class(struct symbols_process *process, uint64_t klass,
					     uint64_t boot_ns, struct frame_list *out);

/* As kallsyms__note_changes() and so on. */
void symbolizer__note_ksymbols(struct symbolizer *symbolizer,
			       const struct ksymbol_changes *changes);
void symbolizer__forget_ksymbols(struct symbolizer *symbolizer);
/* Windows are named in their order: no sample that is named from now on is older than `begin_boot_ns`. */
void symbolizer__note_window(struct symbolizer *symbolizer, uint64_t begin_boot_ns,
			     uint64_t end_boot_ns);

/* The same for a kernel stack. */
__must_check int symbolizer__read_and_resolve_kernel(struct symbolizer *symbolizer,
						     const uint64_t *ips, size_t ip_cnt,
						     struct frame_list *out);

/* True for frames that begin a thread or process ("_start", "start_thread", "clone3", ...): a
 * stack that ends there is whole even when its frame pointer chain ended in an odd way. */
bool symbols_is_thread_root(const char *name);
/*
 * Does a stack (leaf first) end in such a frame, or in main() called from a C library that has no
 * symbol for the caller and keeps no frame pointer there, as in most images?
 */
bool symbols_reaches_root(const struct frame *frames, size_t cnt);

struct symbols_jit_status {
	bool is_hotspot;   /* maps a file that exports gHotSpotVMStructs */
	bool has_jit_code; /* an anonymous executable mapping exists */
	enum jit_source source;
	uint64_t loaded_boot_ns; /* when the map was read; 0 = never */
	uint64_t map_mtime_ns;	 /* Unix ns of the map file's last change as seen; 0 = none */
	size_t entry_cnt;	 /* ranges known */
	uint64_t unknown_cnt;	 /* JIT addresses resolved without a name since the map was read */
	uint64_t ambiguous_cnt;	 /* addresses whose name changed within a window, since the start */
	uint64_t rejected_cnt;	 /* map lines or files that were refused, since the start */
	bool has_inlined;	 /* the source tells inlined frames */
	bool has_interpreted;	 /* and the methods of interpreted frames */
	bool is_starting;	 /* the best source is not there yet: ask again soon */
	/* Why it is not a better source; NULL = it is the best. Static string. */
	const char *fallback;
	const char *problem; /* why there is no map, for people; NULL = none. Static string */
};

void symbols_process__jit_status(const struct symbols_process *process,
				 struct symbols_jit_status *out);

/* A function of a file that a process maps. */
struct symbols_function {
	uint64_t map_start; /* a mapping of the file: [start, end) */
	uint64_t map_end;
	uint64_t offset; /* of the function in the file */
};

/*
 * The function of its JVM's libjvm.so whose name in the file begins with `prefix`. 0; -ENOENT: it is no
 * HotSpot, or its file says no such name; -EAGAIN: the file is not read just now.
 */
__must_check int symbols_process__jvm_function(const struct symbols_process *process,
					       const char *prefix, struct symbols_function *out);

/*
 * The tables of its JVM, open, whatever `jit` says; they live as long as the process. 0; -ENOENT:
 * it is no HotSpot; -EAGAIN: they are not filled yet, or could not be asked for: another refresh or
 * prefetch tries it again; else the final error.
 */
__must_check int symbols_process__hotspot(const struct symbols_process *process,
					  struct hotspot_vm **out);

/*
 * Call between windows, when no frame is held: once names have grown past a cap it forgets them
 * with all cached answers, and every frame.name handed out before is void. 0 or -ENOMEM.
 */
__must_check int symbolizer__trim(struct symbolizer *symbolizer);

/* Memory held by names and tables, in bytes. */
size_t symbolizer__bytes(const struct symbolizer *symbolizer);

#endif
