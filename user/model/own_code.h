/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Own code: methods whose names match one of some globs. What they call in libraries is charged to
 * them. Pure; the page of a profile does the same (user/output/page/steps.js).
 */
#ifndef JBPF_MODEL_OWN_CODE_H
#define JBPF_MODEL_OWN_CODE_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/model/profile.h"

/* Stands below the process for stacks without own code, so that sums stay right. */
#define OWN_CODE_OTHER "[other code]"

/*
 * Adds the stacks of `in` to `out`, each cut below its last own frame, or "process;[other code]"
 * where it has none. `globs` have commas between them; "*" and "?" are special. The first
 * `label_cnt` frames and the process are neither own nor cut off; a thread's mark stays. 0 or
 * -ENOMEM.
 */
__must_check int own_code_charge(const struct profile *in, const char *globs, size_t label_cnt,
				 struct profile *out);

#endif
