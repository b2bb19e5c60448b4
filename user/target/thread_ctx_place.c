// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* thread_ctx_place.c - see thread_ctx_place.h. */
#include "target/thread_ctx_place.h"

#include <errno.h>

#include "host/proc.h"
#include "memory/remote_mem.h"
#include "target/inspector.h"

/* A process has as many modules as libraries with TLS. The BPF side reads dtv[module]. */
#define MODULE_MAX 4096
/*
 * No program has this much initial TLS, and no heap begins this low: this distinguishes a
 * descriptor's offset from an address.
 */
#define FIXED_MAX (1 << 20)

static int read_words(const struct target_mem *mem, uint64_t addr, uint64_t words[2], size_t cnt)
{
	return mem->read(mem->ctx, addr, words, cnt * sizeof(words[0]));
}

/* Number of words of a model that are read. */
static size_t word_cnt(enum elf_tls_model model)
{
	return model == ELF_TLS_INDEX || model == ELF_TLS_DESC ? 2 : model != ELF_TLS_FIXED;
}

static bool is_fixed(int64_t off)
{
	return off > -FIXED_MAX && off < FIXED_MAX;
}

static int place_fixed(int64_t off, struct thread_ctx_place *out)
{
	if (!off || !is_fixed(off))
		return -EAGAIN;
	*out = (struct thread_ctx_place){ .how = THREAD_CTX_TP, .off = off };
	return 0;
}

static int place_in_module(const struct inspected_tls *in, uint64_t module, uint64_t off,
			   struct thread_ctx_place *out)
{
	if (!module || module > MODULE_MAX || !is_fixed((int64_t)off))
		return -EAGAIN;
	*out = (struct thread_ctx_place){
		.how = in->musl ? THREAD_CTX_DTV_MUSL : THREAD_CTX_DTV,
		.module = (uint16_t)module, .off = (int64_t)off,
	};
	return 0;
}

/* The second half: from a file's entry and the process' memory. 0, -EAGAIN or mem's -errno. */
static int thread_ctx_place(const struct inspected_tls *in, const struct target_mem *mem,
			    struct thread_ctx_place *out)
{
	uint64_t words[2] = { 0 }, at = in->bias + in->tls.vaddr, add = (uint64_t)in->tls.add;
	size_t cnt = word_cnt(in->tls.model);
	int err = cnt ? read_words(mem, at, words, cnt) : 0;

	if (err)
		return err;
	switch (in->tls.model) {
	case ELF_TLS_FIXED:
		return place_fixed((int64_t)add, out);
	case ELF_TLS_OFFSET:
		return words[0] ? place_fixed((int64_t)(words[0] + add), out) : -EAGAIN;
	case ELF_TLS_INDEX:
		return place_in_module(in, words[0], words[1] + add, out);
	case ELF_TLS_MODULE:
		return place_in_module(in, words[0], add, out);
	case ELF_TLS_DESC:
		if (!words[0])
			return -EAGAIN;
		if (is_fixed((int64_t)words[1]))
			return place_fixed((int64_t)(words[1] + add), out);
		err = read_words(mem, words[1], words, 2);
		return err ? err : place_in_module(in, words[0], words[1] + add, out);
	}
	return -EAGAIN;
}

int thread_ctx_find(pid_t tgid, struct thread_ctx_place *out)
{
	const struct target_mem mem = { remote_mem_read, (void *)(intptr_t)tgid };
	struct inspected_tls found;
	int err = inspector_thread_ctx(tgid, &found);

	return err ? err : thread_ctx_place(&found, &mem, out);
}
