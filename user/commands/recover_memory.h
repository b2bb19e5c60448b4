/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recover_memory.h - tachbpf recover of a .mlyze file: of what a killed recording has left of it. */
#ifndef TACHBPF_RECOVER_MEMORY_H
#define TACHBPF_RECOVER_MEMORY_H

#include <stdbool.h>

struct recover_options;

/* Is it a .mlyze file, or one of the two that become one: NAME.events, NAME.names? */
bool recover_memory_is(const char *path);

/* Recover it, or say that there is nothing to recover. 0, or -errno after logging. */
int recover_memory(const char *path, const struct recover_options *opts);

#endif
