/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of code a frame is, and the suffix that says so in folded text (the
 * suffixes are those of FlameGraph and async-profiler); a name that stands for no function.
 */
#ifndef JBPF_MODEL_FRAME_KIND_H
#define JBPF_MODEL_FRAME_KIND_H

/* The name of frames whose own was one too many for its account; they are unknown. */
#define NAMES_TOO_MANY "[too many names]"

/* Append only: the values are used in JSON and in the HTML page. */
enum frame_kind {
	FRAME_KIND_NATIVE = 0,	    /* no suffix; also stubs, unknown and marker frames */
	FRAME_KIND_KERNEL = 1,	    /* _[k] */
	FRAME_KIND_JIT = 2,	    /* _[j] compiled Java (C2, or compiled with unknown tier) */
	FRAME_KIND_C1 = 3,	    /* _[1] */
	FRAME_KIND_INTERPRETED = 4, /* _[0] */
	FRAME_KIND_INLINED = 5,	    /* _[i] */
	FRAME_KIND_CNT = 6,
};

/* "" or "_[x]"; never NULL. */
static inline const char *frame_kind_suffix(enum frame_kind kind)
{
	static const char *const suffixes[FRAME_KIND_CNT] = { "",     "_[k]", "_[j]",
							      "_[1]", "_[0]", "_[i]" };

	return kind < FRAME_KIND_CNT ? suffixes[kind] : "";
}

#endif
