/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted JVM behind struct jit_vm_ops: tests put code and methods where they like, let them
 * change at any moment (also in the middle of a read), and count what was read.
 */
#ifndef JBPF_TESTS_FAKE_VM_H
#define JBPF_TESTS_FAKE_VM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jit/jit_vm.h"

#define FAKE_CODE	 0x7f0000000000ull /* begin of the code range, 16 MiB long */
#define FAKE_INTERPRETER (FAKE_CODE + 0x1000)
#define FAKE_STUBS	 (FAKE_CODE + 0x10000) /* the interpreter ends here */

struct fake_scope {
	uint64_t method;
	int32_t bci;
};

/* What scopes say at one return address, or at leaves from the place before it up to it. */
struct fake_place {
	uint64_t pc;
	struct fake_scope scopes[4];
	size_t cnt;
};

struct hotspot_scopes {
	struct fake_place places[8];
	size_t cnt;
	uint64_t deopt_handler; /* 0 = none */
};

struct fake_blob {
	struct hotspot_blob blob;
	struct hotspot_scopes scopes;
};

struct fake_method {
	uint64_t method;
	uint64_t const_method;
	char name[96];
	char file[32];
	int32_t first_line; /* bci b is line first_line + b */
};

struct hotspot_lines {
	char file[32];
	int32_t first_line;
	size_t bytes;
};

struct fake_vm {
	struct fake_blob *blobs;
	size_t blob_cnt;
	size_t blob_cap;
	struct fake_method methods[64];
	size_t method_cnt;
	uint64_t now_ns;
	uint64_t leaf_at; /* read_code gives leaf_code here, else EFAULT */
	uint8_t leaf_code[LEAF_CODE_BYTES];
	uint64_t entry_at; /* and here entry_code, with nops behind it */
	uint8_t entry_code[32];
	int error;	   /* of every read; 0 = none */
	uint64_t shift;	   /* every blob that is found says that it is elsewhere */
	int torn_cnt;	   /* so many finds from now on are torn */
	uint64_t unloads;  /* classes unloaded so far */
	int unloads_error; /* of reading that; 0 = none */
	uint64_t compiles;
	int compiles_error;
	size_t line_bytes; /* of every table of lines */
	int scopes_error;  /* of reading them; 0 = none */
	bool torn_verify;  /* verify fails without knowing */
	size_t find_cnt, verify_cnt, verified_cnt, name_cnt, scopes_cnt, lines_cnt, free_cnt;
	size_t unloads_cnt;
	/* Called once before the next name is read. */
	void (*before_name)(struct fake_vm *fake);
	struct hotspot_ranges ranges;
};

/* ---- script ---- */

static inline struct fake_blob *fake_put(struct fake_vm *fake, enum hotspot_blob_kind kind,
					 uint64_t start, uint64_t len, uint64_t method,
					 int32_t compile_id, int32_t level)
{
	struct fake_blob *put;

	if (fake->blob_cnt == fake->blob_cap) {
		fake->blob_cap = fake->blob_cap ? fake->blob_cap * 2 : 64;
		fake->blobs = reallocarray(fake->blobs, fake->blob_cap, sizeof(*fake->blobs));
		assert_non_null(fake->blobs);
	}
	put = &fake->blobs[fake->blob_cnt++];
	*put = (struct fake_blob){
		.blob = {
			.start = start,
			.end = start + len,
			.code_begin = start + 0x20,
			.code_end = start + len,
			.kind = kind,
			.method = method,
			.compile_id = compile_id,
			.comp_level = level,
			.entry_bci = -1,
		},
	};
	strcpy(put->blob.name, kind == HOTSPOT_BLOB_NMETHOD ? "nmethod" : "native nmethod");
	return put;
}

static inline struct fake_blob *fake_stub(struct fake_vm *fake, enum hotspot_blob_kind kind,
					  uint64_t start, uint64_t len, const char *name)
{
	struct fake_blob *put = fake_put(fake, kind, start, len, 0, 0, 0);

	snprintf(put->blob.name, sizeof(put->blob.name), "%s", name);
	return put;
}

static inline void fake_remove(struct fake_vm *fake, uint64_t start)
{
	for (size_t i = 0; i < fake->blob_cnt; i++)
		if (fake->blobs[i].blob.start == start) {
			fake->blobs[i] = fake->blobs[--fake->blob_cnt];
			return;
		}
	fail_msg("nothing at %#llx", (unsigned long long)start);
}

/* Makes a method, or another one at the same address. */
static inline void fake_method(struct fake_vm *fake, uint64_t method, const char *name,
			       const char *file)
{
	struct fake_method *put = NULL;

	for (size_t i = 0; i < fake->method_cnt; i++)
		if (fake->methods[i].method == method)
			put = &fake->methods[i];
	if (!put) {
		assert_true(fake->method_cnt < 64);
		put = &fake->methods[fake->method_cnt++];
	}
	put->method = method;
	put->const_method = method + 8; /* the same for each that comes after another */
	put->first_line = 100;
	snprintf(put->name, sizeof(put->name), "%s", name);
	snprintf(put->file, sizeof(put->file), "%s", file);
}

static inline void fake_unload(struct fake_vm *fake, uint64_t method)
{
	for (size_t i = 0; i < fake->method_cnt; i++)
		if (fake->methods[i].method == method)
			fake->methods[i] = fake->methods[--fake->method_cnt];
}

/* ---- reader ---- */

static inline int fake_refresh(void *ctx)
{
	struct fake_vm *fake = ctx;

	return fake->error;
}

static inline bool fake_unwind(void *ctx, struct jbpf_hotspot *out)
{
	(void)ctx;
	(void)out;
	return false;
}

static inline void fake_ranges(void *ctx, struct hotspot_ranges *out)
{
	struct fake_vm *fake = ctx;

	*out = fake->ranges;
}

static inline int fake_find(void *ctx, uint64_t pc, struct hotspot_blob *out)
{
	struct fake_vm *fake = ctx;

	fake->find_cnt++;
	if (fake->error)
		return fake->error;
	if (fake->torn_cnt) {
		fake->torn_cnt--;
		return -EAGAIN;
	}
	for (size_t i = 0; i < fake->blob_cnt; i++) {
		const struct hotspot_blob *blob = &fake->blobs[i].blob;

		if (pc >= blob->start && pc < blob->end) {
			*out = *blob;
			out->start += fake->shift;
			out->end += fake->shift;
			return 0;
		}
	}
	return -ENOENT;
}

static inline int fake_verify(void *ctx, const struct hotspot_blob *const *blobs, size_t cnt,
			      bool *same_out)
{
	struct fake_vm *fake = ctx;

	fake->verify_cnt++;
	if (fake->error || fake->torn_verify)
		return fake->error ? fake->error : -EFAULT;
	for (size_t i = 0; i < cnt; i++) {
		same_out[i] = false;
		for (size_t k = 0; k < fake->blob_cnt; k++) {
			const struct hotspot_blob *blob = &fake->blobs[k].blob;

			same_out[i] |= blob->start == blobs[i]->start &&
				       blob->kind == blobs[i]->kind &&
				       blob->compile_id == blobs[i]->compile_id &&
				       blob->method == blobs[i]->method;
		}
	}
	fake->verified_cnt += cnt;
	return 0;
}

static inline const struct fake_method *fake_find_method(struct fake_vm *fake, uint64_t method)
{
	for (size_t i = 0; i < fake->method_cnt; i++)
		if (fake->methods[i].method == method)
			return &fake->methods[i];
	return NULL;
}

static inline int fake_method_name(void *ctx, uint64_t address, uint64_t *const_method_out,
				   struct strbuf *out)
{
	struct fake_vm *fake = ctx;
	void (*before)(struct fake_vm *) = fake->before_name;
	const struct fake_method *method;

	fake->before_name = NULL;
	if (before)
		before(fake);
	fake->name_cnt++;
	if (fake->error)
		return fake->error;
	method = fake_find_method(fake, address);
	if (!method)
		return -EAGAIN;
	*const_method_out = method->const_method;
	strbuf_puts(out, method->name);
	return strbuf_error(out);
}

/* Classes lie where methods do, and have their names. */
static inline int fake_class_name(void *ctx, uint64_t klass, struct strbuf *out)
{
	uint64_t ignored;

	return fake_method_name(ctx, klass, &ignored, out);
}

static inline int fake_walk(void *ctx, hotspot_walk_fn fn, void *fn_ctx, size_t *skipped_out)
{
	struct fake_vm *fake = ctx;
	int err = fake->error;

	(void)skipped_out;
	for (size_t i = 0; i < fake->blob_cnt && !err; i++) {
		const struct hotspot_blob *blob = &fake->blobs[i].blob;
		const struct fake_method *method = fake_find_method(fake, blob->method);

		err = fn(fn_ctx, blob, method ? method->name : blob->name);
	}
	return err;
}

static inline int fake_read_code(void *ctx, uint64_t address, void *out, size_t len)
{
	struct fake_vm *fake = ctx;

	if (fake->error)
		return fake->error;
	if (fake->entry_at && address == fake->entry_at) {
		memset(out, 0x90, len);
		memcpy(out, fake->entry_code,
		       len < sizeof(fake->entry_code) ? len : sizeof(fake->entry_code));
		return 0;
	}
	if (address != fake->leaf_at || len > sizeof(fake->leaf_code))
		return -EFAULT;
	memcpy(out, fake->leaf_code, len);
	return 0;
}

static inline int fake_scopes_read(void *ctx, const struct hotspot_blob *blob,
				   struct hotspot_scopes **out)
{
	struct fake_vm *fake = ctx;

	fake->scopes_cnt++;
	if (fake->error || fake->scopes_error)
		return fake->error ? fake->error : fake->scopes_error;
	for (size_t i = 0; i < fake->blob_cnt; i++) {
		if (fake->blobs[i].blob.start != blob->start)
			continue;
		if (fake->blobs[i].blob.compile_id != blob->compile_id)
			return -EAGAIN;
		if (fake->blobs[i].scopes.cnt == 0)
			return -ENOENT;
		*out = malloc(sizeof(**out));
		assert_non_null(*out);
		**out = fake->blobs[i].scopes;
		return 0;
	}
	return -EAGAIN;
}

static inline int fake_scopes_at(const struct hotspot_scopes *scopes, uint64_t pc,
				 bool is_return_address,
				 struct hotspot_scope out[HOTSPOT_SCOPES_MAX_DEPTH],
				 size_t *cnt_out)
{
	for (size_t i = 0; i < scopes->cnt; i++) {
		const struct fake_place *place = &scopes->places[i];

		if (is_return_address ? place->pc != pc : place->pc < pc)
			continue;
		for (size_t k = 0; k < place->cnt; k++)
			out[k] = (struct hotspot_scope){ place->scopes[k].method,
							 place->scopes[k].bci };
		*cnt_out = place->cnt;
		return 0;
	}
	return is_return_address && pc == scopes->deopt_handler ? -ENODATA : -ENOENT;
}

static inline size_t fake_scopes_bytes(const struct hotspot_scopes *scopes)
{
	return sizeof(*scopes);
}

static inline void fake_scopes_free(struct hotspot_scopes *scopes)
{
	free(scopes);
}

static inline int fake_lines_read(void *ctx, uint64_t address, struct hotspot_lines **out)
{
	struct fake_vm *fake = ctx;
	const struct fake_method *method = fake_find_method(fake, address);

	fake->lines_cnt++;
	if (fake->error)
		return fake->error;
	if (!method)
		return -EAGAIN;
	*out = calloc(1, sizeof(**out));
	assert_non_null(*out);
	memcpy((*out)->file, method->file, sizeof((*out)->file));
	(*out)->first_line = method->first_line;
	(*out)->bytes = fake->line_bytes;
	return 0;
}

static inline const char *fake_lines_file(const struct hotspot_lines *lines)
{
	return lines->file;
}

static inline uint32_t fake_lines_line(const struct hotspot_lines *lines, int32_t bci)
{
	return (uint32_t)(lines->first_line + bci);
}

static inline size_t fake_lines_bytes(const struct hotspot_lines *lines)
{
	return lines->bytes;
}

static inline void fake_lines_free(struct hotspot_lines *lines)
{
	free(lines);
}

static inline bool fake_has_inlined(void *ctx)
{
	(void)ctx;
	return true;
}

static inline int fake_unloads(void *ctx, uint64_t *cnt_out)
{
	struct fake_vm *fake = ctx;

	fake->unloads_cnt++;
	if (fake->error || fake->unloads_error)
		return fake->error ? fake->error : fake->unloads_error;
	*cnt_out = fake->unloads;
	return 0;
}

static inline int fake_compiles(void *ctx, uint64_t *cnt_out)
{
	struct fake_vm *fake = ctx;

	if (fake->error || fake->compiles_error)
		return fake->error ? fake->error : fake->compiles_error;
	*cnt_out = fake->compiles;
	return 0;
}

/* Time passes by being asked for. */
static inline uint64_t fake_now_ns(void *ctx)
{
	struct fake_vm *fake = ctx;

	return fake->now_ns++;
}

static inline void fake_free(void *ctx)
{
	struct fake_vm *fake = ctx;

	fake->free_cnt++;
}

static const struct jit_vm_ops fake_vm_ops = {
	.refresh = fake_refresh,
	.ranges = fake_ranges,
	.unwind = fake_unwind,
	.find = fake_find,
	.verify = fake_verify,
	.method_name = fake_method_name,
	.class_name = fake_class_name,
	.walk = fake_walk,
	.read_code = fake_read_code,
	.scopes_read = fake_scopes_read,
	.scopes_at = fake_scopes_at,
	.scopes_bytes = fake_scopes_bytes,
	.scopes_free = fake_scopes_free,
	.lines_read = fake_lines_read,
	.lines_file = fake_lines_file,
	.lines_line = fake_lines_line,
	.lines_bytes = fake_lines_bytes,
	.lines_free = fake_lines_free,
	.has_inlined = fake_has_inlined,
	.unloads = fake_unloads,
	.compiles = fake_compiles,
	.now_ns = fake_now_ns,
	.free = fake_free,
};

static inline void fake_vm_init(struct fake_vm *fake)
{
	*fake = (struct fake_vm){
		.now_ns = 1000000000000ull,
		.unloads_error = -ENOENT,
		.compiles_error = -ENOENT,
		.ranges = {
			.code_low = FAKE_CODE,
			.code_high = FAKE_CODE + (1 << 24),
			.interpreter_low = FAKE_INTERPRETER,
			.interpreter_high = FAKE_STUBS,
		},
	};
}

static inline void fake_vm_release(struct fake_vm *fake)
{
	free(fake->blobs);
	fake->blobs = NULL;
}

#endif
