/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a JVM for its map without waiting for it: gates here, the conversation in a child of the
 * launcher (jvm_attach.h), the answer some time later. One request per JVM at a time.
 */
#ifndef JBPF_NAMING_JVM_ASK_H
#define JBPF_NAMING_JVM_ASK_H

#include "user/collect/attach/jvm_attach.h"
#include "user/sandbox/launcher.h"

struct jvm_ask {
	bool is_open;		   /* a child is at it: the fields below */
	struct launcher *launcher; /* borrowed */
	pid_t child;
	int socket_fd;
	uint64_t begin_ns;    /* CLOCK_MONOTONIC */
	uint64_t deadline_ns; /* the child is killed after it */
};

/*
 * Begins. True: ask jvm_ask_poll() until it has an answer. False: it is refused at once, *result says
 * why.
 */
bool jvm_ask_start(struct jvm_ask *ask, struct launcher *launcher,
		   const struct jvm_attach_request *request, struct jvm_attach_result *result);

/*
 * Begins to unlink what an earlier request made; the only result is that jvm_ask_poll() returns true, which for
 * a trigger may take a minute.
 */
bool jvm_ask_start_removal(struct jvm_ask *ask, struct launcher *launcher, uint32_t pid,
			   uint64_t start_ns, enum jvm_attach_removes what);

/* True: it is over, *result is filled. */
bool jvm_ask_poll(struct jvm_ask *ask, struct jvm_attach_result *result);

/* Ends the child, when there is one. */
void jvm_ask_release(struct jvm_ask *ask);

/* The launcher's child: LAUNCHER_ATTACH. */
int jvm_ask_child_main(const struct launcher_child *child);

#endif
