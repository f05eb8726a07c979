/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of jit_vm share (jit_vm.c, jit_vm_*.c); nobody else includes this.
 *
 *     jit_vm.c          questions, kept answers, windows
 *     jit_code_blobs.c    versions of code: there now, gone, and who owns a sample
 *     jit_vm_methods.c  names by Method*, of compiled and of interpreted frames
 *     jit_vm_unloads.c  how many classes the JVM has unloaded: no Method* changed hands meanwhile
 *     jit_call_chains.c   from a place in the code to its frames
 *     jit_vm_leaf.c     the leaf's code and its caller
 *     jit_vm_slots.c    handles, by which an answer knows that what it hangs on is gone
 *     jit_account.c     may it be read, and how often
 *     jit_state.c       when was it there? From a few moments at which it was seen
 *     jit_vm_hotspot.c  the reader of a real JVM; tests put another one in its place
 *
 * What has "read" in its name may read the JVM's memory, within the budget of the account.
 */
#ifndef JBPF_JIT_JIT_VM_INTERNAL_H
#define JBPF_JIT_JIT_VM_INTERNAL_H

#include "user/util/attributes.h"
#include "symbols/names/addr_cache.h"
#include "symbols/jit/jit_account.h"
#include "symbols/jit/jit_state.h"
#include "symbols/jit/jit_vm.h"
#include "user/util/strtab.h"

/* A JVM may have as much code as it likes; what is known of it at a time stops here. */
#define JIT_VM_MAX_BLOBS       16384u /* = JIT_HANDLE_SLOTS */
#define JIT_VM_MAX_METHODS     16384u
#define JIT_VM_MAX_GONE	       4096u
#define JIT_VM_MAX_SCOPE_BYTES (8u << 20)
#define JIT_VM_MAX_LINE_BYTES  (4u << 20)
#define JIT_VM_MAX_CHAIN_BYTES (4u << 20)

/* Code that was there for a time is verified again after this share of that time, or this. */
#define JIT_VM_ROUND_SHARE  8u
#define JIT_VM_OLD_ROUND_NS (1900ull * 1000 * 1000)
/* In less time no class is unloaded, another one loaded in its place, compiled and sampled. */
#define JIT_VM_TRUST_NS (10ull * 1000 * 1000)
/* Classes of a JVM that does not count unloadings, of which it is known how long they have their name. */
#define JIT_VM_CLASSES	  512u
#define JIT_VM_CLASS_WAYS 8u /* places that each may have */
/* As a number of compiled methods: not known. */
#define JIT_VM_NO_COMPILES UINT64_MAX
/* Where so many pieces of code were, and at so many places in each, a round reads what is there. */
#define JIT_VM_PROBE_BLOBS  32u
#define JIT_VM_PROBE_PLACES 8u

/* Refreshes without use after which something is ... */
#define JIT_VM_VERIFY_REFRESHES	 3u  /* verified only when it is asked for again */
#define JIT_VM_DETAILS_REFRESHES 6u  /* without its scopes, or its lines */
#define JIT_VM_KEEP_REFRESHES	 60u /* forgotten */

/*
 * Handles: a slot and how often it was used before, so that an answer that outlives what it came
 * from is seen to be void. When the count wraps all answers are dropped.
 */
#define JIT_HANDLE_SLOT_BITS 14u
#define JIT_HANDLE_SLOTS     (1u << JIT_HANDLE_SLOT_BITS)
#define JIT_HANDLE_USES	     (1u << (24u - JIT_HANDLE_SLOT_BITS))

struct jit_slots {
	void **items; /* NULL = free */
	uint16_t *uses;
	uint16_t *free_slots;
	size_t cnt; /* slots ever used */
	size_t cap;
	size_t free_cnt;
};

/* How many classes the JVM says it has unloaded; see jit_vm_unloads.c. */
struct jit_unloads {
	uint64_t cnt;
	uint64_t since_ns; /* at the latest; it was so till now. 0 = since the JVM began */
	uint64_t seen_ns;  /* begin of the last reading that succeeded ... */
	uint64_t asked_ns; /* ... and of the last one */
	bool is_known;	   /* it was read once */
	bool has_changed;  /* since the first reading */
};

/* A class that was read while the number was not known. */
struct jit_class {
	uint64_t klass; /* 0 = free */
	uint64_t name_hash;
	uint64_t since_ns; /* end of the first reading; all readings gave this name from there on */
	uint64_t used_ns;
};

struct jit_blob {
	struct hotspot_blob blob;
	struct hotspot_scopes *scopes; /* NULL = not read, or dropped */
	struct jit_life life;
	uint64_t verified_compiles; /* blobs.compile_cnt of before it was verified */
	uint32_t handle;
	uint32_t verified_refresh;
	uint32_t used_refresh;
	int scopes_err; /* what reading them gave in this window; 0 = they are there, or were not tried */
};

struct jit_blobs {
	struct jit_blob **alive; /* sorted by start; they do not overlap */
	size_t alive_cnt;
	size_t alive_cap;
	struct jit_blob **gone; /* those that may own samples still to be named */
	size_t gone_cnt;
	size_t gone_cap;
	uint64_t compile_cnt; /* methods compiled by the last look at what is there */
	bool has_doubtful;    /* in use, and something may have been compiled since its last look */
	uint64_t lost_gone_ns; /* of those that were found gone before, some are forgotten */
	struct jit_slots slots;
	size_t scope_bytes;
};

struct jit_method {
	uint64_t method;
	uint64_t const_method;
	struct hotspot_lines *lines; /* NULL = not read, or there are none */
	struct jit_life life;
	/* The last reading of its name began at life.alive_ns and ended then. */
	uint64_t read_end_ns;
	uint64_t sampled_after_ns; /* and before it was read; 0 = not known */
	uint32_t name;
	uint32_t file; /* when `lines` were read */
	uint32_t handle;
	uint32_t verified_refresh;
	uint32_t used_refresh;
	bool lines_tried;
	bool is_enter; /* Continuation.enterSpecial */
	bool has_past;
	struct { /* what was at this address before */
		struct jit_life life;
		uint32_t name;
	} past;
};

struct jit_methods {
	struct addr_cache index; /* Method* -> slot */
	struct jit_slots slots;
	size_t line_bytes;
};

struct jit_vm {
	const struct jit_vm_ops *ops;
	void *ctx;
	struct name_table *names;
	struct jit_account account;
	struct hotspot_ranges ranges;
	struct jit_blobs blobs;
	struct jit_methods methods;
	struct jit_unloads unloads;
	struct jit_class classes[JIT_VM_CLASSES];
	struct strtab *chains;	   /* arrays of struct jit_vm_frame */
	struct addr_cache answers; /* key: see jit_vm.c */
	struct strbuf text;
	uint64_t opened_ns;
	uint64_t young_until_ns;	/* 0 = not said */
	uint64_t restless_for_youth_ns; /* account.restless_ns when nothing but its youth said so */
	uint64_t read_boot_ns;
	uint64_t last_since_ns; /* of the last question of a window */
	uint64_t round_ns;	/* of the last round */
	uint64_t last_until_ns;
	uint32_t refresh_cnt;
	uint32_t epoch; /* of what holds for one window only */
};

/* ---- jit_vm_unloads.c ---- */
/* Reads the number. False: it cannot be had now. */
bool jit_unloads_read(struct jit_vm *vm);
/* Reads it when that is some time ago. */
void jit_unloads_poll(struct jit_vm *vm);
/* Is it certain that no class was unloaded since? The number is read when that is some time ago. */
bool jit_unloads_read_prove_none_since(struct jit_vm *vm, uint64_t from_ns);
/* Was no class unloaded since, as far as was read? True when that is not known. */
bool jit_unloads_none_since(const struct jit_vm *vm, uint64_t from_ns);
/* The same up to a moment of the past; the number is read when its last reading is older. */
bool jit_unloads_read_none_between(struct jit_vm *vm, uint64_t from_ns, uint64_t to_ns);

/* ---- jit_vm_slots.c ---- */
void jit_slots_release(struct jit_slots *slots);
/* 0 and *handle_out; -ENOSPC; -ENOMEM. */
__must_check int jit_slots_add(struct jit_slots *slots, void *item, uint32_t *handle_out);
/* True: the slot's uses wrapped, so handles handed out long ago may come to life again. */
bool jit_slots_remove(struct jit_slots *slots, uint32_t handle);
/* NULL when what the handle stood for is gone. */
void *jit_slots_get(const struct jit_slots *slots, uint32_t handle);
size_t jit_slots_bytes(const struct jit_slots *slots);

/* ---- jit_code_blobs.c ---- */
void jit_blobs_release(struct jit_vm *vm);
/*
 * The version at an address that is known to be there now, read when it was not known. 0; -ENOENT:
 * free space or dead code; -EAGAIN: cannot be told; -ENOMEM.
 */
__must_check int jit_blobs_read_present(struct jit_vm *vm, uint64_t address, enum jit_vm_mode mode,
					struct jit_blob **out);
/* It was asked for: it is one of those that are looked at from now on. */
void jit_blob_use(struct jit_vm *vm, struct jit_blob *blob);
/* Is it still there? Asked of the JVM; what is not is retired. 0, -EAGAIN. */
__must_check int jit_blobs_read_again(struct jit_vm *vm, struct jit_blob *blob);
/*
 * The version that owns the samples of a query: it alone may have been there all the time, or it
 * certainly was; `is_certain_only`: what is there now could not be told. 0; -ENOENT; -EXDEV: several.
 */
__must_check int jit_blobs_owner(struct jit_vm *vm, const struct jit_vm_query *query,
				 uint64_t address, bool is_certain_only, struct jit_blob **out);
/* What is in use: still there? And what is where something was? 0 or -errno of reading. */
__must_check int jit_blobs_round(struct jit_vm *vm);
/* Verifies what is in use, forgets what is not. 0 or -errno of reading. */
__must_check int jit_blobs_refresh(struct jit_vm *vm);
void jit_blobs_drop_since(struct jit_vm *vm, uint64_t boot_ns);
/* Scopes of a version, read when needed. 0; -ENOENT: there are none; -EAGAIN: not to be had now. */
__must_check int jit_blob_read_scopes(struct jit_vm *vm, struct jit_blob *blob,
				      const struct hotspot_scopes **out);
size_t jit_blobs_bytes(const struct jit_vm *vm);

/* ---- jit_vm_methods.c ---- */
void jit_methods_release(struct jit_vm *vm);
/*
 * A method that a blob refers to, and so keeps alive. 0; -EAGAIN: no sane method, or not to be had
 * any more; -ENOMEM.
 */
__must_check int jit_methods_read_of_blob(struct jit_vm *vm, const struct jit_blob *blob,
					  uint64_t method, enum jit_vm_mode mode,
					  struct jit_method **out);
/*
 * A method that was interpreted when the samples of a query were taken. `is_past_out`: the one that
 * was at the address before. 0, -ENOENT, -EXDEV, -ENOMEM.
 */
__must_check int jit_methods_read_interpreted(struct jit_vm *vm, const struct jit_vm_query *query,
					      struct jit_method **out, bool *is_past_out);
/* As far as it can be told, now or, when nothing can be read any more, at the end. */
bool jit_method_is_there(const struct jit_vm *vm, const struct jit_method *method);
/* Read so long ago that a prefetch asks again: another one may be there. */
bool jit_method_read_is_old(struct jit_vm *vm, const struct jit_method *method);
/* File and, with bci >= 0, line. Both stay as they are when not known. */
void jit_method_read_place(struct jit_vm *vm, struct jit_method *method, int32_t bci,
			   uint32_t *file_out, uint32_t *line_out);
void jit_methods_refresh(struct jit_vm *vm);
void jit_methods_drop_since(struct jit_vm *vm, uint64_t boot_ns);
void jit_methods_clear(struct jit_vm *vm);
size_t jit_methods_bytes(const struct jit_vm *vm);

/* ---- jit_vm_leaf.c ---- */
/*
 * Do the bytes that were taken with the sample belong to this blob? 0; -EAGAIN: it is gone, what is
 * there now was not asked; -EXDEV: it came after the sample.
 */
__must_check int jit_leaf_read_and_check(struct jit_vm *vm, struct jit_blob *blob,
					 const struct jit_vm_query *query);
/*
 * Does this blob call right before a return address of which it describes nothing? 0, also when that
 * cannot be told, and of leafs; -EAGAIN, -EXDEV as above.
 */
__must_check int jit_return_read_and_check(struct jit_vm *vm, struct jit_blob *blob,
					   const struct jit_vm_query *query);
enum leaf_verdict jit_leaf_read_and_judge(struct jit_vm *vm, const struct jit_blob *blob,
					  const struct jit_vm_query *query);

/* As leaf_rule_as_guess(). */
uint16_t jit_leaf_read_and_confirm(struct jit_vm *vm, const struct jit_blob *blob,
				   const struct jit_vm_query *query);

/* As leaf_rule_refutes(). */
uint8_t jit_leaf_read_and_refute(struct jit_vm *vm, const struct jit_blob *blob,
				 const struct jit_vm_query *query);

/* ---- jit_call_chains.c ---- */
/*
 * The frames at a query's word in this blob. `is_whole_out`: nothing of them had to be left out because
 * it could not be read just now. 0; -EAGAIN: it changed meanwhile; -ENOENT; -EXDEV; -ENOMEM.
 */
__must_check int jit_chain_read_of_blob(struct jit_vm *vm, struct jit_blob *blob,
					const struct jit_vm_query *query, uint32_t *chain_out,
					bool *is_whole_out);
/* "Interpreter": without its method, which may have been looked for. */
__must_check int jit_chain_of_interpreter(struct jit_vm *vm, bool is_unknown, uint32_t *chain_out);
__must_check int jit_chain_read_of_method(struct jit_vm *vm, struct jit_method *method,
					  bool is_past, uint32_t *chain_out);

#endif
