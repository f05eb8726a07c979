/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the namer, with all its tables, that sleeps until the sampler wants it: it goes on when
 * the namer hangs over a process or is killed, so that other processes keep their names. It is a
 * child of the launcher, has sockets of its own, shares memory until either writes to it, and does
 * nothing while it sleeps.
 */
#ifndef JBPF_NAMER_NAMER_COPY_H
#define JBPF_NAMER_NAMER_COPY_H

#include "user/util/attributes.h"
#include "user/sandbox/launcher.h"

/*
 * Returns twice. In this process: 0, or -errno: there is no new copy (-EBUSY: another thread runs
 * here, which a copy would lack; try again later). In the copy: 1, `launcher` is on a socket of its
 * own, and *socket_out to the sampler is the copy's; all other descriptors and helpers are its
 * maker's still, and to be closed.
 */
__must_check int namer_copy_make(struct launcher *launcher, int *socket_out);

/* In the copy: until the sampler says something. Does not return when it never will. */
void namer_copy_sleep(int socket_fd);

#endif
