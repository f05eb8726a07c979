/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another process. The bytes may be garbage and an address may lead nowhere: a read
 * either gives all bytes or an error. The bytes may have changed as soon as it returns.
 *
 * In: a pid and addresses. Out: bytes in the caller's buffer. Who opens it owns it.
 */
#ifndef JBPF_HOST_REMOTE_MEM_H
#define JBPF_HOST_REMOTE_MEM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"

/* True: only this address cannot be read. False: no memory of the process can be. */
static inline bool remote_mem_error_is_local(int err)
{
	return err == -EFAULT || err == -EIO;
}

/* One of many reads. */
struct remote_piece {
	uint64_t address;
	void *out;
	uint32_t len;
	int err; /* set by reading: 0 = all `len` bytes are in `out`, else it is undefined */
};

/* Caller-owned, copied freely. Tests put a function of their own into `read`. */
struct remote_mem {
	/* All `len` bytes or -EFAULT (not mapped), -EPERM, -ESRCH, ... */
	int (*read)(const struct remote_mem *mem, uint64_t address, void *out, size_t len);
	/* Many at once, see remote_mem_read_pieces(). NULL: `read` is called for each. */
	int (*read_pieces)(const struct remote_mem *mem, struct remote_piece *pieces, size_t cnt);
	const void *ctx; /* for `read` */
	uint32_t pid;	 /* host pid */
	int proc_fd;	 /* borrowed */
	bool is_held;	 /* see remote_mem_hold() */
	int held_fd;	 /* borrowed by copies */
};

/*
 * Needs CAP_SYS_PTRACE or the same uid; the process does not notice. Reads by process_vm_readv(),
 * which is faster for many pieces, unless the process could stall the reader that way; else by
 * /proc/PID/mem. `proc_fd` of /proc is borrowed for as long as copies are used.
 */
struct remote_mem remote_mem_of_process(int proc_fd, uint32_t pid);
/* By /proc/PID/mem in any case. */
struct remote_mem remote_mem_of_file(int proc_fd, uint32_t pid);

/*
 * Keeps /proc/PID/mem open where it is read by that: opening it costs as much as reading. It stays
 * the memory of the program that runs now; once that is gone all reads fail with -ESRCH. Where it
 * cannot be kept nothing changes. End with remote_mem_release(), after the last copy's use.
 */
void remote_mem_hold(struct remote_mem *mem);
void remote_mem_release(struct remote_mem *mem);

int remote_mem_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len);
/* Little-endian unsigned of 1 to 8 bytes; -EINVAL for other sizes. */
__must_check int remote_mem_read_uint(const struct remote_mem *mem, uint64_t address, size_t size,
				      uint64_t *out);

/*
 * Up to `len` bytes, fewer when a page further on cannot be read: for strings whose length is not
 * known. Bytes read, at least 1, or -errno.
 */
ssize_t remote_mem_read_some(const struct remote_mem *mem, uint64_t address, void *out, size_t len);

/*
 * Reads all pieces with as few system calls as it takes. A piece that cannot be read gets its own
 * `err` and spoils no other. 0; -ESRCH, -EPERM or the like when nothing can be read (any more):
 * then the pieces not reached have that error too.
 */
__must_check int remote_mem_read_pieces(const struct remote_mem *mem, struct remote_piece *pieces,
					size_t cnt);

/*
 * Pages read once and kept: for tables and strings that do not change and are read in small
 * pieces. NULL only when memory is short.
 */
struct remote_cache;

struct remote_cache *remote_cache__new(const struct remote_mem *mem); /* borrows `mem` */
void remote_cache__free(struct remote_cache *cache);		      /* NULL is fine */
/* A NUL-terminated string; -ENAMETOOLONG when it does not fit into `out_size`. */
__must_check int remote_cache__string(struct remote_cache *cache, uint64_t address, char *out,
				      size_t out_size);

#endif
