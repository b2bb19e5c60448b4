/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* native_places.h - tells the BPF side which processes have which mappings. */
#ifndef TACHBPF_NATIVE_PLACES_H
#define TACHBPF_NATIVE_PLACES_H

#include "native/native_state.h"

/* Lists are written again so often at most. */
#define REWRITE_NS (20 * MS_NS)

/* Write the lists that are not true any more, and say where they are. */
void places_write(struct native *n);

#endif
