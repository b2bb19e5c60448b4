// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_functions.c - see elf_functions.h. */
#include "elf/elf_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* File offset of the symbol mapped at vaddr; 0: not in the file's code. */
static uint64_t offset_of_code(const struct elf_file *f, const struct elf_symbol *sym)
{
	unsigned int i;

	if (sym->type != STT_FUNC || !sym->value)
		return 0;
	for (i = 0; i < f->load_cnt; i++) {
		const struct elf_load *l = &f->loads[i];
		uint64_t in = sym->value - l->vaddr;

		if (!l->executable || sym->value < l->vaddr || in >= l->filesz)
			continue;
		return in < UINT64_MAX - l->off && l->off + in < f->size ? l->off + in : 0;
	}
	return 0;
}

static unsigned int find_exported(const struct elf_file *f, const char *const *names,
				  uint64_t *offsets, unsigned int cnt)
{
	unsigned int found = 0, i;
	struct elf_symbol sym;

	for (i = 0; i < cnt; i++) {
		if (!elf_file_dynsym(f, names[i], &sym))
			offsets[i] = offset_of_code(f, &sym);
		found += !!offsets[i];
	}
	return found;
}

/* A statically linked program exports nothing. */
static int find_in_symtab(const struct elf_file *f, const char *const *names, uint64_t *offsets,
			  unsigned int cnt)
{
	struct elf_symbol *syms = calloc(cnt, sizeof(*syms));
	unsigned int found = 0, i;
	int err = syms ? elf_file_symtab(f, names, syms, cnt) : -ENOMEM;

	for (i = 0; !err && i < cnt; i++) {
		offsets[i] = offset_of_code(f, &syms[i]);
		found += !!offsets[i];
	}
	free(syms);
	return err ? err : found ? 0 : -ENOENT;
}

int elf_functions_find(const struct elf_file *f, const char *const *names, uint64_t *offsets,
		       unsigned int cnt)
{
	memset(offsets, 0, cnt * sizeof(*offsets));
	if (find_exported(f, names, offsets, cnt))
		return 0;
	return f->program ? find_in_symtab(f, names, offsets, cnt) : -ENOENT;
}
