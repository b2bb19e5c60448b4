/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel_types.h - those of the kernel's types that the BPF programs name, as BTF of their own.
 *
 * For each type that a program names, libbpf looks at all types of the kernel: 130,000, and half of
 * the time that loading takes. So they are looked at once, for all names, and libbpf gets what was
 * found: some hundred types.
 */
#ifndef TACHBPF_KERNEL_TYPES_H
#define TACHBPF_KERNEL_TYPES_H

#include "base/util.h"

struct btf;

/*
 * Appends BTF to *out, for libbpf's relocations: the types of the running kernel with a name of one
 * of the programs' types, and what they contain. What they point to is left out. A type whose id
 * programs use keeps its id; all others have new ones. *task_iterator: the kernel's id of the
 * function bpf_iter_task(), which task iterators attach to; 0: it has none. Returns 0, or -errno:
 * libbpf has to look by itself.
 */
int kernel_types_pick_running(const struct btf *programs, struct buf *out,
			      uint32_t *task_iterator);

#endif
