/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights a process can do without when it only reads open descriptors and computes. Each layer
 * holds alone; a kernel that lacks one still gets the others.
 */
#ifndef JBPF_SANDBOX_PARSER_SANDBOX_H
#define JBPF_SANDBOX_PARSER_SANDBOX_H

#include <stdint.h>

#include "user/util/attributes.h"

enum parser_sandbox_feature {
	PARSER_SANDBOX_SECCOMP = 1u << 0,  /* a list of system calls; any other one kills */
	PARSER_SANDBOX_LANDLOCK = 1u << 1, /* no file, no TCP, no signal outside; landlock.h */
	PARSER_SANDBOX_ALL = 3u,
};

/* Which of them this kernel has. Changes nothing. */
uint32_t parser_sandbox_features(void);

#define PARSER_SANDBOX_MEMORY_BYTES (1ull << 30)   /* more than the process has at the start */
#define PARSER_SANDBOX_FILE_BYTES   (512ull << 20) /* of one that it writes to */

/*
 * Gives up, for good, everything but computing and the one descriptor, which becomes number 0:
 * other descriptors, memory shared with anybody, capabilities, gaining privileges, files, network,
 * processes, signals, being traced. `wanted` are the features to use where the kernel has them:
 * PARSER_SANDBOX_ALL, except in tests, which look at each alone. 0 and the features in force, or
 * -errno: then the process must end.
 */
__must_check int parser_sandbox_enter(int *socket_fd, uint32_t wanted, uint32_t *features_out);

#endif
