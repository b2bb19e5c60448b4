// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tls.c - decodes the TLS access in PyGILState_GetThisThreadState().
 *
 * From 3.15 on the bound thread state is the TLS variable _Py_tss_gilstate (CPython v3.15.0,
 * Python/pystate.c), a local symbol that stripping removes; the exported getter stays. x86-64: only
 * the code sequences of the psABI's local-exec, local-dynamic and general-dynamic models (ELF
 * Handling For Thread-Local Storage, 4.4.6 and 5.x) are accepted, and only if the whole function is
 * one of them. arm64: the function is evaluated, and must return a variable at a fixed distance
 * from the thread pointer, or at a distance that a TLS descriptor supplies. All other code gives
 * "unknown" and never a guess.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/abi.h"
#include "cpython/arm64.h"
#include "cpython/tls.h"

struct cursor {
	const uint8_t *p, *end;
	uint64_t vaddr;		/* virtual address of p */
};

/* Skip these bytes if they are next. */
static bool eat_bytes(struct cursor *c, const char *bytes, size_t len)
{
	if ((size_t)(c->end - c->p) < len || memcmp(c->p, bytes, len))
		return false;
	c->p += len;
	c->vaddr += len;
	return true;
}
#define EAT(c, s) eat_bytes(c, s, sizeof(s) - 1)

static bool take_i32(struct cursor *c, int32_t *v)
{
	if (c->end - c->p < 4)
		return false;
	memcpy(v, c->p, 4);
	c->p += 4;
	c->vaddr += 4;
	return true;
}

/* Instructions that may come first: endbr64; push %rbp; mov %rsp,%rbp; sub $8,%rsp; push %rax. */
static void eat_prologue(struct cursor *c)
{
	EAT(c, "\xf3\x0f\x1e\xfa");
	if (EAT(c, "\x55"))
		EAT(c, "\x48\x89\xe5");
	if (!EAT(c, "\x48\x83\xec\x08"))
		EAT(c, "\x50");
}

/* Instructions that restore the stack: add $8,%rsp; pop %rbp; pop %rcx; leave. */
static void eat_restore(struct cursor *c)
{
	EAT(c, "\x48\x83\xc4\x08");
	if (!EAT(c, "\x5d") && !EAT(c, "\x59"))
		EAT(c, "\xc9");
}

static bool eat_return(struct cursor *c)
{
	eat_restore(c);
	return EAT(c, "\xc3");
}

/* Local exec: mov %fs:disp32,%rax */
static int decode_fs(struct cursor c, struct tls_where *w)
{
	int32_t disp;

	eat_prologue(&c);
	if (!EAT(&c, "\x64\x48\x8b\x04\x25") || !take_i32(&c, &disp) || !eat_return(&c))
		return -ENOENT;
	/* Variant II: the executable's TLS block is below the thread pointer. */
	if (disp >= 0)
		return -ENOENT;
	*w = (struct tls_where){ .how = PY_TSTATE_TLS_TP, .off = disp };
	return 0;
}

/* call __tls_get_addr: direct, padded for the general-dynamic model, or through the GOT. */
static bool eat_call(struct cursor *c)
{
	int32_t to;

	if (EAT(c, "\x66\x66\x48\xe8") || EAT(c, "\xe8"))
		return take_i32(c, &to);
	if (EAT(c, "\x66\x48\xff\x15") || EAT(c, "\xff\x15"))
		return take_i32(c, &to);
	return EAT(c, "\x67\xe8") && take_i32(c, &to);
}

/* Dynamic: lea G(%rip),%rdi; call __tls_get_addr; mov disp(%rax),%rax */
static int decode_dtv(struct cursor c, struct tls_where *w)
{
	int32_t got, disp = 0;
	uint64_t index;

	eat_prologue(&c);
	EAT(&c, "\x66");
	if (!EAT(&c, "\x48\x8d\x3d") || !take_i32(&c, &got))
		return -ENOENT;
	index = c.vaddr + (int64_t)got;
	if (!eat_call(&c))
		return -ENOENT;
	eat_restore(&c);
	if (EAT(&c, "\x48\x8b\x40")) {
		if (c.p == c.end)
			return -ENOENT;
		disp = (int8_t)*c.p++;
		c.vaddr++;
	} else if (EAT(&c, "\x48\x8b\x80")) {
		if (!take_i32(&c, &disp))
			return -ENOENT;
	} else if (!EAT(&c, "\x48\x8b\x00")) {
		return -ENOENT;
	}
	if (!eat_return(&c))
		return -ENOENT;
	*w = (struct tls_where){ .how = PY_TSTATE_TLS_DTV, .off = disp, .index_vaddr = index };
	return 0;
}

/* Variant I: the executable's TLS block follows two words at the thread pointer. */
#define ARM64_TCB_BYTES 16

static int decode_arm64(const uint8_t *code, size_t len, uint64_t vaddr, struct tls_where *w)
{
	struct arm64_value v;

	if (arm64_returns(code, len, vaddr, &v))
		return -ENOENT;
	if (v.kind == ARM64_TP_DESC_WORD)
		*w = (struct tls_where){ PY_TSTATE_TLS_DESC, v.off, v.desc };
	else if (v.kind == ARM64_TP_WORD && (int64_t)v.off >= ARM64_TCB_BYTES)
		*w = (struct tls_where){ PY_TSTATE_TLS_TP, v.off, 0 };
	else
		return -ENOENT;
	return 0;
}

int tls_decode(uint16_t elf_machine, const uint8_t *code, size_t len, uint64_t vaddr,
	       struct tls_where *where)
{
	struct cursor c = { code, code + len, vaddr };

	if (elf_machine == EM_AARCH64)
		return decode_arm64(code, len, vaddr, where);
	if (elf_machine != EM_X86_64)
		return -ENOENT;
	if (!decode_fs(c, where))
		return 0;
	return decode_dtv(c, where);
}
