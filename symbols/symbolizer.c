// SPDX-License-Identifier: Apache-2.0
/* The symbolizer: all processes, the kernel, and the names they share; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbolizer.h"
#include "symbols/symbols_frames.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

/* ---- life ---- */

int symbolizer__open(const struct symbolizer_options *options, struct symbolizer **out)
{
	struct symbols_share *hosts;
	struct symbolizer *symbolizer;
	int err;

	symbolizer = calloc(1, sizeof(*symbolizer));
	if (!symbolizer)
		return -ENOMEM;
	err = symbols_shared_open(&symbolizer->shared, options);
	if (!err)
		err = symbols_shared_get(&symbolizer->shared, account_of_host(), &hosts);
	if (!err) {
		symbolizer->names = hosts->names;
		err = options->kallsyms_fd ?
			      kallsyms__from_fd(options->kallsyms_fd, options->proc_fd,
						&symbolizer->kallsyms) :
			      kallsyms__open(options->proc_fd, &symbolizer->kallsyms);
	}
	if (err) {
		symbolizer__free(symbolizer);
		return err;
	}
	*out = symbolizer;
	return 0;
}

void symbolizer__set_jit(struct symbolizer *symbolizer, enum jit_mode jit, bool keeps_parameters)
{
	symbolizer->shared.options.jit = jit;
	symbols_shared_keep_parameters(&symbolizer->shared, keeps_parameters);
}

void symbolizer__free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	while (symbolizer->shared.processes)
		symbols_process__close(symbolizer->shared.processes);
	addr_cache_release(&symbolizer->kernel_answers);
	kallsyms__free(symbolizer->kallsyms);
	symbols_shared_release(&symbolizer->shared);
	free(symbolizer);
}

struct parser *symbolizer__parser(const struct symbolizer *symbolizer)
{
	return symbolizer->shared.parser;
}

/* Another run of the process that came after. */
static bool is_later_run(const struct process_life *a, const struct process_life *b)
{
	return a->start_ns == b->start_ns && a->pid == b->pid &&
	       (int32_t)(a->exec_id - b->exec_id) > 0;
}

int symbolizer__open_process(struct symbolizer *symbolizer, const struct process_life *id,
			     struct account *account, struct symbols_process **out)
{
	struct symbols_process *other;
	bool is_superseded = false;
	int err;

	for (other = symbolizer->shared.processes; other; other = other->next)
		is_superseded |= is_later_run(&other->id, id);
	err = symbols_process_open(&symbolizer->shared, id, account, is_superseded, out);
	for (other = symbolizer->shared.processes; other && !err; other = other->next)
		other->is_superseded |= is_later_run(id, &other->id);
	return err;
}

static void symbolizer_forget_answers(struct symbolizer *symbolizer, struct symbols_share *share)
{
	if (share->names == symbolizer->names)
		addr_cache_clear(&symbolizer->kernel_answers);
	for (struct symbols_process *process = symbolizer->shared.processes; process;
	     process = process->next) {
		if (process->share != share)
			continue;
		addr_cache_clear(&process->answers);
		symbols_process_forget_jit_names(process);
	}
}

int symbolizer__trim(struct symbolizer *symbolizer)
{
	for (struct symbols_share *share = symbolizer->shared.shares; share; share = share->next) {
		int err;

		if (!name_table__is_large(share->names))
			continue;
		err = name_table__reset(share->names);
		if (err)
			return err;
		symbolizer_forget_answers(symbolizer, share);
	}
	return 0;
}

void symbolizer__note_ksymbols(struct symbolizer *symbolizer, const struct ksymbol_changes *changes)
{
	kallsyms__note_changes(symbolizer->kallsyms, changes);
}

void symbolizer__forget_ksymbols(struct symbolizer *symbolizer)
{
	kallsyms__forget_changes(symbolizer->kallsyms);
}

void symbolizer__note_window(struct symbolizer *symbolizer, uint64_t begin_boot_ns,
			     uint64_t end_boot_ns)
{
	symbolizer->shared.window_begin_ns = begin_boot_ns;
	kallsyms__note_window(symbolizer->kallsyms, begin_boot_ns, end_boot_ns);
}

/* A frame of the kernel that has no name of its own. */
static const char unknown_kernel[] = "[unknown kernel]";

static int symbolizer_read_kernel_answer(struct symbolizer *symbolizer, uint64_t address,
					 struct answer *out, bool *is_of_bpf_out)
{
	uint64_t now_ns = clock_boot_ns();
	struct kallsym symbol;
	uint32_t id;
	int err = kallsyms__read_and_lookup(symbolizer->kallsyms, address, now_ns, &symbol);

	if (err == -ENOMEM)
		return err;
	*out = (struct answer){
		.kind = err || symbol.may_change || symbol.is_of_module ? ANSWER_KIND_MISSING :
									  ANSWER_KIND_FIXED,
		.frame_kind = FRAME_KIND_KERNEL,
		.is_unknown = err != 0,
	};
	*is_of_bpf_out = !err && symbol.is_of_bpf;
	err = err ? name_table__plain(symbolizer->names, unknown_kernel, sizeof(unknown_kernel) - 1,
				      &id) :
		    name_table__native(symbolizer->names, symbol.name, strlen(symbol.name), &id);
	out->name = id;
	return err;
}

/*
 * These run filters of system calls, which are classic programs, and those of sockets, which mostly are. The
 * callers of the first, too: as long as a program has not pushed its frame, its caller is not on the stack.
 */
static bool runs_classic_programs(const char *name)
{
	static const char *const callers[] = {
		"__seccomp_filter",    "seccomp_run_filters", "__secure_computing",
		"syscall_trace_enter", "sk_filter_trim_cap",  "packet_rcv",
		"packet_rcv_spkt",     "tpacket_rcv",
	};

	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		if (strcmp(name, callers[i]) == 0)
			return true;
	return false;
}

/*
 * Classic programs lie among the others and have no symbol (bpf_prog_kallsyms_candidate() in
 * kernel/bpf/core.c): theirs would be that of the one before. Where the kernel's walk ended in a program, as it
 * does in its first and last instructions, nobody knows who called it.
 */
static void forget_name(struct frame *frame)
{
	frame->name = unknown_kernel;
	frame->is_unknown = true;
}

int symbolizer__read_and_resolve_kernel(struct symbolizer *symbolizer, const uint64_t *ips,
					size_t ip_cnt, struct frame_list *out)
{
	struct addr_cache *answers = &symbolizer->kernel_answers;
	bool is_bpf_called = false;

	for (size_t i = 0; i < ip_cnt; i++) {
		uint64_t address = ips[i] - (i > 0 && ips[i] > 0);
		const struct answer *known = addr_cache_find(answers, address);
		bool is_of_bpf = false;
		struct answer answer;
		int err = 0;

		/* Asked again when it had no name, or may have another one: kallsyms limits the cost. */
		if (known && known->kind == ANSWER_KIND_FIXED) {
			answer = *known;
		} else {
			err = symbolizer_read_kernel_answer(symbolizer, address, &answer,
							    &is_of_bpf);
			if (!err)
				addr_cache_put(answers, address, answer);
		}
		if (!err)
			err = frame_list_add(out, symbolizer->names, &answer);
		if (err)
			return err;
		if (is_bpf_called && runs_classic_programs(out->items[out->cnt - 1].name))
			forget_name(&out->items[out->cnt - 2]);
		is_bpf_called = is_of_bpf;
	}
	if (is_bpf_called)
		forget_name(&out->items[out->cnt - 1]);
	return 0;
}

size_t symbolizer__bytes(const struct symbolizer *symbolizer)
{
	size_t bytes = sizeof(*symbolizer) + symbols_shared_bytes(&symbolizer->shared) +
		       kallsyms__bytes(symbolizer->kallsyms) +
		       addr_cache_bytes(&symbolizer->kernel_answers);

	for (const struct symbols_process *process = symbolizer->shared.processes; process;
	     process = process->next)
		bytes += symbols_process_bytes(process);
	return bytes;
}

/* ---- how code is unwound ---- */

static void pass_table(void *ctx, uint32_t id, const struct unwind_table *table)
{
	const struct symbols_shared *shared = ctx;

	shared->unwind_listener.table(shared->unwind_listener.ctx, id, table);
}

static void pass_leaving(void *ctx, uint32_t id)
{
	symbols_space_leaving(ctx, id);
}

static void pass_drop(void *ctx, uint32_t id)
{
	const struct symbols_shared *shared = ctx;

	shared->unwind_listener.drop(shared->unwind_listener.ctx, id);
}

void symbolizer__set_unwind_listener(struct symbolizer *symbolizer,
				     const struct symbols_unwind_listener *listener)
{
	const struct unwind_listener passing = {
		.ctx = &symbolizer->shared,
		.table = pass_table,
		.leaving = pass_leaving,
		.drop = pass_drop,
	};

	symbolizer->shared.unwind_listener = *listener;
	unwind_cache_listen(symbolizer->shared.unwind, &passing);
}

void symbolizer__begin_unwind(struct symbolizer *symbolizer, uint32_t chunk_max, uint32_t next_id,
			      const uint32_t *ids, size_t id_cnt)
{
	struct symbols_process *process = symbolizer->shared.processes;

	if (!symbolizer->shared.unwind_listener.space)
		return;
	unwind_cache_begin(symbolizer->shared.unwind, chunk_max, next_id, ids, id_cnt);
	for (; process; process = process->next)
		process->is_space_due = true;
}

void symbolizer__refuse_unwind(struct symbolizer *symbolizer, uint32_t id)
{
	unwind_cache_refuse(symbolizer->shared.unwind, id);
}

void symbolizer__end_unwind_window(struct symbolizer *symbolizer)
{
	unwind_cache_begin_window(symbolizer->shared.unwind);
}

void symbolizer__unwind_stats(const struct symbolizer *symbolizer, struct unwind_stats *out)
{
	unwind_cache_stats(symbolizer->shared.unwind, out);
}

uint64_t symbolizer__due_space(const struct symbolizer *symbolizer, struct symbols_process **out)
{
	struct symbols_process *process = symbolizer->shared.processes;
	uint64_t due_ns = UINT64_MAX;

	*out = NULL;
	if (!unwind_cache_is_on(symbolizer->shared.unwind))
		return due_ns;
	for (; process; process = process->next) {
		if (!process->is_space_due || process->space_after_ns >= due_ns)
			continue;
		due_ns = process->space_after_ns;
		*out = process;
	}
	return due_ns;
}

/* ---- rounds of prefetching ---- */

uint64_t symbolizer__end_prefetch(struct symbolizer *symbolizer)
{
	uint64_t interval_ns = SYMBOLS_PREFETCH_QUIET_NS;

	while (symbolizer->shared.prefetched) {
		struct symbols_process *process = symbolizer->shared.prefetched;
		uint64_t wanted_ns;

		symbolizer->shared.prefetched = process->next_prefetched;
		wanted_ns = symbols_process_end_prefetch(process);
		if (wanted_ns < interval_ns)
			interval_ns = wanted_ns;
	}
	return interval_ns;
}
