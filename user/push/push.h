/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jbpf push: the store to a server, minute by minute. The store is the queue: a cursor says how far the
 * server has confirmed, and after a start, a failure or an outage the ten minutes before it are sent again,
 * but to servers that add up.
 */
#ifndef JBPF_PUSH_PUSH_H
#define JBPF_PUSH_PUSH_H

/* The command. Returns an exit code of exit_codes.h. */
int push_run(int argc, char **argv);

#endif
