// SPDX-License-Identifier: Apache-2.0
/*
 * JIT code of one process: which source names it, and how that source is kept up to date. HotSpot's
 * own tables come first, perf maps serve where there are none; see symbols.h.
 */
#include <errno.h>
#include <string.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/symbols_frames.h"
#include "symbols/symbols_process.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

/* ---- HotSpot's tables ---- */

/*
 * A JVM fills its tables within its first moments; until then it is looked at this often. One that
 * has not for long, or never will, is looked at ever more seldom.
 */
#define VM_RETRY_NS	  (CLOCK_NS_PER_S / 5)
#define VM_RETRY_MAX_NS	  (10 * CLOCK_NS_PER_S)
#define VM_PROMPT_RETRIES 50u /* before each wait is a tenth longer */
#define VM_MAX_TRIES	  1000u

/* Why a JVM's tables are not used, by the error that opening them gave. */
struct jit_vm_trouble {
	int err;	      /* 0: any other */
	const char *fallback; /* for --jit auto */
	const char *problem;  /* for --jit vmstructs */
};

static const struct jit_vm_trouble *trouble_of(int err)
{
	static const struct jit_vm_trouble troubles[] = {
		{ -EAGAIN,
		  "the JVM's tables are not filled yet: compiled methods are named by a perf map",
		  "the JVM's tables are not filled yet" },
		{ -ENOTSUP,
		  "the JVM's tables have an unknown layout: compiled methods are named by a perf map",
		  "the JVM's tables have an unknown layout: use --jit auto" },
		{ -EPERM,
		  "no right to read the JVM's memory (CAP_SYS_PTRACE): compiled methods are named by a perf map",
		  "no right to read the JVM's memory (CAP_SYS_PTRACE is needed)" },
		{ 0, "the JVM's tables could not be read: compiled methods are named by a perf map",
		  "the JVM's tables could not be read: use --jit auto" },
	};
	size_t i = 0;

	if (err == -EACCES)
		err = -EPERM;
	if (err == -ENOENT)
		err = -ENOTSUP;
	while (troubles[i].err && troubles[i].err != err)
		i++;
	return &troubles[i];
}

static uint64_t retry_ns(uint32_t try_cnt)
{
	uint64_t wait_ns = VM_RETRY_NS;

	for (uint32_t i = VM_PROMPT_RETRIES; i < try_cnt && wait_ns < VM_RETRY_MAX_NS; i++)
		wait_ns += wait_ns / 10;
	return wait_ns < VM_RETRY_MAX_NS ? wait_ns : VM_RETRY_MAX_NS;
}

/* A JVM that is starting, or a parser that rests. */
static bool may_change(int err)
{
	return !err || err == -EAGAIN;
}

static bool process_may_try(struct symbols_process *process)
{
	uint64_t now_ns = clock_boot_ns();

	if (process->hotspot_try_cnt >= VM_MAX_TRIES ||
	    (process->hotspot_try_cnt &&
	     now_ns - process->hotspot_tried_ns < retry_ns(process->hotspot_try_cnt)))
		return false;
	process->hotspot_tried_ns = now_ns;
	process->hotspot_try_cnt++;
	return true;
}

static int process_open_hotspot(struct symbols_process *process)
{
	int err;

	if (process->hotspot)
		return 0;
	err = hotspot_vm__open(process->shared->options.proc_fd, process->id.pid,
			       symbols_process__parser(process), &process->hotspot);
	process->hotspot_err = err;
	if (!err)
		symbols_process_hold(process);
	return err;
}

void symbols_process_open_vm(struct symbols_process *process)
{
	bool reads_vm = jit_mode_reads_vm(process->shared->options.jit);
	int before = process->vm_err, err;

	if (!process->is_hotspot || process->vm || (process->hotspot && !reads_vm) ||
	    !may_change(process->hotspot_err) || !may_change(process->vm_err) ||
	    !process_may_try(process))
		return;
	err = process_open_hotspot(process);
	if (!reads_vm)
		return;
	if (!err)
		err = jit_vm__open(process->hotspot, process->id.pid, process->names, &process->vm);
	/* Of a JVM that is starting they may be half filled: what is kept is read when all is there. */
	if (err == -EAGAIN) {
		hotspot_vm__free(process->hotspot);
		process->hotspot = NULL;
	}
	process->vm_err = err;
	if (err && err != before)
		pr_debug("symbols: pid %u: %s: %s\n", process->id.pid, trouble_of(err)->problem,
			 errstr(err));
}

int symbols_process__hotspot(const struct symbols_process *process, struct hotspot_vm **out)
{
	if (process->hotspot) {
		*out = process->hotspot;
		return 0;
	}
	if (!process->is_hotspot)
		return -ENOENT;
	if (!may_change(process->hotspot_err))
		return process->hotspot_err == -ENOENT ? -ENOTSUP : process->hotspot_err;
	return process->hotspot_try_cnt < VM_MAX_TRIES ? -EAGAIN : -ETIMEDOUT;
}

static void process_refresh_vm(struct symbols_process *process)
{
	int err;

	symbols_process_open_vm(process);
	if (!process->vm)
		return;
	err = jit_vm__refresh(process->vm);
	if (err && err != -ESRCH)
		pr_debug("symbols: pid %u: the JVM's tables: %s\n", process->id.pid, errstr(err));
}

/* ---- both ---- */

int symbols_process_refresh_jit(struct symbols_process *process, enum jit_source source,
				enum jit_names_force force)
{
	enum jit_mode mode = process->shared->options.jit;
	uint32_t generation = process->jit.generation;
	uint64_t loaded_ns = process->jit.loaded_boot_ns;
	int err;

	if (force == JIT_NAMES_WHEN_CHANGED)
		process_refresh_vm(process);
	if (mode == JIT_MODE_OFF || mode == JIT_MODE_VMSTRUCTS || !process->has_jit_code)
		return 0;
	err = jit_names_refresh(&process->jit, process->shared->options.proc_fd, process->id.pid,
				source, force);
	if (process->jit.generation != generation && process->jit.loaded_boot_ns != loaded_ns)
		process->unknown_jit_cnt = 0;
	return err;
}

/* ---- perf maps ---- */

/* Name of an address in one perf map. 0, -ENOENT, -ENOMEM. */
static int process_name_in_map(const struct symbols_process *process, const struct perfmap *map,
			       uint64_t address, struct answer *out)
{
	struct perfmap_symbol symbol;
	enum frame_kind kind;
	uint32_t id;
	int err;

	if (!map || perfmap__lookup(map, address, &symbol))
		return -ENOENT;
	err = names__jit(process->names, symbol.name, symbol.name_len, process->is_hotspot, &id,
			 &kind);
	if (err)
		return err;
	out->name = id;
	out->frame_kind = kind;
	return 0;
}

/*
 * Name in the maps that held while the sample may have been taken. -ENOENT: none has one; -EXDEV:
 * they disagree; -ENOMEM.
 */
static int process_name_jit(const struct symbols_process *process, uint64_t address,
			    uint64_t since_boot_ns, struct answer *out)
{
	const struct jit_names *jit = &process->jit;
	int found = process_name_in_map(process, jit->current, address, out);

	for (size_t i = 0; i < JIT_NAMES_PREVIOUS && found != -ENOMEM; i++) {
		struct answer other = *out;
		int err;

		if (!jit_old_map_holds(&jit->previous[i], since_boot_ns))
			continue;
		err = process_name_in_map(process, jit->previous[i].map, address, &other);
		if (err == -ENOMEM)
			return err;
		if (err)
			continue;
		if (found == 0 && other.name != out->name)
			return -EXDEV;
		*out = other;
		found = 0;
	}
	return found;
}

uint32_t symbols_process_jit_epoch(const struct symbols_process *process, uint64_t since_boot_ns)
{
	return (process->jit.generation << 1 |
		(jit_names_is_between(&process->jit, since_boot_ns) ? 1 : 0)) &
	       ANSWER_EPOCH_MASK;
}

int symbols_process_answer_jit(struct symbols_process *process, uint64_t address,
			       uint64_t since_boot_ns, struct answer *out)
{
	int err;

	out->kind = ANSWER_KIND_JIT;
	out->epoch = symbols_process_jit_epoch(process, since_boot_ns);
	if (process->shared->options.jit == JIT_MODE_OFF)
		return answer_placeholder(process->names, "[jit]", out);
	err = process_name_jit(process, address, since_boot_ns, out);
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
	int err = -ENOENT;

	/* Code cache that grew before the process died is in no mapping we know, but in its map. */
	if (process->shared->options.jit != JIT_MODE_OFF)
		err = process_name_jit(process, address, since_boot_ns, out);
	if (err == -ENOMEM)
		return err;
	out->kind = ANSWER_KIND_MISSING;
	out->epoch = process->refresh_cnt & ANSWER_EPOCH_MASK;
	return err ? answer_placeholder(process->names, "[unknown]", out) : 0;
}

/* ---- facts ---- */

bool symbols_process__code_range(const struct symbols_process *process,
				 struct symbols_code_range *out)
{
	struct hotspot_ranges ranges;

	if (!process->vm)
		return false;
	jit_vm__ranges(process->vm, &ranges);
	if (ranges.code_low >= ranges.code_high)
		return false;
	*out = (struct symbols_code_range){
		.code_low = ranges.code_low,
		.code_high = ranges.code_high,
		.interpreter_low = ranges.interpreter_low,
		.interpreter_high = ranges.interpreter_high,
	};
	return true;
}

struct jit_walk {
	symbols_jit_fn fn;
	void *ctx;
	struct strbuf name; /* of a perf map: those are not NUL-terminated */
};

static int jit_walk_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	struct jit_walk *walk = ctx;

	return walk->fn(walk->ctx, blob->code_begin, blob->code_end - blob->code_begin, name);
}

static int jit_walk_symbol(void *ctx, const struct perfmap_symbol *symbol)
{
	struct jit_walk *walk = ctx;
	int err;

	strbuf_clear(&walk->name);
	err = strbuf_append(&walk->name, symbol->name, symbol->name_len);
	if (err)
		return err;
	return walk->fn(walk->ctx, symbol->start, symbol->end - symbol->start,
			strbuf_str(&walk->name));
}

int symbols_process__each_jit(struct symbols_process *process, symbols_jit_fn fn, void *ctx)
{
	struct jit_walk walk = { .fn = fn, .ctx = ctx };
	int err;

	if (process->vm)
		return jit_vm__walk(process->vm, jit_walk_blob, &walk);
	if (!process->jit.current)
		return -ENOENT;
	err = perfmap__each(process->jit.current, jit_walk_symbol, &walk);
	strbuf_release(&walk.name);
	return err;
}

static void jit_status_of_vm(const struct symbols_process *process, struct symbols_jit_status *out)
{
	struct jit_vm_status vm;

	jit_vm__status(process->vm, &vm);
	out->source = JIT_SOURCE_VMSTRUCTS;
	out->loaded_boot_ns = vm.read_boot_ns;
	out->map_mtime_ns = 0;
	out->entry_cnt = vm.blob_cnt;
	out->has_inlined = vm.has_inlined;
	out->has_interpreted = vm.has_interpreted;
	out->fallback = NULL;
	out->problem = NULL;
}

void symbols_process__jit_status(const struct symbols_process *process,
				 struct symbols_jit_status *out)
{
	enum jit_mode mode = process->shared->options.jit;
	const struct jit_vm_trouble *trouble = process->vm_err ? trouble_of(process->vm_err) : NULL;
	const struct jit_names *jit = &process->jit;

	*out = (struct symbols_jit_status){
		.is_hotspot = process->is_hotspot,
		.has_jit_code = process->has_jit_code,
		.source = jit->source,
		.loaded_boot_ns = jit->loaded_boot_ns,
		.map_mtime_ns = jit->current ? jit->file_mtime_ns : 0,
		.entry_cnt = jit->entry_cnt,
		.unknown_cnt = process->unknown_jit_cnt,
		.ambiguous_cnt = process->ambiguous_jit_cnt,
		.rejected_cnt = jit->rejected_cnt,
		.problem = jit->problem,
	};
	if (process->vm) {
		jit_status_of_vm(process, out);
	} else if (mode == JIT_MODE_VMSTRUCTS) {
		out->problem = trouble ? trouble->problem : NULL;
		if (!process->is_hotspot && process->has_jit_code)
			out->problem = "not a HotSpot JVM, and --jit vmstructs reads nothing else";
	} else if (trouble) {
		out->fallback = trouble->fallback;
	}
}
