/* SPDX-License-Identifier: Apache-2.0 */
/* Between launcher.c, which runs in the launcher, and launcher_handle.c, which asks it. */
#ifndef JBPF_SANDBOX_LAUNCHER_WIRE_H
#define JBPF_SANDBOX_LAUNCHER_WIRE_H

#include "user/sandbox/launcher.h"

#define ANSWER_FDS 2u

/* Beside enum launcher_kind. */
enum request_kind {
	REQUEST_END = 100,
	REQUEST_NEW_COPY = 101, /* of a namer */
	REQUEST_ADOPT = 102,
	REQUEST_TAKE = 103, /* of the sampler */
	REQUEST_STATE = 104,
};

struct request {
	uint32_t kind; /* enum launcher_kind or enum request_kind */
	int32_t pid;   /* of REQUEST_END, REQUEST_ADOPT and REQUEST_STATE */
	uint64_t numbers[LAUNCHER_NUMBERS];
};

struct launcher_answer {
	int32_t err;
	int32_t pid;
	int32_t status;
	int32_t state; /* of REQUEST_STATE */
};

/* An answer and the descriptors that go with it; -1 = none. */
struct reply {
	struct launcher_answer answer;
	int fds[ANSWER_FDS];
};

/* For the moment of the fork. */
struct launcher_birth {
	const struct launcher_options *options;
	int log_fd; /* where the children say it */
};

/* The launcher's program, of a struct launcher_birth; see child_main_fn. */
int launcher_main(int socket_fd, const void *ctx);

#endif
