/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is forked before anything else is open and does nothing but start, end and reap
 * the others: the namer, the parser, the openers, the children that ask JVMs. So the process that
 * samples needs no rights for their work, the namer can be replaced when it hangs or crashes, and
 * neither can start or signal anything else. It reads no file and no memory of other processes but
 * the states of its children, and waits for nobody.
 *
 * Its children die with it, and it ends when the sampler does. One thread each side.
 */
#ifndef JBPF_SANDBOX_LAUNCHER_H
#define JBPF_SANDBOX_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"

enum launcher_kind {
	LAUNCHER_NONE = 0,
	LAUNCHER_NAMER = 1,  /* only the sampler may ask for it */
	LAUNCHER_PARSER = 2, /* these three only the namer */
	LAUNCHER_OPENER = 3,
	LAUNCHER_ATTACH = 4,
	LAUNCHER_LOOKER = 5, /* only the sampler: says what a namer waits for that hangs */
	LAUNCHER_KIND_CNT = 6,
};

#define LAUNCHER_NUMBERS	    8u
#define LAUNCHER_MAX_HANGING	    64u /* children that do not end, but for openers ... */
#define LAUNCHER_MAX_HANGING_ATTACH 32u /* ... and for those that ask JVMs */

/* Arguments of a child. These descriptors are its own; it must close all others that it inherits. */
struct launcher_child {
	int socket_fd;	 /* to its asker */
	int launcher_fd; /* of LAUNCHER_NAMER: where it asks the launcher; else -1 */
	uint64_t numbers[LAUNCHER_NUMBERS]; /* as given to launcher__start() */
	void *ctx;			    /* of the options */
};

/* Runs in the forked child. Returns its exit status, as child_main_fn does (child_process.h). */
typedef int (*launcher_main_fn)(const struct launcher_child *child);

struct launcher_options {
	launcher_main_fn programs[LAUNCHER_KIND_CNT]; /* NULL: refused with -ENOTSUP */
	/* In the launcher, before it takes requests: gives up rights that no child needs. 0 or -errno. */
	int (*confine)(void *ctx);
	void *ctx;
	int *kept_fd; /* the one descriptor of the caller's that the children need; may get another number
		       * there. NULL = none */
};

struct launcher;

/* Forks it. 0, or -errno, also that of confine(); -EINVAL without one. */
__must_check int launcher__open(const struct launcher_options *options, struct launcher **out);
/* The namer's handle on it: takes `launcher_fd` over. NULL when memory is short. */
struct launcher *launcher__from_fd(int launcher_fd);
/* Closes the handle; that of the sampler ends the launcher and all its children. NULL is fine. */
void launcher__free(struct launcher *launcher);
/*
 * What the launcher and its children say on stderr reaches that of the sampler by this pipe, and
 * nothing else: stdin and stdout are /dev/null there. For poll(); -1 when all have ended.
 */
int launcher__log_fd(const struct launcher *launcher);
/* Passes on what has come, of those who write on and on a part; launcher__free() does, too. */
void launcher__relay(struct launcher *launcher);
/* 0 in a handle of launcher__from_fd(). */
pid_t launcher__pid(const struct launcher *launcher);

/*
 * Starts a child. `numbers`: LAUNCHER_NUMBERS of them, or NULL. Outputs may be NULL: *socket_out is
 * to the child (SOCK_STREAM for a namer, else SOCK_SEQPACKET), the caller's. 0; -EBUSY: too many
 * children hang; -EPIPE: the launcher is gone; -errno of fork().
 */
__must_check int launcher__start(struct launcher *launcher, enum launcher_kind kind,
				 const uint64_t *numbers, int *socket_out, pid_t *pid_out);

/* Kills a child that this handle started or took. Its wait status, or -1: it hangs, or is not known. */
int launcher__end(struct launcher *launcher, pid_t pid);

/*
 * Its state as in /proc/PID/stat, of which the asker may not be allowed to see anything (hidepid). 0: it
 * has ended, or is no child that this handle started or took; -errno.
 */
int launcher__state(struct launcher *launcher, pid_t pid);

/*
 * A namer's copy of itself, which sleeps until the sampler takes it (namer_copy.h). There is one at
 * a time: the next one ends it, and so does the start of a new namer. Its maker's end does not.
 */

/*
 * In a namer: sockets for a copy, to the sampler and to the launcher, the caller's. 0; -EAGAIN: too
 * many namers are about to end; -EPIPE; -errno.
 */
__must_check int launcher__new_copy(struct launcher *launcher, int *socket_out,
				    int *launcher_fd_out);
/*
 * The copy that has these sockets is process `pid`, a child of the launcher. 0; -ECHILD: it is
 * none, or has ended; -errno: the launcher closes the sockets' other ends.
 */
__must_check int launcher__adopt_copy(struct launcher *launcher, pid_t pid);
/* In the copy: this handle is on that socket from now on; takes it over. */
void launcher__turn_to(struct launcher *launcher, int launcher_fd);

/* In the sampler: the copy is its namer now, as if it had started it. 0; -ENOENT: there is none; -errno. */
__must_check int launcher__take_copy(struct launcher *launcher, int *socket_out, pid_t *pid_out);

#endif
