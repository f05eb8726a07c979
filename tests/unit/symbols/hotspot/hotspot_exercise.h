/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be asked of a HotSpot, asked in one fixed order: recording an image, replaying
 * it and fuzzing it touch the same memory that way. On the way each answer is held against what
 * must be true of it however damaged the memory is; `abort` says where it was not.
 */
#ifndef JBPF_TESTS_HOTSPOT_EXERCISE_H
#define JBPF_TESTS_HOTSPOT_EXERCISE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_code.h"
#include "symbols/hotspot/hotspot_scopes.h"
#include "symbols/hotspot/hotspot_vm_memory.h"
#include "tests/fuzz/must.h"
#include "user/util/strbuf.h"

#define EXERCISE_BLOB_MAX   65536u
#define EXERCISE_BLOB_STEP  512u
#define EXERCISE_METHOD_MAX 256u

struct exercise_blob {
	struct hotspot_blob blob;
	char *name;
};

struct exercise {
	/* Set by the caller. */
	size_t look_cnt;      /* blobs that are looked at closely: every nth, and those below */
	const char *look_for; /* in names; NULL = none */
	bool asks_flags;
	/* Each distinct place in a chain with its line: "Foo.java:7" ... NULL = nobody asks. */
	void (*on_chain)(void *ctx, const struct exercise_blob *in, uint64_t pc, const char *chain);
	void *ctx;

	/* Results. */
	struct exercise_blob *blobs;
	size_t blob_cnt;
	size_t looked_cnt;   /* blobs looked at closely */
	size_t found_cnt;    /* blobs that hotspot_code__find() gave as the walk did */
	size_t scopes_cnt;   /* nmethods whose scopes were read */
	size_t scopes_bytes; /* and what they take */
	size_t raw_bytes;    /* what they were read from */
	size_t chain_cnt;    /* pcs with a chain */
	size_t inlined_cnt;  /* frames of them but the outermost */
	size_t lines_cnt;    /* methods whose lines were read */
};

static inline void exercise_release(struct exercise *exercise)
{
	for (size_t i = 0; i < exercise->blob_cnt; i++)
		free(exercise->blobs[i].name);
	free(exercise->blobs);
	exercise->blobs = NULL;
	exercise->blob_cnt = 0;
}

static inline bool exercise_is_printable(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

static inline void exercise_check_blob(const struct hotspot_blob *blob)
{
	must(blob->start < blob->end);
	must(blob->code_begin <= blob->code_end);
	must(blob->code_begin >= blob->start && blob->code_end <= blob->end);
	must(memchr(blob->name, '\0', sizeof(blob->name)));
	must(exercise_is_printable(blob->name));
	must(blob->pcs_begin <= blob->pcs_end);
	must(blob->scopes_begin <= blob->scopes_end);
	must(blob->metadata_begin <= blob->metadata_end);
}

static inline int exercise_on_blob(void *ctx, const struct hotspot_blob *blob, const char *name)
{
	struct exercise *exercise = ctx;
	struct exercise_blob *to;

	exercise_check_blob(blob);
	must(name && *name && exercise_is_printable(name));
	if (exercise->blob_cnt == EXERCISE_BLOB_MAX)
		return -E2BIG;
	if (exercise->blob_cnt % EXERCISE_BLOB_STEP == 0) {
		exercise->blobs = reallocarray(exercise->blobs,
					       exercise->blob_cnt + EXERCISE_BLOB_STEP,
					       sizeof(*exercise->blobs));
		must(exercise->blobs);
	}
	to = &exercise->blobs[exercise->blob_cnt++];
	to->blob = *blob;
	to->name = strdup(name);
	must(to->name);
	return 0;
}

/* Methods of one nmethod with their lines, read once. */
struct exercise_methods {
	size_t cnt;
	struct {
		uint64_t method;
		struct hotspot_lines *lines; /* NULL: could not be read */
		char *name;		     /* likewise */
	} items[EXERCISE_METHOD_MAX];
};

static inline size_t exercise_method(struct exercise *exercise, struct hotspot_code *code,
				     struct exercise_methods *methods, uint64_t method)
{
	struct strbuf name = STRBUF_INIT;
	size_t idx = 0;

	while (idx < methods->cnt && methods->items[idx].method != method)
		idx++;
	if (idx < methods->cnt || idx == EXERCISE_METHOD_MAX)
		return idx;
	methods->cnt++;
	methods->items[idx].method = method;
	methods->items[idx].lines = NULL;
	methods->items[idx].name = NULL;
	if (hotspot_code__method_name(code, method, NULL, &name) == 0) {
		must(name.len && exercise_is_printable(strbuf_str(&name)));
		methods->items[idx].name = strdup(strbuf_str(&name));
	}
	strbuf_release(&name);
	if (hotspot_lines__read(code, method, &methods->items[idx].lines) == 0) {
		const char *file = hotspot_lines__file(methods->items[idx].lines);

		must(exercise_is_printable(file) && !strchr(file, '/'));
		exercise->lines_cnt++;
	}
	return idx;
}

static inline void exercise_methods_release(struct exercise_methods *methods)
{
	for (size_t i = 0; i < methods->cnt; i++) {
		hotspot_lines__free(methods->items[i].lines);
		free(methods->items[i].name);
	}
}

static inline void exercise_chain(struct exercise *exercise, struct hotspot_code *code,
				  const struct exercise_blob *in, uint64_t pc,
				  const struct hotspot_scope *scopes, size_t cnt,
				  struct exercise_methods *methods)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < cnt; i++) {
		size_t idx = exercise_method(exercise, code, methods, scopes[i].method);
		struct hotspot_lines *lines = NULL;
		const char *name = NULL;

		if (idx < EXERCISE_METHOD_MAX) {
			lines = methods->items[idx].lines;
			name = methods->items[idx].name;
		}
		(void)strbuf_printf(&text, "%s%s@%d %s:%u", i ? " < " : "", name ? name : "?",
				    scopes[i].bci, lines ? hotspot_lines__file(lines) : "?",
				    lines ? hotspot_lines__line(lines, scopes[i].bci) : 0);
	}
	if (exercise->on_chain)
		exercise->on_chain(exercise->ctx, in, pc, strbuf_str(&text));
	strbuf_release(&text);
}

/* Every pc of an nmethod at which a chain ends; a return address must be one of these. */
static inline void exercise_scopes(struct exercise *exercise, struct hotspot_code *code,
				   const struct exercise_blob *in)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX_DEPTH];
	struct exercise_methods methods = { .cnt = 0 };
	struct hotspot_scopes *all;
	const uint64_t end = in->blob.code_end - in->blob.code_begin < 65536 ?
				     in->blob.code_end :
				     in->blob.code_begin + 65536;

	if (hotspot_scopes__read(code, &in->blob, &all) != 0)
		return;
	exercise->scopes_cnt++;
	exercise->scopes_bytes += hotspot_scopes__bytes(all);
	exercise->raw_bytes +=
		(size_t)(in->blob.pcs_end - in->blob.pcs_begin + in->blob.scopes_end -
			 in->blob.scopes_begin + in->blob.metadata_end - in->blob.metadata_begin);
	for (uint64_t pc = in->blob.code_begin; pc <= end; pc++) {
		size_t cnt = 0, exact_cnt = 0;

		if (hotspot_scopes__at(all, pc, true, scopes, &exact_cnt) != 0)
			continue;
		must(hotspot_scopes__at(all, pc, false, scopes, &cnt) == 0);
		must(cnt == exact_cnt);
		must(cnt >= 1 && cnt <= HOTSPOT_SCOPES_MAX_DEPTH);
		must(scopes[cnt - 1].method == in->blob.method);
		exercise->chain_cnt++;
		exercise->inlined_cnt += cnt - 1;
		exercise_chain(exercise, code, in, pc, scopes, cnt, &methods);
	}
	exercise_methods_release(&methods);
	hotspot_scopes__free(all);
}

static inline void exercise_one_blob(struct exercise *exercise, struct hotspot_code *code,
				     const struct exercise_blob *in)
{
	const struct hotspot_blob *blob = &in->blob;
	const struct hotspot_blob *blobs[] = { blob };
	const uint64_t pcs[] = { blob->code_begin, blob->start, blob->code_end - 1 };
	struct strbuf name = STRBUF_INIT;
	bool is_same;

	exercise->looked_cnt++;
	for (size_t i = 0; i < sizeof(pcs) / sizeof(pcs[0]); i++) {
		struct hotspot_blob found;

		if (hotspot_code__find(code, pcs[i], &found) != 0)
			continue;
		exercise_check_blob(&found);
		must(pcs[i] >= found.start && pcs[i] < found.end);
		if (i == 0 && found.start == blob->start && found.method == blob->method)
			exercise->found_cnt++;
	}
	if (blob->method)
		(void)hotspot_code__method_name(code, blob->method, NULL, &name);
	strbuf_release(&name);
	(void)hotspot_code__verify(code, blobs, 1, &is_same);
	if (blob->kind == HOTSPOT_BLOB_NMETHOD || blob->kind == HOTSPOT_BLOB_NATIVE)
		exercise_scopes(exercise, code, in);
}

/* Walks and looks closely. 0 or the error of opening the code cache or walking it. */
static inline int exercise_vm(struct exercise *exercise, struct hotspot_vm *vm)
{
	enum hotspot_flag_origin origin;
	struct hotspot_code *code = NULL;
	struct hotspot_ranges ranges;
	const char *missing;
	size_t skipped, step;
	bool value;
	int err;

	if (exercise->asks_flags)
		(void)hotspot_vm__bool_flag(vm, "PreserveFramePointer", &value, &origin);
	err = hotspot_code__open(vm, &code, &missing);
	if (!err)
		err = hotspot_code__refresh(code);
	if (!err) {
		hotspot_code__ranges(code, &ranges);
		must(ranges.code_low <= ranges.code_high);
		must(ranges.interpreter_low <= ranges.interpreter_high);
		err = hotspot_code__walk(code, exercise_on_blob, exercise, &skipped);
	}
	step = exercise->look_cnt ? exercise->blob_cnt / exercise->look_cnt + 1 : SIZE_MAX;
	for (size_t i = 0; i < exercise->blob_cnt; i++) {
		if (i % step == 0 ||
		    (exercise->look_for && strstr(exercise->blobs[i].name, exercise->look_for)))
			exercise_one_blob(exercise, code, &exercise->blobs[i]);
	}
	hotspot_code__free(code);
	return err;
}

/* Opens the VM too. Call _release() after this or the above. */
static inline int exercise_run(struct exercise *exercise, const struct remote_mem *mem,
			       const struct vm_symbols *symbols)
{
	struct hotspot_vm *vm = NULL;
	int err = hotspot_vm__open_memory(mem, symbols, &vm);

	if (err)
		return err;
	must(exercise_is_printable(hotspot_vm__version(vm)));
	err = exercise_vm(exercise, vm);
	hotspot_vm__free(vm);
	return err;
}

#endif
