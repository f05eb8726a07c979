// SPDX-License-Identifier: Apache-2.0
/*
 * One window: drain the kernel's counts, name them process by process, hand each profile out. A JVM
 * whose JIT code stays unknown is asked for its map between a first and a second naming, within a
 * budget of time per window.
 */
#include "user/collect/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/parser.h"
#include "user/collect/cpus.h"
#include "user/collect/look_queue.h"
#include "user/collect/process.h"
#include "user/collect/stack_namer.h"
#include "user/collect/window_cells.h"
#include "user/model/profile.h"
#include "user/model/source_lines.h"
#include "user/util/boot_id.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

/* For asking JVMs, all together, per window; and for one of them. */
#define RECORDER_ATTACH_BUDGET_MS  4000
#define RECORDER_ATTACH_TIMEOUT_MS 2000

/*
 * A process is often sampled first while the dynamic linker still maps its libraries. One that ends
 * within the window is looked at no more, so it is looked at twice, at first sight and this later;
 * a JVM that is still starting a few times more, until its tables can be read.
 */
#define RECORDER_LOOK_DELAY_NS (100 * CLOCK_NS_PER_MS)
#define RECORDER_JVM_LOOKS_MAX 30u

/*
 * Compiled code can be freed and its place reused: what names a new stack is read while it is
 * young. As often as this, once there is a JVM whose tables can be read.
 */
#define RECORDER_STACK_LOOK_NS CLOCK_NS_PER_S

struct recorder {
	struct recorder_options options;
	int proc_fd;
	int root_fd;
	struct symbolizer *symbolizer;
	struct container_resolver *containers;
	struct process_table *processes;
	struct probe *probe;
	uint8_t boot_id[BOOT_ID_BYTES];
	struct stack_namer namer;
	struct strbuf folded; /* texts of the stream being recorded */
	struct strbuf lines;
	struct window_cells cells;
	struct look_queue looks;
	uint64_t stack_bytes;	/* of the last batch */
	bool has_code_range;	/* some JVM's stacks are worth an early look */
	uint64_t stack_look_ns; /* when the next one is due; CLOCK_BOOTTIME */
	bool changes;		/* the next ones are in force when this window is named */
	struct recorder_options next_options;
	struct process_table *next_processes; /* NULL: the old ones stay */
};

void recorder__free(struct recorder *recorder)
{
	if (!recorder)
		return;
	probe__free(recorder->probe);
	process_table__free(recorder->processes);
	process_table__free(recorder->next_processes);
	container_resolver__free(recorder->containers);
	symbolizer__free(recorder->symbolizer);
	stack_namer_release(&recorder->namer);
	strbuf_release(&recorder->folded);
	strbuf_release(&recorder->lines);
	window_cells_release(&recorder->cells);
	if (recorder->proc_fd >= 0)
		close(recorder->proc_fd);
	if (recorder->root_fd >= 0)
		close(recorder->root_fd);
	free(recorder);
}

/* The host's root, also when jbpfd itself runs in a container that shares the host's pids. */
static int open_host_root(void)
{
	int fd = open("/proc/1/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_processes(const struct recorder *recorder, struct process_table **out)
{
	const struct process_table_options options = {
		.proc_fd = recorder->proc_fd,
		.symbolizer = recorder->symbolizer,
		.containers = recorder->containers,
		.ignores_opt_out = recorder->options.ignores_opt_out,
	};

	return process_table__new(&options, out);
}

static int open_parts(struct recorder *recorder, char *why, size_t why_len)
{
	struct symbolizer_options symbolizer_options = { .jit = recorder->options.jit };
	struct container_resolver_options container_options = { .cgroup_root = "/sys/fs/cgroup" };
	int err;

	recorder->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	recorder->root_fd = open_host_root();
	if (recorder->proc_fd < 0 || recorder->root_fd < 0) {
		err = -errno;
		snprintf(why, why_len, "cannot open /proc: %s; mount it", errstr(err));
		return err;
	}
	boot_id_read(recorder->boot_id);

	symbolizer_options.proc_fd = recorder->proc_fd;
	err = symbolizer__open(&symbolizer_options, &recorder->symbolizer);
	if (err) {
		snprintf(why, why_len, "cannot set up symbols: %s", errstr(err));
		return err;
	}
	container_options.proc_fd = recorder->proc_fd;
	container_options.root_fd = recorder->root_fd;
	err = container_resolver__new(&container_options, &recorder->containers);
	if (!err)
		err = open_processes(recorder, &recorder->processes);
	if (err) {
		snprintf(why, why_len, "cannot set up process tables: %s", errstr(err));
		return err;
	}
	return probe__open(&recorder->options.probe, &recorder->probe, why, why_len);
}

int recorder__open(const struct recorder_options *options, struct recorder **out, char *why,
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
	recorder->proc_fd = -1;
	recorder->root_fd = -1;
	err = open_parts(recorder, why, why_len);
	if (err) {
		recorder__free(recorder);
		return err;
	}
	recorder->namer.probe = recorder->probe;
	recorder->namer.symbolizer = recorder->symbolizer;
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
	struct process_table *processes = NULL;
	int err = 0;

	/* What was named by other rules is not mixed with what comes. */
	if (options->jit != recorder->options.jit) {
		snprintf(why, why_len, "out of memory");
		err = open_processes(recorder, &processes);
	}
	if (!err)
		err = probe__change(recorder->probe, &options->probe, why, why_len);
	if (err) {
		process_table__free(processes);
		return err;
	}
	process_table__free(recorder->next_processes);
	recorder->next_processes = processes;
	recorder->next_options = *options;
	recorder->changes = true;
	return 0;
}

/* What was counted under the old options is named: the new ones are for all that comes. */
static void adopt_change(struct recorder *recorder)
{
	if (!recorder->changes)
		return;
	recorder->changes = false;
	recorder->options = recorder->next_options;
	if (recorder->next_processes) {
		process_table__free(recorder->processes);
		recorder->processes = take_ptr(recorder->next_processes);
		symbolizer__set_jit(recorder->symbolizer, recorder->options.jit);
	}
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
	return probe__fd(recorder->probe);
}

static struct symbols_process_id notice_id(const struct jbpf_notice *notice)
{
	return (struct symbols_process_id){
		.start_ns = notice->start_ns,
		.pid = notice->pid,
		.exec_id = notice->exec_id,
	};
}

static void look_later(struct recorder *recorder, const struct symbols_process_id *id,
		       uint32_t try_cnt)
{
	struct look look = {
		.id = *id,
		.due_ns = clock_boot_ns() + RECORDER_LOOK_DELAY_NS,
		.try_cnt = try_cnt,
	};

	look_queue_push(&recorder->looks, &look);
}

/* No more samples of a process that opted out: neither its stacks nor their cost. */
static void stop_sampling(struct recorder *recorder, const struct process *process)
{
	const struct jbpf_known known = {
		.start_ns = process->id.start_ns,
		.cgroup_id = process->cgroup_id,
		.exec_id = process->id.exec_id,
		.ns_pid = process->ns_pid,
	};
	int err;

	if (process->exited || process->opt_out == OPT_OUT_UNDECIDED)
		return;
	err = probe__opt_out(recorder->probe, process->id.pid, &known);
	if (err)
		pr_debug("process %u: still sampled, not recorded: %s\n", process->id.pid,
			 errstr(err));
}

/* Tells the probe where the JIT code lies; true when that is known. */
static bool share_code_range(struct recorder *recorder, struct process *process)
{
	struct symbols_code_range range;
	struct jbpf_code_range shared;
	int err;

	if (!symbols_process__code_range(process->symbols, &range))
		return false;
	if (memcmp(&range, &process->code_range, sizeof(range)) == 0)
		return true;
	shared = (struct jbpf_code_range){
		.start_ns = process->id.start_ns,
		.exec_id = process->id.exec_id,
		.code_low = range.code_low,
		.code_high = range.code_high,
		.interpreter_low = range.interpreter_low,
		.interpreter_high = range.interpreter_high,
	};
	err = probe__set_code_range(recorder->probe, process->id.pid, &shared);
	if (err) {
		pr_debug("process %u: code range not set: %s\n", process->id.pid, errstr(err));
		return true;
	}
	process->code_range = range;
	if (!recorder->has_code_range)
		recorder->stack_look_ns = clock_boot_ns() + RECORDER_STACK_LOOK_NS;
	recorder->has_code_range = true;
	return true;
}

/* Version, flags and code range, while the JVM lives. True when it is still starting. */
static bool look_at_jvm(struct recorder *recorder, struct process *process)
{
	struct symbols_jit_status jit;
	bool has_range = share_code_range(recorder, process);

	symbols_process__jit_status(process->symbols, &jit);
	jvm_look(&process->jvm, recorder->proc_fd, process->id.pid,
		 symbolizer__parser(recorder->symbolizer), jit.is_hotspot);
	return process->jvm.is_hotspot && !jit.fallback &&
	       (!process->jvm.is_known || (!has_range && jit_mode_reads_vm(recorder->options.jit)));
}

static void look_again(struct recorder *recorder)
{
	struct look look;

	while (look_queue_pop(&recorder->looks, clock_boot_ns(), &look)) {
		struct process *process = process_table__find(recorder->processes, &look.id);

		if (!process || process->exited || process->opt_out ||
		    symbols_process__refresh(process->symbols) != 0)
			continue;
		if (look_at_jvm(recorder, process) && look.try_cnt < RECORDER_JVM_LOOKS_MAX)
			look_later(recorder, &look.id, look.try_cnt + 1);
	}
}

/* What names the stacks that came since the last call. Short of memory: naming tries again. */
static void look_at_new_stacks(struct recorder *recorder)
{
	struct probe_new_stack new_stack;

	while (probe__next_new_stack(recorder->probe, &new_stack)) {
		struct symbols_process_id id = {
			.start_ns = new_stack.start_ns,
			.pid = new_stack.pid,
			.exec_id = new_stack.exec_id,
		};
		struct process *process = process_table__find(recorder->processes, &id);
		struct symbols_stack stack = stack_namer_words(&new_stack.stack);

		if (process && !process->opt_out)
			symbols_process__look(process->symbols, &stack, new_stack.since_boot_ns);
	}
	recorder->stack_look_ns = clock_boot_ns() + symbolizer__end_looks(recorder->symbolizer);
}

uint64_t recorder__due_boot_ns(const struct recorder *recorder)
{
	uint64_t due_ns = look_queue_due_ns(&recorder->looks);

	if (recorder->has_code_range && recorder->stack_look_ns < due_ns)
		due_ns = recorder->stack_look_ns;
	return due_ns;
}

static void handle_notice(void *ctx, const struct jbpf_notice *notice)
{
	struct recorder *recorder = ctx;
	struct symbols_process_id id = notice_id(notice);
	const struct process_sight sight = {
		.id = id,
		.cgroup_id = notice->cgroup_id,
		.comm = notice->comm,
		.ns_pid = notice->ns_pid,
		.may_be_recorded = notice->flags & JBPF_KNOWN_OPT_OUT_NONE,
	};
	struct process *process;

	switch (notice->kind) {
	case JBPF_NOTICE_SEEN:
		/* Short of memory: the window's naming tries again and counts what it loses. */
		if (process_table__get(recorder->processes, &sight, &process))
			break;
		if (process->opt_out) {
			stop_sampling(recorder, process);
			break;
		}
		/* One that runs for long already: from its second sample on all is there. */
		look_at_jvm(recorder, process);
		look_later(recorder, &id, 0);
		break;
	case JBPF_NOTICE_EXIT:
		process = process_table__find(recorder->processes, &id);
		if (process)
			process->exited = true;
		break;
	case JBPF_NOTICE_RENAME:
		process = process_table__find(recorder->processes, &id);
		if (process)
			snprintf(process->comm, sizeof(process->comm), "%s", notice->comm);
		break;
	case JBPF_NOTICE_EXEC:
		/* The next sample comes with another exec_id, as SEEN. This is of the run before. */
		id.exec_id--;
		process_execed(process_table__find(recorder->processes, &id));
		break;
	default:
		break;
	}
}

int recorder__consume(struct recorder *recorder)
{
	int err;

	look_again(recorder);
	err = probe__consume(recorder->probe, handle_notice, recorder);
	look_at_new_stacks(recorder);
	return err;
}

/* One stream: a run of counts with the same process and cgroup. */
struct stream {
	const struct probe_count *counts;
	size_t cnt;
};

static bool same_stream(const struct jbpf_key *a, const struct jbpf_key *b)
{
	return a->start_ns == b->start_ns && a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->cgroup_id == b->cgroup_id;
}

static struct stream next_stream(const struct probe_batch *batch, size_t from)
{
	size_t end = from + 1;

	while (end < batch->count_cnt &&
	       same_stream(&batch->counts[from].key, &batch->counts[end].key))
		end++;
	return (struct stream){ .counts = &batch->counts[from], .cnt = end - from };
}

static uint64_t stream_samples(const struct stream *stream)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < stream->cnt; i++)
		samples += stream->counts[i].value.count;
	return samples;
}

static void target_release(struct stack_namer_target *target)
{
	profile__free(take_ptr(target->profile));
	source_lines__free(take_ptr(target->lines));
}

/* Names the whole stream into new parts of `target`; the window's counters are those of it. */
static int name_stream(struct recorder *recorder, const struct stream *stream,
		       struct process *process, struct stack_namer_target *target)
{
	struct window *window = target->window;
	int err = 0;

	target_release(target);
	target->profile = profile__new();
	target->lines = source_lines__new(SOURCE_LINES_WINDOW_MAX_ROWS);
	if (!target->profile || !target->lines)
		return -ENOMEM;
	window->counts = (struct window_counts){ 0 };
	for (size_t i = 0; i < stream->cnt && !err; i++)
		err = stack_namer_add(&recorder->namer, process, &stream->counts[i], target);
	return err;
}

static void fill_labels(const struct process *process, struct window *window)
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
	window->labels[WINDOW_LABEL_EXE] = process->exe;
	window->labels[WINDOW_LABEL_JVM_VERSION] = process->jvm.version;
}

static void fill_jit(const struct process *process, uint64_t end_boot_ns, struct window *window)
{
	struct symbols_jit_status status;

	symbols_process__jit_status(process->symbols, &status);
	window->is_jvm = process->jvm.is_hotspot;
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

/* What one window's streams share. */
struct window_run {
	struct recorder *recorder;
	const struct probe_batch *batch;
	struct window base;
	recorder_sink_fn sink;
	void *sink_ctx;
	uint64_t attach_deadline_ns; /* CLOCK_BOOTTIME */
	uint64_t lost_memory;
	uint64_t lost_cells;
	uint64_t opted_out; /* sampled before it was known */
	uint64_t undecided;
};

static bool ask_for_map(struct window_run *run, struct process *process,
			const struct window *window)
{
	uint64_t now_ns = clock_boot_ns();
	struct symbols_jit_status jit;
	uint64_t left_ms;

	/* A map would add nothing to what the JVM's own tables say. */
	symbols_process__jit_status(process->symbols, &jit);
	if (jit.source == JIT_SOURCE_VMSTRUCTS)
		return false;
	if (!jit_mode_may_attach(run->recorder->options.jit) || now_ns >= run->attach_deadline_ns ||
	    process->exited)
		return false;
	left_ms = (run->attach_deadline_ns - now_ns) / CLOCK_NS_PER_MS;
	if (left_ms > RECORDER_ATTACH_TIMEOUT_MS)
		left_ms = RECORDER_ATTACH_TIMEOUT_MS;
	return jvm_refresh_map(&process->jvm, run->recorder->proc_fd, &process->id, window,
			       process->symbols, (uint32_t)left_ms);
}

/*
 * One of its counts, best one whose samples found that the environment does not opt out; kernel
 * threads have none. In the middle of execve() the old run may have the new one's name already.
 */
static const struct jbpf_value *decided_value(const struct stream *stream, bool *may_be_recorded)
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

/* The stream's process as it is now, and its identity in the window. 0 or -ENOMEM. */
static int meet_process(struct recorder *recorder, const struct stream *stream,
			struct window *window, struct process **out)
{
	const struct jbpf_key *key = &stream->counts[0].key;
	bool may_be_recorded = false;
	const struct jbpf_value *value = decided_value(stream, &may_be_recorded);
	const struct process_sight sight = {
		.id = { .start_ns = key->start_ns, .pid = key->pid, .exec_id = key->exec_id },
		.cgroup_id = key->cgroup_id,
		.comm = value->comm,
		.ns_pid = value->ns_pid,
		.may_be_recorded = may_be_recorded,
	};
	struct process *process;
	int err = process_table__get(recorder->processes, &sight, &process);

	if (err)
		return err;
	*out = process;
	process->idle_windows = 0;
	if (process->opt_out)
		return 0;
	if (symbols_process__refresh(process->symbols) == -ESRCH)
		process->exited = true;
	err = process_table__relabel(recorder->processes, process);
	if (err)
		return err;
	look_at_jvm(recorder, process);

	window->pid = key->pid;
	window->ns_pid = process->ns_pid;
	window->process_start_ns = key->start_ns;
	window->exec_id = key->exec_id;
	window->cgroup_id = key->cgroup_id;
	return 0;
}

static uint64_t ambiguous_frames(const struct process *process)
{
	struct symbols_jit_status jit;

	symbols_process__jit_status(process->symbols, &jit);
	return jit.ambiguous_cnt;
}

/* The texts of what was named, in the recorder's buffers. */
static int write_texts(struct recorder *recorder, const struct stack_namer_target *target)
{
	struct window *window = target->window;
	int err;

	strbuf_clear(&recorder->folded);
	strbuf_clear(&recorder->lines);
	err = profile__to_folded(target->profile, &recorder->folded);
	if (!err)
		err = source_lines__to_text(target->lines, &recorder->lines);
	if (!err && recorder->lines.len) {
		window->lines = strbuf_str(&recorder->lines);
		window->lines_len = recorder->lines.len;
	}
	return err;
}

/* When the stream's samples were taken. */
static void fill_cells(struct window_run *run, const struct stream *stream, struct window *window)
{
	const struct probe_batch *batch = run->batch;
	uint32_t tag = probe__stream_tag(run->recorder->probe, &stream->counts[0].key);
	uint64_t samples = stream_samples(stream);
	const struct probe_tick *ticks;
	size_t tick_cnt;

	if (!run->recorder->options.probe.wants_ticks)
		return;
	ticks = tick_find(batch->ticks, batch->tick_cnt, tag, &tick_cnt);
	run->lost_cells += samples - window_cells_fill(&run->recorder->cells, ticks, tick_cnt,
						       samples, window);
}

static void leave_out(struct window_run *run, const struct stream *stream,
		      const struct process *process)
{
	uint64_t *sum = process->opt_out == OPT_OUT_UNDECIDED ? &run->undecided : &run->opted_out;

	*sum += stream_samples(stream);
	stop_sampling(run->recorder, process);
}

static int record_stream(struct window_run *run, const struct stream *stream)
{
	struct recorder *recorder = run->recorder;
	struct window window = run->base;
	struct stack_namer_target target = { .window = &window };
	struct process *process;
	uint64_t ambiguous_before;
	int err = meet_process(recorder, stream, &window, &process);

	if (err)
		return err;
	if (process->opt_out) {
		leave_out(run, stream, process);
		return 0;
	}
	ambiguous_before = ambiguous_frames(process);
	err = name_stream(recorder, stream, process, &target);
	if (!err && ask_for_map(run, process, &window))
		err = name_stream(recorder, stream, process, &target);
	if (!err) {
		window.counts.ambiguous_frames = ambiguous_frames(process) - ambiguous_before;
		fill_labels(process, &window);
		fill_jit(process, run->batch->end_boot_ns, &window);
		err = write_texts(recorder, &target);
	}
	target_release(&target);
	if (err)
		return err;
	fill_cells(run, stream, &window);
	return run->sink(run->sink_ctx, &window, strbuf_str(&recorder->folded),
			 recorder->folded.len);
}

static int record_host(struct window_run *run, uint64_t lost_samples)
{
	const uint64_t *counters = run->batch->counters;
	struct window window = run->base;

	window.counts.samples = counters[JBPF_CNT_SAMPLES];
	/* Counts that could not be read in time come without their share of this counter. */
	window.counts.samples -= run->opted_out < window.counts.samples ? run->opted_out :
									  window.counts.samples;
	window.lost[WINDOW_LOSS_COUNTS_FULL] = counters[JBPF_CNT_LOST_COUNTS_FULL];
	window.lost[WINDOW_LOSS_NO_MAP] =
		counters[JBPF_CNT_LOST_NO_MAP] + counters[JBPF_CNT_LOST_UPDATE];
	window.lost[WINDOW_LOSS_STACK_BUFFER] = counters[JBPF_CNT_STACK_BUFFER_FULL];
	window.lost[WINDOW_LOSS_NOTICES] = counters[JBPF_CNT_NOTICE_LOST];
	window.lost[WINDOW_LOSS_KERNEL_STACK] = counters[JBPF_CNT_KERNEL_STACK_ERROR];
	window.lost[WINDOW_LOSS_STORE] = lost_samples;
	window.lost[WINDOW_LOSS_MEMORY] = run->lost_memory;
	window.lost[WINDOW_LOSS_CELLS] = run->lost_cells;
	window.lost[WINDOW_LOSS_OPTED_OUT] = counters[JBPF_CNT_OPTED_OUT] + run->opted_out;
	window.lost[WINDOW_LOSS_UNDECIDED] = run->undecided;
	return run->sink(run->sink_ctx, &window, "", 0);
}

static void fill_base(const struct recorder *recorder, const struct probe_batch *batch,
		      struct window *window)
{
	uint64_t age_ns = clock_boot_ns() - batch->start_boot_ns;

	memset(window, 0, sizeof(*window));
	window->start_unix_ns = clock_unix_ns() - age_ns;
	window->duration_ns = batch->end_boot_ns - batch->start_boot_ns;
	window->start_boot_ns = batch->start_boot_ns;
	memcpy(window->boot_id, recorder->boot_id, sizeof(window->boot_id));
	window->frequency_hz = recorder->options.probe.frequency_hz;
	window->cpu_cnt = cpus_online_count();
}

int recorder__window(struct recorder *recorder, uint64_t lost_samples, recorder_sink_fn sink,
		     void *ctx)
{
	struct probe_batch batch;
	struct window_run run = {
		.recorder = recorder, .batch = &batch, .sink = sink, .sink_ctx = ctx
	};
	int err;

	err = probe__drain(recorder->probe, handle_notice, recorder, &batch);
	if (err)
		return err;
	recorder->stack_bytes = batch.stack_bytes;
	look_at_new_stacks(recorder);
	fill_base(recorder, &batch, &run.base);
	run.attach_deadline_ns = clock_boot_ns() + RECORDER_ATTACH_BUDGET_MS * CLOCK_NS_PER_MS;
	for (size_t at = 0; at < batch.count_cnt;) {
		struct stream stream = next_stream(&batch, at);

		at += stream.cnt;
		err = record_stream(&run, &stream);
		if (err == -ENOMEM)
			run.lost_memory += stream_samples(&stream);
		else if (err)
			return err;
	}
	process_table__expire(recorder->processes);
	symbolizer__trim(recorder->symbolizer);
	err = record_host(&run, lost_samples);
	adopt_change(recorder);
	return err;
}

void recorder__stats(const struct recorder *recorder, struct recorder_stats *out)
{
	struct parser_stats parser;

	parser__stats(symbolizer__parser(recorder->symbolizer), &parser);
	*out = (struct recorder_stats){
		.process_cnt = process_table__count(recorder->processes),
		.symbol_bytes = symbolizer__bytes(recorder->symbolizer),
		.map_bytes = probe__map_bytes(recorder->probe),
		.parser_failures = parser.failure_cnt,
		.parser_restarts = parser.restart_cnt,
		.stack_bytes = recorder->stack_bytes,
		.unsampled_cpu_cnt = probe__unsampled_cpus(recorder->probe),
	};
}
