/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file_opener.h - the opener, a worker (worker_converse()) that opens what processes name, and
 * passes it to the helpers. It parses nothing except /proc.
 */
#ifndef TACHBPF_FILE_OPENER_H
#define TACHBPF_FILE_OPENER_H

#include <stdint.h>

#include "native/native.h"
#include "native/native_wire.h"

/*
 * The worker's activity, in its shared memory: the process about which it opens a file now (0:
 * none); step changes with each file. Written without locks, and used only to assign blame.
 */
struct file_opener_at {
	uint32_t about, step;
};

/* For the file opener: the mappings with code of a process, as messages. */

/* Sends a message to main; waits if it must. Returns 0, or -errno if main is gone. */
typedef int (*opener_send_fn)(const struct elf_message *m, const void *data);

/*
 * Answers OPENER_MAPS by one or more MAPS; adjacent mappings of a file are merged. At most
 * NATIVE_MAPPINGS are sent: the last result is -E2BIG if there are more, or -errno of reading.
 */
int opener_maps(const struct elf_message *asked, const struct elf_place *place,
		opener_send_fn send);

#endif
