// SPDX-License-Identifier: Apache-2.0
/*
 * A minimal profiler on bpf_get_stackid, to be compared with as a whole: samples all CPUs, counts by
 * process and stack ids in the kernel, and once per window writes a line of raw addresses for each
 * count and empties the maps. No names, no second set of maps (samples taken while it reads may be
 * counted twice or not), no care about what the kernel refused: that is what a first version of a
 * profiler looks like.
 *
 * Usage (root): bench_stackid --output FILE [--frequency HZ] [--window SECONDS]
 * Says "sampling" on stderr when it does; SIGINT and SIGTERM end it, with a line of JSON there.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/bench/stackid.skel.h"

#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define STACKID_FRAMES	   127	 /* as stackid.bpf.c has them */
#define STACKID_COUNTS_MAX 16384 /* entries of its maps */
#define STACKID_HZ_MAX	   100000
#define STACKID_WINDOW_MAX 3600 /* seconds */

struct key { /* struct stackid_key of stackid.bpf.c */
	uint32_t pid;
	int32_t user_id;
	int32_t kernel_id;
};

struct profiler {
	struct stackid_bpf *bpf;
	FILE *out;
	uint64_t samples;
	uint64_t lost; /* samples whose user stack the map refused */
	struct key keys[STACKID_COUNTS_MAX];
	uint64_t counts[STACKID_COUNTS_MAX];
};

static int open_event(int cpu, uint32_t hz, int program_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.exclude_idle = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return 0; /* open until the end */
}

static int start(struct profiler *profiler, uint32_t hz)
{
	int program_fd, opened = 0;

	profiler->bpf = stackid_bpf__open_and_load();
	if (!profiler->bpf)
		return -errno;
	program_fd = bpf_program__fd(profiler->bpf->progs.stackid_oncpu);
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int err = open_event(cpu, hz, program_fd);

		if (err && err != -ENODEV) /* ENODEV: offline */
			return err;
		opened += !err;
	}
	return opened ? 0 : -ENODEV;
}

static void write_stack(const struct profiler *profiler, int32_t id)
{
	uint64_t ips[STACKID_FRAMES] = { 0 };
	int fd = bpf_map__fd(profiler->bpf->maps.traces);

	if (id < 0 || bpf_map_lookup_elem(fd, &id, ips))
		return;
	for (int i = 0; i < STACKID_FRAMES && ips[i]; i++)
		fprintf(profiler->out, ";%llx", (unsigned long long)ips[i]);
}

static void empty_traces(int fd)
{
	uint32_t id, next;
	bool is_first = true;

	/* A key that was deleted makes the kernel begin anew: ask for the next one before. */
	while (bpf_map_get_next_key(fd, is_first ? NULL : &id, &next) == 0) {
		if (!is_first)
			(void)bpf_map_delete_elem(fd, &id);
		id = next;
		is_first = false;
	}
	if (!is_first)
		(void)bpf_map_delete_elem(fd, &id);
}

/* Writes what the maps hold and empties them. */
static int read_out(struct profiler *profiler)
{
	int fd = bpf_map__fd(profiler->bpf->maps.counts);
	uint32_t batch, cnt = STACKID_COUNTS_MAX;
	int err = bpf_map_lookup_and_delete_batch(fd, NULL, &batch, profiler->keys,
						  profiler->counts, &cnt, NULL);

	if (err && err != -ENOENT) /* ENOENT: that was all */
		return err;
	for (uint32_t i = 0; i < cnt; i++) {
		fprintf(profiler->out, "%u", profiler->keys[i].pid);
		write_stack(profiler, profiler->keys[i].user_id);
		write_stack(profiler, profiler->keys[i].kernel_id);
		fprintf(profiler->out, " %llu\n", (unsigned long long)profiler->counts[i]);
		profiler->samples += profiler->counts[i];
		/* -EFAULT: a kernel thread has no user stack. */
		if (profiler->keys[i].user_id == -EEXIST || profiler->keys[i].user_id == -ENOMEM)
			profiler->lost += profiler->counts[i];
	}
	empty_traces(bpf_map__fd(profiler->bpf->maps.traces));
	return fflush(profiler->out) ? -errno : 0;
}

static int run(struct profiler *profiler, uint32_t hz, uint32_t window_s)
{
	struct pollfd ends = { .events = POLLIN };
	sigset_t signals;
	int err = 0, is_over = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ends.fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (ends.fd < 0)
		return -errno;
	err = start(profiler, hz);
	if (!err)
		fprintf(stderr, "sampling\n");
	while (!err && !is_over) {
		is_over = poll(&ends, 1, (int)window_s * 1000);
		err = read_out(profiler);
	}
	close(ends.fd);
	return err;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "frequency", required_argument, NULL, 'f' },
		{ "window", required_argument, NULL, 'w' },
		{ "output", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	uint32_t hz = 99, window_s = 10;
	const char *path = NULL;
	struct profiler *profiler;
	int option, err = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1 && !err) {
		if (option == 'f')
			err = parse_u32_range(optarg, 1, STACKID_HZ_MAX, &hz);
		else if (option == 'w')
			err = parse_u32_range(optarg, 1, STACKID_WINDOW_MAX, &window_s);
		else if (option == 'o')
			path = optarg;
		else
			err = -EINVAL;
	}
	if (err || !path) {
		fprintf(stderr,
			"usage: bench_stackid --output FILE [--frequency HZ] [--window SECONDS]\n");
		return 2;
	}
	profiler = calloc(1, sizeof(*profiler));
	if (!profiler)
		return 1;
	profiler->out = fopen(path, "w");
	err = profiler->out ? run(profiler, hz, window_s) : -errno;
	if (err)
		fprintf(stderr, "bench_stackid: %s\n", strerror(-err));
	else
		fprintf(stderr, "{\"samples\": %llu, \"lost\": %llu}\n",
			(unsigned long long)profiler->samples, (unsigned long long)profiler->lost);
	stackid_bpf__destroy(profiler->bpf);
	if (profiler->out)
		fclose(profiler->out);
	free(profiler);
	return err ? 1 : 0;
}
