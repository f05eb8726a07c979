// SPDX-License-Identifier: Apache-2.0
/* See web_assets.h. */
#include "user/web/web_assets.h"

#include <string.h>

#include "user/util/cleanup.h"

/* web_page.S */
extern const char web_html_start[], web_html_end[];
extern const char web_frame_start[], web_frame_end[];
extern const char web_style_start[], web_style_end[];
extern const char web_script_start[], web_script_end[];
extern const char web_uplot_script_start[], web_uplot_script_end[];
extern const char web_uplot_style_start[], web_uplot_style_end[];
extern const char web_uplot_license_start[], web_uplot_license_end[];

static const struct {
	const char *path;
	const char *media_type;
	const char *start;
	const char *end;
} assets[] = {
	{ "/", "text/html; charset=utf-8", web_html_start, web_html_end },
	{ "/frame.html", "text/html; charset=utf-8", web_frame_start, web_frame_end },
	{ "/web.css", "text/css; charset=utf-8", web_style_start, web_style_end },
	{ "/web.js", "text/javascript; charset=utf-8", web_script_start, web_script_end },
	{ "/uPlot.js", "text/javascript; charset=utf-8", web_uplot_script_start,
	  web_uplot_script_end },
	{ "/uPlot.css", "text/css; charset=utf-8", web_uplot_style_start, web_uplot_style_end },
	{ "/uPlot.LICENSE", "text/plain; charset=utf-8", web_uplot_license_start,
	  web_uplot_license_end },
};

const struct web_asset *web_assets_find(const char *path, struct web_asset *store)
{
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++) {
		if (strcmp(assets[i].path, path) != 0)
			continue;
		*store = (struct web_asset){
			.path = assets[i].path,
			.media_type = assets[i].media_type,
			.bytes = assets[i].start,
			.len = (size_t)(assets[i].end - assets[i].start),
			.is_frame = assets[i].start == web_frame_start,
		};
		return store;
	}
	return NULL;
}
