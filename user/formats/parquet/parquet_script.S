/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parquet_script.S - parquet_script.py in the program. Found through the assembler's -I. */
	.section .rodata.parquet_script, "a"
	.global parquet_script
	.type parquet_script, %object
parquet_script:
	.incbin "user/formats/parquet/parquet_script.py"
	.byte 0
	.size parquet_script, . - parquet_script

	.section .note.GNU-stack, "", %progbits
