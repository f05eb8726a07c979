// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf record: samples for a while and makes one flame graph, without daemon and store. Windows last
 * 10 s as in the daemon, and are merged in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/cli/advice.h"
#include "user/cmd/cmd.h"
#include "user/cli/cmd_write.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/cli/option_usage.h"
#include "user/cli/selection_title.h"
#include "user/cmd/dump_stacks.h"
#include "user/cmd/record_options.h"
#include "user/collect/command.h"
#include "user/collect/sampling.h"
#include "user/cli/streams.h"
#include "user/cli/terminal.h"
#include "user/cli/unmatched.h"
#include "user/collect/container/opt_out.h"
#include "user/collect/map_reader.h"
#include "user/collect/recorder.h"
#include "user/model/event_view.h"
#include "user/model/profile.h"
#include "user/model/select.h"
#include "user/output/info.h"
#include "user/output/output.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RECORD_WINDOW_NS    (10 * CLOCK_NS_PER_S)
#define RECORD_MIN_SLICE_NS (CLOCK_NS_PER_S / 2)
#define RECORD_FINISH_NS    (15 * CLOCK_NS_PER_S)
#define RECORD_POLL_NS	    (20 * CLOCK_NS_PER_MS)
#define RECORD_OTHERS_MAX   20000
#define RECORD_COMMAND_NS   (100 * CLOCK_NS_PER_MS) /* has the command ended? */

/*
 * Before a recording begins, what is sampled has its files read, so that its first stacks are whole,
 * too. Of a host or a container that goes on for long enough to meet those that are busy.
 */
#define RECORD_SETTLE_MIN_NS (CLOCK_NS_PER_S / 4)
#define RECORD_SETTLE_MAX_NS CLOCK_NS_PER_S

/* The state of a recording. */
struct recording {
	const struct record_options *options;
	struct command *command; /* NULL: there is none */
	bool has_ended;		 /* the command, with command_status */
	int command_status;	 /* as of command__has_ended() */
	const char *command_cgroup;
	uint32_t command_pid;
	struct profile *profile;
	struct dump_stacks stacks;
	struct output_info info;
	struct output_label labels[DUMP_BY_CNT];
	uint64_t host_samples;
	uint64_t opted_out;	/* samples of the host */
	uint64_t kernel_ns;	/* of waits that no process has ended */
	bool is_watched;	/* standard error is a terminal */
	int err;		/* of a stream that could not be added */
	struct streams streams; /* that were selected */
	struct streams others;	/* that were not: for who has selected nothing */
	struct strbuf amount;
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
	if (err)
		return err;
	if (!dump_stacks_wants_text(&recording->stacks))
		return dump_stacks_add_labels(&recording->stacks, window, recording->profile);
	return dump_stacks_add(&recording->stacks, window, text, len, recording->profile,
			       &bad_line_cnt);
}

static void record_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct recording *recording = ctx;

	/* Who wakes is selected by whom it wakes, which the kernel does. */
	if (!recording->err && (recording->options->of_wakers ||
				selection_matches(&recording->options->selection, window)))
		recording->err = add_stream(recording, window, text, len);
	else if (!recording->err && recording->others.cnt < RECORD_OTHERS_MAX)
		recording->err = streams_add(&recording->others, window);
}

/* What one count of the profile is. */
static const char *count_noun(const struct record_options *options)
{
	return options->event == EVENT_WALL ? "microsecond" : "sample";
}

/* "12345 samples", or what these amount to; borrowed until the next call. */
static const char *amount(struct recording *recording, uint64_t samples)
{
	strbuf_clear(&recording->amount);
	if (event_is_measured(recording->options->event))
		info_append_amount(&recording->amount, &recording->info, samples);
	else
		strbuf_printf(&recording->amount, "%" PRIu64 " %s%s", samples,
			      count_noun(recording->options), samples == 1 ? "" : "s");
	return strbuf_str(&recording->amount);
}

/* For who waits in front of a terminal: how long still, and whether there is anything at all. */
static void progress(struct recording *recording)
{
	uint64_t seconds = recording->info.covered_ns / CLOCK_NS_PER_S;
	uint64_t duration_ns = recording->options->duration_ns;
	char whole[32] = "";

	if (duration_ns != RECORD_UNTIL_END)
		(void)snprintf(whole, sizeof(whole), " of %llu s",
			       (unsigned long long)(duration_ns / CLOCK_NS_PER_S));
	if (recording->is_watched && recording->info.covered_ns < duration_ns &&
	    !recording->has_ended)
		pr_info("%llu s%s, %s of %zu process%s; Ctrl-C ends it here\n",
			(unsigned long long)seconds, whole,
			amount(recording, profile__sample_count(recording->profile)),
			recording->streams.cnt, recording->streams.cnt == 1 ? "" : "es");
}

static void record_end(void *ctx, struct window *host, size_t host_cnt,
		       const struct recorder_stats *stats)
{
	struct recording *recording = ctx;

	(void)stats;
	/* Several are the sources of a view, and of one time. */
	for (size_t i = 0; i < host_cnt; i++) {
		recording->host_samples += host[i].counts.samples;
		recording->info.lost_samples += window_lost_samples(host[i].lost);
		recording->opted_out += host[i].lost[WINDOW_LOSS_OPTED_OUT];
	}
	recording->info.covered_ns += host->duration_ns;
	recording->info.window_ns = host->duration_ns;
	progress(recording);
}

/* The names of the last counts come a moment later. */
static int await_names(struct recorder *recorder, int signal_fd)
{
	uint64_t end_ns = clock_boot_ns() + RECORD_FINISH_NS;
	int event = 0;

	while (event >= 0 && !recorder__is_idle(recorder) && clock_boot_ns() < end_ns)
		event = sampling_wait(recorder, signal_fd, clock_boot_ns() + RECORD_POLL_NS, NULL);
	recorder__give_up(recorder);
	return event < 0 ? event : 0;
}

static bool is_settled(const struct recording *recording, const struct recorder *recorder,
		       uint64_t since_ns)
{
	uint64_t min_ns = recording->options->selection.pid ? 0 : RECORD_SETTLE_MIN_NS;
	uint64_t now_ns = clock_boot_ns();

	if (recording->options->unwind == UNWIND_MODE_FP ||
	    now_ns - since_ns >= RECORD_SETTLE_MAX_NS)
		return true;
	return now_ns - since_ns >= min_ns && recorder__settling(recorder) == RECORDER_IS_SETTLED;
}

/* What is sampled meanwhile is no part of the recording. 0, a signal's number, or -errno. */
static int settle(struct recording *recording, struct recorder *recorder, int signal_fd)
{
	const uint32_t pid = recording->options->selection.pid;
	uint64_t begin_ns = clock_boot_ns();
	int event = 0;

	while (!event && !is_settled(recording, recorder, begin_ns))
		event = sampling_wait(recorder, signal_fd, clock_boot_ns() + RECORD_POLL_NS, NULL);
	if (event)
		return event;
	if (pid && recorder__settling(recorder) == RECORDER_IS_SETTLING)
		pr_warn("process %u: its files could not be read in %llu s; the first stacks may be cut\n",
			pid, (unsigned long long)(RECORD_SETTLE_MAX_NS / CLOCK_NS_PER_S));
	recorder__drop_window(recorder);
	recording->kernel_ns = recorder__kernel_wakes_ns(recorder);
	recording->info.since_unix_ns = clock_unix_ns();
	return 0;
}

/* Of what runs already; a command begins when sampling does, and nothing of it is forgotten. */
static int begin(struct recording *recording, struct recorder *recorder, int signal_fd)
{
	int err = recorder__start(recorder);

	if (err || !recording->command)
		return err ? err : settle(recording, recorder, signal_fd);
	recording->info.since_unix_ns = clock_unix_ns();
	command__go(recording->command);
	return 0;
}

/* Until the deadline, a signal, or the end of the command. As sampling_wait(). */
static int wait_window(struct recording *recording, struct recorder *recorder, int signal_fd,
		       uint64_t deadline_ns)
{
	int event = 0;

	if (!recording->command)
		return sampling_wait(recorder, signal_fd, deadline_ns, NULL);
	while (!event && !recording->has_ended && clock_boot_ns() < deadline_ns) {
		uint64_t poll_ns = clock_boot_ns() + RECORD_COMMAND_NS;

		event = sampling_wait(recorder, signal_fd,
				      poll_ns < deadline_ns ? poll_ns : deadline_ns, NULL);
		recording->has_ended =
			command__has_ended(recording->command, &recording->command_status);
	}
	return event;
}

static int record_run(struct recording *recording, struct recorder *recorder, int signal_fd)
{
	uint64_t duration_ns = recording->options->duration_ns, end_ns;
	int err = begin(recording, recorder, signal_fd);

	if (err < 0)
		return err;
	/* After a signal: now. */
	end_ns = duration_ns == RECORD_UNTIL_END ? duration_ns : clock_boot_ns() + duration_ns;
	if (err)
		end_ns = clock_boot_ns();
	for (int event = 0; !event;) {
		uint64_t deadline_ns = clock_boot_ns() + RECORD_WINDOW_NS;

		if (deadline_ns > end_ns - RECORD_MIN_SLICE_NS)
			deadline_ns = end_ns;
		event = wait_window(recording, recorder, signal_fd, deadline_ns);
		if (event < 0)
			return event;
		/* After Ctrl-C the picture shows the samples up to now. */
		if (event || deadline_ns >= end_ns || recording->has_ended) {
			recorder__stop(recorder);
			event = SIGTERM;
		}
		recorder__end_window(recorder);
	}
	recording->info.until_unix_ns = clock_unix_ns();
	recording->kernel_ns = recorder__kernel_wakes_ns(recorder) - recording->kernel_ns;
	err = await_names(recorder, signal_fd);
	return err ? err : recording->err;
}

static int record_write(struct recording *recording)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const struct dump_view *view = &recording->options->view;
	int err = dump_view_render(view, &recording->profile, &recording->info, &text);

	if (err == -ENOENT) {
		dump_view_no_method(view, &text);
		return CMD_EXIT_NO_SAMPLES;
	}
	if (err) {
		pr_err("out of memory while drawing\n");
		return CMD_EXIT_FAILED;
	}
	return cmd_write(view->output, &text);
}

/* 0 or -ENOMEM. */
static int describe(const struct record_options *options, struct strbuf *title,
		    struct strbuf *subtitle)
{
	const struct selection *selection = &options->selection;
	const char *by[DUMP_BY_CNT];

	if (options->of_wakers)
		strbuf_puts(title, "Who ends it: ");
	if (options->command)
		strbuf_printf(title, "%s of %s", event_title(options->event), options->command[0]);
	else if (selection_is_of_all(selection))
		strbuf_printf(title, "%s of this host", event_title(options->event));
	else
		selection_title(options->event, selection, title);
	dump_view_label_names(&options->view, by);
	selection_subtitle(selection, by, options->view.by_cnt, subtitle);
	return strbuf_error(title) ? strbuf_error(title) : strbuf_error(subtitle);
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

/* How the command ended is told, and is no failure of the recording, unless it could not be run. */
static int tell_command(const struct recording *recording)
{
	const char *name = recording->options->command[0];
	int status = recording->command_status;

	if (!recording->has_ended) {
		pr_info("'%s' goes on as process %d\n", name,
			(int)command__pid(recording->command));
		return 0;
	}
	if (status < 0) {
		pr_err("'%s' cannot be run: %s\n", name, errstr(status));
		return status;
	}
	if (WIFSIGNALED(status))
		pr_warn("'%s' was ended by a signal: %s\n", name, strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		pr_warn("'%s' ended with exit code %d\n", name, WEXITSTATUS(status));
	return 0;
}

/* What is in no stack of --wakers. */
static void tell_kernel(const struct recording *recording)
{
	if (recording->options->of_wakers && recording->kernel_ns)
		pr_info("%.3f seconds of waiting were ended by timers, devices and the kernel's own threads; they are not shown\n",
			(double)recording->kernel_ns / CLOCK_NS_PER_S);
}

/* What sizes by stack are good for. */
static void tell_bias(const struct recording *recording)
{
	if (recording->options->event == EVENT_ALLOC)
		pr_info("a thread's buffer (TLAB) is charged to the allocation that asks for the next one: sums are right, shares of methods lean to who comes last and to large objects\n");
}

/* Why there is nothing, and what to look at. Always the same exit code. */
static int tell_nothing(const struct recording *recording)
{
	const struct record_options *options = recording->options;
	const char *title = recording->info.title;
	__cleanup_strbuf struct strbuf hidden = STRBUF_INIT, hint = STRBUF_INIT;
	char opted_out[64] = "";

	if (info_hidden_samples(&recording->info)) {
		info_append_hidden(&hidden, &recording->info);
		pr_err("%s: there is nothing but %s, which are not shown; see them with --idle\n",
		       title, strbuf_str(&hidden));
		return CMD_EXIT_NO_SAMPLES;
	}
	tell_kernel(recording);
	if (event_is_measured(options->event)) {
		pr_err("nothing was measured: %s; is it running, and %s?\n", title,
		       options->event == EVENT_ALLOC ? "does it allocate" :
						       "has a wait of it ended");
		return CMD_EXIT_NO_SAMPLES;
	}
	if (recording->opted_out)
		(void)snprintf(opted_out, sizeof(opted_out),
			       ", and %llu of processes that opted out",
			       (unsigned long long)recording->opted_out);
	if (unmatched_hint(&options->selection, &recording->others, "", &hint) || !hint.len)
		strbuf_printf(&hint, "is it running, %s?",
			      options->event == EVENT_CPU    ? "and busy" :
			      event_has_idle(options->event) ? "and was there any in that time" :
							       "or --count too large");
	pr_err("nothing was sampled: %s (%llu other sample%s%s); %s\n", title,
	       (unsigned long long)recording->host_samples, recording->host_samples == 1 ? "" : "s",
	       opted_out, strbuf_str(&hint));
	return CMD_EXIT_NO_SAMPLES;
}

static int record_finish(struct recording *recording)
{
	const struct output_info *info = &recording->info;
	uint64_t samples = profile__sample_count(recording->profile);
	int code;

	if (samples == 0)
		return tell_nothing(recording);
	code = record_write(recording);
	if (code != CMD_EXIT_DONE)
		return code;
	if (!advice_warn(&recording->streams))
		record_warn_names(&recording->streams);
	if (info->lost_samples)
		pr_warn("lost: %s%s\n", amount(recording, info->lost_samples),
			info->is_selection ? " of the whole host" : "");
	tell_kernel(recording);
	tell_bias(recording);
	if (recording->options->view.output)
		pr_info("%s of %zu process%s in '%s'\n", amount(recording, samples),
			info->stream_cnt, info->stream_cnt == 1 ? "" : "es",
			recording->options->view.output);
	return CMD_EXIT_DONE;
}

/* Of all that the probe counted, not only of what was wanted. */
static bool is_part_of_host(const struct record_options *options)
{
	return !options->command && !options->selection.pid &&
	       !selection_is_of_all(&options->selection);
}

static int recording_open(struct recording *recording, const struct record_options *options)
{
	const struct dump_view *view = &options->view;
	bool has_lines = dump_view_has_lines(view, &options->selection, options->event);
	struct output_info *info = &recording->info;
	int err;

	*recording = (struct recording){ .options = options,
					 .profile = profile__new(),
					 .is_watched = isatty(STDERR_FILENO) };
	err = dump_stacks_init(&recording->stacks, view, &options->selection, options->event, info);
	info->columns = terminal_columns(view->output);
	dump_view_labels(view, recording->labels, info);
	info->frequency_hz = options->event == EVENT_CPU ? options->frequency_hz : 0;
	info->since_unix_ns = clock_unix_ns();
	info->is_selection = is_part_of_host(options);
	if (has_lines)
		info->lines = source_lines__new(0);
	return !recording->profile || (has_lines && !info->lines) ? -ENOMEM : err;
}

static void recording_release(struct recording *recording)
{
	command__free(recording->command);
	profile__free(recording->profile);
	dump_stacks_release(&recording->stacks);
	source_lines__free(recording->info.lines);
	streams_release(&recording->streams);
	streams_release(&recording->others);
	strbuf_release(&recording->amount);
}

static int record_with(struct recording *recording, struct recorder *recorder)
{
	__cleanup_strbuf struct strbuf title = STRBUF_INIT, subtitle = STRBUF_INIT;
	__cleanup_fd int signal_fd = sampling_signals_open();
	int err = signal_fd < 0 ? signal_fd : record_run(recording, recorder, signal_fd);

	if (err) {
		pr_err("recording failed: %s\n", errstr(err));
		return CMD_EXIT_FAILED;
	}
	if (recording->command && tell_command(recording))
		return CMD_EXIT_FAILED;
	if (describe(recording->options, &title, &subtitle)) {
		pr_err("recording failed: %s\n", errstr(-ENOMEM));
		return CMD_EXIT_FAILED;
	}
	recording->info.title = strbuf_str(&title);
	recording->info.subtitle = strbuf_str(&subtitle);
	recording->info.stream_cnt = recording->streams.cnt;
	recording->info.image = streams_common_label(&recording->streams, WINDOW_LABEL_IMAGE);
	recording->info.jvm = streams_common_label(&recording->streams, WINDOW_LABEL_JVM_VERSION);
	recording->info.host = streams_common_label(&recording->streams, WINDOW_LABEL_HOST);
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

/*
 * Asked of a process of its own, as all that looks into others: what it reads of that one may hang it,
 * and users write files about their containers.
 */
static int ask(const struct naming_map *question, struct naming_map_answer *answer, char *why,
	       size_t why_len)
{
	struct map_reader *reader;
	int err = map_reader__open(&reader, why, why_len);

	if (err)
		return err;
	err = map_reader__ask(reader, question, NULL, NULL, answer);
	map_reader__free(reader);
	if (err)
		snprintf(why, why_len, "what looks into it hung or ended (%s)", errstr(err));
	return err;
}

/* A user who names a process wants it: a refusal is better than an empty picture. 0 or -errno. */
static int refuse_opted_out(const struct naming_map_answer *answer)
{
	const char *reason = opt_out_reason((enum opt_out)answer->opt_out);

	if (reason) {
		pr_err("process %u opted out of profiling: %s; --ignore-opt-out samples it all the same\n",
		       answer->pid, reason);
		return -EPERM;
	}
	if (answer->start_ns && answer->opt_out == OPT_OUT_UNDECIDED) {
		pr_err("it cannot be checked whether process %u opted out of profiling: %s; try again, or sample it all the same with --ignore-opt-out\n",
		       answer->pid, answer->problem);
		return -EAGAIN;
	}
	return 0;
}

static int take_alloc(const struct naming_map_answer *answer, struct probe_options *probe)
{
	if (!answer->alloc.offsets[0] || !answer->alloc.offsets[1]) {
		pr_err("it cannot be recorded what process %u allocates: %s\n", answer->pid,
		       *answer->problem ? answer->problem : "there is no such process");
		return -ENOENT;
	}
	probe->alloc = answer->alloc;
	return 0;
}

/* What is to be known of the process of --pid before it is sampled. 0, or -errno, printed. */
static int look_at_process(const struct record_options *options, struct probe_options *probe)
{
	const struct naming_map question = {
		.pid = options->selection.pid,
		.wants_alloc = options->event == EVENT_ALLOC,
	};
	struct naming_map_answer answer = { 0 };
	char why[256] = "", folder[32];
	int err;

	if (!question.pid)
		return 0;
	(void)snprintf(folder, sizeof(folder), "/proc/%" PRIu32, question.pid);
	if (access(folder, F_OK)) {
		pr_err("nothing was sampled: there is no process %u\n", question.pid);
		return -ESRCH;
	}
	if (options->ignores_opt_out)
		return 0;
	err = ask(&question, &answer, why, sizeof(why));
	if (err) {
		pr_err("it cannot be checked whether process %u opted out of profiling: %s; try again, or sample it all the same with --ignore-opt-out\n",
		       question.pid, why);
		return err;
	}
	err = refuse_opted_out(&answer);
	return err || !question.wants_alloc ? err : take_alloc(&answer, probe);
}

/* It waits for the recording to begin; only it and what it starts is sampled. 0 or -errno, printed. */
static int start_command(struct recording *recording, struct probe_options *probe)
{
	char *const *argv = recording->options->command;
	int err = argv ? command__start(argv, &recording->command) : 0;

	if (err)
		pr_err("'%s' cannot be started: %s\n", argv[0], errstr(err));
	if (err || !argv)
		return err;
	recording->command_cgroup = command__cgroup(recording->command);
	recording->command_pid = (uint32_t)command__pid(recording->command);
	if (recording->command_cgroup) {
		probe->cgroup_paths = &recording->command_cgroup;
		probe->cgroup_cnt = 1;
		return 0;
	}
	pr_warn("'%s' cannot have a cgroup of its own: processes that it starts are not sampled\n",
		argv[0]);
	probe->pids = &recording->command_pid;
	probe->pid_cnt = 1;
	return 0;
}

/* It stays when this program ends: nothing else would say why it is there. */
static void tell_hanging(const struct recorder *recorder)
{
	char hanging[RECORDER_HANGING_BYTES];

	recorder__hanging(recorder, hanging, sizeof(hanging));
	if (*hanging)
		pr_warn("%s\n", hanging);
}

int cmd_record(int argc, char **argv)
{
	struct record_options options;
	struct recorder_options recorder_options = { 0 };
	struct recorder_sink sink = { .stream = record_stream, .end = record_end };
	struct recording recording;
	struct recorder *recorder = NULL;
	char why[1024];
	int code, err;

	if (record_options_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&record_option_table, &options.info);
	if (dump_view_not_for_terminal(&options.view) && !options.view.output &&
	    isatty(STDOUT_FILENO)) {
		pr_err("standard output is a terminal; give -o FILE, or --format top or folded\n");
		return CMD_EXIT_USAGE;
	}
	recorder_options.probe = (struct probe_options){
		.frequency_hz = options.frequency_hz,
		.events = event_sources(options.event),
		.max_depth = JBPF_MAX_DEPTH,
		.keeps_digits = options.keeps_digits,
		.window_ns = RECORD_WINDOW_NS,
		.pids = options.selection.pid ? &options.selection.pid : NULL,
		.pid_cnt = options.selection.pid ? 1 : 0,
	};
	err = look_at_process(&options, &recorder_options.probe);
	if (err)
		return err == -ESRCH ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	if (!event_is_view(options.event))
		recorder_options.probe.periods[options.event] = options.period;
	recorder_options.probe.off_cpu_rate = options.off_cpu_rate;
	recorder_options.probe.sched_threshold_ns = options.threshold_ns;
	recorder_options.probe.sched_of_wakers = options.of_wakers;
	recorder_options.jit = options.jit;
	recorder_options.keeps_parameters = options.keeps_parameters;
	recorder_options.unwind = options.unwind;
	recorder_options.ignores_opt_out = options.ignores_opt_out;
	sink.ctx = &recording;
	code = CMD_EXIT_FAILED;
	if (recording_open(&recording, &options))
		pr_err("recording failed: %s\n", errstr(-ENOMEM));
	else if (start_command(&recording, &recorder_options.probe))
		code = CMD_EXIT_FAILED; /* it was printed */
	else if (recorder__open(&recorder_options, &sink, &recorder, why, sizeof(why)))
		pr_err("%s\n", why);
	else if (record_drop_privileges(recorder) == 0)
		code = record_with(&recording, recorder);
	if (recorder)
		tell_hanging(recorder);
	recorder__free(recorder);
	recording_release(&recording);
	return code;
}
