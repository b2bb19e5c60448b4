/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * skeleton.h - the BPF object that is embedded in the program. Only skeleton.c has its bytes: each
 * file that calls tachbpf_bpf__open() would have a copy.
 */
#ifndef TACHBPF_SKELETON_H
#define TACHBPF_SKELETON_H

struct tachbpf_bpf;

/* As tachbpf_bpf__open(): NULL with errno. Freed by tachbpf_bpf__destroy(). */
struct tachbpf_bpf *skeleton_open(void);

#endif
