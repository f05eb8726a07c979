/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Unix socket beside a store, over which its jbpfd sends live readers what the window that runs
 * counts (user/collect/running_wire.h): DIR/running. Who may read the profiles may connect: mode 0660, the
 * directory's group. Paths may be of any length.
 */
#ifndef JBPF_STORE_STORE_SOCKET_H
#define JBPF_STORE_STORE_SOCKET_H

#include "user/util/attributes.h"

#define STORE_SOCKET_NAME "running"

/*
 * A listening socket, non-blocking, by the one who holds the store's lock: what an earlier jbpfd left there
 * is replaced. The descriptor; -EEXIST: something that is no socket has the name; -errno.
 */
__must_check int store_socket_listen(const char *dir);
void store_socket_remove(const char *dir);

/*
 * A connection, non-blocking; never waits. The descriptor; -ENOENT, -ECONNREFUSED: no jbpfd listens;
 * -EAGAIN: too many wait to be taken; -EACCES: not for this user; -errno.
 */
__must_check int store_socket_connect(const char *dir);

#endif
