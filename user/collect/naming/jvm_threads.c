// SPDX-License-Identifier: Apache-2.0
#include "user/collect/naming/jvm_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/parse.h"

#define COMM_FILE_MAX_BYTES 256u
#define TASKS_MAX	    4096u /* of a process with more no thread gets a full name */
#define READ_TRIES	    2u	  /* a thread may begin or end meanwhile */

void jvm_threads_release(struct jvm_threads *threads)
{
	thread_names_release(&threads->names);
	hotspot_threads__free(threads->reader);
	*threads = (struct jvm_threads){ .vm = NULL };
}

/* ---- the threads of the kernel ---- */

static int add_task(struct thread_names *names, int task_fd, uint32_t tid, struct strbuf *comm)
{
	int err;

	strbuf_clear(comm);
	err = fs_read_filef(task_fd, COMM_FILE_MAX_BYTES, comm, "%" PRIu32 "/comm", tid);
	if (err == -ENOMEM)
		return err;
	/* What cannot be read has ended. */
	if (!err && comm->len && comm->data[comm->len - 1] == '\n')
		thread_names_add_task(names, comm->data, comm->len - 1);
	return 0;
}

static int add_tasks(struct thread_names *names, int proc_fd, uint32_t pid)
{
	__cleanup_strbuf struct strbuf comm = STRBUF_INIT;
	struct dirent *entry;
	char path[24];
	uint32_t tid, cnt = 0;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%" PRIu32 "/task", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	__cleanup_dir DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (entry = readdir(dir))) {
		if (parse_u32_range(entry->d_name, 1, UINT32_MAX, &tid))
			continue;
		err = ++cnt > TASKS_MAX ? -EFBIG : add_task(names, dirfd(dir), tid, &comm);
	}
	return err;
}

/* ---- Java's ---- */

static int add_java(void *ctx, const char *name, size_t len)
{
	return thread_names_add_java(ctx, name, len);
}

/* 0: it is open; -EAGAIN; else it never will be. */
static int reader_open(struct jvm_threads *threads, const struct symbols_process *symbols)
{
	struct hotspot_vm *vm;
	int err = symbols_process__hotspot(symbols, &vm);

	if (err || (threads->reader && threads->vm == vm))
		return err;
	hotspot_threads__free(take_ptr(threads->reader));
	threads->vm = vm;
	err = hotspot_threads__open(vm, &threads->reader);
	if (err && err != -EAGAIN)
		pr_debug("jvm: pid %u: names of threads cannot be read: %s\n",
			 symbols_process__id(symbols)->pid, errstr(err));
	return err;
}

/* *is_whole: another try could add nothing. 0 or -errno. */
static int read_once(struct jvm_threads *threads, int proc_fd, uint32_t pid, bool *is_whole)
{
	struct thread_names *names = &threads->names;
	int err;

	thread_names_begin(names);
	err = hotspot_threads__each(threads->reader, add_java, names);
	if (!err && thread_names_have_candidates(names))
		err = add_tasks(names, proc_fd, pid);
	if (!err)
		*is_whole = thread_names_settle(names);
	return err;
}

int jvm_threads_update_names(struct jvm_threads *threads, int proc_fd,
			     const struct symbols_process *symbols,
			     const struct probe_count *counts, size_t cnt, uint64_t window)
{
	struct thread_names *names = &threads->names;
	bool is_whole = false;
	int err = 0;

	if (threads->is_refused)
		return 0;
	for (size_t i = 0; i < cnt && !err; i++)
		err = thread_names_want(names, counts[i].value.thread, window);
	if (err || !thread_names_are_due(names))
		return err;
	err = reader_open(threads, symbols);
	for (unsigned i = 0; i < READ_TRIES && !err && !is_whole; i++)
		err = read_once(threads, proc_fd, symbols_process__id(symbols)->pid, &is_whole);
	thread_names_end(names);
	/* One that is gone keeps its names for its last window. */
	if (err && err != -EAGAIN && err != -ESRCH && err != -ENOMEM) {
		jvm_threads_release(threads);
		threads->is_refused = true;
	}
	return err == -ENOMEM ? err : 0;
}
