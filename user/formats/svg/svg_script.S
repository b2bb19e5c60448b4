/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* svg_script.S - svg_script.js, without what it does not need, in the program. Found through the assembler's -I. */
	.section .rodata.svg_script, "a"
	.global svg_script
	.type svg_script, %object
svg_script:
	.incbin "user/formats/svg/svg_script.text"
	.byte 0
	.size svg_script, . - svg_script

	.section .note.GNU-stack, "", %progbits
