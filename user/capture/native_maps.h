/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_maps.h - the BPF side's maps for machine code (bpf/abi_native.h), which the room native
 * writes: struct native_maps (native/native.h).
 */
#ifndef TACHBPF_NATIVE_MAPS_H
#define TACHBPF_NATIVE_MAPS_H

#include <stdint.h>

#include "bpf/abi_native.h"
#include "native/native.h"

struct lifecycle;

/* Zero-initialise; then set the descriptors, which stay the caller's, and life. Must not move. */
struct map_set {
	int memory, tables, places;	/* native_memory, unwind_tables, native_places */
	struct lifecycle *life;		/* knows which processes may have a place */
	uint32_t slab_cnt;
	int slabs[NATIVE_SLABS];	/* the first slab_cnt exist */
};

/* The functions that write to these maps. */
struct native_maps native_maps_of(struct map_set *set);
/* Returns where the process' mappings are; its cnt and stamp are 0 if that is not known yet. */
struct native_place native_maps_place(const struct map_set *set, uint32_t tgid);
/* Closes the slabs. The kernel keeps those that are in native_memory. */
void native_maps_close(struct map_set *set);

#endif
