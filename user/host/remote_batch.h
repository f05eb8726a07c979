/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small reads of another process's memory, made cheap: pieces that lie in the same page are
 * read together. Finding a page costs the kernel more than copying a part of it.
 */
#ifndef JBPF_HOST_REMOTE_BATCH_H
#define JBPF_HOST_REMOTE_BATCH_H

#include <stddef.h>

#include "user/host/remote_mem.h"

struct remote_batch;

/* Borrows `mem`. NULL only when memory is short. */
struct remote_batch *remote_batch__new(const struct remote_mem *mem);
void remote_batch__free(struct remote_batch *batch); /* NULL is fine */

/* As remote_mem_read_pieces(). Pieces of length 0 cost nothing. */
int remote_batch__read(struct remote_batch *batch, struct remote_piece *pieces, size_t cnt);

#endif
