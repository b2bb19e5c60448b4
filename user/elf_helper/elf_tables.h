/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_tables.h - answers HELPER_TABLE: a file's unwind table, from the cache or built. */
#ifndef TACHBPF_ELF_TABLES_H
#define TACHBPF_ELF_TABLES_H

#include "elf_helper/elf_opener.h"

/*
 * Fills *facts with what is known of the file, even if there is no table. Returns the table's
 * descriptor, an immutable memfd owned by the caller; -errno of unwind_build(); -ENOEXEC: not an
 * ELF file that we read.
 */
int elf_tables_make(struct elf_opener *o, const struct elf_held *h, struct elf_facts *facts);

#endif
