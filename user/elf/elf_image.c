// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_image.c - see elf_image.h.
 *
 * Compact relative relocations (DT_RELR) need no work: the word itself has the address in the file.
 */
#include "elf/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_relocs.h"

struct relocating {
	const struct elf_file *f;
	struct elf_image *image;
};

static struct elf_image_part *part_at(const struct elf_image *image, uint64_t vaddr)
{
	unsigned int i;

	for (i = 0; i < image->part_cnt; i++) {
		const struct elf_image_part *p = &image->parts[i];

		if (vaddr >= p->vaddr && (vaddr - p->vaddr) / 8 < p->cnt)
			return (struct elf_image_part *)p;
	}
	return NULL;
}

const uint64_t *elf_image_at(const struct elf_image *image, uint64_t vaddr, size_t *cnt)
{
	const struct elf_image_part *p = vaddr % 8 ? NULL : part_at(image, vaddr);

	if (!p)
		return NULL;
	*cnt = p->cnt - (vaddr - p->vaddr) / 8;
	return p->words + (vaddr - p->vaddr) / 8;
}

/* Fills part with the data of a segment, of which at most `most` bytes are read. */
static int read_part(const struct elf_file *f, const struct elf_load *load, uint64_t most,
		     struct elf_image_part *part)
{
	uint64_t pad = -load->vaddr % 8, bytes = load->filesz;
	int err;

	if (bytes < pad + 8)
		return 0;
	bytes = (bytes - pad) & ~7ull;
	if (bytes > most)
		bytes = most & ~7ull;
	if (!bytes || load->off > f->size || bytes + pad > f->size - load->off)
		return 0;
	part->words = malloc(bytes);
	if (!part->words)
		return -ENOMEM;
	part->vaddr = load->vaddr + pad;
	part->cnt = bytes / 8;
	err = elf_file_pread(f, load->off + pad, part->words, bytes);
	if (!err)
		return 0;
	free(part->words);
	part->cnt = 0;
	return err;
}

/* The address of a symbol plus addend, if the file defines it. */
static uint64_t symbol_value(const struct elf_file *f, const Elf64_Rela *r)
{
	Elf64_Sym sym;

	if (elf_file_read(f, f->dyn.symtab + ELF64_R_SYM(r->r_info) * sizeof(sym), &sym,
			  sizeof(sym)) || sym.st_shndx == SHN_UNDEF)
		return ELF_IMAGE_ELSEWHERE;
	return sym.st_value + (uint64_t)r->r_addend;
}

static bool relocate(void *ctx, const Elf64_Rela *r)
{
	const struct relocating *re = ctx;
	size_t cnt;
	uint64_t *word = (uint64_t *)elf_image_at(re->image, r->r_offset, &cnt);

	if (!word)
		return true;
	switch (ELF64_R_TYPE(r->r_info)) {
	case 8:		/* R_X86_64_RELATIVE */
	case 1027:	/* R_AARCH64_RELATIVE */
		*word = (uint64_t)r->r_addend;
		break;
	case 1:		/* R_X86_64_64 */
	case 257:	/* R_AARCH64_ABS64 */
		*word = symbol_value(re->f, r);
		break;
	}
	return true;
}

int elf_image_read(const struct elf_file *f, struct elf_image *out)
{
	struct relocating re = { f, out };
	uint64_t most = ELF_IMAGE_BYTES_MAX, left = ELF_RELOCS_MAX;
	unsigned int i;
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (i = 0; !err && i < f->load_cnt; i++) {
		struct elf_image_part *part = &out->parts[out->part_cnt];

		if (!f->loads[i].writable)
			continue;
		err = read_part(f, &f->loads[i], most, part);
		most -= part->cnt * 8;
		out->part_cnt += part->cnt > 0;
	}
	if (!err)
		elf_relocs_each(f, f->dyn.rela, f->dyn.rela_bytes, 0, &left, relocate, &re);
	return err;
}

void elf_image_free(struct elf_image *image)
{
	unsigned int i;

	for (i = 0; i < image->part_cnt; i++)
		free(image->parts[i].words);
	image->part_cnt = 0;
}
