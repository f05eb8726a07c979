// SPDX-License-Identifier: Apache-2.0
/*
 * Between the probe and the namer, in the sampler's first thread; see recorder.h.
 *
 * intake.c takes what comes from the probe, and closes windows. An ended window goes to the namer
 * as a whole, with its stacks, and stays in window_queue.c until it is answered or given up. From
 * the namer come packets (`answers` below): named streams and ends of windows for the queue, code
 * ranges, accounts and opt-outs for the probe.
 *
 * What can go wrong: a namer hangs, dies or says what makes no sense. namer_link.c replaces it, and
 * the next one gets of all windows that are left who was named before, then all sights, then the
 * rest: so who was named before waits for one hang at most, however many follow. A window is given up
 * RECORDER_NAMING_MAX_NS after its end, or a window's length where that is more, and at once when there
 * was no memory to send it: what is not named then is handed out without names, if its process is known
 * to want to be recorded. When the launcher is gone all ends.
 */
#include "user/collect/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "user/collect/intake.h"
#include "user/collect/namer/namer_link.h"
#include "user/collect/namer/sight_table.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/probe/sample_source.h"
#include "user/collect/recorder_internal.h"
#include "user/collect/running.h"
#include "user/collect/unwind_feed.h"
#include "user/collect/window_queue.h"
#include "user/host/host_name.h"
#include "user/host/pid_namespace.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RECORDER_NAMING_MAX_NS (10 * CLOCK_NS_PER_S)

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
	struct sample_source source;
	struct namer_link *link;
	int epoll_fd;
	int link_fd; /* as it is in the epoll set; -1 = not */
	bool wants_output;
	struct sight_table *sights;
	struct intake intake;
	struct unwind_feed unwind;
	struct window_queue queue;
	struct naming_beat beat;
	struct running *running; /* NULL: no live reader */
	bool changes;		 /* the next ones are in force when this window ends */
	struct recorder_options next_options;
	struct naming_end facts; /* of the last window's answer */
	uint64_t past_cpu_ns;	 /* of namers that were replaced */
	uint64_t stack_bytes;
	bool are_pids_foreign;
	bool hands_out;		      /* something of a window, and not its end yet */
	char host[HOST_NAME_MAX + 1]; /* of the window that is or was handed out last */
};

/* ---- windows that are handed out ---- */

/* An image may get its name while jbpfd runs. Windows follow one another: all of each has one name. */
static void begin_handing_out(struct recorder *recorder)
{
	if (!recorder->hands_out)
		host_name_update(recorder->options.host, recorder->host, sizeof(recorder->host));
	recorder->hands_out = true;
}

static void pass_stream(void *ctx, const struct window *named, const char *text, size_t len)
{
	struct recorder *recorder = ctx;
	struct window window = *named;

	begin_handing_out(recorder);
	window.labels[WINDOW_LABEL_HOST] = recorder->host;
	recorder->sink.stream(recorder->sink.ctx, &window, text, len);
}

static void pass_end(void *ctx, const struct pending_window *window, struct window *hosts,
		     size_t host_cnt)
{
	struct recorder *recorder = ctx;
	struct recorder_stats stats;

	begin_handing_out(recorder);
	recorder->stack_bytes = window->stack_bytes;
	recorder__stats(recorder, &stats);
	stats.begin_boot_ns = window->closed_ns;
	stats.events = window->events;
	stats.passes = window->passes;
	for (size_t i = 0; i < host_cnt; i++)
		hosts[i].labels[WINDOW_LABEL_HOST] = recorder->host;
	recorder->sink.end(recorder->sink.ctx, hosts, host_cnt, &stats);
	recorder->hands_out = false;
	sight_table__expire(recorder->sights);
}

static void pass_give_up(void *ctx, uint64_t window_id)
{
	struct recorder *recorder = ctx;

	naming_beat_miss(&recorder->beat);
	namer_link__give_up(recorder->link, window_id);
}

/* ---- life ---- */

void recorder__free(struct recorder *recorder)
{
	if (!recorder)
		return;
	recorder->source.ops->free(recorder->source.probe);
	namer_link__free(recorder->link);
	sight_table__free(recorder->sights);
	running__free(recorder->running);
	window_queue_release(&recorder->queue);
	intake_release(&recorder->intake);
	unwind_feed_release(&recorder->unwind);
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

static struct namer_link_options link_options_of(const struct recorder_options *options)
{
	return (struct namer_link_options){
		.jit = options->jit,
		.keeps_parameters = options->keeps_parameters,
		.ignores_opt_out = options->ignores_opt_out,
		.wants_ticks = options->probe.wants_ticks,
		.attaches = jit_mode_may_attach(options->jit),
	};
}

static int open_tables(struct recorder *recorder)
{
	const struct window_queue_listener listener = {
		.ctx = recorder,
		.stream = pass_stream,
		.end = pass_end,
		.give_up = pass_give_up,
	};

	recorder->sights = sight_table__new();
	recorder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!recorder->sights || recorder->epoll_fd < 0)
		return -ENOMEM;
	window_queue_init(&recorder->queue, &listener, recorder->sights);
	return intake_init(&recorder->intake, &recorder->source, recorder->sights, recorder->link);
}

/* The link first: it forks, while this process is small and has all its rights. */
static int open_parts(struct recorder *recorder, char *why, size_t why_len)
{
	const struct namer_link_options options = link_options_of(&recorder->options);
	struct sample_source *source = &recorder->source;
	int err = namer_link__open(&options, &recorder->link, why, why_len);

	if (err)
		return err;
	err = open_tables(recorder);
	if (err) {
		snprintf(why, why_len, "out of memory");
		return err;
	}
	err = source->ops->open(&recorder->options.probe, &source->probe, why, why_len);
	if (err)
		return err;
	unwind_feed_init(&recorder->unwind, source, recorder->link);
	unwind_feed_begin(&recorder->unwind, recorder->options.unwind, UNWIND_FEED_NEW_NAMER);
	err = watch(recorder, source->ops->fd(source->probe), EPOLLIN);
	if (!err && namer_link__log_fd(recorder->link) >= 0)
		err = watch(recorder, namer_link__log_fd(recorder->link), EPOLLIN);
	if (err)
		snprintf(why, why_len, "epoll: %s", errstr(err));
	watch_link(recorder);
	naming_beat_note(&recorder->beat, clock_monotonic_ns(), 0);
	return err;
}

/* As the namer opens it. */
static bool are_pids_the_hosts(void)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return proc_fd < 0 || pid_namespace_is_the_hosts(proc_fd);
}

int recorder_open_with(const struct recorder_options *options, const struct recorder_sink *sink,
		       const struct sample_source_ops *source, struct recorder **out, char *why,
		       size_t why_len)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err;

	if (!recorder) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	recorder->options = *options;
	recorder->options.probe.ignores_opt_out = options->ignores_opt_out;
	host_name_update(options->host, recorder->host, sizeof(recorder->host));
	recorder->sink = *sink;
	recorder->source.ops = source;
	recorder->epoll_fd = -1;
	recorder->link_fd = -1;
	recorder->are_pids_foreign = !are_pids_the_hosts();
	err = open_parts(recorder, why, why_len);
	if (err) {
		recorder__free(recorder);
		return err;
	}
	if (recorder->are_pids_foreign)
		pr_warn("%s\n", PID_NAMESPACE_PROBLEM);
	*out = recorder;
	return 0;
}

int recorder__open(const struct recorder_options *options, const struct recorder_sink *sink,
		   struct recorder **out, char *why, size_t why_len)
{
	return recorder_open_with(options, sink, &sample_source_probe, out, why, why_len);
}

int recorder__may_change(const struct recorder *recorder, const struct recorder_options *options,
			 char *why, size_t why_len)
{
	return recorder->source.ops->may_change(recorder->source.probe, &options->probe, why,
						why_len);
}

void recorder__change_rest(struct recorder *recorder, const struct recorder_options *options)
{
	recorder->next_options = *options;
	recorder->changes = true;
}

int recorder__change(struct recorder *recorder, const struct recorder_options *options, char *why,
		     size_t why_len)
{
	int err =
		recorder->source.ops->change(recorder->source.probe, &options->probe, why, why_len);

	if (!err)
		recorder__change_rest(recorder, options);
	return err;
}

/* What was counted under the old options is on its way: the new ones are for all that comes. */
static void adopt_change(struct recorder *recorder)
{
	const struct recorder_options *next = &recorder->next_options;
	const struct namer_link_options link_options = link_options_of(next);
	bool forgets = next->jit != recorder->options.jit ||
		       next->keeps_parameters != recorder->options.keeps_parameters;
	bool unwinds_else = next->unwind != recorder->options.unwind;

	if (!recorder->changes)
		return;
	recorder->changes = false;
	recorder->options = *next;
	if (namer_link__change(recorder->link, &link_options, forgets))
		pr_warn("recorder: no memory to pass the new options on\n");
	if (unwinds_else)
		unwind_feed_begin(&recorder->unwind, recorder->options.unwind,
				  UNWIND_FEED_NEW_NAMER);
}

int recorder__try_maps(const struct recorder *recorder)
{
	return recorder->source.ops->try_maps(recorder->source.probe);
}

int recorder__start(struct recorder *recorder)
{
	/* Before, so that all of the first window lies behind what the namer reads now. */
	intake_tell_ksymbols(&recorder->intake);
	return recorder->source.ops->start(recorder->source.probe);
}

void recorder__stop(struct recorder *recorder)
{
	recorder->source.ops->stop(recorder->source.probe);
}

int recorder__fd(const struct recorder *recorder)
{
	return recorder->epoll_fd;
}

/* ---- to the namer ---- */

static void send_window(struct recorder *recorder, struct pending_window *window,
			enum pending_part part)
{
	const struct naming_window head = {
		.tick_seed = recorder->source.ops->tick_seed(recorder->source.probe),
		.frequency_hz = window->frequency_hz,
		.cpu_cnt = window->cpu_cnt,
	};
	int err;

	if (!namer_link__is_up(recorder->link))
		return;
	err = pending_window_send(window, part, recorder->sights, &head,
				  namer_link__stream(recorder->link));
	if (err)
		pr_warn_limited("window: cannot be passed on to be named: %s\n", errstr(err));
}

/*
 * Another namer knows nothing. Of all windows it is asked first for those that were named before: whom it
 * meets next may hang it, too, and the next one, and each time those would wait for as long.
 */
static void send_all(struct recorder *recorder)
{
	struct pending_window *window;

	intake_tell_ksymbols(&recorder->intake);
	for (window = recorder->queue.first; window; window = window->next)
		send_window(recorder, window, PENDING_KNOWN);
	intake_pass_sights(&recorder->intake);
	for (window = recorder->queue.first; window; window = window->next)
		send_window(recorder, window, PENDING_LEFT);
	window_queue_give_up_unsent(&recorder->queue);
}

void recorder__end_window(struct recorder *recorder)
{
	struct pending_window *window = intake_end_window(&recorder->intake);

	if (!window)
		return;
	unwind_feed_end_window(&recorder->unwind);
	window->frequency_hz = recorder->options.probe.frequency_hz;
	window->events = probe_events(&recorder->options.probe);
	for (int i = 0; i < EVENT_CNT; i++)
		window->periods[i] = probe_period(&recorder->options.probe, (enum event)i);
	if (window->wait_period_ns)
		window->periods[EVENT_OFF_CPU] = window->wait_period_ns;
	window->cpu_cnt = recorder->source.ops->cpus(recorder->source.probe);
	window_queue_add(&recorder->queue, window);
	send_window(recorder, window, PENDING_LEFT);
	window_queue_give_up_unsent(&recorder->queue);
	adopt_change(recorder);
	(void)recorder__consume(recorder);
}

void recorder__drop_window(struct recorder *recorder)
{
	struct pending_window *window = intake_end_window(&recorder->intake);

	if (!window)
		return;
	unwind_feed_end_window(&recorder->unwind);
	pending_window_release(window);
	free(window);
	adopt_change(recorder);
}

enum recorder_settling recorder__settling(const struct recorder *recorder)
{
	if (!unwind_feed_is_on(&recorder->unwind))
		return RECORDER_IS_SETTLED;
	if (!sight_table__count(recorder->sights))
		return RECORDER_MET_NONE;
	return sight_table__without_space(recorder->sights) ? RECORDER_IS_SETTLING :
							      RECORDER_IS_SETTLED;
}

int recorder__snapshot(struct recorder *recorder, struct strbuf *out)
{
	const struct running_facts facts = {
		.host = recorder->host,
		.boot_id = recorder->queue.boot_id,
		.options = &recorder->options.probe,
		.cpu_cnt = recorder->source.ops->cpus(recorder->source.probe),
	};

	if (!recorder->running)
		recorder->running = running__new(&recorder->source, recorder->sights);
	return recorder->running ? running__snapshot(recorder->running, &facts, out) : -ENOMEM;
}

void recorder__end_snapshots(struct recorder *recorder)
{
	running__free(take_ptr(recorder->running));
}

/* ---- from the namer: what each packet says is done in one function ---- */

static int take_ready(struct recorder *recorder, const struct packet *packet)
{
	(void)recorder;
	(void)packet;
	return 0;
}

static int take_code_range(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_code_range *range = packet->bytes;
	int err = recorder->source.ops->set_code_range(recorder->source.probe, range->pid,
						       range->account, &range->range);

	if (err)
		pr_debug("process %u: code range not set: %s\n", range->pid, errstr(err));
	intake_jvm(&recorder->intake);
	if (range->is_first)
		intake_split(&recorder->intake, range->pid);
	return 0;
}

static int take_hotspot(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_hotspot *hotspot = packet->bytes;
	int err = recorder->source.ops->set_hotspot(recorder->source.probe, hotspot->pid,
						    hotspot->account, &hotspot->hotspot);

	if (err)
		pr_debug("process %u: frames are not found by size: %s\n", hotspot->pid,
			 errstr(err));
	return 0;
}

static int take_leaf_rule(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_leaf_rule *rule = packet->bytes;
	int err = recorder->source.ops->set_leaf_rule(recorder->source.probe, rule->account,
						      &rule->key, &rule->proof);

	if (err)
		pr_debug("process %u: the caller of a leaf is not found: %s\n", rule->key.pid,
			 errstr(err));
	return 0;
}

static int take_opt_out(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_opt_out *opt_out = packet->bytes;
	struct process_life life = { opt_out->process.start_ns, opt_out->pid,
				     opt_out->process.exec_id };
	int err = recorder->source.ops->opt_out(recorder->source.probe, opt_out->pid,
						&opt_out->process);

	sight_table__note_opted_out(recorder->sights, life);
	if (err)
		pr_debug("process %u: still sampled, not recorded: %s\n", opt_out->pid,
			 errstr(err));
	return 0;
}

/* The namer reports a process that the kernel has reported before; of any other nothing is kept. */
static int take_met(struct recorder *recorder, const struct packet *packet)
{
	struct window window;
	const char *text;
	size_t len;
	int err = naming_stream_read(packet->bytes, packet->len, &window, &text, &len);

	if (!err)
		running_note_called(recorder->sights, &window);
	return err;
}

static int take_account(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_account *account = packet->bytes;
	int err = recorder->source.ops->set_account(recorder->source.probe, account->cgroup_id,
						    account->account);

	if (err)
		pr_debug("cgroup %llu: account not set: %s\n",
			 (unsigned long long)account->cgroup_id, errstr(err));
	return 0;
}

static int take_prefetch_interval(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_prefetch_interval *interval = packet->bytes;

	intake_set_prefetch_interval(&recorder->intake, interval->interval_ns);
	return 0;
}

static int take_unwind_table(struct recorder *recorder, const struct packet *packet)
{
	return unwind_feed_take_table(&recorder->unwind, packet);
}

static int take_unwind_drop(struct recorder *recorder, const struct packet *packet)
{
	return unwind_feed_take_drop(&recorder->unwind, packet);
}

static int take_space(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_space *said = packet->bytes;
	int err = unwind_feed_take_space(&recorder->unwind, packet);

	if (!err)
		sight_table__note_space(recorder->sights,
					(struct process_life){ said->space.start_ns, said->pid,
							       said->space.exec_id });
	return err;
}

static int take_stream(struct recorder *recorder, const struct packet *packet)
{
	return window_queue_take_stream(&recorder->queue, packet->bytes, packet->len);
}

static uint64_t ban_cnt(const struct recorder *recorder)
{
	struct namer_link_stats link;

	namer_link__stats(recorder->link, &link);
	return link.ban_cnt;
}

/* The namer is through with the window, or with its part. */
static int take_end(struct recorder *recorder, const struct packet *packet)
{
	const struct naming_end *end = packet->bytes;

	if (!window_queue_awaits(&recorder->queue, end->window_id))
		return 0;
	recorder->facts = *end;
	naming_beat_note(&recorder->beat, clock_monotonic_ns(), ban_cnt(recorder));
	window_queue_take_end(&recorder->queue, end);
	return 0;
}

#define ANY_LEN SIZE_MAX

static const struct {
	uint32_t kind;
	size_t len; /* of the packet */
	int (*take)(struct recorder *recorder, const struct packet *packet);
} answers[] = {
	{ NAMING_READY, ANY_LEN, take_ready },
	{ NAMING_CODE_RANGE, sizeof(struct naming_code_range), take_code_range },
	{ NAMING_HOTSPOT, sizeof(struct naming_hotspot), take_hotspot },
	{ NAMING_LEAF_RULE, sizeof(struct naming_leaf_rule), take_leaf_rule },
	{ NAMING_OPT_OUT, sizeof(struct naming_opt_out), take_opt_out },
	{ NAMING_MET, ANY_LEN, take_met },
	{ NAMING_ACCOUNT, sizeof(struct naming_account), take_account },
	{ NAMING_PREFETCH_INTERVAL, sizeof(struct naming_prefetch_interval),
	  take_prefetch_interval },
	{ NAMING_STREAM, ANY_LEN, take_stream },
	{ NAMING_END, sizeof(struct naming_end), take_end },
	{ NAMING_UNWIND_TABLE, ANY_LEN, take_unwind_table },
	{ NAMING_UNWIND_DROP, sizeof(struct naming_unwind_id), take_unwind_drop },
	{ NAMING_SPACE, sizeof(struct naming_space), take_space },
};

static int take_packet(struct recorder *recorder, const struct packet *packet)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i].kind == packet->kind &&
		    (answers[i].len == ANY_LEN || answers[i].len == packet->len))
			return answers[i].take(recorder, packet);
	return -EBADMSG;
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

/* ---- the loop ---- */

static uint64_t naming_max_ns(const struct recorder *recorder)
{
	uint64_t window_ns = recorder->options.probe.window_ns;

	return window_ns > RECORDER_NAMING_MAX_NS ? window_ns : RECORDER_NAMING_MAX_NS;
}

static void watch_namer(struct recorder *recorder)
{
	if (!namer_link__tick(recorder->link, clock_boot_ns()))
		return;
	recorder->link_fd = -1; /* its number may be the old one's */
	recorder->past_cpu_ns += recorder->facts.cpu_ns;
	recorder->facts.cpu_ns = 0;
	window_queue_drop_given_up(&recorder->queue);
	unwind_feed_begin(&recorder->unwind, recorder->options.unwind,
			  namer_link__is_copy(recorder->link) ? UNWIND_FEED_COPY :
								UNWIND_FEED_NEW_NAMER);
	send_all(recorder);
}

static void replace_deaf_namer(struct recorder *recorder)
{
	size_t cnt = window_queue_given_up(&recorder->queue);

	if (cnt > DEAF_WINDOWS && cnt * recorder->options.probe.window_ns > DEAF_NS &&
	    namer_link__is_up(recorder->link))
		namer_link__broke(recorder->link, -ETIME);
}

int recorder__consume(struct recorder *recorder)
{
	int err;

	namer_link__relay(recorder->link);
	talk(recorder);
	watch_namer(recorder);
	if (!namer_link__has_launcher(recorder->link))
		return -ECHILD;
	err = intake_consume(&recorder->intake);
	flush(recorder);
	window_queue_give_up_late(&recorder->queue, clock_monotonic_ns(), naming_max_ns(recorder));
	replace_deaf_namer(recorder);
	watch_link(recorder);
	return err;
}

void recorder__give_up(struct recorder *recorder)
{
	window_queue_give_up_all(&recorder->queue);
}

bool recorder__is_idle(const struct recorder *recorder)
{
	return window_queue_is_idle(&recorder->queue);
}

uint64_t recorder__due_boot_ns(const struct recorder *recorder)
{
	uint64_t due_ns = namer_link__due_boot_ns(recorder->link, clock_boot_ns());
	uint64_t intake_ns = intake_due_boot_ns(&recorder->intake);

	return intake_ns < due_ns ? intake_ns : due_ns;
}

static struct unwind_host unwind_of(const struct naming_end *facts)
{
	struct unwind_host host = {
		.table_cnt = facts->unwind_tables,
		.bytes = facts->unwind_bytes,
		.evicted = facts->unwind_evicted,
		.leafs_proved = facts->leafs_proved,
		.leafs_refuted = facts->leafs_refuted,
	};

	for (int i = 0; i < UNWIND_REFUSAL_CNT; i++)
		host.refused[symbols_unwind_why((enum unwind_refusal)i)] +=
			facts->unwind_refused[i];
	return host;
}

void recorder__hanging(const struct recorder *recorder, char *out, size_t len)
{
	namer_link__hanging(recorder->link, out, len);
}

uint64_t recorder__kernel_wakes_ns(const struct recorder *recorder)
{
	return recorder->source.ops->kernel_wakes_ns(recorder->source.probe);
}

_Static_assert(RECORDER_HANGING_BYTES == NAMER_LINK_HANGING_BYTES, "the same text");

/* Looks at each process that hangs: only to be asked when there is a reason. */
static struct naming_beat_facts beat_facts(const struct recorder *recorder, char *hanging,
					   size_t hanging_len)
{
	recorder__hanging(recorder, hanging, hanging_len);
	return (struct naming_beat_facts){
		.is_up = namer_link__is_up(recorder->link),
		.ban_cnt = ban_cnt(recorder),
		.hanging = hanging,
	};
}

enum naming_beat_state recorder__naming(const struct recorder *recorder)
{
	char hanging[RECORDER_HANGING_BYTES];
	struct naming_beat_facts facts;

	if (!naming_beat_is_dead(&recorder->beat))
		return NAMING_BEAT_GOES_ON;
	facts = beat_facts(recorder, hanging, sizeof(hanging));
	return naming_beat_state(&recorder->beat, clock_monotonic_ns(), &facts);
}

static void tell_problem(const struct recorder *recorder, struct recorder_stats *out)
{
	char hanging[RECORDER_HANGING_BYTES];
	struct naming_beat_facts facts;

	if (!naming_beat_is_dead(&recorder->beat)) {
		if (recorder->are_pids_foreign)
			snprintf(out->naming_problem, sizeof(out->naming_problem), "%s",
				 PID_NAMESPACE_PROBLEM);
		return;
	}
	facts = beat_facts(recorder, hanging, sizeof(hanging));
	naming_beat_text(&recorder->beat, clock_monotonic_ns(), &facts, out->naming_problem);
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
		.naming_silent_ns = naming_beat_silent_ns(&recorder->beat, clock_monotonic_ns()),
		.unwind = unwind_of(&recorder->facts),
		.unwind_built = recorder->facts.unwind_built,
		.stack_bytes = recorder->stack_bytes,
		.unsampled_cpu_cnt = recorder->source.ops->unsampled_cpus(recorder->source.probe),
	};
	tell_problem(recorder, out);
}

uint64_t recorder__map_bytes(const struct recorder *recorder)
{
	return recorder->source.ops->map_bytes(recorder->source.probe);
}
