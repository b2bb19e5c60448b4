/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file_opener.h - the opener, a worker (worker_converse()) that opens what processes name, and
 * passes it to the helpers. It parses nothing, but /proc.
 */
#ifndef TACHBPF_FILE_OPENER_H
#define TACHBPF_FILE_OPENER_H

#include <stdint.h>

#include "native/native.h"
#include "native/native_wire.h"

/*
 * Of the worker's shared memory: what it does. About what process it opens a file now, 0: it opens
 * none; step changes with each file. Written without locks, and believed only for blame.
 */
struct file_opener_at {
	uint32_t about, step;
};

/* For the file opener: which mappings with code a process has, as messages. */

/* Sends a message to main; waits if it must. 0 or -errno: main is gone. */
typedef int (*opener_send_fn)(const struct elf_message *m, const void *data);

/*
 * Answer OPENER_MAPS by one or more MAPS; adjacent mappings of a file are one. After
 * NATIVE_MAPPINGS no more are sent: the last message's result is -E2BIG, or -errno of reading them.
 */
int opener_maps(const struct elf_message *asked, const struct elf_place *place,
		opener_send_fn send);

#endif
