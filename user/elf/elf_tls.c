// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_tls.c - see elf_tls.h. The file is hostile: tables are limited.
 *
 * A relocation names the variable itself, or only its file (symbol 0): then its addend is the
 * offset of its target, from which the variable has a known distance.
 */
#include "elf/elf_tls.h"

#include <errno.h>
#include <string.h>

#include "elf/elf_relocs.h"

#define PAGE_MASK_4K 4095ull
#define NAME_BYTES_MAX 64
/* The thread control block of arm64 (variant I), which the executable's TLS follows. */
#define ARM64_TCB_BYTES 16

struct search {
	const struct elf_file *f;
	const char *name;
	uint64_t value;		/* the variable's offset in the TLS segment */
	int rank;		/* of the result so far; 0: none */
	struct elf_tls *out;
};

/* R_X86_64_DTPMOD64, TPOFF64, TLSDESC; R_AARCH64_TLS_DTPMOD, TLS_TPREL, TLSDESC */
static bool model_of(uint32_t type, enum elf_tls_model *model)
{
	switch (type) {
	case 16:
	case 1028:
		*model = ELF_TLS_INDEX;
		return true;
	case 18:
	case 1030:
		*model = ELF_TLS_OFFSET;
		return true;
	case 36:
	case 1031:
		*model = ELF_TLS_DESC;
		return true;
	}
	return false;
}

static bool names_it(const struct search *s, uint32_t symbol)
{
	const struct elf_dynamic *d = &s->f->dyn;
	size_t len = strlen(s->name) + 1;
	char buf[NAME_BYTES_MAX];
	Elf64_Sym sym;

	return len <= sizeof(buf) &&
	       !elf_file_read(s->f, d->symtab + symbol * (uint64_t)sizeof(sym), &sym,
			      sizeof(sym)) &&
	       sym.st_name < d->strtab_bytes &&
	       !elf_file_read(s->f, d->strtab + sym.st_name, buf, len) &&
	       !memcmp(buf, s->name, len);
}

/*
 * The best relocation: one that names the variable finds it even if the linker has chosen another
 * file's; a descriptor may be empty until the variable is first used.
 */
static int rank_of(enum elf_tls_model model, bool named)
{
	return (named ? 4 : 0) + (model == ELF_TLS_DESC ? 1 : 2);
}

static bool consider_reloc(void *ctx, const Elf64_Rela *r)
{
	struct search *s = ctx;
	uint32_t symbol = ELF64_R_SYM(r->r_info);
	enum elf_tls_model model;
	int rank;

	if (!model_of(ELF64_R_TYPE(r->r_info), &model) || !r->r_offset)
		return true;
	rank = rank_of(model, symbol);
	if (rank <= s->rank || (symbol && !names_it(s, symbol)))
		return true;
	s->rank = rank;
	s->out->vaddr = r->r_offset;
	s->out->model = model;
	s->out->add = symbol ? -r->r_addend : (int64_t)(s->value - (uint64_t)r->r_addend);
	if (model != ELF_TLS_INDEX)
		return true;
	/* The module's word has no addend; the offset's word may have another variable's. */
	s->out->add = symbol ? 0 : (int64_t)s->value;
	s->out->model = symbol ? ELF_TLS_INDEX : ELF_TLS_MODULE;
	return true;
}

/*
 * The offset of a variable of the executable from the thread pointer: on arm64 its segment follows
 * the thread control block, on x86-64 it ends at the thread pointer.
 */
static int64_t fixed_offset(const struct elf_file *f, uint64_t value)
{
	uint64_t align = f->tls_align ? f->tls_align : 1;

	if (f->machine == EM_AARCH64)
		return (int64_t)((ARM64_TCB_BYTES + align - 1) / align * align + value);
	return (int64_t)(value - (f->tls_memsz + align - 1) / align * align);
}

static uint64_t first_load_of(const struct elf_file *f)
{
	unsigned int i;

	for (i = 0; i < f->load_cnt; i++)
		if (f->loads[i].off <= PAGE_MASK_4K)
			return f->loads[i].vaddr & ~PAGE_MASK_4K;
	return 0;
}

int elf_tls_find(const struct elf_file *f, const char *name, struct elf_tls *out)
{
	struct search s = { .f = f, .name = name, .out = out };
	uint64_t left = ELF_RELOCS_MAX;
	struct elf_symbol sym;
	int err = elf_file_dynsym(f, name, &sym);

	if (err || sym.type != STT_TLS || !f->tls_memsz || sym.value >= f->tls_memsz)
		return err ? err : -ENOENT;
	*out = (struct elf_tls){ .musl = f->dyn.needs_musl, .glibc = f->dyn.needs_glibc,
				 .first_load = first_load_of(f) };
	s.value = sym.value;
	if (f->program) {
		out->model = ELF_TLS_FIXED;
		out->add = fixed_offset(f, sym.value);
		return 0;
	}
	elf_relocs_each(f, f->dyn.rela, f->dyn.rela_bytes, f->dyn.rela_relative, &left,
			consider_reloc, &s);
	elf_relocs_each(f, f->dyn.jmprel, f->dyn.jmprel_bytes, 0, &left, consider_reloc, &s);
	return s.rank ? 0 : -ENOENT;
}
