/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of an HTTP server, and which of them must go. libmicrohttpd's own time limit
 * starts again with each byte that comes; so that nobody can hold a connection by sending one now
 * and then, an overdue one is shut down here. Nor can anybody take all places: a new connection
 * puts out the oldest of the user that has most of them (of a port users are not known: just the
 * oldest). An honest request needs milliseconds.
 */
#ifndef JBPF_SERVE_CONNECTIONS_H
#define JBPF_SERVE_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct connections;

/*
 * At most `max` at a time. Those that were put out stay until the library has noticed: it is to
 * allow connections__places(). NULL when memory is short.
 */
struct connections *connections__new(size_t max);
void connections__free(struct connections *connections); /* NULL is fine */
size_t connections__places(const struct connections *connections);

/* The user at the other end of a Unix socket; 0 when that is not known. */
uid_t connections_peer(int fd);

/* One began, and is overdue from `until_boot_ns` on. */
void connections__start(struct connections *connections, int fd, uid_t uid, uint64_t until_boot_ns);
/* It may last until then, and nobody new puts it out. */
void connections__keep(struct connections *connections, int fd, uint64_t until_boot_ns);
void connections__end(struct connections *connections, int fd);
void connections__put_out_overdue(struct connections *connections, uint64_t now_boot_ns);

#endif
