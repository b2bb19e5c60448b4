/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_needs.h - the answer to HELPER_NEEDS: what the dynamic linker loads for a file. */
#ifndef TACHBPF_ELF_NEEDS_H
#define TACHBPF_ELF_NEEDS_H

#include "elf_helper/elf_wire.h"

/*
 * Fills the data of a NEEDS, and sets the head's cnt and bytes: nothing for a file that is no ELF
 * file.
 */
void elf_needs_fill(int fd, struct elf_message *head, uint8_t data[ELF_WIRE_BYTES]);

#endif
