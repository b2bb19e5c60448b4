/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_names.h - answers HELPER_NAMES, HELPER_PERF_NAMES and HELPER_MATCH about a file. */
#ifndef TACHBPF_ELF_NAMES_H
#define TACHBPF_ELF_NAMES_H

#include "elf_helper/elf_opener.h"

/*
 * Answer the question to the socket of the main process. Symbols and lines are read from the file,
 * and from those that the opener finds for it, at the first question that needs them. 0; -EBADMSG:
 * it is no question; other -errno: the answer could not be sent.
 */
int elf_names_answer(int main_fd, struct elf_opener *o, struct elf_held *h,
		     const struct elf_packet *question);
int elf_names_match(int main_fd, struct elf_opener *o, struct elf_held *h,
		    const struct elf_packet *question);

#endif
