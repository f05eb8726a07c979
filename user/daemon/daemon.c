// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's life. open_all() opens everything in an order that gives each child as little as
 * possible, then drops privileges; run() waits for the end of a window or a signal, again and
 * again; finish() waits for the names of the last window. Windows end at whole multiples of their
 * length in wall time, so that hours hold whole windows and streams line up.
 */
#include "user/daemon/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/cli/option_usage.h"
#include "user/daemon/daemon_compact.h"
#include "user/daemon/daemon_metrics.h"
#include "user/daemon/daemon_options.h"
#include "user/daemon/daemon_probe.h"
#include "user/daemon/daemon_readers.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/daemon/daemon_writer.h"
#include "user/daemon/host_check.h"
#include "user/collect/sampling.h"
#include "user/collect/recorder.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/host/notify_ready.h"
#include "user/util/version.h"

#define DAEMON_MMAP_THRESHOLD (128 * 1024)
#define DAEMON_TOP_PAD	      (16 * 1024)
#define DAEMON_WHY_BYTES      1024
#define DAEMON_FINISH_NS      (15 * CLOCK_NS_PER_S) /* for the names of the last window */
#define DAEMON_FINISH_POLL_MS 50
/* A window shorter than this is not worth a record of its own: the first one is joined to the next. */
#define DAEMON_MIN_SLICE_NS (CLOCK_NS_PER_S / 2)

struct daemon {
	int argc;
	char **argv;
	struct daemon_options options;
	struct daemon_writer *writer;
	struct recorder *recorder;
	struct daemon_compactor compactor;
	struct daemon_metrics metrics;
	struct daemon_readers readers;
	bool may_attach; /* the rights for it were kept */
	int signal_fd;
	int notify_fd; /* the service manager's; -1 = none */
};

/* Borrows from `options`. */
static struct recorder_options recorder_options_of(const struct daemon_options *options)
{
	return (struct recorder_options){
		.probe = {
			.frequency_hz = options->frequency_hz,
			.events = options->events,
			.periods = { [EVENT_PAGE_FAULTS] =
					     options->page_fault_period },
			.off_cpu_rate = options->off_cpu_rate,
			.max_depth = options->max_depth,
			.window_ns = options->window_ns,
			.wants_ticks = true,
			.pids = options->pid_cnt ? options->pids : NULL,
			.pid_cnt = options->pid_cnt,
			.cgroup_paths = options->cgroup_cnt ?
						options->cgroups :
						NULL,
			.cgroup_cnt = options->cgroup_cnt,
		},
		.jit = options->jit,
		.keeps_parameters = options->keeps_parameters,
		.unwind = options->unwind,
		.host = options->host,
	};
}

static void sink_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct daemon *daemon = ctx;

	daemon_writer__add(daemon->writer, window, text, len);
}

/* Memory of names and processes, and all that malloc() gave out: the soak compares the two. */
static void report_memory(const struct recorder_stats *stats)
{
	struct mallinfo2 heap;

	if (log_level() < LOG_LEVEL_DEBUG)
		return;
	heap = mallinfo2();
	pr_debug(
		"memory: %zu processes, %zu KiB of symbols, %zu KiB given out, %zu KiB free in the heap\n",
		stats->process_cnt, stats->symbol_bytes >> 10, (heap.uordblks + heap.hblkhd) >> 10,
		heap.fordblks >> 10);
}

static void sink_end(void *ctx, struct window *hosts, size_t host_cnt,
		     const struct recorder_stats *stats)
{
	struct daemon *daemon = ctx;
	struct recorder_stats all = *stats;

	report_memory(stats);
	all.map_bytes = recorder__map_bytes(daemon->recorder);
	daemon_writer__end(daemon->writer, hosts, host_cnt, &all, &daemon->compactor);
}

static int recorder_from_options(struct daemon *daemon, char *why, size_t why_len)
{
	const struct recorder_sink sink = { .ctx = daemon, .stream = sink_stream, .end = sink_end };
	struct recorder_options recorder_options = recorder_options_of(&daemon->options);
	struct recorder *recorder;
	int err;

	err = recorder__open(&recorder_options, &sink, &recorder, why, why_len);
	if (err)
		return err;
	err = recorder__start(recorder);
	if (err) {
		snprintf(why, why_len, "sampling does not start: %s", errstr(err));
		recorder__free(recorder);
		return err;
	}
	daemon->recorder = recorder;
	return 0;
}

/* The next whole multiple of the window in wall time, as CLOCK_BOOTTIME. */
static uint64_t next_deadline_ns(uint64_t window_ns)
{
	uint64_t left_ns = window_ns - clock_unix_ns() % window_ns;

	if (left_ns < DAEMON_MIN_SLICE_NS)
		left_ns += window_ns;
	return clock_boot_ns() + left_ns;
}

static void adopt_options(struct daemon *daemon, struct daemon_options *options)
{
	daemon_options_release(&daemon->options);
	daemon->options = *options;
	*options = (struct daemon_options){ 0 };
}

/* May all of it be changed while it runs? Privileges are gone: a change that needs them needs a restart. */
static int may_change(const struct daemon *daemon, const struct daemon_options *options, char *why,
		      size_t why_len)
{
	const struct recorder_options recorder_options = recorder_options_of(options);

	if (strcmp(options->store, daemon->options.store) != 0) {
		snprintf(why, why_len, "needs a restart: another store");
		return -EOPNOTSUPP;
	}
	if (strcmp(options->metrics ? options->metrics : "",
		   daemon->options.metrics ? daemon->options.metrics : "") != 0) {
		snprintf(why, why_len, "needs a restart: another address for metrics");
		return -EOPNOTSUPP;
	}
	if (jit_mode_may_attach(options->jit) && !daemon->may_attach) {
		snprintf(why, why_len,
			 "needs a restart: the rights to ask a JVM for its map were given up");
		return -EOPNOTSUPP;
	}
	if (!daemon_options_sampling_differs(&daemon->options, options))
		return 0;
	return recorder__may_change(daemon->recorder, &recorder_options, why, why_len);
}

/* The new options are in force, and the old ones' window ends; taken over from `options`. */
static void change(struct daemon *daemon, struct daemon_options *options)
{
	const struct recorder_options recorder_options = recorder_options_of(options);
	bool differs = daemon_options_sampling_differs(&daemon->options, options);
	struct recorder_options adopted;
	char why[DAEMON_WHY_BYTES];

	if (differs && recorder__change(daemon->recorder, &recorder_options, why, sizeof(why))) {
		pr_err("SIGHUP: %s; going on as before\n", why);
		return;
	}
	/* Before the window ends: it is then that the recorder takes over what it borrows, and tells the namer. */
	log_set_level(options->log_level);
	adopt_options(daemon, options);
	adopted = recorder_options_of(&daemon->options);
	recorder__change_rest(daemon->recorder, &adopted);
	recorder__end_window(daemon->recorder);
	/* The store stays open: it is the same, and a disk that hangs must not hold up the rings. */
	daemon_writer__change(daemon->writer, &daemon->options);
	pr_info("SIGHUP: config file '%s' taken over\n", daemon->options.config);
}

/* SIGHUP: all or nothing; a change that cannot be made leaves everything as it was. */
static void reload(struct daemon *daemon)
{
	struct daemon_options options;
	char why[DAEMON_WHY_BYTES];
	int err;

	if (!daemon->options.config) {
		pr_info("SIGHUP: there is no config file to reread\n");
		return;
	}
	err = daemon_options_parse(daemon->argc, daemon->argv, &options, why, sizeof(why));
	if (!err)
		err = may_change(daemon, &options, why, sizeof(why));
	if (err)
		pr_err("SIGHUP: %s; going on as before\n", why);
	else
		change(daemon, &options);
	daemon_options_release(&options);
}

/* The last window is written when its names are there, or are not coming. */
static int finish(struct daemon *daemon, int signal)
{
	uint64_t end_ns = clock_boot_ns() + DAEMON_FINISH_NS;
	bool is_lost;

	while (!recorder__is_idle(daemon->recorder) && clock_boot_ns() < end_ns) {
		struct pollfd wait = { .fd = recorder__fd(daemon->recorder), .events = POLLIN };

		(void)poll(&wait, 1, DAEMON_FINISH_POLL_MS);
		(void)recorder__consume(daemon->recorder);
	}
	recorder__give_up(daemon->recorder);
	daemon_writer__wait(daemon->writer);
	is_lost = daemon_writer__has_failed(daemon->writer);
	pr_info("stopped by %s; the last window is %s\n", strsignal(signal),
		is_lost ? "lost" : "written");
	return is_lost ? -EIO : 0;
}

/*
 * A window has ended: sampling goes on. The service manager and the probes are told so whatever becomes
 * of the window on the disk, and also while naming is dead, unless a restart may mend that: see
 * naming_beat.h.
 */
static void tell_alive(struct daemon *daemon)
{
	enum naming_beat_state naming = recorder__naming(daemon->recorder);

	daemon_metrics_beat(&daemon->metrics, daemon->options.window_ns, naming);
	if (naming != NAMING_BEAT_STUCK)
		notify_ready_alive(daemon->notify_fd);
	else
		pr_warn_limited(
			"naming is dead, and jbpfd does not know why: it is to be started again\n");
}

static uint64_t readers_due_boot_ns(void *ctx)
{
	const struct daemon *daemon = ctx;

	return daemon_readers_due_boot_ns(&daemon->readers);
}

static void readers_step(void *ctx)
{
	struct daemon *daemon = ctx;

	daemon_readers_step(&daemon->readers, daemon->recorder);
}

static int run(struct daemon *daemon)
{
	const struct sampling_aside readers = {
		.ctx = daemon,
		.fd = daemon_readers_fd(&daemon->readers),
		.due_boot_ns = readers_due_boot_ns,
		.step = readers_step,
	};

	for (;;) {
		int event = sampling_wait(daemon->recorder, daemon->signal_fd,
					  next_deadline_ns(daemon->options.window_ns), &readers);

		if (event < 0) {
			pr_err("sampling: waiting for samples failed: %s%s\n", errstr(event),
			       event == -ECHILD ? " (the process that starts others was killed)" :
						  "");
			return event;
		}
		if (event == SIGHUP) {
			reload(daemon);
			notify_ready_started(daemon->notify_fd, daemon->options.window_ns);
		} else {
			if (event)
				notify_ready_stopping(daemon->notify_fd);
			if (event)
				recorder__stop(daemon->recorder);
			daemon_readers_end_window(&daemon->readers, daemon->recorder);
			recorder__end_window(daemon->recorder);
		}
		tell_alive(daemon);
		if (event == SIGTERM || event == SIGINT)
			return finish(daemon, event);
		daemon->compactor.keep_bytes = daemon->options.keep_bytes;
		daemon->compactor.keep_ticks_ns = daemon->options.keep_moments_ns;
		if (daemon->options.compact)
			daemon_compactor_tick(&daemon->compactor, daemon->options.store,
					      clock_boot_ns(), clock_unix_ns());
		else
			daemon_compactor_cancel(&daemon->compactor);
	}
}

static void explain_store_error(const char *dir, int err)
{
	char why[DAEMON_WHY_BYTES];

	if (err == -EUCLEAN && store_dir_check(dir, why, sizeof(why)) == -EPERM)
		pr_err("store '%s' is not safe from others: %s\n", dir, why);
	else if (err == -EWOULDBLOCK)
		pr_err("store '%s' is in use by another jbpfd; stop it or give --store another directory\n",
		       dir);
	else if (err == -EROFS)
		pr_err("store '%s' is on a read-only file system; give --store a writable directory; under systemd, to which all but the unit's own is read-only: systemctl edit jbpfd, [Service] ReadWritePaths=%s\n",
		       dir, dir);
	else if (err == -EACCES || err == -EPERM)
		pr_err("store '%s' cannot be written: %s; run as root or give --store a writable directory\n",
		       dir, errstr(err));
	else
		pr_err("store '%s' cannot be opened: %s; give --store a directory that can be made or written\n",
		       dir, errstr(err));
}

static int try_maps(const void *ctx)
{
	return recorder__try_maps(ctx);
}

/* Everything is open: gives up the rights that were needed only for that. */
static int drop_privileges(struct daemon *daemon)
{
	const struct daemon_sandbox_needs needs = {
		.store_dir = daemon->options.store,
		.try_maps = try_maps,
		.ctx = daemon->recorder,
	};
	struct daemon_sandbox sandbox;
	char why[DAEMON_WHY_BYTES];
	int err = daemon_sandbox_enter(&needs, &sandbox, why, sizeof(why));

	if (err) {
		pr_err("%s\n", why);
		return err;
	}
	daemon->may_attach = jit_mode_may_attach(daemon->options.jit);
	daemon_sandbox_log(&sandbox, daemon->may_attach);
	return 0;
}

static int open_all(struct daemon *daemon)
{
	char why[DAEMON_WHY_BYTES], events[EVENT_NAMES_MAX];
	int err;

	daemon->notify_fd = notify_ready_open();
	/* Before threads of the BPF side could take them. */
	daemon->signal_fd = sampling_signals_open();
	if (daemon->signal_fd < 0) {
		pr_err("signals: %s\n", errstr(daemon->signal_fd));
		return daemon->signal_fd;
	}
	daemon->writer = daemon_writer__new(&daemon->metrics);
	err = daemon->writer ? daemon_writer__open(daemon->writer, &daemon->options) : -ENOMEM;
	if (err) {
		explain_store_error(daemon->options.store, err);
		return err;
	}
	/* Before the recorder: the server's child must not inherit BPF objects. */
	err = daemon_metrics_open(&daemon->metrics, &daemon->options, why, sizeof(why));
	if (!err)
		err = recorder_from_options(daemon, why, sizeof(why));
	if (err) {
		pr_err("%s\n", why);
		return err;
	}
	/* Behind it nothing is bound; before it there were processes to come that have no part in it. */
	daemon_readers_open(&daemon->readers, daemon->options.store);
	err = drop_privileges(daemon);
	if (err)
		return err;
	daemon_metrics_begin(&daemon->metrics);
	err = daemon_writer__start(daemon->writer);
	if (err) {
		pr_err("store: the thread that writes cannot be started: %s\n", errstr(err));
		return err;
	}
	daemon_compactor_init(&daemon->compactor, clock_boot_ns());
	event_names(daemon->options.events, events);
	pr_info("version %s samples at %u Hz into '%s', %.1f MiB of BPF maps, events: %s\n",
		jbpf_version, daemon->options.frequency_hz, daemon->options.store,
		(double)recorder__map_bytes(daemon->recorder) / (1 << 20), events);
	notify_ready_started(daemon->notify_fd, daemon->options.window_ns);
	return 0;
}

static void close_all(struct daemon *daemon)
{
	daemon_compactor_stop(&daemon->compactor);
	daemon_readers_close(&daemon->readers);
	/* First, while all that its windows may have come from is there. */
	daemon_writer__free(daemon->writer);
	recorder__free(daemon->recorder);
	daemon_metrics_close(&daemon->metrics);
	daemon_options_release(&daemon->options);
	if (daemon->signal_fd >= 0)
		close(daemon->signal_fd);
	if (daemon->notify_fd >= 0)
		close(daemon->notify_fd);
}

int daemon_main(int argc, char **argv)
{
	struct daemon daemon = { .argc = argc, .argv = argv, .signal_fd = -1, .notify_fd = -1 };
	char why[DAEMON_WHY_BYTES];
	int err;

	/*
	 * Who reads the log may go away, and sampling goes on: writes then fail. jbpfd executes nothing that
	 * would inherit it; its children set the signals that they need (child_process.h).
	 */
	(void)signal(SIGPIPE, SIG_IGN);
	log_set_program("jbpfd");
	/*
	 * Symbol tables and perf maps are read through large buffers that live for a moment. glibc
	 * would raise its mmap threshold at the first free of one and keep the next on the heap.
	 */
	(void)mallopt(M_MMAP_THRESHOLD, DAEMON_MMAP_THRESHOLD);
	(void)mallopt(M_TRIM_THRESHOLD, DAEMON_MMAP_THRESHOLD);
	/* Room above the last piece of the heap when it grows, and when memory is given back. */
	(void)mallopt(M_TOP_PAD, DAEMON_TOP_PAD);
	err = daemon_options_parse(argc, argv, &daemon.options, why, sizeof(why));
	if (err) {
		pr_err("%s\n", why);
		daemon_options_release(&daemon.options);
		return err == -EINVAL ? 2 : 1;
	}
	log_set_level(daemon.options.log_level);
	if (daemon.options.info.help || daemon.options.info.version) {
		(void)signal(SIGPIPE, SIG_IGN); /* a reader that goes away is not an error */
		err = option_usage_print(&daemon_option_table, &daemon.options.info);
	} else if (daemon.options.check) {
		const struct host_check_options options = {
			.store_dir = daemon.options.store,
			.events = daemon.options.events,
			.attaches = jit_mode_may_attach(daemon.options.jit),
		};

		err = host_check(&options, stdout);
	} else if (daemon.options.probe != DAEMON_PROBE_NONE) {
		err = daemon_probe(&daemon.options, stdout);
	} else {
		err = open_all(&daemon);
		if (!err)
			err = run(&daemon);
	}
	close_all(&daemon);
	return err ? 1 : 0;
}
