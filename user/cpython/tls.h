/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tls.h - where a thread's PyThreadState is when it is a TLS variable (3.15+).
 */
#ifndef TACHBPF_CPYTHON_TLS_H
#define TACHBPF_CPYTHON_TLS_H

#include <stddef.h>
#include <stdint.h>

struct tls_where {
	uint8_t how;		/* PY_TSTATE_TLS_TP, _DTV */
	int64_t off;		/* FS: from fsbase; DTV: added to the tls_index' offset */
	uint64_t index_vaddr;	/* DTV: &tls_index in the GOT */
};

/* How many bytes of the function tls_decode() may want to see. */
#define TLS_CODE_BYTES 64

/*
 * Decode the machine code of PyGILState_GetThisThreadState() at vaddr: a function
 * that does nothing but return a TLS variable. 0, or -ENOENT for any other code.
 */
int tls_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct tls_where *where);

#endif
