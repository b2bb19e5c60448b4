/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor_memory.h - checks for --mode mem in addition to the others. For the table of checks. */
#ifndef TACHBPF_DOCTOR_MEMORY_H
#define TACHBPF_DOCTOR_MEMORY_H

struct doctor_check;
struct finding;

/* Checks that page faults can be sampled. */
void doctor_memory_faults(const struct doctor_check *c, struct finding *f);
/* Checks that pages that still exist can be seen, and that one has been replaced by another. */
void doctor_memory_pages(const struct doctor_check *c, struct finding *f);
/* Checks that pages moved by mremap() can be tracked. */
void doctor_memory_moves(const struct doctor_check *c, struct finding *f);
/* Reports the size of the pages that processes get. */
void doctor_memory_huge(const struct doctor_check *c, struct finding *f);
/* Checks that an allocator can be probed, for --allocations. */
void doctor_memory_probes(const struct doctor_check *c, struct finding *f);

#endif
