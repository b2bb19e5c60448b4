/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_names.h - answers HELPER_NAMES, HELPER_PERF_NAMES and HELPER_MATCH about a file. */
#ifndef TACHBPF_ELF_NAMES_H
#define TACHBPF_ELF_NAMES_H

#include "elf_helper/elf_opener.h"

/*
 * Sends the answer to the main process's socket. Symbols and lines are read from the file, and from
 * those that the opener finds for it, by the first request that needs them. Returns 0; -EBADMSG: it
 * is no request; another -errno: the answer could not be sent.
 */
int elf_names_answer(int main_fd, struct elf_opener *o, struct elf_held *h,
		     const struct elf_packet *question);
int elf_names_match(int main_fd, struct elf_opener *o, struct elf_held *h,
		    const struct elf_packet *question);

#endif
