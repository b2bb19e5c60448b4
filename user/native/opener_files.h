/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opener_files.h - for the file opener: opens what processes have mapped, separate debug files and
 * perf maps. Each of them may wait for ever. All return a descriptor, the caller's, of a regular
 * file that was opened for reading, or -errno.
 */
#ifndef TACHBPF_OPENER_FILES_H
#define TACHBPF_OPENER_FILES_H

#include "elf_helper/elf_wire.h"
#include "host/proc.h"

/* Is the process still the one that the place is of? -ESRCH: no. start_ns 0: it is not checked. */
int opener_same_process(const struct elf_place *place);

/* -ESTALE: the mapping is of another file now, or of none. */
int opener_mapped(const struct elf_place *place, struct elf_opened *out);

/*
 * By build id, then by name beside the file or below /usr/lib/debug; in the root of the process,
 * then in ours. -ENOENT: there is none.
 */
int opener_debug(const struct elf_place *place, const struct elf_want_debug *want);

/* /tmp/perf-PID.map in the root of the process, whose user must own it, or root. */
int opener_perf_map(const struct elf_place *place, struct elf_opened *out);
#define OPENER_PERF_MAP_MAX (64u << 20)

#endif
