// SPDX-License-Identifier: Apache-2.0
/*
 * Between the probe and the namer, in the sampler's first thread; see recorder.h.
 *
 * From the probe come notices of processes and new stacks (recorder__consume()). Notices are kept
 * in the table of sights and passed on at once; stacks, too, while they are young, if there are JVMs.
 * At the end of a window recorder__end_window() drains the counts, closes the window, and sends it
 * to the namer as a whole, with its stacks; it stays in `pending` until it is answered. From the
 * namer come named streams, each handed to the sink if it was asked for and its samples are as many
 * as were counted, then the window's end, which the sink gets as host record. Code ranges, accounts
 * and opt-outs go on to the probe.
 *
 * What can go wrong: a namer hangs, dies or says what makes no sense. namer_link.c replaces it, and
 * the next one is told all sights and gets all windows that are left. A window is given up
 * RECORDER_NAMING_MAX_NS after its end, or a window's length where that is more: what is not named
 * then is handed out without names, if its process is known to want to be recorded. When the
 * launcher is gone all ends.
 */
#include "user/collect/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "user/collect/namer/namer_link.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/namer/pending_window.h"
#include "user/collect/namer/sight_table.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/host/boot_id.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RECORDER_NAMING_MAX_NS (10 * CLOCK_NS_PER_S)

/*
 * When it is known where a JVM has its code, what was counted of it before is drained and looked at: its
 * stacks came when nobody knew that they were a JVM's, and come no second time. Read only at the window's
 * end their code would name nothing, as it may have changed. Not more often than this.
 */
#define RECORDER_SPLIT_NS CLOCK_NS_PER_S
#define SPLIT_PIDS_MAX	  64u /* the stacks of more are looked at when they come with other frames */

#define TALK_FILLS_MAX 256 /* reads of the namer's socket in one go */

/*
 * Windows that were given up and may wait for the namer to say that it is through with them: so many,
 * and so long a time of them. It does so for each before it begins with the next, however late: one
 * that owes more does not listen, and what is kept for it would grow for ever.
 */
#define DEAF_WINDOWS 3
#define DEAF_NS	     (60 * CLOCK_NS_PER_S)

struct recorder {
	struct recorder_options options;
	struct recorder_sink sink;
	struct probe *probe;
	struct namer_link *link;
	int epoll_fd;
	int link_fd; /* as it is in the epoll set; -1 = not */
	bool wants_output;
	uint8_t boot_id[BOOT_ID_BYTES];
	struct sight_table *sights;
	struct pending_window *present; /* what was drained early of the window that runs */
	struct pending_window *pending; /* oldest first */
	uint64_t last_id;
	uint64_t look_ns;      /* how often new stacks are to be looked at; 0 = no need */
	uint64_t next_look_ns; /* CLOCK_BOOTTIME */
	uint64_t split_ns;     /* the last one */
	uint32_t split_pids[SPLIT_PIDS_MAX]; /* of JVMs that were just met */
	size_t split_cnt;
	bool changes; /* the next ones are in force when this window ends */
	struct recorder_options next_options;
	struct naming_end facts; /* of the last window's answer */
	uint64_t past_cpu_ns;	 /* of namers that were replaced */
	uint64_t stack_bytes;
};

/* ---- life ---- */

static void release_windows(struct recorder *recorder)
{
	while (recorder->pending) {
		struct pending_window *window = recorder->pending;

		recorder->pending = window->next;
		pending_window_release(window);
		free(window);
	}
	if (recorder->present)
		pending_window_release(recorder->present);
	free(recorder->present);
}

void recorder__free(struct recorder *recorder)
{
	if (!recorder)
		return;
	probe__free(recorder->probe);
	namer_link__free(recorder->link);
	sight_table__free(recorder->sights);
	release_windows(recorder);
	if (recorder->epoll_fd >= 0)
		close(recorder->epoll_fd);
	free(recorder);
}

static int watch(struct recorder *recorder, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(recorder->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* The namer's socket, which is another one after each start; and whether it has to take something. */
static void watch_link(struct recorder *recorder)
{
	struct packet_stream *stream = namer_link__stream(recorder->link);
	bool wants_output = packet_stream_waiting(stream) > 0;
	struct epoll_event event = { .events = EPOLLIN | (wants_output ? EPOLLOUT : 0),
				     .data.fd = stream->fd };

	if (stream->fd < 0) {
		recorder->link_fd = -1; /* closed, and so gone from the set */
		return;
	}
	if (recorder->link_fd == stream->fd && recorder->wants_output == wants_output)
		return;
	if (epoll_ctl(recorder->epoll_fd, EPOLL_CTL_MOD, stream->fd, &event) && errno == ENOENT)
		(void)epoll_ctl(recorder->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event);
	recorder->link_fd = stream->fd;
	recorder->wants_output = wants_output;
}

static int open_parts(struct recorder *recorder, char *why, size_t why_len)
{
	const struct recorder_options *options = &recorder->options;
	const struct namer_link_options link_options = {
		.jit = options->jit,
		.ignores_opt_out = options->ignores_opt_out,
		.wants_ticks = options->probe.wants_ticks,
		.attaches = jit_mode_may_attach(options->jit),
		.confine_launcher = options->confine_launcher,
		.confine_namer = options->confine_namer,
		.confine_asker = options->confine_asker,
	};
	int err = namer_link__open(&link_options, &recorder->link, why, why_len);

	if (err)
		return err;
	boot_id_read(recorder->boot_id);
	recorder->sights = sight_table__new();
	recorder->present = calloc(1, sizeof(*recorder->present));
	recorder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!recorder->sights || !recorder->present || recorder->epoll_fd < 0) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	err = probe__open(&options->probe, &recorder->probe, why, why_len);
	if (err)
		return err;
	err = watch(recorder, probe__fd(recorder->probe), EPOLLIN);
	if (err)
		snprintf(why, why_len, "epoll: %s", errstr(err));
	watch_link(recorder);
	return err;
}

int recorder__open(const struct recorder_options *options, const struct recorder_sink *sink,
		   struct recorder **out, char *why, size_t why_len)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err;

	if (!recorder) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	recorder->options = *options;
	recorder->options.probe.ignores_opt_out = options->ignores_opt_out;
	recorder->sink = *sink;
	recorder->epoll_fd = -1;
	recorder->link_fd = -1;
	err = open_parts(recorder, why, why_len);
	if (err) {
		recorder__free(recorder);
		return err;
	}
	*out = recorder;
	return 0;
}

int recorder__may_change(const struct recorder *recorder, const struct recorder_options *options,
			 char *why, size_t why_len)
{
	return probe__may_change(recorder->probe, &options->probe, why, why_len);
}

int recorder__change(struct recorder *recorder, const struct recorder_options *options, char *why,
		     size_t why_len)
{
	int err = probe__change(recorder->probe, &options->probe, why, why_len);

	if (err)
		return err;
	recorder->next_options = *options;
	recorder->changes = true;
	return 0;
}

/* What was counted under the old options is on its way: the new ones are for all that comes. */
static void adopt_change(struct recorder *recorder)
{
	bool forgets = recorder->next_options.jit != recorder->options.jit;

	if (!recorder->changes)
		return;
	recorder->changes = false;
	recorder->options = recorder->next_options;
	if (namer_link__change(recorder->link, recorder->options.jit, forgets))
		pr_warn("recorder: no memory to pass the new options on\n");
}

int recorder__try_maps(const struct recorder *recorder)
{
	return probe__try_maps(recorder->probe);
}

int recorder__start(struct recorder *recorder)
{
	return probe__start(recorder->probe);
}

void recorder__stop(struct recorder *recorder)
{
	probe__stop(recorder->probe);
}

int recorder__fd(const struct recorder *recorder)
{
	return recorder->epoll_fd;
}

/* ---- to the namer ---- */

/* What it does not get now it gets as a window, or is told again when it is replaced. */
static void put(struct recorder *recorder, uint32_t kind, const void *bytes, size_t len)
{
	if (namer_link__is_up(recorder->link) &&
	    packet_stream_put_bytes(namer_link__stream(recorder->link), kind, bytes, len))
		pr_debug("recorder: no memory to pass a packet on\n");
}

static void handle_notice(void *ctx, const struct jbpf_notice *notice)
{
	struct recorder *recorder = ctx;

	sight_table__note(recorder->sights, notice);
	put(recorder, NAMING_NOTICE, notice, sizeof(*notice));
}

/* What names the stacks that came since the last call is to be read while it is young. */
static void pass_new_stacks(struct recorder *recorder)
{
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;
	struct probe_new_stack stack;

	while (probe__next_new_stack(recorder->probe, &stack)) {
		const struct naming_stack head = {
			.start_ns = stack.start_ns,
			.since_boot_ns = stack.since_boot_ns,
			.pid = stack.pid,
			.exec_id = stack.exec_id,
		};

		if (recorder->look_ns)
			(void)naming_stack_put(&records, &head, &stack.stack);
	}
	if (!recorder->look_ns)
		return;
	if (records.len)
		put(recorder, NAMING_STACKS, records.data, records.len);
	recorder->next_look_ns = clock_boot_ns() + recorder->look_ns;
}

static void send_window(struct recorder *recorder, const struct pending_window *window)
{
	const struct naming_window head = {
		.stream_seed = probe__stream_seed(recorder->probe),
		.frequency_hz = window->frequency_hz,
		.cpu_cnt = window->cpu_cnt,
	};
	int err;

	if (!namer_link__is_up(recorder->link))
		return;
	err = pending_window_send(window, &head, namer_link__stream(recorder->link));
	if (err)
		pr_warn_limited("window: cannot be passed on to be named: %s\n", errstr(err));
}

static int pass_sight(void *ctx, const struct jbpf_notice *notice)
{
	put(ctx, NAMING_NOTICE, notice, sizeof(*notice));
	return 0;
}

/* Another namer knows nothing. */
static void tell_all(struct recorder *recorder)
{
	const struct pending_window *window;

	(void)sight_table__each(recorder->sights, pass_sight, recorder);
	for (window = recorder->pending; window; window = window->next)
		send_window(recorder, window);
}

/* ---- windows ---- */

static void fill_host(const struct recorder *recorder, const struct pending_window *window,
		      struct window *host)
{
	memset(host, 0, sizeof(*host));
	host->start_unix_ns = window->start_unix_ns;
	host->duration_ns = window->end_boot_ns - window->start_boot_ns;
	host->start_boot_ns = window->start_boot_ns;
	memcpy(host->boot_id, recorder->boot_id, sizeof(host->boot_id));
	host->frequency_hz = window->frequency_hz;
	host->cpu_cnt = window->cpu_cnt;
}

/* A stream that nobody named in time: kept without names if its process is known to want it. */
static void hand_out_unnamed(struct recorder *recorder, struct pending_window *window,
			     const struct pending_stream *one, struct naming_end *end)
{
	const struct probe_count *counts = pending_window_counts(window) + one->at;
	const struct stream stream = { .counts = counts, .cnt = one->cnt };
	const struct jbpf_key *key = &counts->key;
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t samples = stream_samples(&stream);
	struct window named;

	if (!sight_table__is_recorded(recorder->sights, key->pid, key->start_ns, key->exec_id)) {
		end->undecided += samples;
		return;
	}
	fill_host(recorder, window, &named);
	named.pid = key->pid;
	named.ns_pid = counts->value.ns_pid;
	named.process_start_ns = key->start_ns;
	named.exec_id = key->exec_id;
	named.cgroup_id = key->cgroup_id;
	named.labels[WINDOW_LABEL_COMM] = counts->value.comm;
	named.labels[WINDOW_LABEL_OVER_BUDGET] = "it could not be named in time";
	named.counts = stream_fallback_counts(samples);
	if (stream_fallback_text(counts->value.comm, samples, &text)) {
		window->lost_memory += samples;
		return;
	}
	end->not_named += samples;
	recorder->sink.stream(recorder->sink.ctx, &named, text.data, text.len);
}

static void hand_out_end(struct recorder *recorder, struct pending_window *window,
			 const struct naming_end *end)
{
	struct recorder_stats stats;
	struct window host;

	fill_host(recorder, window, &host);
	pending_window_losses(window, end, &host);
	recorder->stack_bytes = window->stack_bytes;
	recorder__stats(recorder, &stats);
	stats.begin_boot_ns = window->closed_ns;
	recorder->sink.end(recorder->sink.ctx, &host, &stats);
	sight_table__expire(recorder->sights);
}

static void drop_first(struct recorder *recorder)
{
	struct pending_window *window = recorder->pending;

	recorder->pending = window->next;
	pending_window_release(window);
	free(window);
}

/* The namer is through with the window. */
static void window_named(struct recorder *recorder, const struct naming_end *end)
{
	struct pending_window *window = recorder->pending;
	uint64_t left_out = end->opted_out + end->undecided;
	uint64_t unanswered;

	if (!window || window->id != end->window_id)
		return; /* it was given up and dropped */
	recorder->facts = *end;
	if (!window->is_given_up) {
		unanswered = pending_window_unanswered(window);
		window->lost_memory += unanswered > left_out ? unanswered - left_out : 0;
		hand_out_end(recorder, window, end);
	}
	drop_first(recorder);
}

/* Those whose answers a namer that is no more still owed: nobody will say that they are over. */
static void drop_given_up(struct recorder *recorder)
{
	while (recorder->pending && recorder->pending->is_given_up)
		drop_first(recorder);
}

/* Its time is over. What the namer says of it from now on is dropped. */
static void give_up(struct recorder *recorder, struct pending_window *window)
{
	struct naming_end end = { .window_id = window->id };

	namer_link__give_up(recorder->link, window->id);
	for (size_t i = 0; i < window->stream_cnt; i++)
		if (!window->streams[i].is_answered)
			hand_out_unnamed(recorder, window, &window->streams[i], &end);
	pr_warn_limited("window: %llu samples could not be named in time\n",
			(unsigned long long)(end.not_named + end.undecided));
	window->is_given_up = true;
	hand_out_end(recorder, window, &end);
	/* Only its id is of use now. */
	strbuf_release(&window->counts);
	strbuf_release(&window->ticks);
	strbuf_release(&window->accounts);
	strbuf_release(&window->stacks);
	window->stream_cnt = 0;
}

static uint64_t naming_max_ns(const struct recorder *recorder)
{
	uint64_t window_ns = recorder->options.probe.window_ns;

	return window_ns > RECORDER_NAMING_MAX_NS ? window_ns : RECORDER_NAMING_MAX_NS;
}

static void replace_deaf_namer(struct recorder *recorder)
{
	const struct pending_window *window = recorder->pending;
	size_t cnt = 0;

	for (; window && window->is_given_up; window = window->next)
		cnt++;
	if (cnt > DEAF_WINDOWS && cnt * recorder->options.probe.window_ns > DEAF_NS &&
	    namer_link__is_up(recorder->link))
		namer_link__broke(recorder->link, -ETIME);
}

static void give_up_late(struct recorder *recorder)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct pending_window *window;

	for (window = recorder->pending; window; window = window->next)
		if (!window->is_given_up && now_ns > window->sent_ns + naming_max_ns(recorder))
			give_up(recorder, window);
}

void recorder__give_up(struct recorder *recorder)
{
	struct pending_window *window;

	for (window = recorder->pending; window; window = window->next)
		if (!window->is_given_up)
			give_up(recorder, window);
}

bool recorder__is_idle(const struct recorder *recorder)
{
	const struct pending_window *window = recorder->pending;

	while (window && window->is_given_up)
		window = window->next;
	return !window;
}

/* ---- draining ---- */

/* Adds what was counted to the present window. 0 or -errno: it comes later. */
static int drain(struct recorder *recorder)
{
	struct probe_batch batch;
	int err = probe__drain(recorder->probe, handle_notice, recorder, &batch);

	if (err) {
		pr_warn_limited("window: counts cannot be drained now: %s; they come later\n",
				errstr(err));
		return err;
	}
	for (size_t i = 0; i < batch.count_cnt; i++)
		sight_table__use(recorder->sights, batch.counts[i].key.pid,
				 batch.counts[i].key.start_ns, batch.counts[i].key.exec_id);
	pending_window_add(recorder->present, recorder->probe, &batch);
	pass_new_stacks(recorder);
	return 0;
}

/* What was drained of JVMs that were just met is to be read while it is young. */
static void pass_split_stacks(struct recorder *recorder)
{
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;

	if (!recorder->split_cnt)
		return;
	(void)pending_window_looks(recorder->present, recorder->probe, recorder->split_pids,
				   recorder->split_cnt, &records);
	recorder->split_cnt = 0;
	if (records.len)
		put(recorder, NAMING_STACKS, records.data, records.len);
}

static void split_when_wanted(struct recorder *recorder)
{
	uint64_t now_ns = clock_boot_ns();

	if (!recorder->split_cnt || now_ns - recorder->split_ns < RECORDER_SPLIT_NS)
		return;
	recorder->split_ns = now_ns;
	if (drain(recorder) == 0)
		pass_split_stacks(recorder);
}

void recorder__end_window(struct recorder *recorder)
{
	struct pending_window *next = calloc(1, sizeof(*next));
	struct pending_window *window = recorder->present;
	struct pending_window **last = &recorder->pending;

	/* Without memory for another one the present one goes on. */
	if (drain(recorder) || !next || !window->start_boot_ns) {
		free(next);
		return;
	}
	pass_split_stacks(recorder);
	(void)pending_window_close(window, clock_boot_ns());
	window->id = ++recorder->last_id;
	window->start_unix_ns = clock_unix_ns() - (clock_boot_ns() - window->start_boot_ns);
	window->sent_ns = clock_monotonic_ns();
	window->frequency_hz = recorder->options.probe.frequency_hz;
	window->cpu_cnt = probe__cpus(recorder->probe);
	recorder->present = next;
	while (*last)
		last = &(*last)->next;
	*last = window;
	send_window(recorder, window);
	adopt_change(recorder);
	(void)recorder__consume(recorder);
}

/* ---- from the namer ---- */

static void set_code_range(struct recorder *recorder, const struct naming_code_range *range)
{
	int err = probe__set_code_range(recorder->probe, range->pid, range->account, &range->range);

	if (err)
		pr_debug("process %u: code range not set: %s\n", range->pid, errstr(err));
	if (!recorder->look_ns)
		recorder->next_look_ns = clock_boot_ns() + CLOCK_NS_PER_S;
	if (!recorder->look_ns)
		recorder->look_ns = CLOCK_NS_PER_S;
	if (range->is_first && recorder->split_cnt < SPLIT_PIDS_MAX)
		recorder->split_pids[recorder->split_cnt++] = range->pid;
}

static void set_opt_out(struct recorder *recorder, const struct naming_opt_out *opt_out)
{
	const struct jbpf_known *process = &opt_out->process;
	int err = probe__opt_out(recorder->probe, opt_out->pid, process);

	sight_table__note_opted_out(recorder->sights, opt_out->pid, process->start_ns,
				    process->exec_id);
	if (err)
		pr_debug("process %u: still sampled, not recorded: %s\n", opt_out->pid,
			 errstr(err));
}

static void set_account(struct recorder *recorder, const struct naming_account *account)
{
	int err = probe__set_account(recorder->probe, account->cgroup_id, account->account);

	if (err)
		pr_debug("cgroup %llu: account not set: %s\n",
			 (unsigned long long)account->cgroup_id, errstr(err));
}

/*
 * What the namer says of a stream counts, but not when it was, nor how many samples there are: a namer
 * that was taken over writes no other hour. False: it cannot be so.
 */
static bool set_truth(const struct recorder *recorder, const struct pending_window *window,
		      const struct pending_stream *one, struct window *named)
{
	const struct stream stream = { .counts = pending_window_counts(window) + one->at,
				       .cnt = one->cnt };
	struct window host;

	fill_host(recorder, window, &host);
	named->start_unix_ns = host.start_unix_ns;
	named->duration_ns = host.duration_ns;
	named->start_boot_ns = host.start_boot_ns;
	memcpy(named->boot_id, host.boot_id, sizeof(named->boot_id));
	named->frequency_hz = host.frequency_hz;
	named->cpu_cnt = host.cpu_cnt;
	named->window_cnt = 0;
	named->recorded_ns = 0;
	memset(named->lost, 0, sizeof(named->lost));
	return named->counts.samples == stream_samples(&stream);
}

/* A stream that was not asked for, or twice, is none of ours. */
static int take_stream(struct recorder *recorder, const struct packet *packet)
{
	struct pending_window *window = recorder->pending;
	struct pending_stream *one;
	struct window named;
	const char *text;
	size_t len;
	int err = naming_stream_read(packet->bytes, packet->len, &named, &text, &len);

	if (err || !window)
		return err;
	if (window->is_given_up)
		return 0;
	one = pending_window_find(window, &named);
	if (!one || one->is_answered)
		return 0;
	if (!set_truth(recorder, window, one, &named))
		return -EBADMSG;
	one->is_answered = true;
	sight_table__note_recorded(recorder->sights, named.pid, named.process_start_ns,
				   named.exec_id);
	recorder->sink.stream(recorder->sink.ctx, &named, text, len);
	return 0;
}

#define EXPECT(packet, type) ((packet)->len == sizeof(type) ? (const type *)(packet)->bytes : NULL)

static int take_packet(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_code_range *range;
	const struct naming_account *account;
	const struct naming_opt_out *opt_out;
	const struct naming_looks *looks;
	const struct naming_end *end;

	switch (packet->kind) {
	case NAMING_READY:
		return 0;
	case NAMING_CODE_RANGE:
		range = EXPECT(packet, struct naming_code_range);
		if (range)
			set_code_range(recorder, range);
		return range ? 0 : -EBADMSG;
	case NAMING_OPT_OUT:
		opt_out = EXPECT(packet, struct naming_opt_out);
		if (opt_out)
			set_opt_out(recorder, opt_out);
		return opt_out ? 0 : -EBADMSG;
	case NAMING_ACCOUNT:
		account = EXPECT(packet, struct naming_account);
		if (account)
			set_account(recorder, account);
		return account ? 0 : -EBADMSG;
	case NAMING_LOOKS:
		looks = EXPECT(packet, struct naming_looks);
		if (looks && looks->interval_ns && recorder->look_ns)
			recorder->look_ns = looks->interval_ns;
		return looks ? 0 : -EBADMSG;
	case NAMING_STREAM:
		return take_stream(recorder, packet);
	case NAMING_END:
		end = EXPECT(packet, struct naming_end);
		if (end)
			window_named(recorder, end);
		return end ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

/* What the socket takes now. */
static void flush(struct recorder *recorder)
{
	int err;

	if (!namer_link__is_up(recorder->link))
		return;
	err = packet_stream_flush(namer_link__stream(recorder->link));
	if (err && err != -EAGAIN)
		namer_link__broke(recorder->link, err);
}

static void talk(struct recorder *recorder)
{
	struct packet_stream *stream = namer_link__stream(recorder->link);
	struct packet packet;
	int err = 0;

	if (!namer_link__is_up(recorder->link))
		return;
	/* Not for ever: who sends without end does not keep the rings from being drained. */
	for (int i = 0; i < TALK_FILLS_MAX && !err; i++) {
		err = packet_stream_fill(stream);
		while (!err && packet_stream_next(stream, &packet, &err))
			err = take_packet(recorder, &packet);
	}
	if (err && err != -EAGAIN)
		namer_link__broke(recorder->link, err);
	flush(recorder);
}

int recorder__consume(struct recorder *recorder)
{
	int err;

	talk(recorder);
	if (namer_link__tick(recorder->link, clock_boot_ns())) {
		recorder->link_fd = -1; /* its number may be the old one's */
		recorder->past_cpu_ns += recorder->facts.cpu_ns;
		recorder->facts.cpu_ns = 0;
		drop_given_up(recorder);
		tell_all(recorder);
	}
	if (!namer_link__has_launcher(recorder->link))
		return -ECHILD;
	err = probe__consume(recorder->probe, handle_notice, recorder);
	if (!recorder->look_ns || clock_boot_ns() >= recorder->next_look_ns)
		pass_new_stacks(recorder);
	split_when_wanted(recorder);
	flush(recorder);
	give_up_late(recorder);
	replace_deaf_namer(recorder);
	watch_link(recorder);
	return err;
}

uint64_t recorder__due_boot_ns(const struct recorder *recorder)
{
	uint64_t due_ns = namer_link__due_boot_ns(recorder->link, clock_boot_ns());

	if (recorder->look_ns && recorder->next_look_ns < due_ns)
		due_ns = recorder->next_look_ns;
	return due_ns;
}

void recorder__stats(const struct recorder *recorder, struct recorder_stats *out)
{
	struct namer_link_stats link;

	namer_link__stats(recorder->link, &link);
	*out = (struct recorder_stats){
		.process_cnt = (size_t)recorder->facts.process_cnt,
		.symbol_bytes = (size_t)recorder->facts.symbol_bytes,
		.parser_failures = recorder->facts.parser_failures,
		.parser_restarts = recorder->facts.parser_restarts,
		.namer_restarts = link.restart_cnt,
		.bans = link.ban_cnt,
		.naming_cpu_ns = recorder->past_cpu_ns + recorder->facts.cpu_ns,
		.naming_resident_bytes = recorder->facts.resident_bytes,
		.stack_bytes = recorder->stack_bytes,
		.unsampled_cpu_cnt = probe__unsampled_cpus(recorder->probe),
	};
}

uint64_t recorder__map_bytes(const struct recorder *recorder)
{
	return probe__map_bytes(recorder->probe);
}
