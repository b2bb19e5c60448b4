/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor_native.h - checks of what --native needs: rows of the table in doctor_checks.c. */
#ifndef TACHBPF_DOCTOR_NATIVE_H
#define TACHBPF_DOCTOR_NATIVE_H

struct doctor_check;
struct finding;

/* Is there an executable tachbpf-elf, and does it run? */
void doctor_native_helper(const struct doctor_check *c, struct finding *f);
/* May the files be opened that processes have mapped? */
void doctor_native_mapped_files(const struct doctor_check *c, struct finding *f);
/* Have the kernel's functions names? */
void doctor_native_kernel(const struct doctor_check *c, struct finding *f);
/* Is there a place for unwind tables on disk? */
void doctor_native_tables(const struct doctor_check *c, struct finding *f);

#endif
