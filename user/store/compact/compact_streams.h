/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams that a merge has met, and which unit of the merged file each goes to: a busy one has
 * its own, so that it is read alone; small ones of a kind share one. No I/O.
 */
#ifndef JBPF_COMPACT_COMPACT_STREAMS_H
#define JBPF_COMPACT_COMPACT_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"

/*
 * Samples of a unit. About a thousand bytes per stack, at most as many stacks as samples: 8 MiB
 * of text in the common case, and never many times that for one stream.
 */
#define COMPACT_UNIT_SAMPLES 16384
#define COMPACT_UNIT_NONE    UINT32_MAX

struct compact_streams;

struct compact_streams *compact_streams__new(void); /* NULL only when memory is short */
void compact_streams__free(struct compact_streams *streams);

/* 0 or -ENOMEM. */
__must_check int compact_streams__add(struct compact_streams *streams, const struct window *window);

/* Assigns streams to units. Returns the number of units. */
uint32_t compact_streams__plan(struct compact_streams *streams);

/* Unit of the window's stream; COMPACT_UNIT_NONE for one that was never added. */
uint32_t compact_streams__unit(const struct compact_streams *streams, const struct window *window);

#endif
