/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kallsyms.h - the names of the running kernel's functions. */
#ifndef TACHBPF_KALLSYMS_H
#define TACHBPF_KALLSYMS_H

#include <stdint.h>

struct kallsyms;

/*
 * Read path ("/proc/kallsyms", about 10 MB) once. NULL with errno; EPERM: the addresses are hidden
 * (kernel.kptr_restrict, or no CAP_SYSLOG). Freed by kallsyms_free().
 */
struct kallsyms *kallsyms_read(const char *path);
void kallsyms_free(struct kallsyms *k);

/* Name of the function that contains addr; NULL: unknown. Valid until kallsyms_free(). */
const char *kallsyms_name(const struct kallsyms *k, uint64_t addr);

#endif
