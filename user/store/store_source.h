/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where commands read windows from: one store, several of them, or what another room makes one of.
 * All are visited in the same way, that of store_reader__visit().
 *
 * A source is its opener's, and one thread's at a time.
 */
#ifndef JBPF_STORE_STORE_SOURCE_H
#define JBPF_STORE_STORE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "user/store/store.h"
#include "user/util/attributes.h"

struct store_source;

/* What a source of another kind does; `ctx` is its maker's. */
struct store_source_ops {
	/* As store_reader__visit(). */
	int (*visit)(void *ctx, uint64_t since_unix_ns, uint64_t until_unix_ns,
		     const struct store_visitor *visitor);
	/* As cmd_store_range() has it: of samples. NULL = by visits. */
	int (*range)(void *ctx, uint64_t *first_unix_ns, uint64_t *last_unix_ns);
	/* One line: why the last visit failed; NULL = as its errno says. NULL = it never knows. */
	const char *(*failure)(void *ctx);
	void (*free)(void *ctx);
};

/* `name` is for messages, and copied. 0 or -ENOMEM; the source takes `ctx` with 0 only. */
__must_check int store_source__new(const struct store_source_ops *ops, void *ctx, const char *name,
				   struct store_source **out);
/* The store in that directory: errors as of store_reader__open_event(). */
__must_check int store_source__open(const char *dir, enum event event, struct store_source **out);
/*
 * The sum of at least one source. It visits one after the other, so that windows come in order of
 * time within each of them only; a damaged stretch has the part's name in front of its path. 0 or
 * -ENOMEM; the parts are the new source's with 0 only, the array stays the caller's.
 */
__must_check int store_source__join(struct store_source *const *parts, size_t cnt,
				    struct store_source **out);
void store_source__free(struct store_source *source); /* NULL is fine */

/* As store_reader__visit(). */
__must_check int store_source__visit(struct store_source *source, uint64_t since_unix_ns,
				     uint64_t until_unix_ns, const struct store_visitor *visitor);

/*
 * Times of the first and last sample, both 0 when there is none. 0, -EOPNOTSUPP: that is found out by
 * visits, or -errno.
 */
__must_check int store_source__range(struct store_source *source, uint64_t *first_unix_ns,
				     uint64_t *last_unix_ns);

/* For messages: its directory; of a sum, that of the part that was visited last. Lives with it. */
const char *store_source__name(const struct store_source *source);
/* For messages: why a visit ended with -errno. Lives with it, until the next visit. */
const char *store_source__failure(const struct store_source *source, int err);
/* Of a sum its parts; else it is the only part of itself. NULL = there are no more. */
struct store_source *store_source__part(struct store_source *source, size_t index);

#endif
