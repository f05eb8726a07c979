// SPDX-License-Identifier: Apache-2.0
/*
 * Names of methods by their Method*. A class that is unloaded leaves its memory to the next one,
 * which may well put a method at the same address with a ConstMethod at the same address: only
 * reading the name again tells. So a name holds
 *   - for a blob that was known to be there while it was read: the blob keeps its methods alive;
 *   - for an interpreted frame when it is the same after the window as it was before, or when no class
 *     was unloaded between the sample and the reading.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jit/jit_vm_internal.h"

static struct jit_method *method_find(const struct jit_vm *vm, uint64_t address)
{
	const struct answer *known = addr_cache_find(&vm->methods.index, address);

	return known ? vm->methods.slots.items[known->slot] : NULL;
}

static void method_drop_lines(struct jit_vm *vm, struct jit_method *method)
{
	if (method->lines) {
		vm->methods.line_bytes -= vm->ops->lines_bytes(method->lines);
		vm->ops->lines_free(method->lines);
	}
	method->lines = NULL;
	method->lines_tried = false;
}

static void method_forget(struct jit_vm *vm, struct jit_method *method)
{
	if (jit_slots_remove(&vm->methods.slots, method->handle))
		addr_cache_clear(&vm->answers);
	method_drop_lines(vm, method);
	free(method);
}

static void index_put(struct jit_vm *vm, const struct jit_method *method)
{
	struct answer answer = {
		.slot = method->handle & (JIT_HANDLE_SLOTS - 1),
		.kind = ANSWER_KIND_SLOT,
	};

	addr_cache_put(&vm->methods.index, method->method, answer);
}

void jit_methods_clear(struct jit_vm *vm)
{
	for (size_t i = 0; i < vm->methods.slots.cnt; i++)
		if (vm->methods.slots.items[i])
			method_forget(vm, vm->methods.slots.items[i]);
	addr_cache_clear(&vm->methods.index);
}

void jit_methods_release(struct jit_vm *vm)
{
	jit_methods_clear(vm);
	jit_slots_release(&vm->methods.slots);
	addr_cache_release(&vm->methods.index);
}

/* ---- reading ---- */

static int method_new(struct jit_vm *vm, uint64_t address, struct jit_method **out)
{
	struct jit_method *method = calloc(1, sizeof(*method));
	int err;

	if (!method)
		return -ENOMEM;
	method->method = address;
	err = jit_slots_add(&vm->methods.slots, method, &method->handle);
	if (err) {
		free(method);
		return err == -ENOSPC ? -EAGAIN : err;
	}
	index_put(vm, method);
	if (!addr_cache_find(&vm->methods.index, address)) {
		method_forget(vm, method);
		return -ENOMEM;
	}
	*out = method;
	return 0;
}

/* Answers that were given for what it was are void. */
static void method_renew(struct jit_vm *vm, struct jit_method *method)
{
	if (jit_slots_remove(&vm->methods.slots, method->handle))
		addr_cache_clear(&vm->answers);
	/* The slot that was just freed is there: this cannot fail. */
	(void)jit_slots_add(&vm->methods.slots, method, &method->handle);
	index_put(vm, method);
	method_drop_lines(vm, method);
}

/* It is not what it was: that is past. */
static void method_bury(struct jit_vm *vm, struct jit_method *method, uint64_t now_ns)
{
	method->past.life = method->life;
	method->past.name = method->name;
	/* Which may have been found before. */
	(void)jit_life_event(&method->past.life, JIT_EVENT_LOST, now_ns);
	method->has_past = true;
	jit_account_stir(&vm->account, vm->ops->now_ns(vm->ctx));
}

/* What was known when the reading of a name began. */
struct method_reading {
	enum jit_vm_mode mode;
	uint64_t begin_ns;
	uint64_t unload_cnt;
	bool has_unload_cnt;
};

/* Of a method that was read just now: what the number of unloaded classes says about it. */
static void method_prove(struct jit_vm *vm, struct jit_method *method,
			 const struct method_reading *reading)
{
	const struct jit_unloads *unloads = &vm->unloads;
	uint64_t from_ns;

	if (!jit_unloads_read(vm) || !reading->has_unload_cnt)
		return;
	from_ns = unloads->cnt == reading->unload_cnt ? unloads->since_ns :
							method->life.first_seen_ns;
	if (unloads->has_changed)
		(void)jit_life_event(&method->life, JIT_EVENT_UNLOADED, from_ns);
	else
		jit_life_prove(&method->life, from_ns);
}

/* What a name that was read means for the one that was known. */
static void method_take(struct jit_vm *vm, struct jit_method *method, uint32_t name,
			uint64_t const_method, const struct method_reading *reading)
{
	uint64_t now_ns = vm->ops->now_ns(vm->ctx);
	bool is_first = method->read_end_ns == 0;
	bool is_same = !is_first && !jit_life_is_gone(&method->life) && method->name == name &&
		       method->const_method == const_method;

	if (!is_first && !is_same) {
		method_bury(vm, method, now_ns);
		method_renew(vm, method);
		method->sampled_after_ns = 0;
	}
	if (!is_same) {
		jit_life_begin(&method->life, reading->mode,
			       vm->account.restless_ns > reading->begin_ns, reading->begin_ns,
			       now_ns);
		method_prove(vm, method, reading);
	}
	if (!is_same && !is_first)
		jit_life_follows(&method->life, &method->past.life);
	(void)jit_life_event(&method->life, JIT_EVENT_SEEN, reading->begin_ns);
	method->name = name;
	method->const_method = const_method;
	method->read_end_ns = now_ns;
	method->verified_refresh = vm->refresh_cnt;
}

/* Not a method any more, as it seems; what it was stays known for the windows before. */
static void method_lose(struct jit_vm *vm, struct jit_method *method)
{
	/* Once: it may have been found before. */
	if (!jit_life_is_gone(&method->life))
		(void)jit_life_event(&method->life, JIT_EVENT_LOST, vm->ops->now_ns(vm->ctx));
	method->verified_refresh = vm->refresh_cnt;
}

/* A name that cannot be kept would be read from the JVM with each sample. */
static bool methods_full(const struct jit_vm *vm)
{
	const struct jit_slots *slots = &vm->methods.slots;

	return slots->cnt - slots->free_cnt == JIT_VM_MAX_METHODS;
}

/* Reads the name, for an entry that exists or a new one. 0; -EAGAIN: none to be had; -ENOMEM. */
static int method_read(struct jit_vm *vm, uint64_t address, enum jit_vm_mode mode,
		       struct jit_method **out)
{
	struct jit_method *method = method_find(vm, address);
	struct method_reading reading = {
		.mode = mode,
		.begin_ns = vm->ops->now_ns(vm->ctx),
		.unload_cnt = vm->unloads.cnt,
		.has_unload_cnt = vm->unloads.is_known,
	};
	uint64_t const_method = 0;
	enum frame_kind ignored;
	uint32_t name;
	int err;

	if (!jit_account_may_read(&vm->account) || (!method && methods_full(vm)))
		return -EAGAIN;
	strbuf_clear(&vm->text);
	err = jit_account_note(&vm->account,
			       vm->ops->method_name(vm->ctx, address, &const_method, &vm->text));
	if (err && err != -ENOMEM && method && !vm->account.is_ended)
		method_lose(vm, method);
	if (!err)
		err = name_table__jit(vm->names, strbuf_str(&vm->text), vm->text.len, true, &name,
				      &ignored);
	if (!err && !method)
		err = method_new(vm, address, &method);
	if (err)
		return err == -ENOMEM ? err : -EAGAIN;
	method_take(vm, method, name, const_method, &reading);
	method->used_refresh = vm->refresh_cnt;
	method->is_enter = strstr(strbuf_str(&vm->text),
				  "jdk/internal/vm/Continuation;::enterSpecial(") != NULL;
	*out = method;
	return 0;
}

static uint64_t read_age_ns(const struct jit_vm *vm, const struct jit_method *method)
{
	return vm->ops->now_ns(vm->ctx) - method->life.alive_ns;
}

/*
 * Was it read while the blob is known to have been there? Or a moment away from that, without a
 * class being unloaded in the meantime, as far as this can be told.
 */
static bool method_read_is_of(struct jit_vm *vm, const struct jit_method *method,
			      const struct jit_blob *blob)
{
	const struct jit_life *life = &blob->life;
	uint64_t begin_ns = method->life.alive_ns, end_ns = method->read_end_ns;

	if (jit_life_is_gone(&method->life))
		return false;
	if (begin_ns >= life->first_seen_ns && end_ns <= life->alive_ns)
		return true;
	if (jit_life_is_gone(life))
		return false;
	if (begin_ns >= life->first_seen_ns)
		return jit_unloads_read_none_between(vm, life->alive_ns, end_ns);
	/* What was read may have been dead already, so the number of unloaded classes proves little. */
	return !vm->account.is_ended && read_age_ns(vm, method) < JIT_VM_TRUST_NS &&
	       jit_unloads_read_none_between(vm, begin_ns, life->first_seen_ns);
}

int jit_methods_read_of_blob(struct jit_vm *vm, const struct jit_blob *blob, uint64_t address,
			     enum jit_vm_mode mode, struct jit_method **out)
{
	struct jit_method *method = method_find(vm, address);

	if (method && method_read_is_of(vm, method, blob)) {
		method->used_refresh = vm->refresh_cnt;
		*out = method;
		return 0;
	}
	if (jit_life_is_gone(&blob->life) || vm->account.is_ended || !address)
		return -EAGAIN;
	return method_read(vm, address, mode, out);
}

/*
 * It was sampled, so its class was there, then its name was read, and no class was unloaded to this
 * day: it is the same. Redefined classes leave old versions of methods behind, whose memory goes to
 * others uncounted (hotspot_unloads.h): once a window the name is read all the same.
 */
static bool method_read_is_same(struct jit_vm *vm, const struct jit_method *method)
{
	return method->sampled_after_ns && !jit_life_is_gone(&method->life) &&
	       jit_unloads_read_prove_none_since(vm, method->sampled_after_ns);
}

bool jit_method_read_is_old(struct jit_vm *vm, const struct jit_method *method)
{
	return read_age_ns(vm, method) >
		       jit_account_round_ns(&vm->account, vm->ops->now_ns(vm->ctx)) &&
	       !vm->account.is_ended && !method_read_is_same(vm, method);
}

/* For a question about samples. 0, -EAGAIN, -ENOMEM. */
static int method_read_sampled(struct jit_vm *vm, const struct jit_vm_query *query,
			       struct jit_method **out)
{
	int err = method_read(vm, query->method, query->mode, out);

	if (!err && query->since_boot_ns <= (*out)->life.alive_ns)
		(*out)->sampled_after_ns = query->since_boot_ns;
	return err;
}

/* It could not be asked again after the samples, and a class was unloaded since it was asked. */
static bool method_is_stale(const struct jit_vm *vm, const struct jit_method *method)
{
	return method->verified_refresh != vm->refresh_cnt &&
	       !jit_unloads_none_since(vm, method->life.alive_ns);
}

bool jit_method_is_there(const struct jit_vm *vm, const struct jit_method *method)
{
	if (jit_life_is_gone(&method->life))
		return false;
	return method->verified_refresh == vm->refresh_cnt ||
	       (vm->account.is_ended && !method_is_stale(vm, method));
}

/* By who may have been there when the samples were taken. */
static int method_owner(const struct jit_vm *vm, const struct jit_method *method,
			const struct jit_span *span, bool *is_past_out)
{
	bool is_there = jit_method_is_there(vm, method);
	bool is_stale = !jit_life_is_gone(&method->life) && method_is_stale(vm, method);
	bool may_be = jit_life_is_possible(&method->life, span);
	bool may_be_past = method->has_past && jit_life_is_possible(&method->past.life, span);

	*is_past_out = false;
	if (may_be && jit_life_is_certain(&method->life, span, is_there))
		return 0;
	*is_past_out = may_be_past;
	if (may_be_past && jit_life_is_certain(&method->past.life, span, false))
		return 0;
	if (may_be && may_be_past)
		return -EXDEV;
	if (may_be && !is_stale &&
	    jit_life_is_credible(&method->life, span, is_there, vm->account.restless_ns))
		return 0;
	if (may_be_past &&
	    jit_life_is_credible(&method->past.life, span, false, vm->account.restless_ns))
		return 0;
	if (may_be && (method->life.was_restless ||
		       jit_life_evidence(&method->life) == JIT_STATE_DISPROVED || is_stale))
		return -EXDEV;
	return may_be_past ? -EXDEV : -ENOENT;
}

int jit_methods_read_interpreted(struct jit_vm *vm, const struct jit_vm_query *query,
				 struct jit_method **out, bool *is_past_out)
{
	struct jit_method *method = method_find(vm, query->method);
	struct jit_span span = jit_span_of(query);
	bool is_known = method && method->verified_refresh == vm->refresh_cnt;

	/* A prefetch asks again now and then, so that one that came in its place is seen. */
	if (method && query->mode == JIT_VM_RESOLVE)
		is_known |= method->life.alive_ns >= span.until;
	else if (method)
		is_known &= !jit_method_read_is_old(vm, method);
	if (!is_known && !vm->account.is_ended &&
	    method_read_sampled(vm, query, &method) == -ENOMEM)
		return -ENOMEM;
	if (!method)
		return -ENOENT;
	method->used_refresh = vm->refresh_cnt;
	*out = method;
	if (query->mode == JIT_VM_RESOLVE)
		return method_owner(vm, method, &span, is_past_out);
	*is_past_out = false;
	return jit_life_is_gone(&method->life) ? -ENOENT : 0;
}

/* A table may have as many lines as its method has bytecodes, and be lied about: all others go when they are too many. */
static void keep_lines(struct jit_vm *vm, struct jit_method *method, struct hotspot_lines *lines)
{
	const struct jit_slots *slots = &vm->methods.slots;
	size_t bytes = vm->ops->lines_bytes(lines);

	for (size_t i = 0; vm->methods.line_bytes + bytes > JIT_VM_MAX_LINE_BYTES && i < slots->cnt;
	     i++) {
		struct jit_method *other = slots->items[i];

		if (other && other->lines)
			method_drop_lines(vm, other);
	}
	vm->methods.line_bytes += bytes;
	method->lines = lines;
}

static void read_lines(struct jit_vm *vm, struct jit_method *method)
{
	struct hotspot_lines *lines;
	const char *file;

	method->lines_tried = true;
	method->file = JIT_VM_NO_FILE;
	if (jit_account_note(&vm->account, vm->ops->lines_read(vm->ctx, method->method, &lines)))
		return;
	keep_lines(vm, method, lines);
	file = vm->ops->lines_file(lines);
	if (file[0] && (name_table__plain(vm->names, file, strlen(file), &method->file) ||
			name_table__is_unknown(vm->names, method->file)))
		method->file = JIT_VM_NO_FILE;
}

void jit_method_read_place(struct jit_vm *vm, struct jit_method *method, int32_t bci,
			   uint32_t *file_out, uint32_t *line_out)
{
	uint32_t line;

	if (!method->lines_tried && !jit_life_is_gone(&method->life) &&
	    jit_account_may_read(&vm->account))
		read_lines(vm, method);
	if (!method->lines_tried || method->file == JIT_VM_NO_FILE)
		return;
	*file_out = method->file;
	line = method->lines && bci >= 0 ? vm->ops->lines_line(method->lines, bci) : 0;
	if (line)
		*line_out = line;
}

/* ---- between windows ---- */

static void index_rebuild(struct jit_vm *vm)
{
	const struct jit_slots *slots = &vm->methods.slots;

	addr_cache_clear(&vm->methods.index);
	for (size_t i = 0; i < slots->cnt; i++)
		if (slots->items[i])
			index_put(vm, slots->items[i]);
}

void jit_methods_drop_since(struct jit_vm *vm, uint64_t boot_ns)
{
	const struct jit_slots *slots = &vm->methods.slots;

	for (size_t i = 0; i < slots->cnt; i++) {
		struct jit_method *method = slots->items[i];

		if (method && method->read_end_ns >= boot_ns)
			method_forget(vm, method);
	}
	index_rebuild(vm);
}

void jit_methods_refresh(struct jit_vm *vm)
{
	struct jit_slots *slots = &vm->methods.slots;
	size_t used = slots->cnt - slots->free_cnt;
	uint32_t keep = used > JIT_VM_MAX_METHODS / 2 ? 1 : JIT_VM_DETAILS_REFRESHES;
	bool is_changed = false;

	for (size_t i = 0; i < slots->cnt; i++) {
		struct jit_method *method = slots->items[i];

		if (!method || vm->refresh_cnt - method->used_refresh <= keep)
			continue;
		method_forget(vm, method);
		is_changed = true;
	}
	if (is_changed)
		index_rebuild(vm);
}

size_t jit_methods_bytes(const struct jit_vm *vm)
{
	const struct jit_slots *slots = &vm->methods.slots;

	return (slots->cnt - slots->free_cnt) * sizeof(struct jit_method) + jit_slots_bytes(slots) +
	       addr_cache_bytes(&vm->methods.index) + vm->methods.line_bytes;
}
