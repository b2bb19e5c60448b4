// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_arm64.c - gives the evaluator of arm64 machine code any code. The input is the code.
 */
#include <elf.h>
#include <stdlib.h>

#include "bpf/abi.h"
#include "cpython/arm64.h"
#include "cpython/tls.h"

#define VADDR 0x400000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arm64_value v = { 0 };
	struct tls_where w = { 0 };
	int err = arm64_returns(data, size, VADDR, &v);

	if (err ? v.kind || v.off || v.desc : v.kind < ARM64_UNKNOWN || v.kind > ARM64_TP_DESC_WORD)
		abort();
	if (tls_decode(EM_AARCH64, data, size, VADDR, &w))
		return 0;
	if (err || (w.how != PY_TSTATE_TLS_DESC && (w.how != PY_TSTATE_TLS_TP || w.off < 16)))
		abort();
	return 0;
}
