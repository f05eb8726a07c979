/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where metrics are served: a Unix socket, or a port of the loopback. Nothing else is offered,
 * because there is no login: the network shall not read which programs run on the host.
 */
#ifndef JBPF_SERVE_ADDRESS_H
#define JBPF_SERVE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "user/util/attributes.h"

struct serve_address {
	struct sockaddr_storage addr;
	socklen_t len;
	bool is_unix;
};

/* "unix:/run/jbpf/metrics.sock", "127.0.0.1:9464" or "[::1]:9464". Pure. 0 or -EINVAL. */
__must_check int serve_address_parse(const char *text, struct serve_address *out);

/* Path of a Unix socket; NULL for others. */
const char *serve_address_path(const struct serve_address *address);

/*
 * A listening socket, non-blocking. Of a Unix socket: mode 0660; a directory that is missing is
 * made (0755), and a socket that no process listens on any more is removed. fd; -EADDRINUSE: a
 * process listens there; -EEXIST: something else has the path; -errno.
 */
__must_check int serve_address_listen(const struct serve_address *address);

/*
 * May a browser have sent this Host header, for a page of another site (DNS rebinding)? False for
 * the loopback's own names, with or without a port. NULL is foreign.
 */
bool serve_host_is_foreign(const char *host);

#endif
