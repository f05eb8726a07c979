// SPDX-License-Identifier: Apache-2.0
/* Perf maps as a source of names; see jit_source.h. */
#include <errno.h>
#include <stdlib.h>

#include "symbols/jit/jit_source.h"
#include "symbols/names/name_table.h"
#include "symbols/perfmap/perfmap.h"
#include "user/util/strbuf.h"

struct source {
	const struct jit_target *target;
	struct jit_perfmaps names;
};

static int source_open(const struct jit_target *target, bool is_naming, void **state_out)
{
	struct source *source = calloc(1, sizeof(*source));

	(void)is_naming;
	if (!source)
		return -ENOMEM;
	source->target = target;
	source->names.parser = target->parser;
	source->names.account = target->account;
	*state_out = source;
	return 0;
}

static void source_close(void *state)
{
	struct source *source = state;

	jit_perfmaps_release(&source->names);
	free(source);
}

static int source_refresh(void *state, const struct jit_refresh *how)
{
	struct source *source = state;
	const struct jit_target *target = source->target;
	uint64_t loaded_ns = source->names.loaded_boot_ns;
	int err;

	jit_perfmaps_age(&source->names, how->oldest_boot_ns);
	if (!target->has_jit_code)
		return 0;
	err = jit_perfmaps_refresh(&source->names, target->proc_fd, target->pid, how->source,
				   how->force);
	return err ? err : source->names.loaded_boot_ns != loaded_ns;
}

/* Name of an address in one perf map. 0, -ENOENT, -ENOMEM. */
static int name_in_map(const struct source *source, const struct perfmap *map, uint64_t address,
		       struct answer *out)
{
	struct perfmap_symbol symbol;
	enum frame_kind kind;
	uint32_t id;
	int err;

	if (!map || perfmap__lookup(map, address, &symbol))
		return -ENOENT;
	err = name_table__jit(source->target->names, symbol.name, symbol.name_len,
			      source->target->is_hotspot, &id, &kind);
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
static int source_lookup(const void *state, uint64_t address, uint64_t since_boot_ns,
			 struct answer *out)
{
	const struct source *source = state;
	const struct jit_perfmaps *jit = &source->names;
	int found = name_in_map(source, jit->current, address, out);

	for (size_t i = 0; i < JIT_PERFMAPS_PREVIOUS && found != -ENOMEM; i++) {
		struct answer other = *out;
		int err;

		if (!jit_old_map_holds(&jit->previous[i], since_boot_ns))
			continue;
		err = name_in_map(source, jit->previous[i].map, address, &other);
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

static uint32_t source_epoch(const void *state, uint64_t since_boot_ns)
{
	const struct source *source = state;

	return source->names.generation << JIT_PERFMAPS_HELD_BITS |
	       jit_perfmaps_held_cnt(&source->names, since_boot_ns);
}

struct walk {
	jit_source_fn fn;
	void *ctx;
	struct strbuf name; /* those of a map are not NUL-terminated */
};

static int walk_symbol(void *ctx, const struct perfmap_symbol *symbol)
{
	struct walk *walk = ctx;
	int err;

	strbuf_clear(&walk->name);
	strbuf_append(&walk->name, symbol->name, symbol->name_len);
	err = strbuf_error(&walk->name);
	if (err)
		return err;
	return walk->fn(walk->ctx, symbol->start, symbol->end - symbol->start,
			strbuf_str(&walk->name));
}

static int source_each(void *state, jit_source_fn fn, void *ctx)
{
	struct source *source = state;
	struct walk walk = { .fn = fn, .ctx = ctx };
	int err;

	if (!source->names.current)
		return -ENOENT;
	err = perfmap__each(source->names.current, walk_symbol, &walk);
	strbuf_release(&walk.name);
	return err;
}

static void source_describe(const void *state, bool is_last, struct jit_source_facts *facts)
{
	const struct source *source = state;
	const struct jit_perfmaps *names = &source->names;

	(void)is_last;
	facts->source = names->source;
	facts->loaded_boot_ns = names->loaded_boot_ns;
	facts->map_mtime_ns = names->current ? names->file_mtime_ns : 0;
	facts->entry_cnt = names->entry_cnt;
	facts->rejected_cnt = names->rejected_cnt;
	facts->problem = names->problem;
}

static size_t source_bytes(const void *state)
{
	const struct source *source = state;

	return sizeof(*source) + jit_perfmaps_bytes(&source->names);
}

const struct jit_source_ops jit_source_perfmap = {
	.open = source_open,
	.close = source_close,
	.refresh = source_refresh,
	.lookup = source_lookup,
	.epoch = source_epoch,
	.each = source_each,
	.describe = source_describe,
	.bytes = source_bytes,
};
