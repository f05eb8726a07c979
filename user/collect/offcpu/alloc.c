// SPDX-License-Identifier: Apache-2.0
/* See alloc.h. */
#include "user/collect/offcpu/alloc.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/alloc.skel.h"
#include "bpf/jbpf.skel.h"

#include "user/collect/offcpu/counter_sum.h"
#include "user/collect/offcpu/shared_maps.h"
#include "user/host/proc_stat.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

/* What both objects have in .bss and .rodata lies in the same places: one map serves both. */
SHARED_PLACES(alloc_bpf);

struct alloc {
	struct alloc_bpf *skel;
	struct bpf_link *links[ALLOC_FUNCTION_CNT];
	struct counter_sum counters;
};

static int load(struct alloc *alloc, const struct jbpf_bpf *base)
{
	int err;

	alloc->skel = alloc_bpf__open();
	if (!alloc->skel)
		return -errno;
	memcpy(alloc->skel->rodata, base->rodata, sizeof(*base->rodata));

	const struct shared_map maps[] = { SHARED_MAPS(alloc->skel, base) };

	err = shared_maps_reuse(maps, ARRAY_SIZE(maps));
	return err ? err : alloc_bpf__load(alloc->skel);
}

/*
 * The mapped file itself, whatever its path is by now: a name for it as open(2) of the kernel takes it.
 * O_PATH opens no file, so that nothing of the container is asked.
 */
static int open_mapped(const struct alloc_target *target)
{
	char path[96];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		       target->pid, target->map_start, target->map_end);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int attach(struct alloc *alloc, const struct alloc_target *target)
{
	__cleanup_fd int fd = open_mapped(target);
	char path[32];

	if (fd < 0)
		return fd;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < ALLOC_FUNCTION_CNT; i++) {
		if (!target->offsets[i])
			continue;
		alloc->links[i] = bpf_program__attach_uprobe(alloc->skel->progs.on_alloc, false,
							     (pid_t)target->pid, path,
							     target->offsets[i]);
		if (!alloc->links[i])
			return -errno;
	}
	return 0;
}

/* Breakpoints go with their descriptors, should the number be another process's by now. */
static int attach_checked(struct alloc *alloc, const struct alloc_target *target)
{
	__cleanup_fd int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (proc_fd < 0)
		return -errno;
	err = proc_stat_check_start(proc_fd, target->pid, target->start_ns);
	if (!err)
		err = attach(alloc, target);
	return err ? err : proc_stat_check_start(proc_fd, target->pid, target->start_ns);
}

static void say_attach(int err, uint32_t pid, char *why, size_t why_len)
{
	if (err == -ESRCH)
		(void)snprintf(why, why_len, "process %" PRIu32 " ended meanwhile", pid);
	else if (access("/sys/bus/event_source/devices/uprobe/type", F_OK))
		(void)snprintf(why, why_len,
			       "alloc cannot be recorded on this kernel: it needs uprobes "
			       "(CONFIG_UPROBE_EVENTS)");
	else
		(void)snprintf(why, why_len,
			       "no uprobe can be set in the libjvm.so of process %" PRIu32 ": %s",
			       pid, errstr(err));
}

int alloc__open(const struct jbpf_bpf *base, const struct alloc_target *target, struct alloc **out,
		char *why, size_t why_len)
{
	struct alloc *alloc = calloc(1, sizeof(*alloc));
	int err;

	(void)snprintf(why, why_len, "alloc: no memory");
	if (!alloc)
		return -ENOMEM;
	err = counter_sum_init(&alloc->counters);
	if (!err) {
		(void)snprintf(why, why_len, "alloc: its BPF program cannot be loaded");
		err = load(alloc, base);
	}
	if (!err) {
		err = attach_checked(alloc, target);
		if (err)
			say_attach(err, target->pid, why, why_len);
	}
	if (err) {
		alloc__free(alloc);
		return err;
	}
	*out = alloc;
	return 0;
}

void alloc__free(struct alloc *alloc)
{
	if (!alloc)
		return;
	for (size_t i = 0; i < ALLOC_FUNCTION_CNT; i++)
		bpf_link__destroy(alloc->links[i]);
	alloc_bpf__destroy(alloc->skel);
	counter_sum_release(&alloc->counters);
	free(alloc);
}

static void switch_to(struct alloc *alloc, uint32_t is_on)
{
	if (alloc)
		__atomic_store_n(&alloc->skel->data_alloc->alloc_is_on, is_on, __ATOMIC_RELEASE);
}

void alloc__start(struct alloc *alloc)
{
	switch_to(alloc, 1);
}

void alloc__stop(struct alloc *alloc)
{
	switch_to(alloc, 0);
}

void alloc__add_counters(struct alloc *alloc, uint64_t *gained)
{
	if (alloc)
		(void)counter_sum_add(&alloc->counters, bpf_map__fd(alloc->skel->maps.counters),
				      gained);
}
