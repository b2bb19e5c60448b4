/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arm64.h - determines what a short function of arm64 machine code returns.
 *
 * Compilers order the instructions for the same access in many ways. So the function is evaluated,
 * not compared: for each register, what is known of its value is tracked. An instruction that such
 * functions do not need makes the result "unknown".
 */
#ifndef TACHBPF_CPYTHON_ARM64_H
#define TACHBPF_CPYTHON_ARM64_H

#include <stddef.h>
#include <stdint.h>

enum arm64_kind {
	ARM64_UNKNOWN,
	ARM64_NUMBER,		/* off                                                   */
	ARM64_WORD,		/* the 8 bytes at address off                            */
	ARM64_TP,		/* thread pointer + off                                  */
	ARM64_TP_WORD,		/* the 8 bytes at that address                           */
	ARM64_DESC,		/* what the TLS descriptor at desc resolves to, + off    */
	ARM64_TP_DESC,		/* thread pointer + what the TLS descriptor resolves to + off */
	ARM64_TP_DESC_WORD,	/* the 8 bytes at that address                           */
};

struct arm64_value {
	enum arm64_kind kind;
	uint64_t off, desc;
};

/*
 * Evaluate the code at vaddr, which must reach its ret without a branch. len: bytes of code. 0 and
 * *v, or -ENOENT: it contains other instructions, or is longer than len.
 */
int arm64_returns(const uint8_t *code, size_t len, uint64_t vaddr, struct arm64_value *v);

#endif
