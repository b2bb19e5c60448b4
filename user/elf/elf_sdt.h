/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_sdt.h - finds the USDT probes of a file: its SystemTap notes, which <sys/sdt.h> creates
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */
#ifndef TACHBPF_ELF_SDT_H
#define TACHBPF_ELF_SDT_H

#include "elf/elf.h"

/* Limit on places of one probe: an inlined function has as many as callers. */
#define ELF_SDT_PLACES_MAX 128

struct elf_sdt_place {
	uint64_t offset;	/* in the file, of the probe's instruction */
	uint64_t semaphore;	/* in the file, of the counter that enables the probe; 0: none */
};

/*
 * Find the probe provider:name. 0 and *cnt places; -ENOENT: the file has no such probe; -E2BIG: it
 * has more than ELF_SDT_PLACES_MAX places, or notes of more than 8 MiB; other -errno. Damaged notes
 * are skipped.
 */
int elf_sdt_find(const struct elf_file *f, const char *provider, const char *name,
		 struct elf_sdt_place places[ELF_SDT_PLACES_MAX], uint32_t *cnt);

#endif
