/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_memory.h - who has which chunks of the native memory (abi_native.h). Slabs are made when
 * they are needed, and stay: to make one takes the kernel some 20 ms.
 *
 * Knows numbers of chunks only. What is in them is the callers'.
 */
#ifndef TACHBPF_NATIVE_MEMORY_H
#define TACHBPF_NATIVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct native_memory;

/* add_slab: as of struct native_maps. bytes: at most, in whole slabs. NULL with errno. */
struct native_memory *native_memory_new(int (*add_slab)(void *ctx, uint32_t slab), void *ctx,
					size_t bytes);
void native_memory_free(struct native_memory *m);

/*
 * Take cnt consecutive chunks; *chunk: the first. Makes one slab at most. 0; -EAGAIN: ask again,
 * there is more to be made; -ENOSPC: there are none, or those that were given back are not free
 * yet; -EFBIG: there will never be; other -errno of add_slab.
 */
int native_memory_take(struct native_memory *m, uint32_t cnt, uint32_t *chunk);

/*
 * Give chunks back. The BPF side may still read them, and a child that was just forked has its
 * parent's place: they are free for others only NATIVE_GRACE_NS later, when
 * native_memory_settle() is called.
 */
#define NATIVE_GRACE_NS 1000000000ull
void native_memory_give(struct native_memory *m, uint32_t chunk, uint32_t cnt, uint64_t now);
void native_memory_settle(struct native_memory *m, uint64_t now);
/* Are there chunks that were given back and are not free yet? */
int native_memory_unsettled(const struct native_memory *m);

/* Bytes of the chunks that somebody has, or that are not free yet. */
uint64_t native_memory_used(const struct native_memory *m);

#endif
