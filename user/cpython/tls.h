/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tls.h - finds a thread's PyThreadState where it is a TLS variable (3.15+). */
#ifndef TACHBPF_CPYTHON_TLS_H
#define TACHBPF_CPYTHON_TLS_H

#include <stddef.h>
#include <stdint.h>

struct tls_where {
	uint8_t how;		/* PY_TSTATE_TLS_TP, _DTV, _DESC */
	int64_t off;		/* TP: from the thread pointer, in
				 * bytes; else: added to the offset */
	uint64_t index_vaddr;	/* DTV: &tls_index in the GOT; DESC: the descriptor there */
};

/* tls_decode() needs at most this many bytes of the function. */
#define TLS_CODE_BYTES 64

/*
 * Decode the machine code (for elf_machine) of PyGILState_GetThisThreadState(), which is at
 * vaddr: a function that only returns a TLS variable. 0 and *w, or -ENOENT for any other
 * code.
 */
int tls_decode(uint16_t elf_machine, const uint8_t *code, size_t len, uint64_t vaddr,
	       struct tls_where *where);

#endif
