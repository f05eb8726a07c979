/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two folded files of one program by two profilers: what the one writes and the other does not is no
 * change of the program. Where a file has none of a thing at all, the other's is left out, so that their
 * stacks can be the same; foreign_match__side() says so, for a note. Names that only the rest of a file, or
 * the other one, shows to be Java's are marked as such.
 */
#ifndef JBPF_COMPARE_FOREIGN_MATCH_H
#define JBPF_COMPARE_FOREIGN_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "user/model/profile.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* The first frame of stacks without a process. */
#define FOREIGN_ROOT "all"

/* What perf's map of the JDK has for each method that is interpreted, and for each stub. */
#define FOREIGN_INTERPRETER "Interpreter"
#define FOREIGN_STUBS	    "StubRoutines"

struct foreign_match;

/* What a file alone has, and loses in foreign_match__append(), but for the parameters. */
struct foreign_match_side {
	bool loses_parameters;	      /* of methods: diff_catalog__leave_out_parameters() */
	bool loses_native_parameters; /* of C++ */
	bool loses_kernel_marks;
	bool loses_dashes;	/* between the kernel's functions and others */
	bool loses_libraries;	/* in front of functions: "libc.so.6`read" */
	bool loses_roots;	/* code in front of the first method in Java */
	bool loses_clone;	/* in front of start_thread */
	bool loses_processes;	/* or threads, in front of stacks */
	bool loses_stubs;	/* their names: all are FOREIGN_STUBS */
	bool loses_stub_groups; /* "StubRoutines (1)" is FOREIGN_STUBS, as is all of the other's */
	/* For the note alone: it has FOREIGN_INTERPRETER where the other has names, and names others. */
	bool has_nameless_interpreted;
	bool names_some_interpreted;
};

/* The profiles must live as long; each stack begins with a process or FOREIGN_ROOT. 0 or -ENOMEM. */
__must_check int foreign_match__new(const struct profile *before, const struct profile *after,
				    struct foreign_match **out);
void foreign_match__free(struct foreign_match *match); /* NULL is fine */

/* `side`: 0 before, 1 after. Lives as long as the match. */
const struct foreign_match_side *foreign_match__side(const struct foreign_match *match, int side);

/* The stack of that side as it is to be compared. 0 or -ENOMEM. */
__must_check int foreign_match__append(struct foreign_match *match, int side,
				       const struct profile_stack *stack, struct strbuf *out);

#endif
