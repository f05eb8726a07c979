// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf record: samples for a while and makes one flame graph, without daemon and store. Windows last
 * 10 s as in the daemon, and are merged in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/files/opener.h"
#include "symbols/parser/parser.h"
#include "user/cli/advice.h"
#include "user/cmd/cmd.h"
#include "user/cli/cmd_write.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/cli/option_usage.h"
#include "user/cmd/record_options.h"
#include "user/collect/sampling.h"
#include "user/cli/streams.h"
#include "user/collect/container/container.h"
#include "user/collect/container/opt_out.h"
#include "user/collect/recorder.h"
#include "user/model/profile.h"
#include "user/model/select.h"
#include "user/output/info.h"
#include "user/output/output.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/parse.h"

#define RECORD_WINDOW_NS    (10 * CLOCK_NS_PER_S)
#define RECORD_MIN_SLICE_NS (CLOCK_NS_PER_S / 2)
#define RECORD_FINISH_NS    (15 * CLOCK_NS_PER_S)
#define RECORD_POLL_NS	    (20 * CLOCK_NS_PER_MS)
#define RECORD_TOP_ROWS	    50

/* The state of a recording. */
struct recording {
	const struct record_options *options;
	struct profile *profile;
	struct output_info info;
	uint64_t host_samples;
	uint64_t opted_out;	/* samples of the host */
	int err;		/* of a stream that could not be added */
	struct streams streams; /* that were selected */
};

static int add_stream(struct recording *recording, const struct window *window, const char *text,
		      size_t len)
{
	struct output_info *info = &recording->info;
	size_t bad_line_cnt = 0; /* they are our own */
	int err;

	info_add_window(info, window);
	err = streams_add(&recording->streams, window);
	if (!err && info->lines && window->lines_len)
		err = source_lines__add_text(info->lines, window->lines, window->lines_len,
					     &bad_line_cnt);
	return err ? err : profile__add_folded(recording->profile, text, len, NULL);
}

static void record_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct recording *recording = ctx;

	if (!recording->err && selection_matches(&recording->options->selection, window))
		recording->err = add_stream(recording, window, text, len);
}

static void record_end(void *ctx, struct window *host, const struct recorder_stats *stats)
{
	struct recording *recording = ctx;

	(void)stats;
	recording->host_samples += host->counts.samples;
	recording->info.lost_samples += window_lost_samples(host->lost);
	recording->opted_out += host->lost[WINDOW_LOSS_OPTED_OUT];
}

/* The names of the last counts come a moment later. */
static int await_names(struct recorder *recorder, int signal_fd)
{
	uint64_t end_ns = clock_boot_ns() + RECORD_FINISH_NS;
	int event = 0;

	while (event >= 0 && !recorder__is_idle(recorder) && clock_boot_ns() < end_ns)
		event = sampling_wait(recorder, signal_fd, clock_boot_ns() + RECORD_POLL_NS);
	recorder__give_up(recorder);
	return event < 0 ? event : 0;
}

static int record_run(struct recording *recording, struct recorder *recorder, int signal_fd)
{
	uint64_t end_ns = clock_boot_ns() + recording->options->duration_ns;
	int err = recorder__start(recorder);

	if (err)
		return err;
	for (int event = 0; !event;) {
		uint64_t deadline_ns = clock_boot_ns() + RECORD_WINDOW_NS;

		if (deadline_ns + RECORD_MIN_SLICE_NS > end_ns)
			deadline_ns = end_ns;
		event = sampling_wait(recorder, signal_fd, deadline_ns);
		if (event < 0)
			return event;
		/* After Ctrl-C the picture shows the samples up to now. */
		if (event || deadline_ns >= end_ns) {
			recorder__stop(recorder);
			event = SIGTERM;
		}
		recorder__end_window(recorder);
	}
	err = await_names(recorder, signal_fd);
	return err ? err : recording->err;
}

static int record_render(struct recording *recording, struct strbuf *out)
{
	switch (recording->options->format) {
	case RECORD_FORMAT_SVG:
		return output_svg(recording->profile, &recording->info, out);
	case RECORD_FORMAT_FOLDED:
		return output_folded(recording->profile, out);
	case RECORD_FORMAT_JSON:
		return output_json(recording->profile, &recording->info, out);
	case RECORD_FORMAT_TOP:
		return output_top(recording->profile, &recording->info, RECORD_TOP_ROWS, out);
	default:
		return output_html(recording->profile, &recording->info, out);
	}
}

static int record_write(struct recording *recording)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *path = recording->options->output;

	if (record_render(recording, &text)) {
		pr_err("out of memory while drawing\n");
		return CMD_EXIT_FAILED;
	}
	return cmd_write(strcmp(path, "-") == 0 ? NULL : path, &text);
}

static void describe(const struct record_options *options, char *title, size_t title_len)
{
	const struct selection *selection = &options->selection;

	if (selection->pid)
		snprintf(title, title_len, "CPU of process %u", selection->pid);
	else if (selection->container)
		snprintf(title, title_len, "CPU of container %s", selection->container);
	else if (selection->comm)
		snprintf(title, title_len, "CPU of %s", selection->comm);
	else
		snprintf(title, title_len, "CPU of this host");
}

/* Warns why the code of the busiest JVM without names has none. */
static void record_warn_names(const struct streams *streams)
{
	const struct stream *busiest = NULL;

	for (size_t i = 0; i < streams->cnt; i++) {
		const struct stream *stream = &streams->items[i];

		if (*window_label(&stream->latest, WINDOW_LABEL_JIT_PROBLEM) &&
		    (!busiest || stream->counts.samples > busiest->counts.samples))
			busiest = stream;
	}
	if (busiest)
		pr_warn("pid %u: %s\n", busiest->latest.pid,
			window_label(&busiest->latest, WINDOW_LABEL_JIT_PROBLEM));
}

static int record_finish(struct recording *recording)
{
	const struct output_info *info = &recording->info;
	uint64_t samples = profile__sample_count(recording->profile);
	int code;

	if (samples == 0) {
		pr_err("nothing was sampled: %s (the host had %llu samples, and %llu of processes that opted out); is it running, and busy?\n",
		       info->title, (unsigned long long)recording->host_samples,
		       (unsigned long long)recording->opted_out);
		return CMD_EXIT_NO_SAMPLES;
	}
	code = record_write(recording);
	if (code != CMD_EXIT_DONE)
		return code;
	if (!advice_warn(&recording->streams))
		record_warn_names(&recording->streams);
	if (info->lost_samples)
		pr_warn("%llu samples were lost\n", (unsigned long long)info->lost_samples);
	if (strcmp(recording->options->output, "-") != 0)
		pr_info("%llu samples of %zu process%s in '%s'\n", (unsigned long long)samples,
			info->stream_cnt, info->stream_cnt == 1 ? "" : "es",
			recording->options->output);
	return CMD_EXIT_DONE;
}

static int recording_open(struct recording *recording, const struct record_options *options)
{
	*recording = (struct recording){ .options = options, .profile = profile__new() };
	recording->info.subtitle = "";
	recording->info.frequency_hz = options->frequency_hz;
	recording->info.since_unix_ns = clock_unix_ns();
	if (options->format == RECORD_FORMAT_JSON)
		recording->info.lines = source_lines__new(0);
	if (!recording->profile ||
	    (options->format == RECORD_FORMAT_JSON && !recording->info.lines))
		return -ENOMEM;
	return 0;
}

static void recording_release(struct recording *recording)
{
	profile__free(recording->profile);
	source_lines__free(recording->info.lines);
	streams_release(&recording->streams);
}

static int record_with(struct recording *recording, struct recorder *recorder)
{
	char title[160];
	__cleanup_fd int signal_fd = sampling_signals_open();
	int err = signal_fd < 0 ? signal_fd : record_run(recording, recorder, signal_fd);

	if (err) {
		pr_err("recording failed: %s\n", errstr(err));
		return CMD_EXIT_FAILED;
	}
	describe(recording->options, title, sizeof(title));
	recording->info.title = title;
	recording->info.until_unix_ns = clock_unix_ns();
	recording->info.stream_cnt = recording->streams.cnt;
	return record_finish(recording);
}

static int try_maps(const void *ctx)
{
	return recorder__try_maps(ctx);
}

/* Everything but the output is open; only that is still written. */
static int record_drop_privileges(const struct recorder *recorder)
{
	const struct daemon_sandbox_needs needs = {
		.aside = DAEMON_SANDBOX_WRITING,
		.try_maps = try_maps,
		.ctx = recorder,
	};
	struct daemon_sandbox sandbox;
	char why[512];
	int err = daemon_sandbox_enter(&needs, &sandbox, why, sizeof(why));

	if (err)
		pr_err("%s\n", why);
	return err;
}

/* A user who names a process wants it: a refusal is better than an empty picture. */
static enum opt_out opt_out_by(struct parser *parser, uint32_t pid)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct container_resolver_options options = {
		.proc_fd = proc_fd,
		.root_fd = root_fd,
		.cgroup_root = "/sys/fs/cgroup",
		.parser = parser,
	};
	enum opt_out opt_out = opt_out_read(proc_fd, pid);
	struct container_info info = { 0 };
	struct container_resolver *containers;

	if (opt_out == OPT_OUT_BY_ENVIRONMENT || container_resolver__new(&options, &containers))
		return opt_out;
	if (container_resolver__lookup(containers, pid, 0, &info) == 0 && info.is_opted_out)
		opt_out = OPT_OUT_BY_LABEL;
	container_info_release(&info);
	container_resolver__free(containers);
	return opt_out;
}

/* Users write files about their containers: processes without rights open and parse these. */
static enum opt_out opt_out_of(uint32_t pid)
{
	struct opener *opener = opener__new(NULL);
	struct parser *parser = NULL;
	enum opt_out opt_out;

	/* When memory or processes are short it is done here. */
	if (opener && parser__open(&parser) == 0)
		parser__set_opener(parser, opener);
	opt_out = opt_out_by(parser, pid);
	parser__free(parser);
	opener__free(opener);
	return opt_out;
}

static int refuse_opted_out(const struct record_options *options)
{
	uint32_t pid = options->selection.pid;
	const char *reason = pid && !options->ignores_opt_out ? opt_out_reason(opt_out_of(pid)) :
								NULL;

	if (!reason)
		return 0;
	pr_err("process %u opted out of profiling: %s; --ignore-opt-out samples it all the same\n",
	       pid, reason);
	return -EPERM;
}

int cmd_record(int argc, char **argv)
{
	struct record_options options;
	struct recorder_options recorder_options = {
		.confine_launcher = daemon_sandbox_launcher,
		.confine_namer = daemon_sandbox_namer,
		.confine_asker = daemon_sandbox_asker,
	};
	struct recorder_sink sink = { .stream = record_stream, .end = record_end };
	struct recording recording;
	struct recorder *recorder = NULL;
	char why[1024];
	int code;

	if (record_options_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&record_option_table, &options.info);
	if (refuse_opted_out(&options))
		return CMD_EXIT_FAILED;
	recorder_options.probe = (struct probe_options){
		.frequency_hz = options.frequency_hz,
		.max_depth = JBPF_MAX_DEPTH,
		.window_ns = RECORD_WINDOW_NS,
		.pids = options.selection.pid ? &options.selection.pid : NULL,
		.pid_cnt = options.selection.pid ? 1 : 0,
	};
	recorder_options.jit = options.jit;
	recorder_options.ignores_opt_out = options.ignores_opt_out;
	sink.ctx = &recording;
	code = CMD_EXIT_FAILED;
	if (recording_open(&recording, &options))
		pr_err("recording failed: %s\n", errstr(-ENOMEM));
	else if (recorder__open(&recorder_options, &sink, &recorder, why, sizeof(why)))
		pr_err("%s\n", why);
	else if (record_drop_privileges(recorder) == 0)
		code = record_with(&recording, recorder);
	recorder__free(recorder);
	recording_release(&recording);
	return code;
}
