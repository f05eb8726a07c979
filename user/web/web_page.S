/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page, as they are in page/ and vendor/, in the read-only data of the program. */
	.section .rodata

	.macro asset symbol
	.global	\symbol\()_start
	.type	\symbol\()_start, %object
\symbol\()_start:
	.endm

	.macro asset_end symbol
	.global	\symbol\()_end
	.type	\symbol\()_end, %object
\symbol\()_end:
	.byte	0
	.endm

	asset web_html
	.incbin	"user/web/page/web.html"
	asset_end web_html

	asset web_frame
	.incbin	"user/web/page/frame.html"
	asset_end web_frame

	asset web_style
	.incbin	"user/web/page/web.css"
	asset_end web_style

	asset web_script
	.incbin	"user/web/page/format.js"
	.incbin	"user/web/page/state.js"
	.incbin	"user/web/page/server.js"
	.incbin	"user/web/page/timeline.js"
	.incbin	"user/web/page/picture.js"
	.incbin	"user/web/page/heat.js"
	.incbin	"user/web/page/running.js"
	.incbin	"user/web/page/controls.js"
	asset_end web_script

	asset web_uplot_script
	.incbin	"user/web/vendor/uPlot.iife.min.js"
	asset_end web_uplot_script

	asset web_uplot_style
	.incbin	"user/web/vendor/uPlot.min.css"
	asset_end web_uplot_style

	asset web_uplot_license
	.incbin	"user/web/vendor/uPlot.LICENSE"
	asset_end web_uplot_license

	.section .note.GNU-stack, "", %progbits
