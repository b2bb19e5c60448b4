/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_load.h - reads the tables of a file that was passed, when they are needed. */
#ifndef TACHBPF_ELF_LOAD_H
#define TACHBPF_ELF_LOAD_H

#include "elf_helper/elf_opener.h"

/*
 * Each makes one kind of tables, if that was not tried before, from the file and from those that
 * the opener finds for it. What cannot be read is not there: h->symbols, h->lines, h->perf.
 */
void elf_load_symbols(struct elf_opener *o, struct elf_held *h);
void elf_load_lines(struct elf_opener *o, struct elf_held *h);
void elf_load_perf(struct elf_opener *o, struct elf_held *h);

#endif
