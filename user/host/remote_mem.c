// SPDX-License-Identifier: Apache-2.0
/*
 * process_vm_readv or /proc/PID/mem, and a direct-mapped page cache in front of them.
 *
 * A process may serve its page faults itself (userfaultfd(2)), and then let a reader of its memory
 * by process_vm_readv() wait for ever, so that only SIGKILL ends the reader: the kernel waits in
 * handle_userfault() where the fault may be retried, as it is for pin_user_pages_remote().
 * /proc/PID/mem reads by access_remote_vm(), which does not allow that, and fails instead
 * (mm/gup.c, mm/memory.c, fs/userfaultfd.c; Linux 5.10 to 6.18). It costs a system call for each
 * piece.
 *
 * A process may serve faults of the kernel only with CAP_SYS_PTRACE, or where
 * vm.unprivileged_userfaultfd is 1, the default up to 5.10.
 */
#include "user/host/remote_mem.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/host/proc_stat.h"
#include "user/host/proc_thread.h"
#include "user/util/strbuf.h"

#define CACHE_PAGE_BYTES 4096u
#define CACHE_PAGE_CNT	 64u
#define BATCH_CNT	 512u /* iovecs per call; the kernel takes 1024 */

#define SETTING_MAX_BYTES 64
#define HELD_FD_MAX	  768 /* descriptors above are for others */

static int file_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len);
static int file_read_pieces(const struct remote_mem *mem, struct remote_piece *pieces, size_t cnt);

static int process_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	struct iovec local = { .iov_base = out, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = len };
	ssize_t got = process_vm_readv((pid_t)mem->pid, &local, 1, &remote, 1, 0);

	/* Its first thread may have ended, and this goes by that. */
	if (got < 0)
		return errno == ESRCH ? file_read(mem, address, out, len) : -errno;
	return (size_t)got == len ? 0 : -EFAULT;
}

/*
 * The pieces are read in order until one fails; the call then returns only the number of bytes.
 * *done_out: pieces settled, at least one.
 */
static int process_read_batch(const struct remote_mem *mem, struct remote_piece *pieces, size_t cnt,
			      size_t *done_out)
{
	struct iovec local[BATCH_CNT], remote[BATCH_CNT];
	size_t done = 0, left;
	ssize_t got;

	for (size_t i = 0; i < cnt; i++) {
		local[i] = (struct iovec){ pieces[i].out, pieces[i].len };
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].address, pieces[i].len };
	}
	got = process_vm_readv((pid_t)mem->pid, local, cnt, remote, cnt, 0);
	if (got < 0 && !remote_mem_error_is_local(-errno))
		return -errno;
	left = got < 0 ? 0 : (size_t)got;
	while (done < cnt && pieces[done].len <= left) {
		left -= pieces[done].len;
		pieces[done++].err = 0;
	}
	if (done < cnt)
		pieces[done++].err = -EFAULT;
	*done_out = done;
	return 0;
}

static int process_read_pieces(const struct remote_mem *mem, struct remote_piece *pieces,
			       size_t cnt)
{
	while (cnt) {
		size_t done;
		int err = process_read_batch(mem, pieces, cnt < BATCH_CNT ? cnt : BATCH_CNT, &done);

		if (err == -ESRCH)
			return file_read_pieces(mem, pieces, cnt);
		if (err) {
			for (size_t i = 0; i < cnt; i++)
				pieces[i].err = err;
			return err;
		}
		pieces += done;
		cnt -= done;
	}
	return 0;
}

static int file_open(const struct remote_mem *mem)
{
	char path[24];
	int fd;

	if (proc_first_thread_has_ended(mem->proc_fd, mem->pid))
		return proc_thread_open(mem->proc_fd, mem->pid, "mem", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%" PRIu32 "/mem", mem->pid);
	fd = openat(mem->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

static int file_read_piece(int fd, uint64_t address, void *out, size_t len)
{
	ssize_t got;

	if (address > INT64_MAX)
		return -EFAULT;
	if (len == 0)
		return 0;
	got = pread(fd, out, len, (off_t)address);
	if (got < 0)
		return errno == EIO ? -EFAULT : -errno;
	/* Nothing at all: there is no memory any more (mem_rw() in fs/proc/base.c). */
	if (got == 0)
		return -ESRCH;
	return (size_t)got == len ? 0 : -EFAULT;
}

void remote_mem_hold(struct remote_mem *mem)
{
	int fd;

	if (mem->read != file_read || mem->is_held)
		return;
	fd = file_open(mem);
	if (fd > HELD_FD_MAX)
		close(fd);
	mem->is_held = fd >= 0 && fd <= HELD_FD_MAX;
	mem->held_fd = fd;
}

void remote_mem_release(struct remote_mem *mem)
{
	if (mem->is_held)
		close(mem->held_fd);
	mem->is_held = false;
}

static int file_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	__cleanup_fd int opened = mem->is_held ? -1 : file_open(mem);
	int fd = mem->is_held ? mem->held_fd : opened;

	return fd < 0 ? fd : file_read_piece(fd, address, out, len);
}

static int file_read_pieces(const struct remote_mem *mem, struct remote_piece *pieces, size_t cnt)
{
	__cleanup_fd int opened = cnt && !mem->is_held ? file_open(mem) : -1;
	int fd = mem->is_held ? mem->held_fd : opened;
	int err = cnt && fd < 0 ? fd : 0;

	for (size_t i = 0; i < cnt; i++) {
		struct remote_piece *piece = &pieces[i];

		piece->err = err ? err :
				   file_read_piece(fd, piece->address, piece->out, piece->len);
		if (piece->err && !remote_mem_error_is_local(piece->err))
			err = piece->err;
	}
	return err;
}

struct remote_mem remote_mem_of_file(int proc_fd, uint32_t pid)
{
	return (struct remote_mem){
		.read = file_read, .read_pieces = file_read_pieces, .pid = pid, .proc_fd = proc_fd
	};
}

/* Could it have page faults of ours served by itself? */
static bool process_may_stall(int proc_fd, uint32_t pid)
{
	__cleanup_strbuf struct strbuf setting = STRBUF_INIT;
	struct proc_status status;
	int err = fs_read_file(proc_fd, "sys/vm/unprivileged_userfaultfd", SETTING_MAX_BYTES,
			       &setting);

	/* A kernel without userfaultfd has no such setting; nor had those up to 5.1. */
	if (err || strcmp(strbuf_str(&setting), "0\n") != 0)
		return true;
	return proc_status_read(proc_fd, pid, &status) != 0 ||
	       (status.cap_bounding >> CAP_SYS_PTRACE & 1);
}

struct remote_mem remote_mem_of_process(int proc_fd, uint32_t pid)
{
	if (process_may_stall(proc_fd, pid))
		return remote_mem_of_file(proc_fd, pid);
	return (struct remote_mem){ .read = process_read,
				    .read_pieces = process_read_pieces,
				    .pid = pid,
				    .proc_fd = proc_fd };
}

int remote_mem_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	uint64_t end;

	if (len == 0)
		return 0;
	if (__builtin_add_overflow(address, len, &end))
		return -EFAULT;
	return mem->read(mem, address, out, len);
}

ssize_t remote_mem_read_some(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	size_t used = 0;

	while (used < len) {
		size_t part = CACHE_PAGE_BYTES - (size_t)((address + used) % CACHE_PAGE_BYTES);
		int err;

		if (part > len - used)
			part = len - used;
		err = remote_mem_read(mem, address + used, (char *)out + used, part);
		if (err)
			return used ? (ssize_t)used : err;
		used += part;
	}
	return (ssize_t)used;
}

int remote_mem_read_pieces(const struct remote_mem *mem, struct remote_piece *pieces, size_t cnt)
{
	int fatal = 0;

	if (mem->read_pieces)
		return mem->read_pieces(mem, pieces, cnt);
	for (size_t i = 0; i < cnt; i++) {
		struct remote_piece *piece = &pieces[i];

		piece->err = fatal ? fatal :
				     remote_mem_read(mem, piece->address, piece->out, piece->len);
		if (piece->err && !remote_mem_error_is_local(piece->err))
			fatal = piece->err;
	}
	return fatal;
}

int remote_mem_read_uint(const struct remote_mem *mem, uint64_t address, size_t size, uint64_t *out)
{
	uint64_t value = 0;
	int err;

	if (size == 0 || size > sizeof(value))
		return -EINVAL;
	err = remote_mem_read(mem, address, &value, size);
	if (err)
		return err;
	*out = le64toh(value);
	return 0;
}

struct cache_page {
	uint64_t address;
	bool is_filled;
	uint8_t bytes[CACHE_PAGE_BYTES];
};

struct remote_cache {
	const struct remote_mem *mem;
	struct cache_page pages[CACHE_PAGE_CNT];
};

struct remote_cache *remote_cache__new(const struct remote_mem *mem)
{
	struct remote_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->mem = mem;
	return cache;
}

void remote_cache__free(struct remote_cache *cache)
{
	free(cache);
}

/* Bytes from `address` to the end of its page; *left_out says how many. */
static int cache_view(struct remote_cache *cache, uint64_t address, const uint8_t **bytes_out,
		      size_t *left_out)
{
	uint64_t page_address = address & ~(uint64_t)(CACHE_PAGE_BYTES - 1);
	size_t offset = (size_t)(address - page_address);
	struct cache_page *page = &cache->pages[page_address / CACHE_PAGE_BYTES % CACHE_PAGE_CNT];

	if (!page->is_filled || page->address != page_address) {
		int err;

		page->is_filled = false;
		err = cache->mem->read(cache->mem, page_address, page->bytes, CACHE_PAGE_BYTES);
		if (err)
			return err;
		page->address = page_address;
		page->is_filled = true;
	}
	*bytes_out = page->bytes + offset;
	*left_out = CACHE_PAGE_BYTES - offset;
	return 0;
}

int remote_cache__string(struct remote_cache *cache, uint64_t address, char *out, size_t out_size)
{
	size_t used = 0;

	while (used < out_size) {
		const uint8_t *bytes;
		const uint8_t *nul;
		size_t left;
		int err = cache_view(cache, address, &bytes, &left);

		if (err)
			return err;
		if (left > out_size - used)
			left = out_size - used;
		nul = memchr(bytes, '\0', left);
		if (nul) {
			memcpy(out + used, bytes, (size_t)(nul - bytes) + 1);
			return 0;
		}
		memcpy(out + used, bytes, left);
		used += left;
		if (__builtin_add_overflow(address, left, &address))
			return -EFAULT;
	}
	return -ENAMETOOLONG;
}
