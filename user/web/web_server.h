/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server of jbpf web: one thread, which answers by itself what is in the program, and
 * leaves questions to the store to child processes (web_jobs.h). WEB-API.md lists what it answers.
 *
 * In: a listening socket and a store's directory. Out: pages and JSON. `jbpf web` owns the server.
 */
#ifndef JBPF_WEB_WEB_SERVER_H
#define JBPF_WEB_WEB_SERVER_H

#include "user/serve/http_library.h"
#include "user/util/attributes.h"
#include "user/web/web_jobs.h"

#define WEB_CONNECTIONS_MAX 64 /* one more puts out the oldest that has asked nothing yet */
#define WEB_REQUEST_BYTES   (32 * 1024)
#define WEB_IDLE_S	    20
#define WEB_REQUEST_S	    5	/* from a connection's begin to its request's end */
#define WEB_ANSWER_S	    120 /* from there on */

struct web_server_options {
	const struct http_library *library;
	const struct web_programs *programs;
	struct web_source source;
	struct web_engine *engine; /* of source.from; else NULL */
	const char *token;	   /* NULL: who reaches the socket may read */
	int listen_fd;		   /* taken over */
	int end_fd;		   /* readable when the server shall end; -1 = never */
};

struct web_server;

/* Borrows all but listen_fd, until the end. 0 or -errno. */
__must_check int web_server__open(const struct web_server_options *options,
				  struct web_server **out);
void web_server__free(struct web_server *server); /* NULL is fine */

/* Until end_fd is readable. 0 or -errno. */
__must_check int web_server__run(struct web_server *server);
/* Answers for half a second at most; 1: end_fd is readable. 0 or -errno. */
__must_check int web_server__step(struct web_server *server);

#endif
