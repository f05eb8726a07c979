// SPDX-License-Identifier: Apache-2.0
/*
 * See cpus.h. Events are software's: present on every machine, virtual or not. The CPU's clock is
 * in frequency mode, and idle time gives no samples; others have a period. The program is set with
 * the ioctl, which all kernels have (links for perf events came with 5.15) and which does not
 * switch the event on.
 */
#include "user/collect/probe/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/collect/probe/probe.h"
#include "user/host/ksymbol_watch.h"
#include "user/host/perf_event.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define CPUS_ONLINE_PATH      "/sys/devices/system/cpu/online"
#define CPUS_ONLINE_MAX_BYTES 65536

/* One number at *at, which moves behind it. */
static int cpus_parse_number(const char **at, uint32_t *out)
{
	size_t digits = strspn(*at, "0123456789");
	uint64_t number;
	int err = parse_u64_n(*at, digits, 10, &number);

	if (err || number >= CPUS_MAX)
		return -EINVAL;
	*at += digits;
	*out = (uint32_t)number;
	return 0;
}

int cpus_parse(const char *text, uint32_t *cpus, size_t max, size_t *cnt_out)
{
	bool *is_listed = calloc(CPUS_MAX, sizeof(*is_listed));
	const char *at = text;
	size_t cnt = 0;
	int err = is_listed ? 0 : -ENOMEM;

	while (!err) {
		uint32_t first, last;

		err = cpus_parse_number(&at, &first);
		last = first;
		if (!err && *at == '-') {
			at++;
			err = cpus_parse_number(&at, &last);
		}
		if (err || last < first) {
			err = err ? err : -EINVAL;
			break;
		}
		for (uint32_t cpu = first; cpu <= last; cpu++) {
			cnt += !is_listed[cpu];
			is_listed[cpu] = true;
		}
		if (*at != ',')
			break;
		at++;
	}
	if (!err && strcmp(at, "") != 0 && strcmp(at, "\n") != 0)
		err = -EINVAL;
	if (!err && cnt > max)
		err = -E2BIG;
	if (!err) {
		*cnt_out = cnt;
		for (uint32_t cpu = 0; cnt; cpu++) {
			if (is_listed[cpu]) {
				*cpus++ = cpu;
				cnt--;
			}
		}
	}
	free(is_listed);
	return err;
}

int cpus_online(uint32_t **cpus_out, size_t *cnt_out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	__cleanup_free uint32_t *cpus = calloc(CPUS_MAX, sizeof(*cpus));
	int err;

	if (!cpus)
		return -ENOMEM;
	err = fs_read_file(AT_FDCWD, CPUS_ONLINE_PATH, CPUS_ONLINE_MAX_BYTES, &text);
	if (err)
		return err;
	if (!text.len)
		return -ENODEV;
	err = cpus_parse(strbuf_str(&text), cpus, CPUS_MAX, cnt_out);
	if (err)
		return err;
	*cpus_out = take_ptr(cpus);
	return 0;
}

struct cpu_event {
	uint32_t cpu;
	int fd;
	uint64_t enabled_ns; /* as it said last */
};

struct cpu_events {
	struct cpu_events_options options;
	struct cpu_event *events; /* ascending by CPU */
	size_t cnt;
	bool is_enabled;
};

struct cpu_events *cpu_events__new(const struct cpu_events_options *options)
{
	struct cpu_events *events = calloc(1, sizeof(*events));

	if (events)
		events->options = *options;
	return events;
}

void cpu_events__free(struct cpu_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->cnt; i++)
		close(events->events[i].fd);
	free(events->events);
	free(events);
}

/* A descriptor or -errno. */
static int cpu_event_open(const struct cpu_events *events, uint32_t cpu)
{
	bool is_clock = events->options.software == PERF_COUNT_SW_CPU_CLOCK;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = events->options.software,
		.sample_period = events->options.period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
		.freq = is_clock,
		/* A switch that leaves the idle task is one, too; the program passes over it. */
		.exclude_idle = is_clock,
	};

	if (is_clock)
		attr.sample_freq = events->options.frequency_hz;

	__cleanup_fd int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, events->options.program_fd))
		return -errno;
	if (events->is_enabled && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return take_fd(&fd);
}

int cpu_events__follow(struct cpu_events *events, const uint32_t *cpus, size_t cnt,
		       uint32_t *cpu_out)
{
	struct cpu_event *next = calloc(cnt ? cnt : 1, sizeof(*next));
	size_t next_cnt = 0, old = 0;
	int err = 0;

	if (!next) {
		*cpu_out = cnt ? cpus[0] : 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++) {
		int fd;

		while (old < events->cnt && events->events[old].cpu < cpus[i])
			close(events->events[old++].fd);
		if (old < events->cnt && events->events[old].cpu == cpus[i]) {
			struct cpu_event *event = &events->events[old++];

			if (!events->is_enabled ||
			    perf_event_has_run(event->fd, &event->enabled_ns)) {
				next[next_cnt++] = *event;
				continue;
			}
			close(event->fd);
		}
		fd = cpu_event_open(events, cpus[i]);
		if (fd >= 0) {
			next[next_cnt++] = (struct cpu_event){ .cpu = cpus[i], .fd = fd };
		} else if (!err) {
			err = fd;
			*cpu_out = cpus[i];
		}
	}
	while (old < events->cnt)
		close(events->events[old++].fd);
	free(events->events);
	events->events = next;
	events->cnt = next_cnt;
	return err;
}

/*
 * A clock event has a period from the start: perf_swevent_init_hrtimer() turns a frequency into
 * nanoseconds once (kernel/events/core.c), so that is what PERF_EVENT_IOC_PERIOD takes here.
 */
int cpu_events__set_frequency(struct cpu_events *events, uint32_t frequency_hz)
{
	uint64_t period_ns = CLOCK_NS_PER_S / frequency_hz;
	int err = 0;

	for (size_t i = 0; i < events->cnt; i++) {
		if (ioctl(events->events[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns) && !err)
			err = -errno;
	}
	events->options.frequency_hz = frequency_hz;
	return err;
}

int cpu_events__enable(struct cpu_events *events)
{
	events->is_enabled = true;
	for (size_t i = 0; i < events->cnt; i++) {
		if (ioctl(events->events[i].fd, PERF_EVENT_IOC_ENABLE, 0)) {
			int err = -errno;

			cpu_events__disable(events);
			return err;
		}
	}
	return 0;
}

void cpu_events__disable(struct cpu_events *events)
{
	events->is_enabled = false;
	for (size_t i = 0; i < events->cnt; i++)
		(void)ioctl(events->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

size_t cpu_events__count(const struct cpu_events *events)
{
	return events->cnt;
}

/* ---- several of them ---- */

uint32_t cpu_event_software(enum event event)
{
	static const uint32_t software[EVENT_CNT] = {
		[EVENT_CPU] = PERF_COUNT_SW_CPU_CLOCK,
		[EVENT_PAGE_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS,
		[EVENT_MAJOR_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		[EVENT_CONTEXT_SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
		[EVENT_CPU_MIGRATIONS] = PERF_COUNT_SW_CPU_MIGRATIONS,
	};

	return software[event];
}

bool cpus_have_counters(uint32_t events)
{
	for (int i = 0; i < EVENT_CNT; i++) {
		if (events & EVENT_BIT(i) && i != EVENT_CPU && event_is_of_cpus((enum event)i))
			return true;
	}
	return false;
}

int cpu_event_set_fill(struct cpu_event_set *set, const struct probe_options *options,
		       int clock_program_fd, int event_program_fd)
{
	uint32_t events = probe_events(options);

	for (int i = 0; i < EVENT_CNT; i++) {
		bool is_cpu = i == EVENT_CPU;
		const struct cpu_events_options events_options = {
			.software = cpu_event_software((enum event)i),
			.frequency_hz = options->frequency_hz,
			.period = is_cpu ? 0 : probe_period(options, (enum event)i),
			.program_fd = is_cpu ? clock_program_fd : event_program_fd,
		};

		if (!(events & EVENT_BIT(i)) || !event_is_of_cpus((enum event)i))
			continue;
		set->of[i] = cpu_events__new(&events_options);
		if (!set->of[i])
			return -ENOMEM;
	}
	set->ksymbols = ksymbol_watch__new();
	return set->ksymbols ? 0 : -ENOMEM;
}

void cpu_event_set_release(struct cpu_event_set *set)
{
	for (int i = 0; i < EVENT_CNT; i++)
		cpu_events__free(set->of[i]);
	ksymbol_watch__free(set->ksymbols);
	*set = (struct cpu_event_set){ .of = { NULL } };
}

int cpu_event_set_follow(struct cpu_event_set *set, const uint32_t *cpus, size_t cnt,
			 uint32_t *cpu_out)
{
	int first_err = 0;

	for (int i = 0; i < EVENT_CNT; i++) {
		uint32_t cpu = 0;
		int err = set->of[i] ? cpu_events__follow(set->of[i], cpus, cnt, &cpu) : 0;

		if (!err || first_err)
			continue;
		first_err = err;
		*cpu_out = cpu;
	}
	ksymbol_watch__follow(set->ksymbols, cpus, cnt);
	return first_err;
}

int cpu_event_set_enable(struct cpu_event_set *set)
{
	for (int i = 0; i < EVENT_CNT; i++) {
		int err = set->of[i] ? cpu_events__enable(set->of[i]) : 0;

		if (err) {
			cpu_event_set_disable(set);
			return err;
		}
	}
	return 0;
}

void cpu_event_set_disable(struct cpu_event_set *set)
{
	for (int i = 0; i < EVENT_CNT; i++)
		if (set->of[i])
			cpu_events__disable(set->of[i]);
}

size_t cpu_event_set_count(const struct cpu_event_set *set)
{
	size_t least = SIZE_MAX;

	for (int i = 0; i < EVENT_CNT; i++) {
		size_t cnt = set->of[i] ? cpu_events__count(set->of[i]) : SIZE_MAX;

		least = cnt < least ? cnt : least;
	}
	return least == SIZE_MAX ? 0 : least;
}

int cpu_event_set_frequency(struct cpu_event_set *set, uint32_t frequency_hz)
{
	struct cpu_events *clock = set->of[EVENT_CPU];

	return clock ? cpu_events__set_frequency(clock, frequency_hz) : 0;
}
