/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attach conversation itself: trigger, signal, socket, request, reply. Runs in a process that
 * has the JVM's ids already and may be killed at any time; all waiting ends at one deadline.
 */
#ifndef JBPF_ATTACH_JVM_ATTACH_TALK_H
#define JBPF_ATTACH_JVM_ATTACH_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/collect/attach/jvm_attach.h"
#include "user/collect/attach/jvm_attach_tmp.h"

struct jvm_talk {
	const struct jvm_tmp *tmp;
	int pid_fd;	      /* of the JVM */
	int status_fd;	      /* its /proc/PID/status, opened before the ids were changed */
	pid_t pid;	      /* host pid that the socket's other end must have */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	/* results */
	uint32_t command_ms;
	bool listener_started;
};

/* Starts the listener when there is no socket, sends the command, reads and judges the answer. */
enum jvm_attach_outcome jvm_talk_request_map(struct jvm_talk *talk);

/* Removes the trigger that a request left, once there is a socket or the JVM has ended; until the deadline. */
void jvm_talk_end_trigger(const struct jvm_talk *talk);

/* The meaning of a reply ("0\n...", "-1\n..."). Pure. */
enum jvm_attach_outcome jvm_talk_judge_reply(const char *reply, size_t len);

#endif
