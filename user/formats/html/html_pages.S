/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * html_pages.S - the pages that tools/html_page.sh made, as bytes in the
 * program. Found through the assembler's include path (-I).
 */
	.macro page name, file
	.section .rodata.\name\()_text, "a"
.L\name\()_start:
	.incbin "\file"
.L\name\()_end:
	.section .data.rel.ro.\name, "aw"
	.balign 8
	.global \name
	.type \name, %object
\name:
	.dc.a .L\name\()_start
	.dc.a .L\name\()_end
	.size \name, . - \name
	.endm

	page html_flamegraph, user/formats/html/pages/flamegraph.page
	page html_heatmap, user/formats/html/pages/heatmap.page
	page html_gil, user/formats/html/pages/gil.page

	.section .note.GNU-stack, "", %progbits
