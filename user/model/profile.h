/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pivot type: distinct stacks and how often each was seen. Filled by the recorder and by the
 * store's reader, turned into bytes by output/. Stacks are text (stack_text.h), opaque here, so
 * that merging an hour of windows is hashing lines and nothing else. No I/O.
 */
#ifndef JBPF_MODEL_PROFILE_H
#define JBPF_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct profile;

/* NULL only when memory is short. */
struct profile *profile__new(void);
void profile__free(struct profile *profile); /* NULL is fine */

/* Adds `count` samples to a stack. 0 or -ENOMEM; counts saturate. */
__must_check int profile__add(struct profile *profile, const char *stack, size_t len,
			      uint64_t count);

/*
 * The same of a count above 0, and says which stack it was: they are numbered in order of insertion,
 * whatever profile__sort() does.
 */
__must_check int profile__add_numbered(struct profile *profile, const char *stack, size_t len,
				       uint64_t count, uint32_t *number_out);

/* The same of a stack that is there already. 0; -ENOENT: it is not, and nothing changed. */
__must_check int profile__add_known(struct profile *profile, const char *stack, size_t len,
				    uint64_t count, uint32_t *number_out);

/*
 * Adds folded text: "stack count\n" lines. Lines that are not that are skipped and counted in
 * *bad_line_cnt (may be NULL). 0 or -ENOMEM.
 */
__must_check int profile__add_folded(struct profile *profile, const char *text, size_t len,
				     size_t *bad_line_cnt);

struct profile_stack {
	const char *text; /* NUL-terminated; lives as long as the profile */
	size_t len;
	uint64_t count;
};

size_t profile__stack_count(const struct profile *profile);
uint64_t profile__sample_count(const struct profile *profile);
/* What the stacks take of memory, about. */
size_t profile__bytes(const struct profile *profile);

/* Stack `index` in order of insertion, or after profile__sort() in byte order of the text. */
struct profile_stack profile__stack(const struct profile *profile, size_t index);
void profile__sort(struct profile *profile);
/* Its number, for profile__add_numbered(). `index` is one of a stack that is there. */
uint32_t profile__stack_number(const struct profile *profile, size_t index);

/* Sorts, then appends the folded text. 0 or -ENOMEM. */
__must_check int profile__to_folded(struct profile *profile, struct strbuf *out);

#endif
