// SPDX-License-Identifier: Apache-2.0
/*
 * JIT code of one process: the sources that name it, the best first, and what they say together.
 * Each is a table of operations (jit_source.h); which of them a process has is the table below.
 */
#include <errno.h>

#include "symbols/symbols_frames.h"
#include "symbols/symbols_process.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

struct jit_choice {
	const struct jit_source_ops *ops;
	uint32_t naming_modes; /* bits of enum jit_mode in which it gives names */
	bool is_always;	       /* in all others it is there for what else it knows */
};

#define MODE(name) (1u << JIT_MODE_##name)

static const struct jit_choice choices[SYMBOLS_JIT_SOURCES] = {
	{ &jit_source_hotspot, MODE(AUTO) | MODE(VMSTRUCTS), true },
	{ &jit_source_perfmap, MODE(AUTO) | MODE(PERFMAP) | MODE(ATTACH), false },
};

#undef MODE

int symbols_process_open_jit(struct symbols_process *process)
{
	struct jit_source_use *use = process->jit_sources;
	uint32_t mode = 1u << process->shared->options.jit;

	for (size_t i = 0; i < SYMBOLS_JIT_SOURCES; i++) {
		bool is_naming = choices[i].naming_modes & mode;
		int err;

		if (!is_naming && !choices[i].is_always)
			continue;
		err = choices[i].ops->open(&process->target, is_naming, &use->state);
		if (err)
			return err;
		use++->ops = choices[i].ops;
	}
	return 0;
}

void symbols_process_close_jit(struct symbols_process *process)
{
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		use->ops->close(use->state);
}

void symbols_process_forget_jit_names(struct symbols_process *process)
{
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->forget_names)
			use->ops->forget_names(use->state);
}

int symbols_process__hotspot(const struct symbols_process *process, struct hotspot_vm **out)
{
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->tables)
			return use->ops->tables(use->state, out);
	return -ENOENT;
}

static bool has_tables(const struct symbols_process *process)
{
	struct hotspot_vm *ignored;

	return symbols_process__hotspot(process, &ignored) == 0;
}

void symbols_process_bound_jit(struct symbols_process *process)
{
	struct hotspot_ranges ranges;

	process->jit_low = UINT64_MAX;
	process->jit_high = 0;
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++) {
		if (!use->ops->ranges || !use->ops->ranges(use->state, &ranges))
			continue;
		if (ranges.code_low < process->jit_low)
			process->jit_low = ranges.code_low;
		if (ranges.code_high > process->jit_high)
			process->jit_high = ranges.code_high;
	}
}

/* What was opened or read may have changed what is known. */
static void process_note_jit(struct symbols_process *process, bool had_tables)
{
	if (!had_tables && has_tables(process))
		symbols_process_hold(process);
	symbols_process_bound_jit(process);
}

int symbols_process_refresh_jit(struct symbols_process *process, enum jit_source source,
				enum jit_perfmaps_force force)
{
	struct jit_refresh how = { .force = force,
				   .source = source,
				   .oldest_boot_ns = process->shared->window_begin_ns };
	bool had_tables = has_tables(process);
	int err = 0;

	for (const struct jit_source_use *use = process->jit_sources; use->ops && err >= 0; use++) {
		err = use->ops->refresh(use->state, &how);
		if (err == 1)
			process->unknown_jit_cnt = 0;
	}
	process_note_jit(process, had_tables);
	return err < 0 ? err : 0;
}

/* ---- addresses ---- */

const struct jit_source_use *symbols_process_jit_owner(const struct symbols_process *process,
						       uint64_t address)
{
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->covers && use->ops->covers(use->state, address))
			return use;
	return NULL;
}

uint32_t symbols_process_jit_epoch(const struct symbols_process *process, uint64_t since_boot_ns)
{
	uint32_t epoch = 0;

	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->epoch)
			epoch += use->ops->epoch(use->state, since_boot_ns);
	return epoch & ANSWER_EPOCH_MASK;
}

/* By the best source that has a name. 0; -ENOENT: none has; -EXDEV; -ENOMEM. */
static int process_lookup_jit(const struct symbols_process *process, uint64_t address,
			      uint64_t since_boot_ns, struct answer *out)
{
	int err = -ENOENT;

	for (const struct jit_source_use *use = process->jit_sources; use->ops && err == -ENOENT;
	     use++)
		if (use->ops->lookup)
			err = use->ops->lookup(use->state, address, since_boot_ns, out);
	return err;
}

int symbols_process_answer_jit(struct symbols_process *process, uint64_t address,
			       uint64_t since_boot_ns, struct answer *out)
{
	int err;

	out->kind = ANSWER_KIND_JIT;
	out->epoch = symbols_process_jit_epoch(process, since_boot_ns);
	if (process->shared->options.jit == JIT_MODE_OFF)
		return answer_placeholder(process->names, "[jit]", out);
	err = process_lookup_jit(process, address, since_boot_ns, out);
	if (err != -ENOENT && err != -EXDEV)
		return err;
	if (err == -EXDEV)
		process->ambiguous_jit_cnt++;
	else
		process->unknown_jit_cnt++;
	return answer_placeholder(process->names, "[unknown jit]", out);
}

int symbols_process_answer_missing(struct symbols_process *process, uint64_t address,
				   uint64_t since_boot_ns, struct answer *out)
{
	/* Code cache that grew before the process died is in no mapping we know, but in its map. */
	int err = process_lookup_jit(process, address, since_boot_ns, out);

	if (err == -ENOMEM)
		return err;
	out->kind = ANSWER_KIND_MISSING;
	out->epoch = process->refresh_cnt & ANSWER_EPOCH_MASK;
	return err ? answer_placeholder(process->names, "[unknown]", out) : 0;
}

/* ---- classes ---- */

static int read_class_name(struct symbols_process *process, uint64_t klass, uint64_t boot_ns,
			   struct strbuf *out)
{
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->class_name)
			return use->ops->class_name(use->state, klass, boot_ns, out);
	return -ENOENT;
}

int symbols_process__read_class(struct symbols_process *process, uint64_t klass, uint64_t boot_ns,
				struct frame_list *out)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	struct answer answer = { .frame_kind = FRAME_KIND_NATIVE };
	int err = read_class_name(process, klass, boot_ns, &name);

	if (!err)
		err = name_table__class(process->names, strbuf_str(&name), name.len, &answer.name);
	if (err && err != -ENOMEM)
		err = answer_placeholder(process->names, "[unknown class]", &answer);
	return err ? err : frame_list_add(out, process->names, &answer);
}

/* ---- prefetching ---- */

bool symbols_process_begin_jit_prefetch(struct symbols_process *process)
{
	bool had_tables = has_tables(process);
	bool is_open = false;

	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->begin_prefetch)
			is_open |= use->ops->begin_prefetch(use->state);
	process_note_jit(process, had_tables);
	return is_open;
}

uint64_t symbols_process_jit_read_cnt(const struct symbols_process *process)
{
	uint64_t cnt = 0;

	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->read_cnt)
			cnt += use->ops->read_cnt(use->state);
	return cnt;
}

void symbols_process_end_jit(struct symbols_process *process, uint64_t since_boot_ns)
{
	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		if (use->ops->end)
			use->ops->end(use->state, since_boot_ns);
}

uint64_t symbols_process_jit_prefetch_interval_ns(const struct symbols_process *process)
{
	uint64_t shortest_ns = SYMBOLS_PREFETCH_QUIET_NS;

	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++) {
		uint64_t interval_ns = use->ops->prefetch_interval_ns ?
					       use->ops->prefetch_interval_ns(use->state) :
					       shortest_ns;

		if (interval_ns < shortest_ns)
			shortest_ns = interval_ns;
	}
	return shortest_ns;
}

/* ---- facts ---- */

bool symbols_process__code_range(const struct symbols_process *process,
				 struct symbols_code_range *out)
{
	struct hotspot_ranges ranges;
	bool is_known = false;

	for (const struct jit_source_use *use = process->jit_sources; use->ops && !is_known; use++)
		if (use->ops->ranges)
			is_known = use->ops->ranges(use->state, &ranges);
	if (!is_known)
		return false;
	*out = (struct symbols_code_range){
		.code_low = ranges.code_low,
		.code_high = ranges.code_high,
		.interpreter_low = ranges.interpreter_low,
		.interpreter_high = ranges.interpreter_high,
	};
	return true;
}

bool symbols_process__hotspot_unwind(struct symbols_process *process, struct jbpf_hotspot *out)
{
	bool is_known = false;

	for (const struct jit_source_use *use = process->jit_sources; use->ops && !is_known; use++)
		if (use->ops->unwind)
			is_known = use->ops->unwind(use->state, out);
	return is_known;
}

int symbols_process__each_jit(struct symbols_process *process, symbols_jit_fn fn, void *ctx)
{
	int err = -ENOENT;

	for (const struct jit_source_use *use = process->jit_sources; use->ops && err == -ENOENT;
	     use++)
		err = use->ops->each(use->state, fn, ctx);
	return err;
}

void symbols_process__jit_status(const struct symbols_process *process,
				 struct symbols_jit_status *out)
{
	const struct jit_source_use *uses = process->jit_sources;
	struct jit_source_facts facts = { .source = JIT_SOURCE_NONE };

	/* The best one has the last word. */
	for (size_t i = SYMBOLS_JIT_SOURCES; i-- > 0;)
		if (uses[i].ops)
			uses[i].ops->describe(uses[i].state, !uses[i + 1].ops, &facts);
	*out = (struct symbols_jit_status){
		.is_hotspot = process->target.is_hotspot,
		.has_jit_code = process->target.has_jit_code,
		.source = facts.source,
		.loaded_boot_ns = facts.loaded_boot_ns,
		.map_mtime_ns = facts.map_mtime_ns,
		.entry_cnt = facts.entry_cnt,
		.unknown_cnt = process->unknown_jit_cnt,
		.ambiguous_cnt = process->ambiguous_jit_cnt,
		.rejected_cnt = facts.rejected_cnt,
		.has_inlined = facts.has_inlined,
		.has_interpreted = facts.has_interpreted,
		.is_starting = facts.is_starting,
		.fallback = facts.fallback,
		.problem = facts.problem,
	};
}

size_t symbols_process_jit_bytes(const struct symbols_process *process)
{
	size_t bytes = 0;

	for (const struct jit_source_use *use = process->jit_sources; use->ops; use++)
		bytes += use->ops->bytes(use->state);
	return bytes;
}
