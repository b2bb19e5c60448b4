/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kallsyms.h - what the running kernel's functions are called.
 */
#ifndef TACHBPF_KALLSYMS_H
#define TACHBPF_KALLSYMS_H

#include <stdint.h>

struct kallsyms;

/*
 * Read path ("/proc/kallsyms"), some 10 MB, once. NULL with errno; EPERM: its addresses are
 * hidden (kernel.kptr_restrict, or no CAP_SYSLOG). To be freed by kallsyms_free().
 */
struct kallsyms *kallsyms_read(const char *path);
void kallsyms_free(struct kallsyms *k);

/* The function that addr lies in; NULL: none is known. Lives as long as k. */
const char *kallsyms_name(const struct kallsyms *k, uint64_t addr);

#endif
