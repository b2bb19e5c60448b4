/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor_memory.h - checks of what --mode mem needs beside the rest. For the table of checks. */
#ifndef TACHBPF_DOCTOR_MEMORY_H
#define TACHBPF_DOCTOR_MEMORY_H

struct doctor_check;
struct finding;

/* Can page faults be sampled? */
void doctor_memory_faults(const struct doctor_check *c, struct finding *f);
/* Is it seen which pages are still there, and that another page has taken the place of one? */
void doctor_memory_pages(const struct doctor_check *c, struct finding *f);
/* Is it seen that mremap() moves pages? */
void doctor_memory_moves(const struct doctor_check *c, struct finding *f);
/* How large are the pages that processes get? */
void doctor_memory_huge(const struct doctor_check *c, struct finding *f);
/* Can an allocator be probed, for --allocations? */
void doctor_memory_probes(const struct doctor_check *c, struct finding *f);

#endif
