/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf web as a value. Pure. */
#ifndef JBPF_WEB_WEB_OPTIONS_H
#define JBPF_WEB_WEB_OPTIONS_H

#include <stddef.h>

#include "user/cli/option_groups.h"
#include "user/serve/address.h"
#include "user/util/attributes.h"
#include "user/web/web_query.h"

/* Texts are borrowed from argv. */
struct web_options {
	struct web_source source; /* `store` is NULL with `from` */
	const char *listen;
	struct serve_address address; /* of `listen` */
	struct option_info info;
};

extern const struct option_table web_option_table;

/* 0, or -EINVAL with one line for the user in `why`. */
__must_check int web_options_parse(int argc, char **argv, struct web_options *out, char *why,
				   size_t why_len);

#endif
