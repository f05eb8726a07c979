// SPDX-License-Identifier: Apache-2.0
/*
 * One JVM's facts and the decision to ask it for a map. Asking is rare on purpose: a dump holds
 * CodeCache_lock for 4-5 us per entry (CodeCache::write_perf_map(), codeCache.cpp), so it happens
 * only while sampled JIT addresses have no name: while many, as often as the limiter's budget of
 * held-up time allows; while few, at most once a minute.
 */
#include "user/collect/naming/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/collect/attach/jvm_gates.h"
#include "user/util/clock.h"
#include "user/util/log.h"

/* As people know it; the flag says no more. */
#define JVM_JVMCI_SUFFIX " with Graal (JVMCI)"

/* Asking is worth it when more than 1 in this many compiled frames has no name, and how often. */
#define JVM_MANY_UNKNOWN_SHARE 20
#define JVM_MANY_INTERVAL_NS   (10 * CLOCK_NS_PER_S)
#define JVM_SOME_UNKNOWN_SHARE 200
#define JVM_SOME_INTERVAL_NS   (60 * CLOCK_NS_PER_S)

static void jvm_read_facts(struct jvm *jvm, struct hotspot_vm *vm)
{
	enum hotspot_flag_origin origin;
	bool is_on;

	jvm->uses_jvmci = !hotspot_vm__bool_flag(vm, "UseJVMCICompiler", &is_on, NULL) && is_on;
	snprintf(jvm->version, sizeof(jvm->version), "%s%s", hotspot_vm__version(vm),
		 jvm->uses_jvmci ? JVM_JVMCI_SUFFIX : "");
	if (hotspot_vm__bool_flag(vm, "PreserveFramePointer", &is_on, &origin))
		return;
	jvm->preserve_frame_pointer = is_on ? WINDOW_FLAG_ON : WINDOW_FLAG_OFF;
	jvm->preserve_frame_pointer_origin = origin;
}

void jvm_update(struct jvm *jvm, struct symbols_process *symbols)
{
	struct hotspot_vm *vm;
	int err;

	if (jvm->is_known)
		return;
	err = symbols_process__hotspot(symbols, &vm);
	if (err == -ENOENT)
		return;
	jvm->is_hotspot = true;
	if (!err)
		jvm_read_facts(jvm, vm);
	jvm->is_known = err != -EAGAIN;
}

/*
 * JDK 11's Graal leaves rbp alone whatever the flag says; where its code calls something it keeps the caller's
 * at the end of its frame, as HotSpot asks of all compilers (frame::sender_for_compiled_frame(), frame_x86.cpp).
 */
bool jvm_keeps_frame_pointers(const struct jvm *jvm)
{
	return jvm->preserve_frame_pointer == WINDOW_FLAG_ON && !jvm->uses_jvmci;
}

/* 0: the names are good enough, do not ask. */
static uint64_t jvm_map_interval_ns(const struct window *window)
{
	uint64_t unknown = window->counts.unknown_jit_frames;

	if (unknown * JVM_MANY_UNKNOWN_SHARE > window->counts.jit_frames)
		return JVM_MANY_INTERVAL_NS;
	if (unknown * JVM_SOME_UNKNOWN_SHARE > window->counts.jit_frames)
		return JVM_SOME_INTERVAL_NS;
	return 0;
}

static void jvm_note_answer(struct jvm *jvm, const struct process_life *id,
			    const struct jvm_attach_result *result)
{
	/* Tables that are not filled yet may never be; a process that has just begun grows older. */
	if (result->outcome != JVM_ATTACH_TOO_YOUNG ||
	    jvm->asked_ns >= id->start_ns + JVM_GATE_MIN_AGE_NS)
		jvm_attach_limiter_note(&jvm->limiter, jvm->asked_ns, result);
	jvm->outcome = result->outcome;
	pr_debug("jvm: pid %u: perf map asked for: %s, %u ms, of these %u ms in the JVM\n", id->pid,
		 jvm_attach_outcome_name(result->outcome), result->wall_ms, result->command_ms);
}

/* Asks it, if its account has room for that; else jvm->waits says whether it soon will. */
static void jvm_begin(struct jvm *jvm, const struct jvm_asker *asker)
{
	struct account *account = symbols_process__account(asker->symbols);
	enum jvm_ask_room room = jvm_asks_room(asker->asks, account);
	struct jvm_attach_request request = {
		.proc_fd = asker->proc_fd,
		.pid = asker->id.pid,
		.start_ns = asker->id.start_ns,
		.timeout_ms = asker->timeout_ms,
	};
	struct jvm_attach_result result;

	jvm->waits = room == JVM_ASK_ROOM_SOON;
	if (room != JVM_ASK_ROOM_NOW)
		return;
	request.vm_err = symbols_process__hotspot(asker->symbols, &request.vm);
	jvm->asked_ns = clock_boot_ns();
	if (!jvm_ask_start(&jvm->ask, asker->asks, account, &request, &result))
		jvm_note_answer(jvm, &asker->id, &result);
}

bool jvm_is_asked(const struct jvm *jvm)
{
	return jvm->ask.child || jvm->waits;
}

bool jvm_ask_for_map(struct jvm *jvm, const struct jvm_asker *asker, const struct window *window)
{
	uint64_t interval_ns = jvm_map_interval_ns(window);

	if (!jvm->is_hotspot || jvm->ask.child || !interval_ns ||
	    !jvm_attach_limiter_may(&jvm->limiter, clock_boot_ns(), interval_ns))
		return false;
	jvm_asks_look(asker->asks);
	if (jvm_asks_removes(asker->asks, asker->id.pid, asker->id.start_ns))
		return false;
	jvm_begin(jvm, asker);
	return jvm_is_asked(jvm);
}

/* What a question has made in the JVM's /tmp. */
static void jvm_remove(const struct jvm_asker *asker, enum jvm_attach_removes what)
{
	if (!jvm_asks_remove(asker->asks, symbols_process__account(asker->symbols), asker->id.pid,
			     asker->id.start_ns, what))
		pr_warn_limited("jvm: pid %u: the %s may stay in the container's /tmp\n",
				asker->id.pid,
				what == JVM_ATTACH_REMOVES_MAP ? "perf map" : "trigger");
}

bool jvm_poll_map(struct jvm *jvm, const struct jvm_asker *asker)
{
	struct jvm_attach_result result;
	int err;

	if (jvm->waits) {
		jvm_asks_look(asker->asks);
		jvm_begin(jvm, asker);
	}
	if (!jvm->ask.child || !jvm_ask_poll(&jvm->ask, &result))
		return false;
	jvm_note_answer(jvm, &asker->id, &result);
	if (result.outcome == JVM_ATTACH_TIMEOUT)
		jvm_remove(asker, JVM_ATTACH_REMOVES_TRIGGER);
	if (result.outcome != JVM_ATTACH_OK)
		return false;
	err = symbols_process__reload_jit(asker->symbols, JIT_SOURCE_ATTACH);
	if (!result.map_existed)
		jvm_remove(asker, JVM_ATTACH_REMOVES_MAP);
	return err == 0;
}

void jvm_release(struct jvm *jvm)
{
	jvm_ask_release(&jvm->ask);
}

const char *jvm_problem(const struct jvm *jvm, const struct symbols_jit_status *status)
{
	if (status->source != JIT_SOURCE_NONE)
		return NULL;
	if (!jvm->is_hotspot)
		return status->has_jit_code ? status->problem : NULL;
	if (jvm->outcome != JVM_ATTACH_NONE && jvm->outcome != JVM_ATTACH_OK)
		return jvm_attach_outcome_text(jvm->outcome);
	return status->problem;
}
