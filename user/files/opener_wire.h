/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between opener and profiler over a SOCK_SEQPACKET socket; see fd_message.h. */
#ifndef JBPF_FILES_OPENER_WIRE_H
#define JBPF_FILES_OPENER_WIRE_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "user/files/container_file.h"
#include "user/files/opener.h"

enum opener_what {
	OPENER_REOPEN = 0,
	OPENER_FILE = 1,
	OPENER_LIBRARY = 2,
	OPENER_PATH = 3,
};

/* With one descriptor: the root, or the file to reopen. Sent up to the end of the path. */
struct opener_request {
	uint64_t id;
	uint32_t what; /* enum opener_what */
	uint32_t wants_head;
	struct container_file_rules rules;
	char path[PATH_MAX]; /* with its NUL */
};

enum opener_says {
	OPENER_IS_READY = 0,   /* it has given up its rights */
	OPENER_HAS_OPENED = 1, /* or not: the answer, with a descriptor when `err` is 0 */
	/* It has closed its own descriptor of the file, which a server may hold up like opening it. */
	OPENER_IS_FREE = 2,
};

struct opener_reply {
	uint64_t id;   /* of the request */
	uint32_t says; /* enum opener_says */
	int32_t err;   /* 0 or -errno */
	struct stat st;
	struct opener_head head;
};

#endif
