/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a JVM for its map without waiting for it: gates here, the conversation in a child of the
 * launcher (jvm_attach.h), the answer some time later. One request per JVM at a time.
 *
 * A child opens the JVM's /tmp, which may be a link to files of a server that never answers: then it
 * cannot be ended. So an account has few children at once, and those that hang are among them until
 * they have ended.
 */
#ifndef JBPF_NAMING_JVM_ASK_H
#define JBPF_NAMING_JVM_ASK_H

#include "user/collect/attach/jvm_attach.h"
#include "user/sandbox/launcher.h"
#include "user/util/account.h"

#define JVM_ASKS_MAX		 64u /* children at once, of all accounts */
#define JVM_ASKS_MAX_PER_ACCOUNT ACCOUNT_MAX_HANGING

enum jvm_child_state {
	JVM_CHILD_NONE = 0,
	JVM_CHILD_ASKS,
	JVM_CHILD_REMOVES,
	JVM_CHILD_HANGS, /* was killed, and has not ended */
};

struct jvm_child {
	enum jvm_child_state state;
	pid_t pid;
	int socket_fd;		 /* to it; hangs up when it has ended */
	struct account *account; /* of its JVM; a user of it */
	uint32_t jvm_pid;
	uint64_t jvm_start_ns;
	uint64_t begin_ns;    /* CLOCK_MONOTONIC */
	uint64_t deadline_ns; /* it is killed after it */
};

/* All children of a namer. Zero-initialise, but for the launcher; end with jvm_asks_release(). */
struct jvm_asks {
	struct launcher *launcher; /* borrowed */
	struct jvm_child children[JVM_ASKS_MAX];
};

/* Ends them, and waits for none that hangs. */
void jvm_asks_release(struct jvm_asks *asks);
/* Forgets those that have ended, also after they hung: for each window, and before a JVM is asked. */
void jvm_asks_look(struct jvm_asks *asks);

enum jvm_ask_room {
	JVM_ASK_ROOM_NONE = 0, /* not in this window */
	JVM_ASK_ROOM_SOON = 1, /* when a child has ended, within seconds */
	JVM_ASK_ROOM_NOW = 2,
};

/* May another JVM of this account be asked? The account may be NULL: then not. */
enum jvm_ask_room jvm_asks_room(const struct jvm_asks *asks, struct account *account);
/* Is a child at it that removes what a request to this JVM has made? */
bool jvm_asks_removes(const struct jvm_asks *asks, uint32_t pid, uint64_t start_ns);

/* Zero-initialise. */
struct jvm_ask {
	struct jvm_asks *asks;
	struct jvm_child *child; /* NULL: none is at it */
};

/*
 * Begins, for a JVM of this account. True: ask jvm_ask_poll() until it has an answer. False: it is
 * refused at once, *result says why.
 */
bool jvm_ask_start(struct jvm_ask *ask, struct jvm_asks *asks, struct account *account,
		   const struct jvm_attach_request *request, struct jvm_attach_result *result);

/* True: it is over, *result is filled. */
bool jvm_ask_poll(struct jvm_ask *ask, struct jvm_attach_result *result);

/* Ends the child, when there is one. */
void jvm_ask_release(struct jvm_ask *ask);

/*
 * Begins to unlink what an earlier request made, for which nobody need wait; for a trigger it may take a
 * minute. False: that is not possible, or too many children of the account are at work or hang.
 */
bool jvm_asks_remove(struct jvm_asks *asks, struct account *account, uint32_t pid,
		     uint64_t start_ns, enum jvm_attach_removes what);

/* The launcher's child: LAUNCHER_ATTACH. */
int jvm_ask_child_main(const struct launcher_child *child);

#endif
