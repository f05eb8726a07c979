// SPDX-License-Identifier: Apache-2.0
/* Growing arrays, see vec.h. */
#include "user/util/vec.h"

#include <errno.h>
#include <stdlib.h>

size_t vec_next_cap(size_t cap, size_t want, size_t first, size_t max)
{
	if (!cap)
		cap = first ? first : 1;
	while (cap < want)
		if (__builtin_mul_overflow(cap, 2, &cap))
			return 0;
	return cap <= max ? cap : 0;
}

int vec_resize_bytes(void **items, size_t cap, size_t item_bytes)
{
	size_t bytes;
	void *grown;

	if (__builtin_mul_overflow(cap, item_bytes, &bytes))
		return -ENOMEM;
	/* Never 0 bytes, for which NULL would be no error. */
	grown = realloc(*items, bytes ? bytes : 1);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	return 0;
}

int vec_grow(void **items, size_t *cap, size_t want, size_t first, size_t item_bytes, size_t max)
{
	size_t next;
	int err;

	if (want <= *cap)
		return 0;
	next = vec_next_cap(*cap, want, first, max);
	err = next ? vec_resize_bytes(items, next, item_bytes) : -ENOMEM;
	if (!err)
		*cap = next;
	return err;
}
