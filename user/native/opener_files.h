/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opener_files.h - for the file opener: opens files that processes have mapped, separate debug
 * files and perf maps. Any of these calls may block forever. All return a descriptor, owned by the
 * caller, of a regular file opened for reading, or -errno.
 */
#ifndef TACHBPF_OPENER_FILES_H
#define TACHBPF_OPENER_FILES_H

#include "elf_helper/elf_wire.h"
#include "host/proc.h"
#include "native/native_wire.h"

/* Returns 0 if the process is still the one of the place, or -ESRCH. start_ns 0: not checked. */
int opener_same_process(const struct elf_place *place);

/*
 * Opens the file by the place's mapping, or by another one that the process has of it: a place may
 * consist of several. -ENOENT or -ESTALE: the process does not have it mapped now.
 */
int opener_mapped(const struct elf_place *place, struct elf_opened *out);

/* Opens the first path of a list, each with its NUL, that is a regular file in our root. */
int opener_paths(const char *paths, size_t bytes, struct opener_found *found,
		 struct elf_opened *out);

/*
 * Searches by build id, then by name next to the file or below /usr/lib/debug; in the root of the
 * process, then in ours. place: NULL: path is in our root; both NULL: unknown. -ENOENT: there is
 * none.
 */
int opener_debug(const struct elf_place *place, const char *path,
		 const struct elf_want_debug *want);

/* Opens /tmp/perf-PID.map in the process's root, owned by the process's user or root. */
int opener_perf_map(const struct elf_place *place, struct elf_opened *out);
#define OPENER_PERF_MAP_MAX (64u << 20)

#endif
