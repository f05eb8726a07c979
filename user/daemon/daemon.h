/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jbpfd, in the foreground: one thread records, another one writes. Samples the host and writes one
 * window after the other to the store until SIGTERM or SIGINT; SIGHUP rereads the config file.
 *
 * In: options and the host. Out: windows in the store, metrics, lines of log. It owns the recorder, the
 * writer and the children.
 */
#ifndef JBPF_DAEMON_DAEMON_H
#define JBPF_DAEMON_DAEMON_H

/* Exit code of the program: 0 done, 1 failed, 2 wrong usage. */
int daemon_main(int argc, char **argv);

#endif
