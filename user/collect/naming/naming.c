// SPDX-License-Identifier: Apache-2.0
/*
 * See naming.h. Processes are read when they are first sampled, and again a little later; names of
 * JVMs' stacks are prefetched while the code is there; windows are named stream by stream. A JVM
 * whose compiled code stays unknown is asked for its map, and its stream is named last, when it has
 * answered or the time for that is over.
 */
#include "user/collect/naming/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/files/opener.h"
#include "symbols/parser/parser.h"
#include "user/collect/naming/ban_list.h"
#include "user/collect/naming/retry_queue.h"
#include "user/collect/naming/naming_internal.h"
#include "user/collect/naming/process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/saturate.h"

/*
 * A process is often sampled first while the dynamic linker still maps its libraries. One that ends
 * within the window is not read again, so each is read twice: at once, and this much later. A JVM
 * that is still starting is retried until its tables can be read: promptly at first, then at leisure,
 * for as long as one may need. What is no JVM may become one, since a program may load libjvm.so at any
 * time: jbpfd looks at its size, and at the rest when that has changed; after each look that found
 * nothing new it looks half as often. A process that has samples in a window is also looked at when that ends.
 */
#define RETRY_DELAY_NS	   (100 * CLOCK_NS_PER_MS)
#define LOOK_DELAY_NS	   (2 * CLOCK_NS_PER_S)
#define JVM_PROMPT_RETRIES 30u
#define JVM_RETRIES_MAX	   1000u
#define PREFETCH_ACCOUNTED 16u /* stacks of one process, after which their time is noted */

#define CGROUP_ROOT    "/sys/fs/cgroup"
#define ROOT_CGROUP_ID 1

/* ---- life ---- */

/* The host's root, also when jbpfd itself runs in a container that shares the host's pids. */
static int open_host_root(void)
{
	int fd = open("/proc/1/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void naming_rest(struct naming *naming)
{
	uint64_t now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	account__note_work(naming->worked_for, now_ns - naming->work_begin_ns);
	naming->worked_for = NULL;
	naming->work_begin_ns = now_ns;
}

/* Whoever reads the note may not see the process (hidepid), and shall say whose it is. */
static void note_work(struct naming *naming, const struct process *process)
{
	const struct container_info *container = &process->container;
	const char *owner = container->name && *container->name ? container->name :
			    container->cgroup_path		? container->cgroup_path :
								  "";
	struct work work = { .id = process->id, .account = process->account };
	size_t len = strlen(owner);

	if (!naming->config.note)
		return;
	memcpy(work.comm, process->comm, sizeof(work.comm));
	owner += len < sizeof(work.owner) ? 0 : len - sizeof(work.owner) + 1;
	(void)snprintf(work.owner, sizeof(work.owner), "%s", owner);
	work_note__on(naming->config.note, &work);
}

void naming_work_on(struct naming *naming, const struct process *process)
{
	/* Input that came before the process's account was known belongs to it, too. */
	if (naming->worked_for)
		naming_rest(naming);
	naming->worked_for = accounts__find(naming->accounts, process->account);
	note_work(naming, process);
}

bool naming_may_work_on(const struct process *process)
{
	return account__may_work(symbols_process__account(process->symbols), clock_boot_ns());
}

bool naming_may_go_on(struct naming *naming, const struct process *process)
{
	struct account *account = naming->worked_for;

	naming_rest(naming);
	naming->worked_for = account;
	return naming_may_work_on(process);
}

/*
 * The cgroup v2 id of the cgroup that stands for its account: the number of its directory. 0 = not
 * known.
 */
static uint64_t account_cgroup(const struct process *process)
{
	char path[PATH_MAX];
	struct stat st;
	int len = snprintf(path, sizeof(path), CGROUP_ROOT "%.*s", (int)process->account_len,
			   process->container.cgroup_path ? process->container.cgroup_path : "");

	return len > 0 && (size_t)len < sizeof(path) && stat(path, &st) == 0 ? st.st_ino : 0;
}

/*
 * Its own cgroup is used only where that of the account cannot be seen: anybody may make cgroups
 * below it, and each would take a place in the kernel's map. Never the root instead: with cgroup
 * version 1 only, all processes of a host are in it.
 */
static uint64_t told_cgroup(const struct process *process)
{
	if (process->account_cgroup)
		return process->account_cgroup;
	return process->cgroup_id > ROOT_CGROUP_ID ? process->cgroup_id : 0;
}

void naming_tell_account(struct naming *naming, const struct process *process)
{
	const struct naming_listener *listener = &naming->config.listener;
	const struct naming_account told = {
		.cgroup_id = told_cgroup(process),
		.account = process->account,
	};
	struct naming_account *last = &naming->told[told.cgroup_id % TOLD_ACCOUNTS];

	/* Account 0: of its cgroup nothing is known. */
	if (!told.cgroup_id || !told.account || memcmp(last, &told, sizeof(told)) == 0)
		return;
	*last = told;
	listener->account(listener->ctx, &told);
}

void naming_work_on_sight(struct naming *naming, const struct process_sight *sight)
{
	struct work work = { .id = sight->id };

	(void)snprintf(work.comm, sizeof(work.comm), "%s", sight->comm);
	if (naming->config.note)
		work_note__on(naming->config.note, &work);
}

static bool is_banned(const void *ctx, const struct process *process)
{
	return ban_list_find(ctx, process->account, process->id.pid, process->id.start_ns,
			     clock_boot_ns()) != NULL;
}

int naming_lift_old_ban(struct naming *naming, struct process *process)
{
	if (!process->is_banned || is_banned(&naming->bans, process))
		return 0;
	return process_table__lift_ban(naming->processes, process);
}

/* Called before anything of it is opened: who pays for it, and may it be opened? */
static void meet_process(void *ctx, struct process *process)
{
	struct naming *naming = ctx;

	process->is_banned = is_banned(&naming->bans, process);
	naming_work_on(naming, process);
	process->account_cgroup = account_cgroup(process);
	naming_tell_account(naming, process);
}

static int open_processes(struct naming *naming, struct process_table **out)
{
	const struct process_table_options options = {
		.proc_fd = naming->proc_fd,
		.symbolizer = naming->symbolizer,
		.containers = naming->containers,
		.accounts = naming->accounts,
		.meet = meet_process,
		.ctx = naming,
		.ignores_opt_out = naming->config.ignores_opt_out,
	};

	return process_table__new(&options, out);
}

static int start_parser(void *ctx, int *socket_out, pid_t *pid_out)
{
	return launcher__start(ctx, LAUNCHER_PARSER, NULL, socket_out, pid_out);
}

static int start_opener(void *ctx, int *socket_out, pid_t *pid_out)
{
	return launcher__start(ctx, LAUNCHER_OPENER, NULL, socket_out, pid_out);
}

static int end_child(void *ctx, pid_t pid)
{
	return launcher__end(ctx, pid);
}

static int open_symbolizer(struct naming *naming)
{
	struct launcher *launcher = naming->config.launcher;
	const struct child_starter parser = {
		.start = start_parser,
		.end = end_child,
		.ctx = launcher,
	};
	const struct child_starter opener = {
		.start = start_opener,
		.end = end_child,
		.ctx = launcher,
	};
	const struct symbolizer_options options = {
		.proc_fd = naming->proc_fd,
		.jit = naming->config.jit,
		.keeps_parameters = naming->config.keeps_parameters,
		.parser_starter = &parser,
		.opener_starter = &opener,
		.kallsyms_fd = naming->config.kallsyms_fd,
	};

	return symbolizer__open(&options, &naming->symbolizer);
}

/* ---- how code is unwound ---- */

static void tell_table(void *ctx, uint32_t id, const struct unwind_table *table)
{
	const struct naming *naming = ctx;
	const struct naming_unwind_id which = { .epoch = naming->unwind_epoch, .id = id };

	naming->config.listener.unwind_table(naming->config.listener.ctx, &which, table);
}

static void tell_drop(void *ctx, uint32_t id)
{
	const struct naming *naming = ctx;
	const struct naming_unwind_id which = { .epoch = naming->unwind_epoch, .id = id };

	naming->config.listener.unwind_drop(naming->config.listener.ctx, &which);
}

static void tell_space(void *ctx, const struct process_life *id, uint64_t account,
		       const struct jbpf_space *space)
{
	const struct naming *naming = ctx;
	const struct naming_space told = {
		.space = *space,
		.account = account,
		.pid = id->pid,
		.epoch = naming->unwind_epoch,
	};

	naming->config.listener.space(naming->config.listener.ctx, &told);
}

static void listen_to_unwind(struct naming *naming)
{
	const struct symbols_unwind_listener listener = {
		.ctx = naming,
		.table = tell_table,
		.drop = tell_drop,
		.space = tell_space,
	};

	if (naming->config.listener.space)
		symbolizer__set_unwind_listener(naming->symbolizer, &listener);
}

void naming__begin_unwind(struct naming *naming, const struct naming_unwind *head,
			  const uint32_t *ids)
{
	naming->unwind_epoch = head->epoch;
	symbolizer__begin_unwind(naming->symbolizer, head->chunk_max, head->next_id, ids,
				 head->id_cnt);
}

void naming__refuse_unwind(struct naming *naming, const struct naming_unwind_id *id)
{
	if (id->epoch == naming->unwind_epoch)
		symbolizer__refuse_unwind(naming->symbolizer, id->id);
}

bool naming__build_unwind(struct naming *naming)
{
	struct symbols_process *symbols;
	struct process *process;

	if (symbolizer__due_space(naming->symbolizer, &symbols) > clock_boot_ns())
		return false;
	process = process_table__find(naming->processes, symbols_process__id(symbols));
	if (process)
		naming_work_on(naming, process);
	(void)symbols_process__step_space(symbols, SYMBOLS_STEP_BUILD);
	naming_rest(naming);
	return true;
}

static int open_parts(struct naming *naming, char *why, size_t why_len)
{
	struct container_resolver_options container_options = { .cgroup_root = CGROUP_ROOT };
	int err;

	naming->proc_fd = open(naming->config.proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	naming->root_fd = open_host_root();
	if (naming->proc_fd < 0 || naming->root_fd < 0) {
		err = -errno;
		snprintf(why, why_len, "cannot open %s: %s; mount it", naming->config.proc,
			 errstr(err));
		return err;
	}
	naming->accounts = accounts__new();
	if (!naming->accounts) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	err = open_symbolizer(naming);
	if (err) {
		snprintf(why, why_len, "cannot set up symbols: %s", errstr(err));
		return err;
	}
	listen_to_unwind(naming);
	container_options.proc_fd = naming->proc_fd;
	container_options.root_fd = naming->root_fd;
	container_options.parser = symbolizer__parser(naming->symbolizer);
	container_options.accounts = naming->accounts;
	err = container_resolver__new(&container_options, &naming->containers);
	if (!err)
		err = open_processes(naming, &naming->processes);
	if (err)
		snprintf(why, why_len, "cannot set up process tables: %s", errstr(err));
	return err;
}

int naming__open(const struct naming_config *config, struct naming **out, char *why, size_t why_len)
{
	struct naming *naming;
	int err;

	if (!config->launcher) {
		snprintf(why, why_len, "there is no launcher, and so none to open and parse files");
		return -EINVAL;
	}
	naming = calloc(1, sizeof(*naming));
	if (!naming) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	naming->config = *config;
	naming->asks.launcher = config->launcher;
	naming->proc_fd = -1;
	naming->root_fd = -1;
	err = open_parts(naming, why, why_len);
	if (err) {
		naming__free(naming);
		return err;
	}
	naming->namer.symbolizer = naming->symbolizer;
	*out = naming;
	return 0;
}

void naming__free(struct naming *naming)
{
	if (!naming)
		return;
	process_table__free(naming->processes);
	jvm_asks_release(&naming->asks);
	container_resolver__free(naming->containers);
	symbolizer__free(naming->symbolizer);
	accounts__free(naming->accounts);
	stack_namer_release(&naming->namer);
	strbuf_release(&naming->folded);
	strbuf_release(&naming->lines);
	strbuf_release(&naming->walk);
	strbuf_release(&naming->threads);
	tick_join_release(&naming->ticks);
	free(naming->places);
	window_cells_release(&naming->cells);
	if (naming->proc_fd >= 0)
		close(naming->proc_fd);
	if (naming->root_fd >= 0)
		close(naming->root_fd);
	free(naming);
}

int naming__change(struct naming *naming, const struct naming_options *options)
{
	struct process_table *processes = NULL;

	log_set_level((enum log_level)options->log_level);
	naming->config.ignores_opt_out = options->ignores_opt_out;
	naming->config.wants_ticks = options->wants_ticks;
	if (!options->forgets)
		return 0;
	/* What was named by other rules must not be mixed with what comes. */
	if (open_processes(naming, &processes))
		return -ENOMEM;
	process_table__free(naming->processes);
	naming->processes = processes;
	naming->config.jit = (enum jit_mode)options->jit;
	naming->config.keeps_parameters = options->keeps_parameters;
	symbolizer__set_jit(naming->symbolizer, naming->config.jit,
			    naming->config.keeps_parameters);
	return 0;
}

void naming__become_copy(struct naming *naming)
{
	struct parser *parser = symbolizer__parser(naming->symbolizer);

	parser__forget_process(parser);
	opener__forget_process(parser__opener(parser));
	naming->worked_for = NULL;
	naming->work_begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int naming__awake(struct naming *naming, const struct naming_options *options)
{
	struct naming_options changed = *options;

	changed.forgets = options->jit != (uint32_t)naming->config.jit ||
			  options->keeps_parameters != naming->config.keeps_parameters;
	/* What was told in the meantime it has not heard. */
	symbolizer__forget_ksymbols(naming->symbolizer);
	return naming__change(naming, &changed);
}

void naming__note_ksymbols(struct naming *naming, const struct ksymbol_changes *changes)
{
	symbolizer__note_ksymbols(naming->symbolizer, changes);
}

void naming__ban(struct naming *naming, const struct naming_banned *banned)
{
	const struct ban ban = {
		.account = banned->account,
		.start_ns = banned->start_ns,
		.until_boot_ns = banned->until_boot_ns,
		.pid = banned->pid,
		.cnt = 1,
	};

	ban_list_put(&naming->bans, &ban);
	process_table__ban(naming->processes, is_banned, &naming->bans);
}

/* ---- while the window runs ---- */

static void retry_later(struct naming *naming, struct retry *retry)
{
	bool is_prompt = retry->try_cnt < JVM_PROMPT_RETRIES;
	uint64_t now_ns = clock_boot_ns();

	/* The looks of all processes come together, so that this one wakes up for them once. */
	retry->due_ns = is_prompt ? now_ns + RETRY_DELAY_NS :
				    now_ns - now_ns % LOOK_DELAY_NS + LOOK_DELAY_NS;
	retry_queue_push(is_prompt ? &naming->retries : &naming->looks, retry);
}

/* Ends when it is dropped from the table of processes. */
static void look_later(struct naming *naming, struct retry *retry)
{
	retry->try_cnt = JVM_PROMPT_RETRIES;
	retry_later(naming, retry);
}

void naming_stop_sampling(struct naming *naming, const struct process *process)
{
	const struct naming_listener *listener = &naming->config.listener;
	const struct naming_opt_out opt_out = {
		.process = {
			.start_ns = process->id.start_ns,
			.cgroup_id = process->cgroup_id,
			.exec_id = process->id.exec_id,
			.ns_pid = process->ns_pid,
		},
		.pid = process->id.pid,
	};

	if (!process->exited && process->opt_out != OPT_OUT_UNDECIDED)
		listener->opt_out(listener->ctx, &opt_out);
}

/* Says where the JIT code lies; true when that is known. */
static bool share_code_range(struct naming *naming, struct process *process)
{
	const struct naming_listener *listener = &naming->config.listener;
	struct symbols_code_range range, none = { 0 };
	struct naming_code_range shared;

	if (!symbols_process__code_range(process->symbols, &range))
		return false;
	if (memcmp(&range, &process->code_range, sizeof(range)) == 0)
		return true;
	shared = (struct naming_code_range){
		.range = {
			.start_ns = process->id.start_ns,
			.exec_id = process->id.exec_id,
			.code_low = range.code_low,
			.code_high = range.code_high,
			.interpreter_low = range.interpreter_low,
			.interpreter_high = range.interpreter_high,
		},
		.account = process->account,
		.pid = process->id.pid,
		.is_first = memcmp(&process->code_range, &none, sizeof(none)) == 0,
	};
	listener->code_range(listener->ctx, &shared);
	process->code_range = range;
	return true;
}

/*
 * Says how its frames are found without frame pointers, once it is known that it keeps none:
 * otherwise the kernel needs nothing of it. What was said is not repeated.
 */
static void share_hotspot(struct naming *naming, struct process *process)
{
	const struct naming_listener *listener = &naming->config.listener;
	struct naming_hotspot shared = { .account = process->account, .pid = process->id.pid };
	struct jbpf_hotspot *hotspot = &shared.hotspot;

	/* Nothing else is walked by rules either. */
	if (!naming->unwind_epoch)
		return;
	if (process->jvm.preserve_frame_pointer == WINDOW_FLAG_UNKNOWN ||
	    jvm_keeps_frame_pointers(&process->jvm) ||
	    !symbols_process__hotspot_unwind(process->symbols, hotspot))
		return;
	hotspot->start_ns = process->id.start_ns;
	hotspot->exec_id = process->id.exec_id;
	if (memcmp(hotspot, &process->hotspot, sizeof(*hotspot)) == 0)
		return;
	listener->hotspot(listener->ctx, &shared);
	process->hotspot = *hotspot;
}

/* It is made after the code cache, and much later where a JVM has little CPU time to start with. */
static bool knows_interpreter(const struct process *process)
{
	return process->code_range.interpreter_low < process->code_range.interpreter_high;
}

/* The first look at a JVM may come late, and find the one that the process executed since it was sampled. */
static bool may_be_its_jvm(const struct naming *naming, const struct process *process)
{
	struct hotspot_vm *vm;

	return process->jvm.is_hotspot ||
	       symbols_process__hotspot(process->symbols, &vm) == -ENOENT ||
	       process_is_as_sampled(naming->proc_fd, process);
}

bool naming_update_jvm(struct naming *naming, struct process *process)
{
	struct symbols_jit_status jit;
	bool has_range;

	if (!may_be_its_jvm(naming, process))
		return false;
	has_range = share_code_range(naming, process);
	symbols_process__jit_status(process->symbols, &jit);
	jvm_update(&process->jvm, process->symbols);
	if (has_range)
		share_hotspot(naming, process);
	return process->jvm.is_hotspot && (jit.is_starting || !jit.fallback) &&
	       (!process->jvm.is_known || ((!has_range || !knows_interpreter(process)) &&
					   jit_mode_reads_vm(naming->config.jit)));
}

/* What is no JVM: may it have become one since? */
static bool has_grown(const struct process *process, const struct retry *retry)
{
	return retry_is_looked_at(retry, retry->due_ns / LOOK_DELAY_NS) &&
	       symbols_process__has_new_size(process->symbols);
}

static void try_again(struct naming *naming, struct retry *retry)
{
	struct process *process = process_table__find(naming->processes, &retry->id);
	int err;

	if (!process || process->exited || process->has_execed || !process->symbols)
		return;
	naming_work_on(naming, process);
	if (!naming_may_work_on(process)) {
		look_later(naming, retry);
		return;
	}
	if (!process->jvm.is_hotspot && retry->try_cnt == JVM_PROMPT_RETRIES) {
		if (!has_grown(process, retry)) {
			look_later(naming, retry);
			return;
		}
		retry->try_cnt = 0;
		retry->vain_cnt = add_saturated_u32(retry->vain_cnt, 1);
	}
	err = symbols_process__refresh(process->symbols);
	if (err == -EAGAIN)
		look_later(naming, retry);
	if (err)
		return;
	if (naming_update_jvm(naming, process) && retry->try_cnt < JVM_RETRIES_MAX) {
		retry->try_cnt++;
		retry_later(naming, retry);
	} else if (!process->jvm.is_hotspot) {
		look_later(naming, retry);
	}
}

void naming__tick(struct naming *naming)
{
	struct retry retry;

	while (retry_queue_pop(&naming->retries, clock_boot_ns(), &retry))
		try_again(naming, &retry);
	while (retry_queue_pop(&naming->looks, clock_boot_ns(), &retry))
		try_again(naming, &retry);
	naming_rest(naming);
}

uint64_t naming__due_boot_ns(const struct naming *naming)
{
	uint64_t prompt_ns = retry_queue_due_ns(&naming->retries);
	uint64_t look_ns = retry_queue_due_ns(&naming->looks);
	uint64_t retry_ns = min_u64(prompt_ns, look_ns);
	struct symbols_process *symbols;
	uint64_t space_ns = symbolizer__due_space(naming->symbolizer, &symbols);

	return min_u64(retry_ns, space_ns);
}

/* Of the stack that was just prefetched; with frame pointers the interpreter's frames alone ask for rules. */
static void share_leaf_rule(struct naming *naming, struct process *process)
{
	const struct naming_listener *listener = &naming->config.listener;
	struct naming_leaf_rule shared = { .account = process->account };

	if (!symbols_process__take_leaf_proof(process->symbols, &shared.key, &shared.proof) ||
	    (jvm_keeps_frame_pointers(&process->jvm) &&
	     shared.proof.place != JBPF_LEAF_INTERPRETED))
		return;
	shared.key.pid = process->id.pid;
	shared.proof.start_ns = process->id.start_ns;
	shared.proof.exec_id = process->id.exec_id;
	naming->leafs_proved++;
	listener->leaf_rule(listener->ctx, &shared);
}

/* Short of memory: the window's naming tries again. */
uint64_t naming__prefetch(struct naming *naming, const void *records, size_t len)
{
	const uint8_t *at = records, *end = at + len;
	const struct process *present = NULL;
	struct naming_stack head;
	struct probe_stack words;

	for (uint32_t nth = 0; naming_stack_next(&at, end, &head, &words); nth++) {
		struct process_life id = process_life_of(&head);
		struct process *process = process_table__find(naming->processes, &id);
		struct symbols_stack stack = stack_namer_words(&words);

		if (!process || !process->symbols)
			continue;
		/* Asking for the time takes longer than many a stack. */
		if (process != present || nth % PREFETCH_ACCOUNTED == 0)
			naming_work_on(naming, process);
		present = process;
		if (!naming_may_work_on(process))
			continue;
		(void)symbols_process__prefetch(process->symbols, &stack, head.since_boot_ns);
		share_leaf_rule(naming, process);
	}
	naming_rest(naming);
	return symbolizer__end_prefetch(naming->symbolizer);
}

static void tell_met(struct naming *naming, const struct process *process)
{
	const struct naming_listener *listener = &naming->config.listener;
	struct window window = {
		.pid = process->id.pid,
		.ns_pid = process->ns_pid,
		.process_start_ns = process->id.start_ns,
		.exec_id = process->id.exec_id,
		.cgroup_id = process->cgroup_id,
	};

	naming_fill_labels(process, &window);
	listener->met(listener->ctx, &window);
}

static void meet(struct naming *naming, const struct jbpf_notice *notice)
{
	struct process_life id = process_life_of(notice);
	const struct process_sight sight = {
		.id = id,
		.cgroup_id = notice->cgroup_id,
		.comm = notice->comm,
		.ns_pid = notice->ns_pid,
		.may_be_recorded = notice->flags & JBPF_KNOWN_OPT_OUT_NONE,
	};
	struct process *process;

	naming_work_on_sight(naming, &sight);
	/* Short of memory: the window's naming tries again and counts what it loses. */
	if (process_table__get(naming->processes, &sight, &process))
		return;
	naming_work_on(naming, process);
	if (process->opt_out) {
		naming_stop_sampling(naming, process);
		return;
	}
	tell_met(naming, process);
	if (!process->symbols || !naming_may_work_on(process))
		return;
	/* Of a JVM that has been running for long, all is there from its second sample on. */
	naming_update_jvm(naming, process);
	/* Programs that ran before have all their tables: most short-lived processes are such. */
	(void)symbols_process__step_space(process->symbols, SYMBOLS_STEP_KNOWN);
	retry_later(naming, &(struct retry){ .id = id });
}

void naming__notice(struct naming *naming, const struct jbpf_notice *notice)
{
	struct process_life id = process_life_of(notice);
	struct process *process;

	switch (notice->kind) {
	case JBPF_NOTICE_SEEN:
		meet(naming, notice);
		naming_rest(naming);
		break;
	case JBPF_NOTICE_EXIT:
		process = process_table__find(naming->processes, &id);
		if (process)
			process->exited = true;
		break;
	case JBPF_NOTICE_RENAME:
		process = process_table__find(naming->processes, &id);
		if (process)
			snprintf(process->comm, sizeof(process->comm), "%.*s",
				 (int)sizeof(notice->comm) - 1, notice->comm);
		break;
	case JBPF_NOTICE_EXEC:
		/*
		 * The next sample comes with a new exec_id, as SEEN. This notice is about the run
		 * before.
		 */
		id.exec_id--;
		process_execed(process_table__find(naming->processes, &id));
		break;
	default:
		break;
	}
}
