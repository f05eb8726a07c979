// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of a HotSpot as a source of names; see jit_source.h. They are opened when the JVM has
 * filled them, which is tried again and again while it starts; jit_vm.h says what they are used for.
 */
#include <errno.h>
#include <stdlib.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/jit/jit_source.h"
#include "symbols/parser/parser.h"
#include "user/host/proc_stat.h"
#include "user/util/clock.h"
#include "user/util/log.h"

struct source {
	const struct jit_target *target;
	bool is_naming;
	struct hotspot_vm *tables; /* opened once; NULL = not (yet) */
	int tables_err;		   /* why not; 0 = not tried, or open */
	uint64_t tried_ns;	   /* CLOCK_BOOTTIME */
	uint32_t try_cnt;
	struct jit_vm *vm; /* its JIT code from these; NULL = not used (yet) */
	int vm_err;	   /* why not; 0 = not tried, or open */
};

#define PREFETCH_QUIET_NS    (2 * CLOCK_NS_PER_S)
#define PREFETCH_CALM_NS     CLOCK_NS_PER_S
#define PREFETCH_RESTLESS_NS (100 * CLOCK_NS_PER_MS)

/*
 * A JVM fills its tables within its first moments; until then it is tried this often. One that
 * has not for long, or never will, is tried ever more seldom.
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
		{ -EBUSY,
		  "the JVM's libjvm.so cannot be opened just now: compiled methods are named by a perf map",
		  "the JVM's libjvm.so cannot be opened just now" },
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

/* A JVM that is starting, a parser that rests, a file that cannot be opened now. */
static bool may_change(int err)
{
	return !err || err == -EAGAIN || err == -EBUSY;
}

static bool source_may_try(struct source *source)
{
	uint64_t now_ns = clock_boot_ns();

	if (source->try_cnt >= VM_MAX_TRIES ||
	    (source->try_cnt && now_ns - source->tried_ns < retry_ns(source->try_cnt)))
		return false;
	source->tried_ns = now_ns;
	/* What is wrong with the host says nothing about the JVM, however long it lasts. */
	if (source->tables_err != -EBUSY || retry_ns(source->try_cnt) < VM_RETRY_MAX_NS)
		source->try_cnt++;
	return true;
}

static int source_open_tables(struct source *source)
{
	const struct jit_target *target = source->target;

	if (source->tables)
		return 0;
	parser__charge(target->parser, target->account);
	source->tables_err = hotspot_vm__open(target->proc_fd, target->pid, target->parser,
					      &target->hotspot_map, &source->tables);
	return source->tables_err;
}

static void source_open_vm(struct source *source)
{
	const struct jit_target *target = source->target;
	int before = source->vm_err, err;
	uint64_t began_ns;

	if (!target->is_hotspot || source->vm || (source->tables && !source->is_naming) ||
	    !may_change(source->tables_err) || !may_change(source->vm_err) ||
	    !source_may_try(source))
		return;
	err = source_open_tables(source);
	if (!source->is_naming)
		return;
	if (!err)
		err = jit_vm__open(source->tables, target->pid, target->names, &source->vm);
	if (!err && !proc_stat_start_ns(target->proc_fd, target->pid, &began_ns))
		jit_vm__began(source->vm, began_ns);
	/* Of a JVM that is starting they may be half filled: what is kept is read when all is there. */
	if (err == -EAGAIN) {
		hotspot_vm__free(source->tables);
		source->tables = NULL;
	}
	source->vm_err = err;
	if (err && err != before)
		pr_debug("symbols: pid %u: %s: %s\n", target->pid, trouble_of(err)->problem,
			 errstr(err));
}

/* ---- operations ---- */

static int source_open(const struct jit_target *target, bool is_naming, void **state_out)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->target = target;
	source->is_naming = is_naming;
	*state_out = source;
	return 0;
}

static void source_close(void *state)
{
	struct source *source = state;

	jit_vm__free(source->vm);
	hotspot_vm__free(source->tables);
	free(source);
}

static int source_refresh(void *state, const struct jit_refresh *how)
{
	struct source *source = state;
	int err;

	if (how->force != JIT_PERFMAPS_WHEN_CHANGED)
		return 0;
	source_open_vm(source);
	if (!source->vm)
		return 0;
	err = jit_vm__refresh(source->vm);
	if (err && err != -ESRCH)
		pr_debug("symbols: pid %u: the JVM's tables: %s\n", source->target->pid,
			 errstr(err));
	return 0;
}

static void source_forget_names(void *state)
{
	struct source *source = state;

	if (source->vm)
		jit_vm__forget_names(source->vm);
}

static bool source_covers(const void *state, uint64_t address)
{
	const struct source *source = state;

	return source->vm && jit_vm__covers(source->vm, address);
}

static bool source_ranges(const void *state, struct hotspot_ranges *out)
{
	const struct source *source = state;

	if (!source->vm)
		return false;
	jit_vm__ranges(source->vm, out);
	return out->code_low < out->code_high;
}

static bool source_unwind(void *state, struct jbpf_hotspot *out)
{
	struct source *source = state;

	return source->vm && jit_vm__unwind(source->vm, out);
}

static bool source_prove_leaf(void *state, const struct jit_vm_query *query,
			      struct jit_vm_proof *out)
{
	struct source *source = state;

	return source->vm && jit_vm__prove_leaf(source->vm, query, out);
}

static int source_read_frames(void *state, const struct jit_vm_query *query,
			      struct jit_vm_answer *out)
{
	struct source *source = state;

	return jit_vm__read_frames(source->vm, query, out);
}

static int source_class_name(void *state, uint64_t klass, uint64_t boot_ns, struct strbuf *out)
{
	struct source *source = state;

	return source->vm ? jit_vm__class_name(source->vm, klass, boot_ns, out) : -ENOENT;
}

static bool source_begin_prefetch(void *state)
{
	struct source *source = state;

	source_open_vm(source);
	if (source->vm)
		jit_vm__round(source->vm);
	return source->vm;
}

static uint64_t source_read_cnt(const void *state)
{
	const struct source *source = state;

	return source->vm ? jit_vm__read_cnt(source->vm) : 0;
}

static uint64_t source_prefetch_interval_ns(const void *state)
{
	const struct source *source = state;

	if (jit_vm__is_restless(source->vm))
		return PREFETCH_RESTLESS_NS;
	return jit_vm__is_quiet(source->vm) ? PREFETCH_QUIET_NS : PREFETCH_CALM_NS;
}

static void source_end(void *state, uint64_t since_boot_ns)
{
	struct source *source = state;

	jit_vm__end(source->vm, since_boot_ns);
}

struct walk {
	jit_source_fn fn;
	void *ctx;
};

static int walk_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	const struct walk *walk = ctx;

	return walk->fn(walk->ctx, blob->code_begin, blob->code_end - blob->code_begin, name);
}

static int source_each(void *state, jit_source_fn fn, void *ctx)
{
	struct source *source = state;
	struct walk walk = { .fn = fn, .ctx = ctx };

	return source->vm ? jit_vm__walk(source->vm, walk_blob, &walk) : -ENOENT;
}

/* Why it does not name the code. */
static void source_excuse(const struct source *source, bool is_last, struct jit_source_facts *facts)
{
	const struct jit_vm_trouble *trouble = source->vm_err ? trouble_of(source->vm_err) : NULL;
	const struct jit_target *target = source->target;

	facts->is_starting = source->vm_err == -EAGAIN;
	if (trouble && is_last)
		facts->problem = trouble->problem;
	else if (trouble)
		facts->fallback = trouble->fallback;
	if (is_last && source->is_naming && !target->is_hotspot && target->has_jit_code)
		facts->problem = "not a HotSpot JVM, and --jit vmstructs reads nothing else";
}

static void source_describe(const void *state, bool is_last, struct jit_source_facts *facts)
{
	const struct source *source = state;
	struct jit_vm_status vm;

	if (!source->vm) {
		source_excuse(source, is_last, facts);
		return;
	}
	jit_vm__status(source->vm, &vm);
	facts->source = JIT_SOURCE_VMSTRUCTS;
	facts->loaded_boot_ns = vm.read_boot_ns;
	facts->map_mtime_ns = 0;
	facts->entry_cnt = vm.blob_cnt;
	facts->has_inlined = vm.has_inlined;
	facts->has_interpreted = vm.has_interpreted;
	facts->fallback = NULL;
	facts->problem = NULL;
}

static int source_tables(const void *state, struct hotspot_vm **out)
{
	const struct source *source = state;

	if (source->tables) {
		*out = source->tables;
		return 0;
	}
	if (!source->target->is_hotspot)
		return -ENOENT;
	if (!may_change(source->tables_err))
		return source->tables_err == -ENOENT ? -ENOTSUP : source->tables_err;
	return source->try_cnt < VM_MAX_TRIES ? -EAGAIN : -ETIMEDOUT;
}

static size_t source_bytes(const void *state)
{
	const struct source *source = state;

	return sizeof(*source) + (source->vm ? jit_vm__bytes(source->vm) : 0);
}

void jit_source_hotspot_use(void *state, struct jit_vm *vm)
{
	struct source *source = state;

	jit_vm__free(source->vm);
	source->vm = vm;
}

const struct jit_source_ops jit_source_hotspot = {
	.open = source_open,
	.close = source_close,
	.refresh = source_refresh,
	.forget_names = source_forget_names,
	.covers = source_covers,
	.ranges = source_ranges,
	.unwind = source_unwind,
	.read_frames = source_read_frames,
	.class_name = source_class_name,
	.prove_leaf = source_prove_leaf,
	.begin_prefetch = source_begin_prefetch,
	.read_cnt = source_read_cnt,
	.prefetch_interval_ns = source_prefetch_interval_ns,
	.end = source_end,
	.each = source_each,
	.describe = source_describe,
	.tables = source_tables,
	.bytes = source_bytes,
};
