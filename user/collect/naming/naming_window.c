// SPDX-License-Identifier: Apache-2.0
/*
 * Names one window. In comes what the sampler drained: counts sorted by stream (one process's
 * life), the stacks that they refer to, ticks, and what each account used in the kernel. Out goes a
 * profile for each stream, to the listener, and a sum in struct naming_end.
 *
 * For each stream: meet its process, or make it; read its mappings and JIT names again; leave it
 * out when it opted out; look at its JVM; name its stacks one by one (stack_namer.c); fill labels,
 * facts and bill; hand it out. A JVM whose own tables do not name its code may be asked for its map
 * instead (defer()): that stream waits until all others are done, and is named again with the
 * answer, or without it when ATTACH_BUDGET_MS are over.
 *
 * Whatever goes wrong with one stream costs that stream: its samples are handed out as "comm;[not
 * named]" with the reason. Where even that finds no memory nothing is handed out, and the sampler
 * counts it. When the sampler has given the window up, the rest of it is left.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/parser/parser.h"
#include "user/collect/naming/naming_internal.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/model/profile.h"
#include "user/model/source_lines.h"
#include "user/model/unwind_facts.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/vec.h"
#include "user/host/self_usage.h"

/* For asking JVMs, all together, per window; and for one of them. */
#define ATTACH_BUDGET_MS  4000
#define ATTACH_TIMEOUT_MS 2000
#define ATTACH_POLL_MS	  5
#define DEFERRED_MAX	  64u
/* Of one stream, before its account is asked again: some milliseconds of work. */
#define STACKS_BETWEEN_ASKS 256u

/* What one window's streams share. */
struct run {
	struct naming *naming;
	const struct naming_batch *batch;
	struct window base;
	struct naming_end *sums;
	struct stream_counts deferred[DEFERRED_MAX]; /* wait for an answer of their JVM */
	size_t deferred_cnt;
};

static void target_release(struct stack_namer_target *target)
{
	profile__free(take_ptr(target->profile));
	source_lines__free(take_ptr(target->lines));
	thread_counts__free(take_ptr(target->threads));
}

/* Room for the lines of a stream's counts, which are all the first one until they are known. */
static int places_begin(struct naming *naming, size_t cnt)
{
	int err = vec_reserve(naming->places, cnt, naming->place_cap, 256);

	if (!err)
		memset(naming->places, 0, cnt * sizeof(*naming->places));
	return err;
}

/*
 * Names the whole stream into new parts of `target`; the window's counters are those of it. 0, -ENOMEM, or -EDQUOT: its
 * account has no CPU time left.
 */
static int name_stream(struct run *run, const struct stream_counts *stream, struct process *process,
		       struct stack_namer_target *target)
{
	struct stack_namer *namer = &run->naming->namer;
	struct window *window = target->window;
	int err = 0;

	target_release(target);
	target->profile = profile__new();
	target->lines = source_lines__new(SOURCE_LINES_WINDOW_MAX_ROWS);
	target->threads = thread_counts__new(THREAD_NAMES_MAX);
	if (!target->profile || !target->lines || !target->threads)
		return -ENOMEM;
	namer->batch = run->batch;
	window->counts = (struct window_counts){ 0 };
	if (process->jvm.is_hotspot && !process->exited)
		err = jvm_threads_update_names(&process->threads, run->naming->proc_fd,
					       process->symbols, stream->counts, stream->cnt,
					       run->batch->head.end_boot_ns);
	if (!err)
		err = places_begin(run->naming, stream->cnt);
	for (size_t i = 0; i < stream->cnt && !err; i++) {
		if (i && i % STACKS_BETWEEN_ASKS == 0 && !naming_may_go_on(run->naming, process))
			return -EDQUOT;
		err = stack_namer_add(namer, process, &stream->counts[i], target,
				      &run->naming->places[i]);
	}
	return err;
}

void naming_fill_labels(const struct process *process, struct window *window)
{
	const struct container_info *container = &process->container;

	window->labels[WINDOW_LABEL_COMM] = process->comm;
	window->labels[WINDOW_LABEL_SERVICE] = container->service;
	window->labels[WINDOW_LABEL_NAMESPACE] = container->namespace;
	window->labels[WINDOW_LABEL_POD] = container->pod;
	window->labels[WINDOW_LABEL_POD_UID] = container->pod_uid;
	window->labels[WINDOW_LABEL_CONTAINER] = container->name;
	window->labels[WINDOW_LABEL_CONTAINER_ID] = container->id;
	window->labels[WINDOW_LABEL_RUNTIME] = container->runtime;
	window->labels[WINDOW_LABEL_IMAGE] = container->image;
	window->labels[WINDOW_LABEL_CGROUP] = container->cgroup_path;
	window->labels[WINDOW_LABEL_SOURCES] = container->sources;
	window->labels[WINDOW_LABEL_EXE] = process->exe;
	window->labels[WINDOW_LABEL_JVM_VERSION] = process->jvm.version;
}

static void fill_jit(const struct process *process, uint64_t end_boot_ns, struct window *window)
{
	struct symbols_jit_status status;

	symbols_process__jit_status(process->symbols, &status);
	window->is_jvm = process->jvm.is_hotspot;
	/* As naming_update_jvm() has it, or it is the JVM of the next run. */
	if (process->jvm.is_hotspot || status.source != JIT_SOURCE_VMSTRUCTS)
		window->jit_source = status.source;
	window->jit_entries = (uint32_t)status.entry_cnt;
	window->jit_age_ms = UINT32_MAX;
	if (status.loaded_boot_ns)
		window->jit_age_ms = end_boot_ns > status.loaded_boot_ns ?
					     (uint32_t)((end_boot_ns - status.loaded_boot_ns) /
							CLOCK_NS_PER_MS) :
					     0;
	window->attach_outcome = process->jvm.outcome;
	window->attach_cnt = process->jvm.limiter.request_cnt;
	window->attach_command_ms = (uint32_t)process->jvm.limiter.total_command_ms;
	window->preserve_frame_pointer = process->jvm.preserve_frame_pointer;
	window->preserve_frame_pointer_origin = process->jvm.preserve_frame_pointer_origin;
	window->labels[WINDOW_LABEL_JIT_FALLBACK] = status.fallback;
	window->labels[WINDOW_LABEL_JIT_PROBLEM] = jvm_problem(&process->jvm, &status);
}

static enum unwind_java java_of(const struct process *process)
{
	const struct jvm *jvm = &process->jvm;

	if (!jvm->is_hotspot || jvm->preserve_frame_pointer == WINDOW_FLAG_UNKNOWN)
		return UNWIND_JAVA_NONE;
	if (jvm_keeps_frame_pointers(jvm))
		return UNWIND_JAVA_FP;
	/* As the kernel was told. */
	return process->hotspot.flags & JBPF_HOTSPOT_HAS_FRAME_SIZES ? UNWIND_JAVA_SIZES :
								       UNWIND_JAVA_UNKNOWN;
}

/* How its stacks are walked, once that is settled. */
static void fill_walk(struct naming *naming, const struct process *process, struct window *window)
{
	struct unwind_facts facts;

	strbuf_clear(&naming->walk);
	if (!symbols_process__unwind_facts(process->symbols, &facts))
		return;
	/* They name files. */
	if (!process_is_as_sampled(naming->proc_fd, process))
		return;
	facts.java = java_of(process);
	unwind_facts_append(&facts, &naming->walk);
	if (!strbuf_error(&naming->walk))
		window->labels[WINDOW_LABEL_UNWIND] = strbuf_str(&naming->walk);
}

/* What was cut from its container so far in this window, or else what it cost. */
static void fill_bill(struct naming *naming, const struct process *process, struct window *window)
{
	const struct account *account = symbols_process__account(process->symbols);

	account__bill(account, naming->bill, sizeof(naming->bill));
	account__cost(account, naming->cost, sizeof(naming->cost));
	window->labels[WINDOW_LABEL_OVER_BUDGET] = *naming->bill ? naming->bill : NULL;
	window->labels[WINDOW_LABEL_COST] = *naming->cost ? naming->cost : NULL;
}

static struct jvm_asker asker_of(const struct run *run, const struct process *process)
{
	return (struct jvm_asker){
		.proc_fd = run->naming->proc_fd,
		.asks = &run->naming->asks,
		.symbols = process->symbols,
		.id = process->id,
		.timeout_ms = ATTACH_TIMEOUT_MS,
	};
}

/* Is the stream better named a little later, when its JVM has answered? */
static bool defer(struct run *run, const struct stream_counts *stream, struct process *process,
		  const struct window *window)
{
	const struct jvm_asker asker = asker_of(run, process);
	struct symbols_jit_status jit;

	/* A map would add nothing to what the JVM's own tables say. */
	symbols_process__jit_status(process->symbols, &jit);
	if (jit.source == JIT_SOURCE_VMSTRUCTS || process->exited ||
	    !jit_mode_may_attach(run->naming->config.jit) || run->deferred_cnt == DEFERRED_MAX ||
	    !jvm_ask_for_map(&process->jvm, &asker, window))
		return false;
	run->deferred[run->deferred_cnt++] = *stream;
	return true;
}

/*
 * One of its counts, preferably one whose samples found that the environment does not opt out;
 * kernel threads have none. In the middle of execve() the old run may have the new one's name
 * already.
 */
static const struct jbpf_value *decided_value(const struct stream_counts *stream,
					      bool *may_be_recorded)
{
	for (size_t i = 0; i < stream->cnt; i++) {
		const struct jbpf_value *value = &stream->counts[i].value;

		*may_be_recorded = value->flags &
				   (JBPF_VALUE_OPT_OUT_NONE | JBPF_VALUE_KERNEL_THREAD);
		if (*may_be_recorded)
			return value;
	}
	return &stream->counts[0].value;
}

/* The stream's process as it is now. 0 or -ENOMEM. */
static int meet_process(struct naming *naming, const struct stream_counts *stream,
			struct process **out)
{
	const struct jbpf_key *key = &stream->counts[0].key;
	bool may_be_recorded = false;
	const struct jbpf_value *value = decided_value(stream, &may_be_recorded);
	const struct process_sight sight = {
		.id = process_life_of(key),
		.cgroup_id = key->cgroup_id,
		.comm = value->comm,
		.ns_pid = value->ns_pid,
		.may_be_recorded = may_be_recorded,
	};
	struct process *process;
	int err;

	naming_work_on_sight(naming, &sight);
	err = process_table__get(naming->processes, &sight, &process);
	if (err)
		return err;
	*out = process;
	process->idle_windows = 0;
	naming_work_on(naming, process);
	naming_tell_account(naming, process);
	err = naming_lift_old_ban(naming, process);
	if (err || process->opt_out || !process->symbols)
		return err;
	if (naming_may_work_on(process) && symbols_process__refresh(process->symbols) == -ESRCH)
		process->exited = true;
	symbols_process__note_sampled(process->symbols);
	return process_table__relabel(naming->processes, process);
}

static uint64_t ambiguous_frames(const struct process *process)
{
	struct symbols_jit_status jit;

	symbols_process__jit_status(process->symbols, &jit);
	return jit.ambiguous_cnt;
}

/* Stacks have numbers; in the text, which is sorted, they are lines. */
static int write_threads(struct naming *naming, const struct stack_namer_target *target,
			 size_t count_cnt)
{
	size_t cnt = profile__stack_count(target->profile);
	__cleanup_free uint32_t *lines = calloc(cnt + 1, sizeof(*lines));
	struct window *window = target->window;
	int err;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		lines[profile__stack_number(target->profile, i)] = (uint32_t)i;
	for (size_t i = 0; i < count_cnt; i++)
		naming->places[i] = lines[naming->places[i]];
	naming->line_cnt = (uint32_t)cnt;
	strbuf_clear(&naming->threads);
	err = thread_counts__encode(target->threads, lines, &naming->threads);
	if (!err && naming->threads.len) {
		window->threads = (const uint8_t *)naming->threads.data;
		window->threads_len = naming->threads.len;
	}
	return err;
}

/* The texts of what was named, in the naming's buffers. */
static int write_texts(struct naming *naming, const struct stack_namer_target *target,
		       size_t count_cnt)
{
	struct window *window = target->window;
	int err;

	strbuf_clear(&naming->folded);
	strbuf_clear(&naming->lines);
	err = profile__to_folded(target->profile, &naming->folded);
	if (!err)
		err = source_lines__to_text(target->lines, &naming->lines);
	if (!err && naming->lines.len) {
		window->lines = strbuf_str(&naming->lines);
		window->lines_len = naming->lines.len;
	}
	return err ? err : write_threads(naming, target, count_cnt);
}

/* When the stream's samples were taken, and those of which line. */
static void fill_moments(struct run *run, const struct stream_counts *stream, struct window *window)
{
	struct naming *naming = run->naming;
	const struct window_places places = {
		.lines = naming->places,
		.first = (size_t)(stream->counts - run->batch->counts),
		.line_cnt = naming->line_cnt,
	};
	const struct counted_tick *ticks;
	size_t tick_cnt;

	/* Moments are noted of CPU time only. */
	if (!naming->config.wants_ticks || window->event != EVENT_CPU)
		return;
	ticks = tick_join_stream(&naming->ticks, places.first, stream->cnt, &tick_cnt);
	run->sums->lost_cells +=
		stream_samples(stream) - window_cells_fill(&naming->cells, ticks, tick_cnt, window);
	window_ticks_fill(&naming->cells, ticks, tick_cnt, &places, window);
}

static int hand_out(struct run *run, const struct stream_counts *stream, struct window *window)
{
	const struct naming_listener *listener = &run->naming->config.listener;
	const struct strbuf *folded = &run->naming->folded;

	fill_moments(run, stream, window);
	return listener->stream(listener->ctx, window, strbuf_str(folded), folded->len);
}

/* Adds the stream's samples to those of its event. */
static void note_samples(uint64_t *sums, const struct stream_counts *stream)
{
	enum event event = stream_event(&stream->counts->key);

	if (event < EVENT_CNT)
		sums[event] += stream_samples(stream);
}

/* Short of memory even for that: the sampler sees that there was no answer, and counts it. */
static void hand_out_unnamed(struct run *run, const struct stream_counts *stream,
			     const struct process *process, const char *reason)
{
	struct window window = run->base;

	stream_fill(&stream->counts[0].key, process->ns_pid, &window);
	naming_fill_labels(process, &window);
	window.labels[WINDOW_LABEL_OVER_BUDGET] = reason;
	window.is_jvm = process->jvm.is_hotspot;
	window.counts = stream_fallback_counts(stream_samples(stream));
	if (places_begin(run->naming, stream->cnt))
		return;
	run->naming->line_cnt = 1; /* whatever the stack was */
	if (stream_fallback_text(process->comm, window.counts.samples, &run->naming->folded) == 0 &&
	    hand_out(run, stream, &window) == 0)
		note_samples(run->sums->not_named, stream);
}

static int name_and_hand_out(struct run *run, const struct stream_counts *stream,
			     struct process *process, bool may_defer)
{
	struct window window = run->base;
	struct stack_namer_target target = { .window = &window };
	uint64_t ambiguous_before = ambiguous_frames(process);
	int err;

	stream_fill(&stream->counts[0].key, process->ns_pid, &window);
	err = name_stream(run, stream, process, &target);
	if (!err && may_defer && defer(run, stream, process, &window)) {
		target_release(&target);
		return 0;
	}
	if (!err) {
		window.counts.ambiguous_frames = ambiguous_frames(process) - ambiguous_before;
		naming_fill_labels(process, &window);
		fill_jit(process, run->batch->head.end_boot_ns, &window);
		fill_bill(run->naming, process, &window);
		fill_walk(run->naming, process, &window);
		err = write_texts(run->naming, &target, stream->cnt);
	}
	target_release(&target);
	return err ? err : hand_out(run, stream, &window);
}

static void leave_out(struct run *run, const struct stream_counts *stream,
		      const struct process *process)
{
	uint64_t *sums = process->opt_out == OPT_OUT_UNDECIDED ? run->sums->undecided :
								 run->sums->opted_out;

	note_samples(sums, stream);
	naming_stop_sampling(run->naming, process);
}

/* Its container has used up what naming may take. */
static void rest_over(struct run *run, const struct stream_counts *stream,
		      const struct process *process)
{
	struct account *account = symbols_process__account(process->symbols);

	account__note_cut(account, ACCOUNT_CUT_WORK, stream_samples(stream));
	account__bill(account, run->naming->bill, sizeof(run->naming->bill));
	hand_out_unnamed(run, stream, process, run->naming->bill);
}

static void do_stream(struct run *run, const struct stream_counts *stream, bool may_defer)
{
	struct process *process = NULL;
	int err = meet_process(run->naming, stream, &process);

	if (!process)
		return; /* no memory for it: as above */
	if (process->opt_out) {
		leave_out(run, stream, process);
		return;
	}
	if (!process->symbols) {
		hand_out_unnamed(
			run, stream, process,
			"not looked into for a while: jbpfd's reader hung, crashed or was killed over it");
		return;
	}
	if (!naming_may_work_on(process)) {
		rest_over(run, stream, process);
		return;
	}
	if (!err) {
		/* A part names only processes that were read before: no new JVM is opened for it, since that may hang. */
		if (!run->batch->head.goes_on || process->jvm.is_hotspot)
			naming_update_jvm(run->naming, process);
		err = name_and_hand_out(run, stream, process, may_defer);
	}
	if (err == -EDQUOT)
		rest_over(run, stream, process);
	if (!err || err == -EDQUOT)
		return;
	pr_warn_limited("window: process %u (%s) is not named: %s; %" PRIu64
			" samples are kept as [not named]\n",
			process->id.pid, process->comm, errstr(err), stream_samples(stream));
	hand_out_unnamed(run, stream, process, errstr(err));
}

/* Does its JVM go on to be asked? Nothing is read of it until it has answered: each of its streams waits in small steps. */
static bool is_awaited(struct run *run, const struct stream_counts *stream)
{
	const struct process_life id = process_life_of(&stream->counts[0].key);
	struct process *process = process_table__find(run->naming->processes, &id);

	if (!process || !process->symbols)
		return false;
	naming_work_on(run->naming, process);

	const struct jvm_asker asker = asker_of(run, process);

	(void)jvm_poll_map(&process->jvm, &asker);
	return jvm_is_asked(&process->jvm);
}

/* Streams whose JVMs were asked, as they answer. */
static void do_deferred(struct run *run)
{
	uint64_t end_ns = clock_monotonic_ns() + ATTACH_BUDGET_MS * CLOCK_NS_PER_MS;

	while (run->deferred_cnt) {
		bool is_late = clock_monotonic_ns() >= end_ns ||
			       work_note__is_given_up(run->naming->config.note,
						      run->batch->head.window_id);

		for (size_t i = 0; i < run->deferred_cnt;) {
			struct stream_counts stream = run->deferred[i];

			if (is_awaited(run, &stream) && !is_late) {
				i++;
				continue;
			}
			run->deferred[i] = run->deferred[--run->deferred_cnt];
			do_stream(run, &stream, false);
		}
		if (run->deferred_cnt) {
			work_note__on(run->naming->config.note, NULL);
			(void)poll(NULL, 0, ATTACH_POLL_MS);
		}
	}
}

static void fill_base(const struct naming_window *head, struct window *window)
{
	memset(window, 0, sizeof(*window));
	window->start_unix_ns = head->start_unix_ns;
	window->duration_ns = head->end_boot_ns - head->start_boot_ns;
	window->start_boot_ns = head->start_boot_ns;
	window->frequency_hz = head->frequency_hz;
	window->cpu_cnt = head->cpu_cnt;
}

static void fill_unwind(const struct naming *naming, struct naming_end *out)
{
	struct unwind_stats unwind;

	symbolizer__unwind_stats(naming->symbolizer, &unwind);
	out->unwind_tables = unwind.table_cnt;
	out->unwind_bytes = (uint64_t)unwind.chunk_cnt * JBPF_UNWIND_CHUNK_WORDS * sizeof(uint32_t);
	out->unwind_built = unwind.built_cnt;
	out->unwind_evicted = unwind.evicted_cnt;
	memcpy(out->unwind_refused, unwind.refused_cnt, sizeof(unwind.refused_cnt));
}

static void fill_facts(const struct naming *naming, struct naming_end *out)
{
	struct parser_stats parser;

	parser__stats(symbolizer__parser(naming->symbolizer), &parser);
	out->process_cnt = process_table__count(naming->processes);
	out->symbol_bytes = symbolizer__bytes(naming->symbolizer);
	out->parser_failures = parser.failure_cnt;
	out->parser_restarts = parser.restart_cnt;
	out->cpu_ns = self_usage_cpu_ns() + parser.cpu_ns;
	out->resident_bytes = self_usage_resident_bytes();
	fill_unwind(naming, out);
	out->leafs_proved = naming->leafs_proved;
	out->leafs_refuted = naming->namer.refuted_samples;
}

/* What the kernel cut from containers that exceed their share there. */
static void note_kernel_accounts(struct naming *naming, const struct naming_batch *batch)
{
	for (uint32_t i = 0; i < batch->head.account_cnt; i++) {
		const struct probe_account *used = &batch->accounts[i];
		struct account *account = accounts__find(naming->accounts, used->account_id);

		if (!account)
			continue;
		account__note_cut(account, ACCOUNT_CUT_DEPTH, used->cut_samples);
		account__note_cut(account, ACCOUNT_CUT_LEAF,
				  (uint64_t)used->leaf_samples + used->bare_samples);
		account__note_cut(account, ACCOUNT_CUT_LOST, used->lost_samples);
		account__note_stacks(account, used->stack_bytes);
	}
}

static void log_account(void *ctx, const struct account *account)
{
	struct account_usage used;
	char bill[ACCOUNT_BILL_BYTES];

	(void)ctx;
	account__usage(account, &used);
	account__bill(account, bill, sizeof(bill));
	pr_debug("account '%s': text %zu of %zu bytes, CPU %" PRIu64 " ms, credit %" PRId64
		 " ms, new stacks %" PRIu64 " bytes, names %zu, maps %zu, tables %zu%s%s\n",
		 account__name(account), used.text_bytes, used.text_max_bytes,
		 used.cpu_ns / (uint64_t)CLOCK_NS_PER_MS, used.credit_ns / (int64_t)CLOCK_NS_PER_MS,
		 used.stack_bytes, used.held[ACCOUNT_POOL_NAMES], used.held[ACCOUNT_POOL_MAPS],
		 used.held[ACCOUNT_POOL_TABLES], *bill ? ": " : "", bill);
}

/* How near each container is to its budgets. */
static void log_accounts(const struct naming *naming, const struct naming_batch *batch)
{
	if (log_level() < LOG_LEVEL_DEBUG)
		return;
	for (uint32_t i = 0; i < batch->head.account_cnt; i++) {
		const struct probe_account *used = &batch->accounts[i];
		const struct account *account = accounts__find(naming->accounts, used->account_id);

		pr_debug("account '%s' in the kernel: %u counts, %" PRIu64
			 " bytes of stacks, %u processes; cut %u, leaf %u, bare %u, lost %u\n",
			 account__name(account), used->entries, used->stack_bytes, used->processes,
			 used->cut_samples, used->leaf_samples, used->bare_samples,
			 used->lost_samples);
	}
	accounts__each(naming->accounts, log_account, NULL);
}

void naming__window(struct naming *naming, const struct naming_batch *batch, struct naming_end *out)
{
	const struct naming_listener *listener = &naming->config.listener;
	struct run run = { .naming = naming, .batch = batch, .sums = out };

	*out = (struct naming_end){ 0 };
	/* The sampler may have had no room for one, or have forgotten it while it was idle. */
	memset(naming->told, 0, sizeof(naming->told));
	symbolizer__note_window(naming->symbolizer, batch->head.start_boot_ns,
				batch->head.end_boot_ns);
	fill_base(&batch->head, &run.base);
	if (naming->config.wants_ticks)
		tick_join_take(&naming->ticks, batch);
	note_kernel_accounts(naming, batch);
	jvm_asks_look(&naming->asks);
	accounts__scale(naming->accounts, batch->head.cpu_cnt,
			batch->head.end_boot_ns - batch->head.start_boot_ns);
	for (size_t at = 0; at < batch->head.count_cnt;) {
		struct stream_counts stream = stream_next(batch->counts, batch->head.count_cnt, at);

		at += stream.cnt;
		if (work_note__is_given_up(naming->config.note, batch->head.window_id))
			break;
		do_stream(&run, &stream, true);
		/* While a part is named, no news is read: any of it may be of a process that hangs its reader. */
		if (listener->pause && !batch->head.goes_on)
			listener->pause(listener->ctx);
	}
	do_deferred(&run);
	naming_rest(naming);
	if (!batch->head.goes_on)
		process_table__expire(naming->processes);
	(void)symbolizer__trim(naming->symbolizer);
	symbolizer__end_unwind_window(naming->symbolizer);
	out->cut = accounts__cut_cnt(naming->accounts, ACCOUNT_CUT_DEPTH) +
		   accounts__cut_cnt(naming->accounts, ACCOUNT_CUT_LEAF);
	log_accounts(naming, batch);
	accounts__begin_window(naming->accounts, clock_boot_ns());
	fill_facts(naming, out);
}
