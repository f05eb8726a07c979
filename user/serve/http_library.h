/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd, loaded when metrics or pages are asked for. It brings GnuTLS along with all that
 * it needs, which makes a table of 110 KiB in each process that it is loaded into: a daemon that
 * serves nothing and its children can do without.
 */
#ifndef JBPF_SERVE_HTTP_LIBRARY_H
#define JBPF_SERVE_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "user/util/attributes.h"

/* The functions of <microhttpd.h> that are used, by their names without "MHD_". */
struct http_library {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_run_wait) *run_wait;
	__typeof__(MHD_get_connection_info) *get_connection_info;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_get_timeout) *get_timeout;
	__typeof__(MHD_get_connection_values) *get_connection_values;
	__typeof__(MHD_create_response_from_fd64) *create_response_from_fd64;
	__typeof__(MHD_suspend_connection) *suspend_connection;
	__typeof__(MHD_resume_connection) *resume_connection;
};

/*
 * Stays loaded for good. To be called before executable memory is refused; children have it from
 * their parent. 0, -ENOENT without the library, -ENOSYS when it lacks a function.
 */
__must_check int http_library_load(struct http_library *out);

/*
 * Queues the answer, with the headers that each has, and gives the response up; NULL: there was no
 * memory for it.
 */
enum MHD_Result http_library_answer(const struct http_library *library,
				    struct MHD_Connection *connection, unsigned int status,
				    struct MHD_Response *response, const char *media_type);

#endif
