// SPDX-License-Identifier: Apache-2.0
/* See intake.h. */
#include "user/collect/intake.h"

#include <errno.h>
#include <stdlib.h>

#include "user/collect/naming/naming_wire.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

/*
 * When it is known where a JVM has its code, what was counted of it before is drained and looked
 * at: its stacks came when nobody knew that they were a JVM's, and come no second time. Read only
 * at the window's end their code would name nothing, as it may have changed. Not more often than
 * this.
 */
#define SPLIT_NS CLOCK_NS_PER_S

int intake_init(struct intake *intake, const struct sample_source *source,
		struct sight_table *sights, struct namer_link *link)
{
	*intake = (struct intake){
		.source = source,
		.sights = sights,
		.link = link,
		.present = calloc(1, sizeof(*intake->present)),
	};
	return intake->present ? 0 : -ENOMEM;
}

void intake_release(struct intake *intake)
{
	if (intake->present)
		pending_window_release(intake->present);
	free(intake->present);
}

/* ---- to the namer ---- */

/* What it does not get now it gets as a window, or is told again when it is replaced. */
static void put(struct intake *intake, uint32_t kind, const void *bytes, size_t len)
{
	if (namer_link__is_up(intake->link) &&
	    packet_stream_put_bytes(namer_link__stream(intake->link), kind, bytes, len))
		pr_debug("recorder: no memory to pass a packet on\n");
}

static int pass_sight(void *ctx, const struct jbpf_notice *notice)
{
	put(ctx, NAMING_NOTICE, notice, sizeof(*notice));
	return 0;
}

void intake_pass_sights(struct intake *intake)
{
	(void)sight_table__each(intake->sights, pass_sight, intake);
}

void intake_tell_ksymbols(struct intake *intake)
{
	struct ksymbol_changes changes;

	intake->source->ops->take_ksymbols(intake->source->probe, &changes);
	if (!namer_link__is_up(intake->link))
		return;
	if (intake->is_ksymbols_lost)
		ksymbol_changes_are_all(&changes);
	intake->is_ksymbols_lost = packet_stream_put_bytes(namer_link__stream(intake->link),
							   NAMING_KSYMBOLS, &changes,
							   naming_ksymbols_len(&changes)) != 0;
}

static void handle_notice(void *ctx, const struct jbpf_notice *notice)
{
	struct intake *intake = ctx;

	sight_table__note(intake->sights, notice);
	put(intake, NAMING_NOTICE, notice, sizeof(*notice));
}

/* What names the stacks that came since the last call is to be read while it is young. */
static void pass_new_stacks(struct intake *intake)
{
	const struct sample_source *source = intake->source;
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;
	struct probe_new_stack stack;

	while (source->ops->next_new_stack(source->probe, &stack)) {
		const struct naming_stack head = {
			.start_ns = stack.life.start_ns,
			.since_boot_ns = stack.since_boot_ns,
			.pid = stack.life.pid,
			.exec_id = stack.life.exec_id,
		};

		if (intake->prefetch_ns)
			(void)naming_stack_put(&records, &head, &stack.stack);
	}
	if (!intake->prefetch_ns)
		return;
	if (records.len)
		put(intake, NAMING_STACKS, records.data, records.len);
	intake->next_prefetch_ns = clock_boot_ns() + intake->prefetch_ns;
}

/* ---- draining ---- */

/* Adds what was counted to the present window. 0 or -errno: it comes later. */
static int drain(struct intake *intake)
{
	const struct sample_source *source = intake->source;
	struct probe_batch batch;
	int err = source->ops->drain(source->probe, handle_notice, intake, &batch);

	if (err) {
		pr_warn_limited("window: counts cannot be drained now: %s; they come later\n",
				errstr(err));
		return err;
	}
	for (size_t i = 0; i < batch.count_cnt; i++)
		sight_table__use(intake->sights, process_life_of(&batch.counts[i].key));
	pending_window_add(intake->present, source, &batch);
	pass_new_stacks(intake);
	return 0;
}

/* What was drained of JVMs that were just met is to be read while it is young. */
static void pass_split_stacks(struct intake *intake)
{
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;

	if (!intake->split_cnt)
		return;
	(void)pending_window_stacks(intake->present, intake->source, intake->split_pids,
				    intake->split_cnt, &records);
	intake->split_cnt = 0;
	if (records.len)
		put(intake, NAMING_STACKS, records.data, records.len);
}

static void split_when_wanted(struct intake *intake)
{
	uint64_t now_ns = clock_boot_ns();

	if (!intake->split_cnt || now_ns - intake->last_split_ns < SPLIT_NS)
		return;
	intake->last_split_ns = now_ns;
	if (drain(intake) == 0)
		pass_split_stacks(intake);
}

int intake_consume(struct intake *intake)
{
	const struct sample_source *source = intake->source;
	int err = source->ops->consume(source->probe, handle_notice, intake);

	if (!intake->prefetch_ns || clock_boot_ns() >= intake->next_prefetch_ns)
		pass_new_stacks(intake);
	split_when_wanted(intake);
	return err;
}

uint64_t intake_due_boot_ns(const struct intake *intake)
{
	uint64_t due_ns = intake->source->ops->due_boot_ns(intake->source->probe);

	return intake->prefetch_ns && intake->next_prefetch_ns < due_ns ? intake->next_prefetch_ns :
									  due_ns;
}

/* What only the end of the window shows. */
static void add_waits(struct intake *intake, struct pending_window *window)
{
	const struct sample_source *source = intake->source;
	struct probe_batch batch;

	source->ops->end_window(source->probe, &batch);
	window->wait_period_ns = batch.wait_period_ns;
	window->passes = batch.passes;
	window->missed_samples = batch.missed_samples;
	for (size_t i = 0; i < batch.count_cnt; i++)
		sight_table__use(intake->sights, process_life_of(&batch.counts[i].key));
	if (batch.wait_period_ns)
		pending_window_add(window, source, &batch);
}

struct pending_window *intake_end_window(struct intake *intake)
{
	struct pending_window *next = calloc(1, sizeof(*next));
	struct pending_window *window = intake->present;

	/* Without memory for another one the present one goes on. */
	if (drain(intake) || !next || !window->start_boot_ns) {
		free(next);
		return NULL;
	}
	pass_split_stacks(intake);
	add_waits(intake, window);
	intake_tell_ksymbols(intake);
	(void)pending_window_close(window, clock_boot_ns());
	window->start_unix_ns = clock_unix_ns() - (clock_boot_ns() - window->start_boot_ns);
	window->sent_ns = clock_monotonic_ns();
	intake->present = next;
	return window;
}

/* ---- what the namer wants ---- */

void intake_jvm(struct intake *intake)
{
	if (intake->prefetch_ns)
		return;
	intake->prefetch_ns = CLOCK_NS_PER_S;
	intake->next_prefetch_ns = clock_boot_ns() + CLOCK_NS_PER_S;
}

void intake_split(struct intake *intake, uint32_t pid)
{
	if (intake->split_cnt < INTAKE_SPLIT_PIDS_MAX)
		intake->split_pids[intake->split_cnt++] = pid;
}

void intake_set_prefetch_interval(struct intake *intake, uint64_t interval_ns)
{
	if (interval_ns && intake->prefetch_ns)
		intake->prefetch_ns = interval_ns;
}
