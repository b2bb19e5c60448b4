/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * skeleton.h - the BPF object that is embedded in the program, and where the kernel has mapped all
 * memory, so that its programs can read a process directly (bpf/direct.bpf.h). Only skeleton.c has
 * the object's bytes: each file that calls tachbpf_bpf__open() would have a copy.
 */
#ifndef TACHBPF_SKELETON_H
#define TACHBPF_SKELETON_H

#include <stdbool.h>

struct tachbpf_bpf;

/*
 * As tachbpf_bpf__open(): NULL with errno on failure. Free it by tachbpf_bpf__destroy(). Open the
 * next one only after this one was loaded or freed.
 */
struct tachbpf_bpf *skeleton_open(void);

/*
 * The same for a capture that only scans: it has only the program that lists threads, and fewer
 * maps. Members for the others are NULL.
 */
struct tachbpf_bpf *skeleton_open_scan(void);

/*
 * Leaves out what a capture that only scans does not need, and has hash maps take memory only for
 * what is in them. Call it when everything else is set.
 */
void skeleton_keep_scan(struct tachbpf_bpf *skel);

/* As tachbpf_bpf__load(). Returns 0 or -errno. */
int skeleton_load(struct tachbpf_bpf *skel);

/*
 * Searches for the direct map: 2 us for each GiB of memory, at most 25 ms. skel: its programs are
 * loaded. Returns false if it was not found: an old kernel, another architecture, more than 4 TiB,
 * or something unusual (a Xen guest without page tables of its own). Then everything works, but
 * each read takes longer. Call it once: it unloads the program that it runs.
 */
bool direct_map_find(struct tachbpf_bpf *skel);

#endif
