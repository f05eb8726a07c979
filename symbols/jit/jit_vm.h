/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JIT code of one HotSpot, named from its own tables: return address -> frames, inlined ones too.
 *
 * The code cache changes while it is read, and a sample is always older than the reading. So
 * every piece of code is a version (blob start, kind, compile id, method) with the times between
 * which it is known to have been there, and a version names the samples of a window only when no
 * other one can own them:
 *   - read before the window began and there now: it was there all the time;
 *   - prefetched within the window, soon after the sample, with nothing else known there;
 *   - gone by now, with nothing else there: what was known still holds for this window.
 * Everything else is ambiguous (-EXDEV) or unknown (-ENOENT). Methods that the interpreter runs
 * are versions in the same way, told apart by their names.
 *
 * In: the words of stacks and the moments of their samples. Out: frames as numbers of a name table, copied.
 * The JIT source of a HotSpot owns one for its JVM.
 */
#ifndef JBPF_JIT_JIT_VM_H
#define JBPF_JIT_JIT_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/hotspot_code.h"
#include "symbols/hotspot/hotspot_scopes.h"
#include "symbols/leaf/leaf_repair.h"
#include "symbols/leaf/leaf_rule.h"
#include "symbols/names/name_table.h"

struct hotspot_vm;
struct jbpf_hotspot;
struct jit_vm;

/* What reads the JVM; `ctx` belongs to it. As in hotspot_code.h and hotspot_scopes.h. */
struct jit_vm_ops {
	int (*refresh)(void *ctx);
	void (*ranges)(void *ctx, struct hotspot_ranges *out);
	bool (*unwind)(void *ctx, struct jbpf_hotspot *out);
	int (*find)(void *ctx, uint64_t pc, struct hotspot_blob *out);
	int (*verify)(void *ctx, const struct hotspot_blob *const *blobs, size_t cnt,
		      bool *same_out);
	int (*method_name)(void *ctx, uint64_t method, uint64_t *const_method_out,
			   struct strbuf *out);
	int (*class_name)(void *ctx, uint64_t klass,
			  struct strbuf *out); /* as hotspot_class_name() */
	int (*walk)(void *ctx, hotspot_walk_fn fn, void *fn_ctx, size_t *skipped_out);
	int (*read_code)(void *ctx, uint64_t address, void *out, size_t len);
	int (*scopes_read)(void *ctx, const struct hotspot_blob *blob, struct hotspot_scopes **out);
	int (*scopes_at)(const struct hotspot_scopes *scopes, uint64_t pc, bool is_return_address,
			 struct hotspot_scope out[HOTSPOT_SCOPES_MAX_DEPTH], size_t *cnt_out);
	size_t (*scopes_bytes)(const struct hotspot_scopes *scopes);
	void (*scopes_free)(struct hotspot_scopes *scopes);
	int (*lines_read)(void *ctx, uint64_t method, struct hotspot_lines **out);
	const char *(*lines_file)(const struct hotspot_lines *lines);
	uint32_t (*lines_line)(const struct hotspot_lines *lines, int32_t bci);
	size_t (*lines_bytes)(const struct hotspot_lines *lines);
	void (*lines_free)(struct hotspot_lines *lines);
	bool (*has_inlined)(void *ctx);
	int (*unloads)(void *ctx, uint64_t *cnt_out);  /* as hotspot_unloads_read() */
	int (*compiles)(void *ctx, uint64_t *cnt_out); /* as hotspot_compiles_read() */
	uint64_t (*now_ns)(void *ctx);		       /* CLOCK_BOOTTIME */
	void (*free)(void *ctx);
};

/*
 * The JIT code of an open JVM. `vm` and `names` are borrowed for the life of the jit_vm. 0;
 * -EAGAIN: starting; -ENOTSUP: unknown layout; -errno (-EPERM, -ESRCH, ...).
 */
__must_check int jit_vm__open(struct hotspot_vm *vm, uint32_t pid, struct name_table *names,
			      struct jit_vm **out);
/* The same with another reader, whose `ctx` is taken over when it succeeds. 0 or -ENOMEM. */
__must_check int jit_vm__new(const struct jit_vm_ops *ops, void *ctx, struct name_table *names,
			     struct jit_vm **out);
void jit_vm__free(struct jit_vm *vm); /* NULL is fine */

/*
 * When the JVM began, CLOCK_BOOTTIME, to be said once, at first. The first names of a young one
 * are read a second or more after their samples. As long as the number of its unloaded classes is
 * not known, it counts as restless: a class may have gone in that second.
 */
void jit_vm__began(struct jit_vm *vm, uint64_t boot_ns);

/*
 * Once per window before it is named: which of the versions that are in use are still there?
 * Forgets what was not used for long. 0; -ESRCH: the process is gone (what was known stays); -errno.
 */
__must_check int jit_vm__refresh(struct jit_vm *vm);

/* The names were reset: all ids are void. */
void jit_vm__forget_names(struct jit_vm *vm);

/*
 * Drops what was read after this time: by then the pid may have belonged to another program.
 * Nothing is read any more.
 */
void jit_vm__end(struct jit_vm *vm, uint64_t since_boot_ns);

void jit_vm__ranges(const struct jit_vm *vm, struct hotspot_ranges *out);
/* As hotspot_code__unwind(). */
bool jit_vm__unwind(struct jit_vm *vm, struct jbpf_hotspot *out);

/*
 * Reads the name of a class (its Klass*) that was there at this moment. 0; -EAGAIN, -ENOMEM and the like, as
 * hotspot_class_name(); -EXDEV: classes were unloaded since, or that is not known, and it may be another
 * one's; -EBUSY: the budget of reading is used up.
 */
__must_check int jit_vm__class_name(struct jit_vm *vm, uint64_t klass, uint64_t boot_ns,
				    struct strbuf *out);

/* Does the JVM have its code there? */
bool jit_vm__covers(const struct jit_vm *vm, uint64_t address);

/* A prefetch that comes later after the sample than that proves nothing. */
#define JIT_VM_PROMPT_NS (5ull * 1000 * 1000 * 1000)

enum jit_vm_mode {
	JIT_VM_RESOLVE = 0,   /* at the end of a window */
	JIT_VM_PREFETCH,      /* soon after the sample: what is read here is what was sampled */
	JIT_VM_PREFETCH_LATE, /* so late that it proves nothing about the sample */
};

/* One word of a stack. */
struct jit_vm_query {
	uint64_t word; /* as it stands in the stack */
	bool is_leaf;  /* else a return address */
	enum jit_vm_mode mode;
	uint64_t method;	  /* interpreted frames: its Method*; 0 = not known */
	uint64_t since_boot_ns;	  /* the samples are younger than this ... */
	uint64_t until_boot_ns;	  /* ... and older than this; 0 = than now */
	const uint8_t *leaf_code; /* LEAF_CODE_BYTES at the leaf, or NULL */
	bool is_guessed;	  /* the walk guessed where the leaf's caller is */
};

struct jit_vm_frame {
	uint32_t name; /* ids in struct name_table */
	uint32_t file; /* JIT_VM_NO_FILE = not known, or compiled code that is no leaf */
	uint32_t line; /* 0 = not known */
	uint8_t kind;  /* enum frame_kind */
	uint8_t is_unknown;
	/* Of the whole answer; 0 except in its first frame. */
	uint8_t place;	 /* enum jit_vm_place */
	uint8_t verdict; /* enum leaf_verdict */
	uint8_t refuted; /* as leaf_rule_refutes() says */
	uint8_t pad;
	uint16_t proved; /* where the walk guessed: as leaf_rule_as_guess() says */
};

#define JIT_VM_NO_FILE UINT32_MAX

enum jit_vm_place {
	JIT_VM_PLACE_NONE = 0,
	JIT_VM_PLACE_FROZEN, /* continuation stubs: the callers are not on this stack */
	JIT_VM_PLACE_ENTER,  /* Continuation.enterSpecial: callers are the carrier thread's */
};

#define JIT_VM_MAX_FRAMES HOTSPOT_SCOPES_MAX_DEPTH

struct jit_vm_answer {
	struct jit_vm_frame frames[JIT_VM_MAX_FRAMES]; /* innermost first */
	size_t cnt;
	bool is_new; /* was not asked before in this window: for counting addresses */
};

/*
 * For prefetching: call it before some words of it. Once a second or so it checks what is in use,
 * so that code which comes and goes is dated well.
 */
void jit_vm__round(struct jit_vm *vm);

/*
 * The frames at a word that is covered. 0 and *out; -ENOENT: no name; -EXDEV: ambiguous; in both
 * cases out->is_new is set. -ENOMEM.
 */
__must_check int jit_vm__read_frames(struct jit_vm *vm, const struct jit_vm_query *query,
				     struct jit_vm_answer *out);

/* Where the caller of a leaf is; `blob` begins the blob that has it. */
struct jit_vm_proof {
	uint64_t blob;
	struct leaf_rule rule;
};

/* Reads the code around a leaf that is covered, with its leaf_code. False: nothing is proved. */
bool jit_vm__prove_leaf(struct jit_vm *vm, const struct jit_vm_query *query,
			struct jit_vm_proof *out);

/* All code by name, as it is now; see hotspot_code__walk(). */
__must_check int jit_vm__walk(struct jit_vm *vm, hotspot_walk_fn fn, void *ctx);

struct jit_vm_status {
	uint64_t read_boot_ns; /* of the last good refresh or opening */
	size_t blob_cnt;       /* versions known and there */
	bool has_inlined;
	bool has_interpreted; /* the interpreter's range is known */
	bool is_ended;	      /* nothing can be read any more */
};

void jit_vm__status(const struct jit_vm *vm, struct jit_vm_status *out);
/* Reads from the JVM so far: did something happen? */
uint64_t jit_vm__read_cnt(const struct jit_vm *vm);
/* Lately code or a method came where another one was: prefetch more often. */
bool jit_vm__is_restless(const struct jit_vm *vm);
/* For long nothing of that, nor was a class unloaded: prefetching less often misses nothing. */
bool jit_vm__is_quiet(const struct jit_vm *vm);
size_t jit_vm__bytes(const struct jit_vm *vm);

#endif
