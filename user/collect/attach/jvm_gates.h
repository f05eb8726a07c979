/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates before a JVM is asked to do anything. Each checks one side of the process, changes
 * nothing, and answers JVM_ATTACH_OK when it is open, or the reason to leave the JVM alone. When
 * the state of a gate is not known, it counts as closed.
 */
#ifndef JBPF_ATTACH_JVM_GATES_H
#define JBPF_ATTACH_JVM_GATES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/collect/attach/jvm_attach.h"
#include "user/host/proc_stat.h"

#define JVM_GATE_MIN_AGE_NS	 (3ull * 1000000000ull)
#define JVM_GATE_MIN_THREAD_ROOM 16u

/* Still the process that is meant, not stopped, not frozen, old enough. */
enum jvm_attach_outcome jvm_gate_process(const struct jvm_attach_request *request,
					 uint64_t now_boot_ns);

/*
 * HotSpot, its tables are open, and its attach mechanism is not disabled. *feature_out: 17, ...; 0 =
 * not known. Opens no file: what a container calls libjvm.so is for the opener and the parser.
 */
enum jvm_attach_outcome jvm_gate_hotspot(const struct jvm_attach_request *request,
					 int *feature_out);

/*
 * SIGQUIT would start the attach listener and do nothing else: it is caught, not ignored, some
 * thread takes it, the dispatcher runs, and a listener that runs already would open its socket
 * again.
 */
enum jvm_attach_outcome jvm_gate_signal(int proc_fd, uint32_t pid, const struct proc_status *status,
					int feature);

/* The listener's thread can be created: a JVM that fails to create it exits. */
enum jvm_attach_outcome jvm_gate_thread_room(int proc_fd, uint32_t pid, uid_t real_uid);

/* Last look right before the signal. `text` is that of /proc/PID/status. */
bool jvm_gate_status_catches_quit(const char *text);

#endif
