/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other side of http.h, for probes: asks the jbpfd that serves metrics how it is. An image needs no
 * shell and no HTTP client for that.
 *
 * In: an address and a path. Out: the status of the answer, and its first line.
 */
#ifndef JBPF_SERVE_ASK_H
#define JBPF_SERVE_ASK_H

#include "user/serve/address.h"
#include "user/util/attributes.h"

#define SERVE_ASK_S	     10 /* for each of connecting, sending, and receiving a piece */
#define SERVE_ASK_LINE_BYTES 128u

struct serve_answer {
	int status;
	char line[SERVE_ASK_LINE_BYTES]; /* of the body, cut; "" = it has none */
};

/* 0; -EPROTO: what came is no answer; -EAGAIN: nothing came in time; -errno. Pure but for the socket. */
__must_check int serve_ask(const struct serve_address *address, const char *path,
			   struct serve_answer *out);

#endif
