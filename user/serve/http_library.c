// SPDX-License-Identifier: Apache-2.0
/* See http_library.h. */
#include "user/serve/http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "user/util/cleanup.h"

/* Of the ABI that <microhttpd.h> describes. */
#define LIBRARY_NAME "libmicrohttpd.so.12"

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define FUNCTION(name)                                            \
	{                                                         \
		"MHD_" #name, offsetof(struct http_library, name) \
	}
	FUNCTION(start_daemon),
	FUNCTION(stop_daemon),
	FUNCTION(run_wait),
	FUNCTION(get_connection_info),
	FUNCTION(lookup_connection_value),
	FUNCTION(create_response_from_buffer),
	FUNCTION(add_response_header),
	FUNCTION(queue_response),
	FUNCTION(destroy_response),
	FUNCTION(get_daemon_info),
	FUNCTION(get_timeout),
	FUNCTION(get_connection_values),
	FUNCTION(create_response_from_fd64),
	FUNCTION(suspend_connection),
	FUNCTION(resume_connection),
#undef FUNCTION
};

int http_library_load(struct http_library *out)
{
	void *handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
	struct http_library library;

	if (!handle)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return -ENOSYS;
		memcpy((char *)&library + functions[i].offset, &function, sizeof(function));
	}
	*out = library;
	return 0;
}

enum MHD_Result http_library_answer(const struct http_library *library,
				    struct MHD_Connection *connection, unsigned int status,
				    struct MHD_Response *response, const char *media_type)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	(void)library->add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
	(void)library->add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)library->add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	(void)library->add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)library->add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = library->queue_response(connection, status, response);
	library->destroy_response(response);
	return result;
}
