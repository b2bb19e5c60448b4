/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* opener_maps.h - for the file opener: which mappings with code a process has, as messages. */
#ifndef TACHBPF_OPENER_MAPS_H
#define TACHBPF_OPENER_MAPS_H

#include "native/native_wire.h"

/* Sends a message to main; waits if it must. 0 or -errno: main is gone. */
typedef int (*opener_send_fn)(const struct elf_message *m, const void *data);

/*
 * Answer OPENER_MAPS by one or more MAPS; adjacent mappings of a file are one. After
 * NATIVE_MAPPINGS no more are sent: the last message's result is -E2BIG, or -errno of reading them.
 */
int opener_maps(const struct elf_message *asked, const struct elf_place *place,
		opener_send_fn send);

#endif
