// SPDX-License-Identifier: Apache-2.0
/* The reader behind jit_vm for a real JVM: hotspot_vm, _code, _scopes and _unloads. */
#include <errno.h>
#include <stdlib.h>

#include "symbols/hotspot/hotspot_class.h"
#include "symbols/hotspot/hotspot_unloads.h"
#include "symbols/jit/jit_vm.h"
#include "user/host/remote_mem.h"
#include "user/util/clock.h"
#include "user/util/log.h"

struct reader {
	struct hotspot_vm *vm; /* borrowed */
	struct hotspot_code *code;
	struct hotspot_unloads unloads;
};

static int reader_refresh(void *ctx)
{
	struct reader *reader = ctx;

	return hotspot_code__refresh(reader->code);
}

static void reader_ranges(void *ctx, struct hotspot_ranges *out)
{
	struct reader *reader = ctx;

	hotspot_code__ranges(reader->code, out);
}

static bool reader_unwind(void *ctx, struct jbpf_hotspot *out)
{
	struct reader *reader = ctx;

	return hotspot_code__unwind(reader->code, out);
}

static int reader_find(void *ctx, uint64_t pc, struct hotspot_blob *out)
{
	struct reader *reader = ctx;

	return hotspot_code__find(reader->code, pc, out);
}

static int reader_verify(void *ctx, const struct hotspot_blob *const *blobs, size_t cnt,
			 bool *same_out)
{
	struct reader *reader = ctx;

	return hotspot_code__verify(reader->code, blobs, cnt, same_out);
}

static int reader_method_name(void *ctx, uint64_t method, uint64_t *const_method_out,
			      struct strbuf *out)
{
	struct reader *reader = ctx;

	return hotspot_code__method_name(reader->code, method, const_method_out, out);
}

static int reader_class_name(void *ctx, uint64_t klass, struct strbuf *out)
{
	struct reader *reader = ctx;

	return hotspot_class_name(hotspot_code__mem(reader->code),
				  hotspot_code__layout(reader->code), klass, out);
}

static int reader_walk(void *ctx, hotspot_walk_fn fn, void *fn_ctx, size_t *skipped_out)
{
	struct reader *reader = ctx;

	return hotspot_code__walk(reader->code, fn, fn_ctx, skipped_out);
}

static int reader_read_code(void *ctx, uint64_t address, void *out, size_t len)
{
	struct reader *reader = ctx;

	return remote_mem_read(hotspot_code__mem(reader->code), address, out, len);
}

static int reader_scopes_read(void *ctx, const struct hotspot_blob *blob,
			      struct hotspot_scopes **out)
{
	struct reader *reader = ctx;

	return hotspot_scopes__read(reader->code, blob, out);
}

static int reader_lines_read(void *ctx, uint64_t method, struct hotspot_lines **out)
{
	struct reader *reader = ctx;

	return hotspot_lines__read(reader->code, method, out);
}

static bool reader_has_inlined(void *ctx)
{
	struct reader *reader = ctx;

	return hotspot_layout_has_scopes(hotspot_code__layout(reader->code));
}

static int reader_unloads(void *ctx, uint64_t *cnt_out)
{
	struct reader *reader = ctx;

	return hotspot_unloads_read(&reader->unloads, hotspot_vm__mem(reader->vm), cnt_out);
}

static int reader_compiles(void *ctx, uint64_t *cnt_out)
{
	struct reader *reader = ctx;

	return hotspot_compiles_read(&reader->unloads, hotspot_vm__mem(reader->vm), cnt_out);
}

static uint64_t reader_now_ns(void *ctx)
{
	(void)ctx;
	return clock_boot_ns();
}

static void reader_free(void *ctx)
{
	struct reader *reader = ctx;

	hotspot_code__free(reader->code);
	free(reader);
}

static const struct jit_vm_ops reader_ops = {
	.refresh = reader_refresh,
	.ranges = reader_ranges,
	.unwind = reader_unwind,
	.find = reader_find,
	.verify = reader_verify,
	.method_name = reader_method_name,
	.class_name = reader_class_name,
	.walk = reader_walk,
	.read_code = reader_read_code,
	.scopes_read = reader_scopes_read,
	.scopes_at = hotspot_scopes__at,
	.scopes_bytes = hotspot_scopes__bytes,
	.scopes_free = hotspot_scopes__free,
	.lines_read = reader_lines_read,
	.lines_file = hotspot_lines__file,
	.lines_line = hotspot_lines__line,
	.lines_bytes = hotspot_lines__bytes,
	.lines_free = hotspot_lines__free,
	.has_inlined = reader_has_inlined,
	.unloads = reader_unloads,
	.compiles = reader_compiles,
	.now_ns = reader_now_ns,
	.free = reader_free,
};

int jit_vm__open(struct hotspot_vm *vm, uint32_t pid, struct name_table *names, struct jit_vm **out)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	const char *missing = "?";
	int err;

	if (!reader)
		return -ENOMEM;
	reader->vm = vm;
	err = hotspot_code__open(vm, &reader->code, &missing);
	if (err == -ENOTSUP)
		pr_debug("jit: pid %u: HotSpot %s has no %s: its tables are not used\n", pid,
			 hotspot_vm__version(vm), missing);
	if (!err)
		hotspot_unloads_init(&reader->unloads, hotspot_vm__structs(vm));
	if (!err)
		err = jit_vm__new(&reader_ops, reader, names, out);
	if (err)
		reader_free(reader);
	return err;
}
