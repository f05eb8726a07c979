/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page, which are in the program (web_page.S). */
#ifndef JBPF_WEB_WEB_ASSETS_H
#define JBPF_WEB_WEB_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct web_asset {
	const char *path; /* "/app.js" */
	const char *media_type;
	const char *bytes;
	size_t len;
	bool is_frame; /* becomes what comes from the store: its policy is that of data */
};

/* NULL: there is none. `store` is filled and returned. */
const struct web_asset *web_assets_find(const char *path, struct web_asset *store);

#endif
