/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folded text of a window, out of numbers of stacks: first the stacks are added, by service and hash,
 * then the samples of a window by hash, then comes its text. No I/O.
 */
#ifndef JBPF_SOURCE_WINDOW_TEXTS_H
#define JBPF_SOURCE_WINDOW_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct window_texts;

/* NULL only when memory is short. */
struct window_texts *window_texts__new(void);
void window_texts__free(struct window_texts *texts); /* NULL is fine */

/*
 * Of the samples of a hash that several stacks of a service have nobody knows which they are: programs choose their
 * names, and so can bring that about. Behind the process, where all have the same.
 */
#define WINDOW_TEXTS_AMBIGUOUS "[ambiguous stack]"

/* A stack, also again. 0 or -ENOMEM. */
__must_check int window_texts__add_stack(struct window_texts *texts, const char *service,
					 size_t service_len, uint64_t hash, const char *stack,
					 size_t len);
/* Is it there? */
bool window_texts__has(struct window_texts *texts, const char *service, size_t service_len,
		       uint64_t hash);
/* Samples of the window that is begun. 0, -ENOENT: there is no such stack, -ENOMEM. */
__must_check int window_texts__add_samples(struct window_texts *texts, const char *service,
					   size_t service_len, uint64_t hash, uint64_t samples);
struct window_texts_sum {
	uint64_t samples;
	uint64_t ambiguous; /* of these, of stacks that are not known for it */
};

/*
 * What was added since the last call, as folded text in the order of its bytes, and how many samples these
 * are. Borrowed until the next call. 0 or -ENOMEM.
 */
__must_check int window_texts__take(struct window_texts *texts, const struct strbuf **text,
				    struct window_texts_sum *sum);

#endif
