/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jbpf knows about one JVM beside its symbols: version, frame pointer flag, and the history of
 * asking it for a perf map.
 */
#ifndef JBPF_NAMING_JVM_H
#define JBPF_NAMING_JVM_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/symbols.h"
#include "user/collect/naming/jvm_ask.h"
#include "user/model/window.h"

struct jvm {
	bool is_known; /* tables were read: the fields below are final */
	bool is_hotspot;
	char version[64]; /* "" = not known */
	enum window_flag preserve_frame_pointer;
	bool uses_jvmci; /* Graal, or another compiler in Java, instead of C2 */
	enum hotspot_flag_origin preserve_frame_pointer_origin;
	enum jvm_attach_outcome outcome;
	struct jvm_attach_limiter limiter;
	struct jvm_ask ask; /* for a map */
	bool waits;	    /* to be asked, until others of its account have answered */
	uint64_t asked_ns;  /* CLOCK_BOOTTIME */
};

/* False also while nothing is known of it: see preserve_frame_pointer. */
bool jvm_keeps_frame_pointers(const struct jvm *jvm);

/*
 * Reads version and flags as soon as the JVM's tables are open, which is the symbolizer's work (symbols.h);
 * cheap when that is done.
 */
void jvm_update(struct jvm *jvm, struct symbols_process *symbols);

/* Who asks, and with what. */
struct jvm_asker {
	int proc_fd;
	struct jvm_asks *asks;
	struct symbols_process *symbols;
	struct process_life id;
	uint32_t timeout_ms; /* for one conversation */
};

/*
 * Begins to ask the JVM for a fresh perf map when enough of its compiled frames had no name in this
 * window and the limiter allows it. True: it is asked, or soon will be: jvm_poll_map() says when it has
 * answered, as long as jvm_is_asked().
 */
bool jvm_ask_for_map(struct jvm *jvm, const struct jvm_asker *asker, const struct window *window);
bool jvm_is_asked(const struct jvm *jvm);

/*
 * Loads the map that the JVM was asked for once it is there, and has the file removed when it was made
 * for us. True: the JIT names are newer now.
 */
bool jvm_poll_map(struct jvm *jvm, const struct jvm_asker *asker);

/* Ends the question that goes on; what is removed after one is jvm_asks's. */
void jvm_release(struct jvm *jvm);

/* One line for people: why this JVM's frames have no names; NULL when they have. */
const char *jvm_problem(const struct jvm *jvm, const struct symbols_jit_status *status);

#endif
