/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which methods were inlined where: PcDescs and scopes of an nmethod, and line number tables
 * (src/hotspot/share/code/pcDesc.hpp, scopeDesc.cpp). A description covers the half-open interval
 * (previous pc, its pc]: a sampled leaf takes the first with pc >= its own, a return address matches
 * exactly.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_SCOPES_H
#define JBPF_HOTSPOT_HOTSPOT_SCOPES_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/hotspot_code.h"

#define HOTSPOT_SCOPES_MAX_DEPTH 64

struct hotspot_scope {
	uint64_t method; /* Method*, not yet validated: hotspot_code__method_name() does that */
	int32_t bci;	 /* -1: method entry */
};

/* PcDescs, scopes data and metadata of one nmethod, read at once and kept with it. */
struct hotspot_scopes;

/*
 * 0; -ENOENT: this nmethod has none; -EAGAIN: what was read does not hold together, or the nmethod
 * is another by now; -ENOTSUP: layout without them; -ENOMEM; -ESRCH.
 */
__must_check int hotspot_scopes__read(struct hotspot_code *code, const struct hotspot_blob *blob,
				      struct hotspot_scopes **out);
void hotspot_scopes__free(struct hotspot_scopes *scopes); /* NULL is fine */
size_t hotspot_scopes__bytes(const struct hotspot_scopes *scopes);

/*
 * The methods at a pc of the nmethod, innermost first; the last one is the nmethod's own method.
 * `pc`: the interrupted instruction itself, or a return address as it stands (not minus 1);
 * `is_return_address` demands the exact match. 0; -ENOENT: nothing is described there; -ENODATA: the
 * frame waits to be deoptimised, so that its return address is a deopt handler's (frame.cpp,
 * frame::deoptimize()), and which methods were inlined there is not known; -EINVAL: damaged data.
 */
__must_check int hotspot_scopes__at(const struct hotspot_scopes *scopes, uint64_t pc,
				    bool is_return_address,
				    struct hotspot_scope out[HOTSPOT_SCOPES_MAX_DEPTH],
				    size_t *cnt_out);

/*
 * Source file ("Work.java") and line table of a method, read at once. Both may be missing: file ""
 * and no lines. 0, -EAGAIN, -ENOMEM, -ESRCH.
 */
struct hotspot_lines;

int hotspot_lines__read(struct hotspot_code *code, uint64_t method, struct hotspot_lines **out);
void hotspot_lines__free(struct hotspot_lines *lines); /* NULL is fine */
size_t hotspot_lines__bytes(const struct hotspot_lines *lines);
const char *hotspot_lines__file(const struct hotspot_lines *lines);
/* 0 = not known. */
uint32_t hotspot_lines__line(const struct hotspot_lines *lines, int32_t bci);

#endif
