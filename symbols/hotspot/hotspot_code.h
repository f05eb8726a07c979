/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code cache of a running HotSpot, read from outside (src/hotspot/share/memory/heap.hpp): what
 * lies at a pc, or everything. The JVM goes on meanwhile, so what is read may be torn or gone a
 * moment later: each blob is checked against bounds and against a second reading of its header, and
 * what does not hold is refused, never guessed. Holds no file and no lock; nothing in the JVM
 * notices.
 *
 * In: the layout that the JVM's tables tell (hotspot_layout.h) and its memory. Out: descriptions of blobs,
 * copied. One JVM's tables are owned by its JIT source (symbols/jit).
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_CODE_H
#define JBPF_HOTSPOT_HOTSPOT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/hotspot_layout.h"
#include "symbols/hotspot/hotspot_vm.h"
#include "user/util/strbuf.h"

#define HOTSPOT_BLOB_NAME_BYTES 64

struct hotspot_code;
struct jbpf_hotspot;

enum hotspot_blob_kind {
	HOTSPOT_BLOB_STUB = 0,	  /* adapters, runtime stubs, ...: `name` says what */
	HOTSPOT_BLOB_NMETHOD = 1, /* compiled Java */
	HOTSPOT_BLOB_NATIVE = 2,  /* wrapper of a native method; `method` names it */
	HOTSPOT_BLOB_INTERPRETER = 3,
	HOTSPOT_BLOB_VTABLE = 4,       /* "vtable chunks": frameless */
	HOTSPOT_BLOB_CONTINUATION = 5, /* "StubRoutines (continuation stubs)" in all spellings */
};

/* Copied by value; says what was there when it was read. */
struct hotspot_blob {
	uint64_t start; /* of the blob, and end of its block */
	uint64_t end;
	uint64_t code_begin; /* what Compiler.perfmap prints: begin, end - begin */
	uint64_t code_end;
	enum hotspot_blob_kind kind;
	char name[HOTSPOT_BLOB_NAME_BYTES]; /* printable; cut when longer */
	uint32_t frame_bytes;		    /* 0 = none or not known */

	/* NMETHOD and NATIVE only; together with `start` compile_id is the version. */
	uint64_t method;	 /* Method*; 0 = dead (zombie): it has no name any more */
	uint64_t verified_entry; /* 0 = not known; so are the others */
	uint64_t deopt_handler;
	uint64_t deopt_mh_handler; /* of calls of method handles; most have none */
	int32_t compile_id;
	int32_t comp_level; /* 1-3 C1, 4 C2, 0 native wrapper */
	int32_t state;	    /* as the VM numbers it */
	int32_t entry_bci;  /* >= 0: compiled for on-stack replacement */
	uint64_t pcs_begin; /* PcDescs; 0 = none. Addresses in the process, bounds checked */
	uint64_t pcs_end;
	uint64_t scopes_begin;
	uint64_t scopes_end;
	uint64_t metadata_begin; /* array of Metadata*, index 1 first */
	uint64_t metadata_end;
};

/*
 * `vm` is borrowed for the life of `code`. 0; -EAGAIN: JVM starting; -ENOTSUP: unknown layout
 * (hotspot_code__missing is lost then: *missing_out names the field, static text); -errno of reading.
 */
__must_check int hotspot_code__open(struct hotspot_vm *vm, struct hotspot_code **out,
				    const char **missing_out);
void hotspot_code__free(struct hotspot_code *code); /* NULL is fine */

const struct hotspot_layout *hotspot_code__layout(const struct hotspot_code *code);
const struct remote_mem *hotspot_code__mem(const struct hotspot_code *code);

/*
 * Once per window, before other calls: heaps that were added or have grown are seen. Cheap. 0;
 * -ESRCH the process is gone; -errno.
 */
__must_check int hotspot_code__refresh(struct hotspot_code *code);

struct hotspot_ranges {
	uint64_t code_low; /* the whole reservation: all JIT code there will ever be */
	uint64_t code_high;
	uint64_t interpreter_low; /* both 0: not known (yet) */
	uint64_t interpreter_high;
};

void hotspot_code__ranges(const struct hotspot_code *code, struct hotspot_ranges *out);

/*
 * What programs need to find frames by their sizes (bpf/jbpf_hotspot.h), as of the last refresh;
 * whose it is and whether the code keeps frame pointers is left to the caller. Reads stubs'
 * headers, until all are known. False: this HotSpot's tables lack something.
 */
bool hotspot_code__unwind(struct hotspot_code *code, struct jbpf_hotspot *out);

/*
 * The blob at `pc`, through the segment map. 0; -ENOENT: free space or outside; -EAGAIN: it changed
 * while it was read or does not hold together; -ESRCH, -EPERM: nothing can be read any more.
 */
__must_check int hotspot_code__find(struct hotspot_code *code, uint64_t pc,
				    struct hotspot_blob *out);

/*
 * Are these still the same versions (start, kind, compile_id, method, block in use)? Reads all
 * headers with as few system calls as it takes. `same_out[i]` per blob. 0 or -errno (none is known).
 */
__must_check int hotspot_code__verify(struct hotspot_code *code,
				      const struct hotspot_blob *const *blobs, size_t cnt,
				      bool *same_out);

/*
 * Name of a method as Compiler.perfmap writes it ("long com.foo.Bar.baz(int, java.lang.String)"),
 * appended to `out`; the whole chain is validated. For kinds without a method use blob.name.
 * *const_method_out (may be NULL): its ConstMethod*, which tells methods of one address apart.
 * 0, -EAGAIN: not a sane method (any more), -ENOMEM, -ESRCH.
 */
__must_check int hotspot_code__method_name(struct hotspot_code *code, uint64_t method,
					   uint64_t *const_method_out, struct strbuf *out);

/*
 * Every blob in use with its name (that of the method, or the blob's), in address order per heap.
 * Batched: for 10,000 methods well below 40 ms. Dead nmethods and what changed meanwhile are left
 * out and counted in *skipped_out (may be NULL). A return value other than 0 of `fn` ends the walk
 * and is returned. 0; -EAGAIN: the segment map of a heap cannot be read; -ESRCH and the like.
 */
typedef int (*hotspot_walk_fn)(void *ctx, const struct hotspot_blob *blob, const char *name);

int hotspot_code__walk(struct hotspot_code *code, hotspot_walk_fn fn, void *ctx,
		       size_t *skipped_out);

#endif
