/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * direct_map.h - finds where the kernel has mapped all memory, so that the BPF programs can read a
 * process directly: bpf/direct.bpf.h.
 */
#ifndef TACHBPF_DIRECT_MAP_H
#define TACHBPF_DIRECT_MAP_H

#include <stdbool.h>

struct tachbpf_bpf;

/*
 * Search for the direct map: 2 us for each GiB of memory, 25 ms at most. skel: its programs are
 * loaded. Returns false if it was not found: an old kernel, another architecture, more than 4 TiB,
 * or something unusual (a guest of Xen that has no page tables of its own). Then everything works,
 * and each read takes longer. To be called once: it unloads the program that it runs.
 */
bool direct_map_find(struct tachbpf_bpf *skel);

#endif
