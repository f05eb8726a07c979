/* SPDX-License-Identifier: Apache-2.0 */
/* The parser process's side: takes requests until the profiler closes its end. */
#ifndef JBPF_PARSER_PARSER_CHILD_H
#define JBPF_PARSER_PARSER_CHILD_H

/*
 * Runs in the forked process: gives up its rights and serves. Returns the exit status, which is an
 * errno: 0 when the profiler is gone, else the error that ended it.
 */
int parser_child_main(int socket_fd);

#endif
