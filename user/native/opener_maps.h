/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opener_maps.h - for the file opener: the mappings with code of a process, as messages.
 *
 * The pieces of a file's mapping (mprotect(2), mlock(2) and madvise(2) divide it) are one mapping
 * again, except that code which the process has changed is separate, with OPENER_CHANGED:
 *
 * - Pages of a private mapping that were written: hooks at the beginning of functions. Only pieces
 *   and writable mappings are searched for them, since a process must make code writable first.
 * - Memory without a file in the place of a part of the file: a copy, as programs make that move
 *   their code to huge pages. It counts as the part of the file that it replaces.
 */
#ifndef TACHBPF_OPENER_MAPS_H
#define TACHBPF_OPENER_MAPS_H

#include "elf_helper/elf_wire.h"

/* Sends a message to main; waits if it must. Returns 0, or -errno if main is gone. */
typedef int (*opener_send_fn)(const struct elf_message *m, const void *data);

/*
 * Answers OPENER_MAPS by one or more MAPS. At most NATIVE_MAPPINGS are sent: the last result is
 * -E2BIG if there are more, or -errno of reading.
 */
int opener_maps(const struct elf_message *asked, const struct elf_place *place,
		opener_send_fn send);

#endif
