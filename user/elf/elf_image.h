/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_image.h - the writable data of a file as the dynamic linker leaves it, in words: its pointers
 * are addresses in the file, as if that were loaded at address 0. The file is hostile.
 */
#ifndef TACHBPF_ELF_IMAGE_H
#define TACHBPF_ELF_IMAGE_H

#include "elf/elf.h"

/* Limit of the data; what is beyond it is left out. libtorch_cpu has 8 MiB. */
#define ELF_IMAGE_BYTES_MAX (32u << 20)
/* The value of a word that the linker sets to an address in another file. */
#define ELF_IMAGE_ELSEWHERE UINT64_MAX

struct elf_image_part {
	uint64_t vaddr;		/* of the first word, a multiple of 8 */
	uint64_t *words;
	size_t cnt;
};

struct elf_image {
	struct elf_image_part parts[ELF_MAX_LOADS];
	unsigned int part_cnt;
};

/* Returns 0 or -errno; *out must be freed in either case. */
int elf_image_read(const struct elf_file *f, struct elf_image *out);
void elf_image_free(struct elf_image *image);

/* Returns the words from vaddr on, and their number in *cnt; NULL: there are none. */
const uint64_t *elf_image_at(const struct elf_image *image, uint64_t vaddr, size_t *cnt);

#endif
