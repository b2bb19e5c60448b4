/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor_native.h - checks for --native: rows of the table in doctor_checks.c. */
#ifndef TACHBPF_DOCTOR_NATIVE_H
#define TACHBPF_DOCTOR_NATIVE_H

struct doctor_check;
struct finding;

/* Checks that there is an executable tachbpf-elf, and that it runs. */
void doctor_native_helper(const struct doctor_check *c, struct finding *f);
/* Checks that the files that processes have mapped can be opened. */
void doctor_native_mapped_files(const struct doctor_check *c, struct finding *f);
/* Checks that the names of the kernel's functions are known. */
void doctor_native_kernel(const struct doctor_check *c, struct finding *f);
/* Checks that there is a directory for unwind tables. */
void doctor_native_tables(const struct doctor_check *c, struct finding *f);

#endif
