// SPDX-License-Identifier: Apache-2.0
/* See probe_change.h. */
#include "user/collect/probe/probe_change.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "user/collect/probe/probe_sizes.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

/* A drain may come late: so much more than a window's samples must find room. */
#define LATE_PERCENT 110

void probe_change_room(const struct probe_options *options, const struct probe_sizes *sizes,
		       size_t cpu_cnt, struct probe_room *out)
{
	uint32_t pid_max = options->pid_cnt > PROBE_CHANGE_PIDS_MIN ? (uint32_t)options->pid_cnt :
								      PROBE_CHANGE_PIDS_MIN;

	*out = (struct probe_room){
		.cpu_cnt = cpu_cnt,
		.count_entries = sizes->count_entries,
		.max_depth = options->max_depth,
		.events = probe_events(options),
		.off_cpu_rate = options->off_cpu_rate,
		.pid_max = options->pid_cnt ? pid_max : 0,
		.cgroup_max = (uint32_t)options->cgroup_cnt,
	};
	for (int i = 0; i < EVENT_CNT; i++)
		out->periods[i] = probe_period(options, (enum event)i);
}

static bool fits(const struct probe_room *room, const struct probe_options *wanted)
{
	double ticks = (double)wanted->frequency_hz * (double)wanted->window_ns /
		       (double)CLOCK_NS_PER_S * LATE_PERCENT / 100;

	return probe_sizes_count_entries(wanted, room->cpu_cnt) <= room->count_entries &&
	       (!room->tick_words || ticks <= room->tick_words);
}

static bool has_events(const struct probe_room *room, const struct probe_options *wanted)
{
	if (probe_events(wanted) != room->events)
		return false;
	if (room->events & EVENT_BIT(EVENT_OFF_CPU) && wanted->off_cpu_rate != room->off_cpu_rate)
		return false;
	for (int i = 0; i < EVENT_CNT; i++)
		if (i != EVENT_CPU && room->events & EVENT_BIT(i) &&
		    probe_period(wanted, (enum event)i) != room->periods[i])
			return false;
	return true;
}

static int refuse(char *why, size_t why_len, const char *what)
{
	(void)snprintf(why, why_len, "needs a restart: %s", what);
	return -EOPNOTSUPP;
}

static void close_cgroups(int *fds)
{
	for (size_t i = 0; i < JBPF_CGROUP_FILTER_MAX; i++)
		cleanup_fd_(&fds[i]);
}

/* A directory of the cgroup v2 hierarchy, or -errno. */
static int open_cgroup(const char *path)
{
	__cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd < 0 || fstatfs(fd, &st))
		return -errno;
	return st.f_type == CGROUP2_SUPER_MAGIC ? take_fd(&fd) : -EBADF;
}

/* Fills JBPF_CGROUP_FILTER_MAX descriptors, -1 behind the last. 0, or -errno and none is open. */
static int open_cgroups(const struct probe_options *wanted, int *fds, char *why, size_t why_len)
{
	memset(fds, -1, JBPF_CGROUP_FILTER_MAX * sizeof(fds[0]));
	for (size_t i = 0; i < wanted->cgroup_cnt; i++) {
		int err = open_cgroup(wanted->cgroup_paths[i]);

		if (err >= 0) {
			fds[i] = err;
			continue;
		}
		(void)snprintf(
			why, why_len,
			"cannot filter by cgroup '%s': %s; give a directory of the cgroup v2 hierarchy",
			wanted->cgroup_paths[i], errstr(err));
		close_cgroups(fds);
		return err;
	}
	return 0;
}

static int check_cgroups(const struct probe_options *wanted, char *why, size_t why_len)
{
	int fds[JBPF_CGROUP_FILTER_MAX];
	int err = open_cgroups(wanted, fds, why, why_len);

	if (!err)
		close_cgroups(fds);
	return err;
}

int probe_change_check(const struct probe_room *room, const struct probe_options *wanted, char *why,
		       size_t why_len)
{
	if (room->max_sample_rate && wanted->frequency_hz > room->max_sample_rate) {
		(void)snprintf(
			why, why_len,
			"%u Hz is above kernel.perf_event_max_sample_rate (%u); ask for less or raise the sysctl",
			wanted->frequency_hz, room->max_sample_rate);
		return -EINVAL;
	}
	if (wanted->max_depth != room->max_depth)
		return refuse(why, why_len, "max-depth is part of the BPF programs");
	if (!has_events(room, wanted))
		return refuse(why, why_len, "events and their periods are opened once");
	if (!wanted->pid_cnt != !room->pid_max)
		return refuse(why, why_len,
			      "the BPF programs were loaded with or without a filter by pid");
	if (!wanted->cgroup_cnt != !room->cgroup_max)
		return refuse(why, why_len,
			      "the BPF programs were loaded with or without a filter by cgroup");
	if (wanted->pid_cnt > room->pid_max)
		return refuse(why, why_len, "there is no room for so many pids in the BPF maps");
	if (wanted->cgroup_cnt > room->cgroup_max)
		return refuse(why, why_len, "the BPF programs were loaded for fewer cgroups");
	if (!fits(room, wanted))
		return refuse(
			why, why_len,
			"so many samples per window do not fit into the BPF maps; a shorter window may do, too");
	return check_cgroups(wanted, why, why_len);
}

int probe_change_pids(int map_fd, const uint32_t *pids, size_t cnt)
{
	const __u8 one = 1;
	uint32_t pid, next;
	int err = bpf_map_get_next_key(map_fd, NULL, &next);

	while (!err) {
		pid = next;
		err = bpf_map_get_next_key(map_fd, &pid, &next);
		(void)bpf_map_delete_elem(map_fd, &pid);
	}
	if (err != -ENOENT)
		return err;
	err = 0;
	for (size_t i = 0; !err && i < cnt; i++)
		err = bpf_map_update_elem(map_fd, &pids[i], &one, BPF_ANY);
	return err;
}

int probe_change_filters(int pids_fd, int cgroups_fd, const struct probe_options *options,
			 const char **subject)
{
	int err = 0;

	if (options->pid_cnt)
		err = probe_change_pids(pids_fd, options->pids, options->pid_cnt);
	for (__u32 i = 0; !err && i < options->cgroup_cnt; i++) {
		__cleanup_fd int fd =
			open(options->cgroup_paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		*subject = options->cgroup_paths[i];
		err = fd < 0 ? -errno : bpf_map_update_elem(cgroups_fd, &i, &fd, BPF_ANY);
	}
	return err;
}

/* All slots, whatever was in them: one that is empty passes nobody. */
static int write_cgroups(int map_fd, const int *fds)
{
	for (__u32 i = 0; i < JBPF_CGROUP_FILTER_MAX; i++) {
		int err = fds[i] >= 0 ? bpf_map_update_elem(map_fd, &i, &fds[i], BPF_ANY) :
					bpf_map_delete_elem(map_fd, &i);

		if (err && (fds[i] >= 0 || err != -ENOENT))
			return err;
	}
	return 0;
}

int probe_change_cgroups(int map_fd, const struct probe_options *wanted, char *why, size_t why_len)
{
	int fds[JBPF_CGROUP_FILTER_MAX];
	int err = open_cgroups(wanted, fds, why, why_len);

	if (err)
		return err;
	(void)snprintf(why, why_len, "BPF maps refuse another filter by cgroup");
	err = write_cgroups(map_fd, fds);
	close_cgroups(fds);
	return err;
}
