// SPDX-License-Identifier: Apache-2.0
/* See push_metrics.h. */
#include "user/push/push_metrics.h"

#include <fcntl.h>
#include <inttypes.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

struct metric {
	const char *name;
	const char *type;
	const char *help;
	uint64_t value;
};

int push_metrics_write(const char *path, const struct push_round *round, uint64_t failure_cnt)
{
	uint64_t now_ns = clock_unix_ns(), sent_ns = push_round_sent_until(round);
	const struct metric metrics[] = {
		{ "jbpf_push_sent_until_timestamp_seconds", "gauge",
		  "All samples before this time are at the server; 0: none yet.",
		  sent_ns / CLOCK_NS_PER_S },
		{ "jbpf_push_lag_seconds", "gauge",
		  "Time since then; 0 before the first minute was sent.",
		  sent_ns && sent_ns < now_ns ? (now_ns - sent_ns) / CLOCK_NS_PER_S : 0 },
		{ "jbpf_push_windows_total", "counter",
		  "Rows of windows, or profiles, that were sent.", round->sent.window_rows },
		{ "jbpf_push_samples_total", "counter",
		  "Rows of samples, or samples of profiles, that were sent.",
		  round->sent.sample_rows },
		{ "jbpf_push_stacks_total", "counter", "Stacks that were sent.",
		  round->sent.stack_rows },
		{ "jbpf_push_sent_bytes_total", "counter", "Bytes of requests, compressed.",
		  round->ops->sent_bytes(round->server) },
		{ "jbpf_push_failures_total", "counter", "Rounds that failed.", failure_cnt },
		{ "jbpf_push_refused_rows_total", "counter",
		  "Rows, or stacks, that the server refused one by one; dropped.",
		  round->sent.refused_rows },
		{ "jbpf_push_rejected_profiles_total", "counter",
		  "Profiles that a receiver of OTLP rejected of requests that it took.",
		  round->sent.rejected_profiles },
		{ "jbpf_push_dropped_windows_total", "counter",
		  "Windows of more processes in a minute than are sent.",
		  round->summed.dropped_windows },
		{ "jbpf_push_dropped_samples_total", "counter", "Their samples.",
		  round->summed.dropped_samples },
		{ "jbpf_push_over_limit_samples_total", "counter",
		  "Samples without their stack: too many different ones, or too long, in a minute.",
		  round->summed.over_limit_samples },
		{ "jbpf_push_over_limit_lines_total", "counter",
		  "Windows without their source lines, for the same reason.",
		  round->summed.over_limit_lines },
		{ "jbpf_push_unreadable_places_total", "counter",
		  "Places of the store that could not be read, again and again, and were given up.",
		  round->unreadable.cnt },
		{ "jbpf_push_bad_lines_total", "counter",
		  "Damage: lines that are no stacks, codes that cannot be read.",
		  round->summed.bad_lines },
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		strbuf_printf(&out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", metrics[i].name,
			      metrics[i].help, metrics[i].name, metrics[i].type, metrics[i].name,
			      metrics[i].value);
	if (strbuf_error(&out))
		return strbuf_error(&out);
	return fs_write_output(AT_FDCWD, path, 0644, out.data, out.len);
}
