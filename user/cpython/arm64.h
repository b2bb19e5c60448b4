/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arm64.h - what a short function of arm64 machine code returns.
 *
 * Compilers order the instructions of the same access in many ways, so the function is
 * evaluated, not compared: registers hold what is known of them, and any instruction
 * that is not among the few that such functions need makes the answer "do not know".
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
	ARM64_TP_WORD,		/* the 8 bytes there                                     */
	ARM64_DESC,		/* what the TLS descriptor at desc resolves to, + off    */
	ARM64_TP_DESC,		/* the sum of both                                       */
	ARM64_TP_DESC_WORD,	/* the 8 bytes there                                     */
};

struct arm64_value {
	enum arm64_kind kind;
	uint64_t off, desc;
};

/*
 * Evaluate the code at vaddr, which must run straight to its ret. 0, or -ENOENT: it does
 * something else, or is longer than len bytes.
 */
int arm64_returns(const uint8_t *code, size_t len, uint64_t vaddr, struct arm64_value *v);

#endif
