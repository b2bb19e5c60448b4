/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_limit.h - the CPU time of a request to the helper, and the priority that it has. */
#ifndef TACHBPF_ELF_LIMIT_H
#define TACHBPF_ELF_LIMIT_H

#include <stdbool.h>

/*
 * Seconds of CPU time for one request; then SIGPROF ends the helper, and its parent starts another
 * one, which must not be sent the same request.
 */
#define ELF_SERVE_SECONDS 60
/*
 * From this CPU time (us) for tables on, the helper runs at nice 10. All of PyTorch's take 250 ms.
 * At nice 10, beside busy processes, they would come seconds later, and stacks end without them.
 */
#define ELF_QUICK_US 500000

/* Around each request. table: it is for a table. */
void elf_limit_begin(bool table);
void elf_limit_end(bool table);

#endif
