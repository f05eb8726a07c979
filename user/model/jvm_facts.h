/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a profile says of a JVM: where its names came from, how asking it for its map ended, who set its
 * flags. In goes a number of a window, out comes its word. The numbers are those on disk.
 */
#ifndef JBPF_MODEL_JVM_FACTS_H
#define JBPF_MODEL_JVM_FACTS_H

#include <stdint.h>

/* Where the names of JIT frames came from. Values reach disk: append only. */
enum jit_source {
	JIT_SOURCE_NONE = 0,
	JIT_SOURCE_PERFMAP = 1, /* a perf map that was there */
	JIT_SOURCE_ATTACH = 2,	/* a perf map written because we asked for it */
	JIT_SOURCE_VMSTRUCTS = 3,
};

/* "perfmap", ...; "" for none and for a value of a later version. */
const char *jit_source_name(uint32_t jit_source);

/* Values reach the store and `jbpf status`: append only. */
enum jvm_attach_outcome {
	JVM_ATTACH_NONE = 0, /* never tried */
	JVM_ATTACH_OK = 1,   /* a fresh, complete map lies there */
	JVM_ATTACH_NOT_HOTSPOT = 2,
	JVM_ATTACH_TOO_YOUNG = 3,   /* starting: try again later */
	JVM_ATTACH_NOT_RUNNING = 4, /* stopped, frozen, zombie */
	JVM_ATTACH_DISABLED = 5,    /* -XX:+DisableAttachMechanism */
	JVM_ATTACH_NO_SIGNAL = 6,   /* SIGQUIT not caught (-Xrs) and no socket there */
	/* Pids.max, RLIMIT_NPROC, threads-max too near: an attach could kill it. */
	JVM_ATTACH_NO_THREAD_ROOM = 7,
	JVM_ATTACH_TMP_NOT_WRITABLE = 8,
	/* FIFO, symlink, foreign owner, hard link where socket or map belong. */
	JVM_ATTACH_TMP_HOSTILE = 9,
	JVM_ATTACH_WRONG_PEER = 10, /* another JVM answered on the socket */
	JVM_ATTACH_TIMEOUT = 11,
	JVM_ATTACH_UNSUPPORTED = 12, /* JDK without Compiler.perfmap: never ask again */
	JVM_ATTACH_REFUSED = 13,     /* connection closed without an answer */
	JVM_ATTACH_NO_MAP = 14,	     /* it said yes, but there is no usable file */
	JVM_ATTACH_GONE = 15,	     /* the process ended meanwhile */
	JVM_ATTACH_ERROR = 16,	     /* ours: fork, memory, permission */
	JVM_ATTACH_OUTCOME_CNT = 17,
};

/* One line for people: what it means and what to do. Never NULL. */
const char *jvm_attach_outcome_text(enum jvm_attach_outcome outcome);
/* Short stable word for metrics and JSON: "ok", "too-young", ... */
const char *jvm_attach_outcome_name(enum jvm_attach_outcome outcome);

/* Where a flag's value came from: JVMFlag::_flags & 15 (runtime/flags/jvmFlag.hpp). */
enum hotspot_flag_origin {
	HOTSPOT_FLAG_DEFAULT = 0,
	HOTSPOT_FLAG_COMMAND_LINE = 1,
	HOTSPOT_FLAG_ENVIRONMENT = 2,
	HOTSPOT_FLAG_ERGONOMIC = 5,
};

/* "command line", ...; "" for the default, "other" for the rest. */
const char *hotspot_flag_origin_name(uint32_t origin);

#endif
