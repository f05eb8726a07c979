/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the pages, as they are in page/, in the read-only data of the program: html.c and
 * diff_html.c put them together. The scripts follow each other and are one module in the page.
 */
	.section .rodata

	.macro page_part symbol
	.global	\symbol\()_start
	.type	\symbol\()_start, %object
\symbol\()_start:
	.endm

	.macro page_part_end symbol
	.global	\symbol\()_end
	.type	\symbol\()_end, %object
\symbol\()_end:
	.byte	0
	.endm

	page_part page_head
	.incbin	"user/output/page/head.html"
	page_part_end page_head

	page_part page_search
	.incbin	"user/output/page/search.html"
	page_part_end page_search

	page_part page_floats
	.incbin	"user/output/page/floats.html"
	page_part_end page_floats

	page_part page_tail
	.incbin	"user/output/page/tail.html"
	page_part_end page_tail

	page_part flamegraph_page
	.incbin	"user/output/page/flamegraph.html"
	page_part_end flamegraph_page

	page_part flamegraph_style
	.incbin	"user/output/page/flamegraph.css"
	page_part_end flamegraph_style

	page_part flamegraph_script
	.incbin	"user/output/page/tree.js"
	.incbin	"user/output/page/profile_tree.js"
	.incbin	"user/output/page/waiting.js"
	.incbin	"user/output/page/steps.js"
	.incbin	"user/output/page/view.js"
	.incbin	"user/output/page/profile_view.js"
	.incbin	"user/output/page/search.js"
	.incbin	"user/output/page/table.js"
	.incbin	"user/output/page/sheets.js"
	.incbin	"user/output/page/page.js"
	.incbin	"user/output/page/profile_steps.js"
	.incbin	"user/output/page/profile_page.js"
	page_part_end flamegraph_script

	page_part diff_page
	.incbin	"user/output/page/diff.html"
	page_part_end diff_page

	page_part diff_style
	.incbin	"user/output/page/flamegraph.css"
	.incbin	"user/output/page/diff.css"
	page_part_end diff_style

	page_part diff_script
	.incbin	"user/output/page/tree.js"
	.incbin	"user/output/page/diff_tree.js"
	.incbin	"user/output/page/view.js"
	.incbin	"user/output/page/diff_view.js"
	.incbin	"user/output/page/search.js"
	.incbin	"user/output/page/table.js"
	.incbin	"user/output/page/diff_list.js"
	.incbin	"user/output/page/page.js"
	.incbin	"user/output/page/diff_page.js"
	page_part_end diff_script

	.section .note.GNU-stack, "", %progbits
