/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays. An array is what its owner has anyway, a pointer, a count and a capacity; the
 * macros make room, know the type, and check every number for overflow, also that of a capacity
 * that has 32 bits only.
 *
 *     int err = vec_room(list->items, list->cnt, list->cap, 16);
 *
 *     if (err)
 *             return err;
 *     list->items[list->cnt++] = item;
 *
 * Capacities double, so appending n items moves fewer than 2 n. What is new is not zeroed. The
 * owner ends an array with free(). Each is 0 or -ENOMEM, and then nothing has changed.
 */
#ifndef JBPF_UTIL_VEC_H
#define JBPF_UTIL_VEC_H

#include <stddef.h>

#include "user/util/attributes.h"

/* Room for one more item behind `cnt`; the first time for `first`. Arguments without side effects. */
#define vec_room(items, cnt, cap, first) vec_reserve(items, (size_t)(cnt) + 1, cap, first)

/* Room for `want` items in all. `cap` is unsigned and changes only with `items`. */
#define vec_reserve(items, want, cap, first)                                                    \
	({                                                                                      \
		void *vec_items = (items);                                                      \
		size_t vec_cap = (cap);                                                         \
		int vec_err = vec_grow(&vec_items, &vec_cap, (want), (first), sizeof(*(items)), \
				       (__typeof__(cap))-1);                                    \
                                                                                                \
		(items) = vec_items;                                                            \
		(cap) = (__typeof__(cap))vec_cap;                                               \
		vec_err;                                                                        \
	})

/*
 * For several arrays of one capacity: find the next one, resize each, then store it. Arrays that
 * were resized before one failed have room that nobody knows of, which does no harm.
 */
#define vec_resize(items, cap)                                                       \
	({                                                                           \
		void *vec_items = (items);                                           \
		int vec_err = vec_resize_bytes(&vec_items, (cap), sizeof(*(items))); \
                                                                                     \
		(items) = vec_items;                                                 \
		vec_err;                                                             \
	})

/*
 * The smallest of `first`, 2 * `first` ... that is not less than `want` (or `cap` doubled as often
 * as it takes). 0 when that is more than `max`.
 */
__must_check size_t vec_next_cap(size_t cap, size_t want, size_t first, size_t max);

/* What is behind the macros. */
__must_check int vec_grow(void **items, size_t *cap, size_t want, size_t first, size_t item_bytes,
			  size_t max);
__must_check int vec_resize_bytes(void **items, size_t cap, size_t item_bytes);

#endif
