/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_memory.h - which chunks of the native memory (abi_native.h) are in use. Slabs are created
 * on demand, and are kept: the kernel takes some 20 ms to create one.
 *
 * Knows only the numbers of chunks; their contents belong to the callers.
 */
#ifndef TACHBPF_NATIVE_MEMORY_H
#define TACHBPF_NATIVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct native_memory;

/* add_slab: see struct native_maps. bytes: limit, in whole slabs. Returns NULL with errno. */
struct native_memory *native_memory_new(int (*add_slab)(void *ctx, uint32_t slab), void *ctx,
					size_t bytes);
void native_memory_free(struct native_memory *m);

/*
 * Takes cnt consecutive chunks; *chunk: the first. Creates at most one slab. Returns 0; -EAGAIN:
 * call again, more slabs must be created; -ENOSPC: none are left, or those given back are not free
 * yet; -EFBIG: there will never be enough; another -errno of add_slab.
 */
int native_memory_take(struct native_memory *m, uint32_t cnt, uint32_t *chunk);

/*
 * Gives chunks back. The BPF side may still read them, and a child that was just forked has its
 * parent's place: they become free only after NATIVE_GRACE_NS, by native_memory_settle().
 */
#define NATIVE_GRACE_NS 1000000000ull
void native_memory_give(struct native_memory *m, uint32_t chunk, uint32_t cnt, uint64_t now);
void native_memory_settle(struct native_memory *m, uint64_t now);
/* Returns true if chunks were given back that are not free yet. */
int native_memory_unsettled(const struct native_memory *m);

/* Returns the bytes of the chunks that are in use, or not free yet. */
uint64_t native_memory_used(const struct native_memory *m);

#endif
