// SPDX-License-Identifier: Apache-2.0
/* See probe_why.h. */
#include "user/collect/probe/probe_why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/util/log.h"
#include "user/util/parse.h"

#define CAP_BIT(number) (1ull << (number))
#define CAP_SYS_ADMIN	CAP_BIT(21)
#define CAP_PERFMON	CAP_BIT(38)
#define CAP_BPF		CAP_BIT(39)

#define PARANOID_DEBIAN 3 /* Debian's and Ubuntu's own levels 3 and 4 ask for CAP_SYS_ADMIN */

static bool may_load(const struct probe_host *host)
{
	return host->capabilities & CAP_SYS_ADMIN ||
	       (host->capabilities & CAP_BPF && host->capabilities & CAP_PERFMON);
}

/* Where they may not load: "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN) are", or the one that it is. */
static const char *what_lacks(const struct probe_host *host)
{
	if (host->capabilities & CAP_BPF)
		return "CAP_PERFMON (or CAP_SYS_ADMIN) is";
	if (host->capabilities & CAP_PERFMON)
		return "CAP_BPF (or CAP_SYS_ADMIN) is";
	return "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN) are";
}

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES;
}

static void why_load(const struct probe_failure *failure, const struct probe_host *host, char *why,
		     size_t why_len)
{
	const char *reason = errstr(failure->err);

	if (!may_load(host))
		snprintf(
			why, why_len,
			"cannot load BPF programs: %s missing; run as root or grant what is missing",
			what_lacks(host));
	else if (!host->has_btf)
		snprintf(why, why_len,
			 "cannot load BPF programs: /sys/kernel/btf/vmlinux is missing; the kernel "
			 "needs CONFIG_DEBUG_INFO_BTF (5.10 or later)");
	else if (is_refusal(failure->err) && !failure->log)
		snprintf(why, why_len,
			 "cannot load BPF programs: %s; a security module, lockdown or a container "
			 "forbids bpf(), or RLIMIT_MEMLOCK is too low for this kernel",
			 reason);
	else if (failure->log)
		snprintf(why, why_len, "cannot load BPF programs: %s: %s", reason, failure->log);
	else
		snprintf(why, why_len, "cannot load BPF programs: %s", reason);
}

static void why_event(const struct probe_failure *failure, const struct probe_host *host, char *why,
		      size_t why_len)
{
	const char *cpu = failure->subject ? failure->subject : "?";

	if (is_refusal(failure->err) && host->perf_event_paranoid >= PARANOID_DEBIAN &&
	    !(host->capabilities & CAP_SYS_ADMIN))
		snprintf(
			why, why_len,
			"perf_event_open refused: kernel.perf_event_paranoid is %d, which asks for "
			"CAP_SYS_ADMIN; grant it, or set the sysctl to 2 and grant CAP_PERFMON",
			host->perf_event_paranoid);
	else if (is_refusal(failure->err))
		snprintf(why, why_len,
			 "perf_event_open refused on CPU %s: %s; CAP_PERFMON (or CAP_SYS_ADMIN) is "
			 "needed, and no seccomp filter or container may forbid the call",
			 cpu, errstr(failure->err));
	else if (failure->err == -EINVAL && host->max_sample_rate &&
		 failure->frequency_hz > host->max_sample_rate)
		snprintf(
			why, why_len,
			"perf_event_open refused: %u Hz is above kernel.perf_event_max_sample_rate "
			"(%u); ask for less or raise the sysctl",
			failure->frequency_hz, host->max_sample_rate);
	else
		snprintf(why, why_len, "perf_event_open failed on CPU %s: %s", cpu,
			 errstr(failure->err));
}

void probe_why(const struct probe_failure *failure, const struct probe_host *host, char *why,
	       size_t why_len)
{
	const char *subject = failure->subject ? failure->subject : "?";
	const char *reason = errstr(failure->err);

	switch (failure->step) {
	case PROBE_STEP_LOAD:
		why_load(failure, host, why, why_len);
		return;
	case PROBE_STEP_EVENT:
		why_event(failure, host, why, why_len);
		return;
	case PROBE_STEP_FILTER:
		snprintf(why, why_len,
			 "cannot filter by cgroup '%s': %s; give a directory of the cgroup v2 "
			 "hierarchy",
			 subject, reason);
		return;
	case PROBE_STEP_ATTACH:
		snprintf(why, why_len, "cannot attach to tracepoint '%s': %s", subject, reason);
		return;
	case PROBE_STEP_NO_CPU:
		snprintf(why, why_len,
			 "no CPU to sample: /sys/devices/system/cpu/online: %s; is /sys mounted?",
			 reason);
		return;
	case PROBE_STEP_WAITS:
		snprintf(why, why_len, "%s", subject);
		return;
	case PROBE_STEP_MAPS:
		snprintf(why, why_len, "cannot set up BPF maps: %s", reason);
		return;
	case PROBE_STEP_OPEN:
		break;
	}
	snprintf(why, why_len, "cannot prepare BPF programs: %s", reason);
}

int probe_why_capabilities(const char *status_text, uint64_t *out)
{
	static const char label[] = "\nCapEff:\t";
	const char *at = strstr(status_text, label);

	if (!at)
		return -EINVAL;
	at += sizeof(label) - 1;
	return parse_u64_n(at, strspn(at, "0123456789abcdef"), 16, out);
}

static bool line_begins(const char *line, const char *end, const char *prefix)
{
	size_t len = strlen(prefix);

	return (size_t)(end - line) >= len && memcmp(line, prefix, len) == 0;
}

/* Lines of a verifier's log that say nothing about its reason. */
static bool line_is_noise(const char *line, const char *end)
{
	return line == end || line_begins(line, end, "verification time") ||
	       line_begins(line, end, "stack depth") || line_begins(line, end, "-- ") ||
	       line_begins(line, end, "mark_precise");
}

void probe_why_keep_log(const char *message, char *log, size_t log_len)
{
	bool is_verifier_log = strstr(message, "\nprocessed ") != NULL;
	const char *best = NULL;
	size_t best_len = 0;

	if (!log_len || (log[0] && !is_verifier_log))
		return;
	for (const char *line = message; *line;) {
		const char *end = line + strcspn(line, "\n");

		if (is_verifier_log && line_begins(line, end, "processed "))
			break;
		if ((is_verifier_log || !best) && !line_is_noise(line, end)) {
			best = line;
			best_len = (size_t)(end - line);
		}
		line = *end ? end + 1 : end;
	}
	if (!best)
		return;
	if (line_begins(best, best + best_len, "libbpf: ")) {
		best += strlen("libbpf: ");
		best_len -= strlen("libbpf: ");
	}
	if (best_len >= log_len)
		best_len = log_len - 1;
	memcpy(log, best, best_len);
	log[best_len] = '\0';
}
