/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_sdt.h - where the USDT probes of a file are: its SystemTap notes, which <sys/sdt.h> makes
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */
#ifndef TACHBPF_ELF_SDT_H
#define TACHBPF_ELF_SDT_H

#include "elf/elf.h"

/* Places of one probe: a function that is inlined has as many as callers. */
#define ELF_SDT_PLACES_MAX 128

struct elf_sdt_place {
	uint64_t offset;	/* in the file, of the instruction that stands there for the probe */
	uint64_t semaphore;	/* in the file, of the counter that switches the probe on; 0: none */
};

/*
 * Find the probe provider:name. 0 and *cnt places; -ENOENT: the file has no such probe; -E2BIG: it
 * has more than ELF_SDT_PLACES_MAX places, or notes of more than 8 MiB; other -errno. What is broken
 * in the notes is left out.
 */
int elf_sdt_find(const struct elf_file *f, const char *provider, const char *name,
		 struct elf_sdt_place places[ELF_SDT_PLACES_MAX], uint32_t *cnt);

#endif
