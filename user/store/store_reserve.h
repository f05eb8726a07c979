/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room on the disk that is put by: DIR/v1/.reserve, a file of allocated blocks with nothing in it. When
 * somebody else fills the disk, it becomes smaller piece by piece, and the windows of the next minutes
 * still fit. It is no history: retention does not count it.
 */
#ifndef JBPF_STORE_RESERVE_H
#define JBPF_STORE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

struct store_reserve {
	int fd; /* -1 = there is none */
	uint64_t target_bytes;
	uint64_t bytes; /* put by now */
};

/*
 * Opens or makes the file in v1 and fills it when there is room; target 0 = no reserve, and one that is
 * there is removed. File systems that cannot put room by, and those that are full, have none or a smaller
 * one. 0 or -errno: then there is none.
 */
__must_check int store_reserve_open(int tree_fd, uint64_t target_bytes, struct store_reserve *out);

/* The file stays. */
void store_reserve_close(struct store_reserve *reserve);

/*
 * Makes it whole again when the file system has twice its size free, so that it is not the reserve that
 * fills the disk. true when it became larger.
 */
bool store_reserve_fill(struct store_reserve *reserve);

/* Has the file system twice `bytes` free, but no inode for another file? Then no room of the reserve would help. */
bool store_reserve_lacks_inodes(const struct store_reserve *reserve, uint64_t bytes);

/* Gives `bytes` back to the file system, or what is left. false when there was nothing left. */
bool store_reserve_release(struct store_reserve *reserve, uint64_t bytes);

#endif
