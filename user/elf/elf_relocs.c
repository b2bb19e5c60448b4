// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_relocs.c - see elf_relocs.h. */
#include "elf/elf_relocs.h"

#define A_READ 128

void elf_relocs_each(const struct elf_file *f, uint64_t vaddr, uint64_t bytes, uint64_t skip,
		     uint64_t *left, elf_reloc_fn fn, void *ctx)
{
	Elf64_Rela r[A_READ];
	uint64_t cnt = bytes / sizeof(*r), n, i;
	ssize_t got;

	if (!vaddr || skip > cnt)
		return;
	vaddr += skip * sizeof(*r);
	cnt -= skip;
	if (cnt > *left)
		cnt = *left;
	*left -= cnt;
	for (; cnt; cnt -= n, vaddr += n * sizeof(*r)) {
		n = cnt < A_READ ? cnt : A_READ;
		got = elf_file_read_some(f, vaddr, r, n * sizeof(*r));
		if (got < (ssize_t)sizeof(*r))
			return;
		n = (size_t)got / sizeof(*r);
		for (i = 0; i < n; i++)
			if (!fn(ctx, &r[i]))
				return;
	}
}
