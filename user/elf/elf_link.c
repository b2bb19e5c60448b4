// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_link.c - see elf_link.h. The file is hostile: every table is limited. */
#include "elf/elf_link.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_relocs.h"

#define MAX_PHDRS 128
#define MAX_DYNS  1024
/* Limit on relocations. A large program that embeds Python: Blender has 20,000. */
#define MAX_RELAS 65536
#define MAX_NOTES 4096	/* bytes */
#define NAME_MAX_BYTES 64

struct dynamic {
	Elf64_Dyn *entries;
	size_t cnt;
};

static int read_phdrs(const struct elf_file *f, Elf64_Phdr *ph, unsigned int *cnt,
		      uint64_t *phoff)
{
	Elf64_Ehdr eh;
	int err = elf_file_pread(f, 0, &eh, sizeof(eh));

	if (err)
		return err;
	if (eh.e_phnum > MAX_PHDRS || eh.e_phentsize != sizeof(*ph))
		return -EBADMSG;
	*cnt = eh.e_phnum;
	*phoff = eh.e_phoff;
	return elf_file_pread(f, eh.e_phoff, ph, *cnt * sizeof(*ph));
}

static int read_dynamic(const struct elf_file *f, struct dynamic *d)
{
	Elf64_Phdr ph[MAX_PHDRS];
	unsigned int cnt, i;
	uint64_t phoff;
	int err = read_phdrs(f, ph, &cnt, &phoff);

	memset(d, 0, sizeof(*d));
	for (i = 0; !err && i < cnt && ph[i].p_type != PT_DYNAMIC; i++)
		;
	if (err || i == cnt)
		return err ? err : -ENOENT;
	d->cnt = ph[i].p_filesz / sizeof(*d->entries);
	if (d->cnt > MAX_DYNS)
		d->cnt = MAX_DYNS;
	d->entries = calloc(d->cnt + 1, sizeof(*d->entries));
	if (!d->entries)
		return -ENOMEM;
	err = elf_file_pread(f, ph[i].p_offset, d->entries, d->cnt * sizeof(*d->entries));
	if (err)
		free(d->entries);
	return err;
}

static uint64_t dynamic_value(const struct dynamic *d, int64_t tag)
{
	size_t i;

	for (i = 0; i < d->cnt && d->entries[i].d_tag != DT_NULL; i++)
		if (d->entries[i].d_tag == tag)
			return d->entries[i].d_un.d_val;
	return 0;
}

/* Copy a string of the dynamic string table, truncated to size. */
static int dynamic_string(const struct elf_file *f, uint64_t off, char *buf, size_t size)
{
	ssize_t n;

	if (off >= f->dyn.strtab_bytes)
		return -ENOENT;
	n = elf_file_read_some(f, f->dyn.strtab + off, buf, size - 1);
	if (n < 0)
		return (int)n;
	buf[n] = '\0';
	return 0;
}

/* ---- slots ---- */

struct slot_search {
	const struct elf_file *exe, *lib;
	uint64_t slot, symbol;
	unsigned int rank;	/* of the best slot so far; 0 is best */
	bool set_at_start;	/* the linker sets this table's slots before main() */
};

/*
 * With lazy binding, a slot is set when its function is first called. Functions that start the
 * interpreter are called before anything that can be sampled.
 */
static unsigned int rank_of(const char *name)
{
	static const char *const starts[] = {
		"Py_BytesMain", "Py_Main", "_Py_UnixMain", "Py_RunMain",
		"Py_InitializeFromConfig", "Py_InitializeEx", "Py_Initialize",
		"PyConfig_InitPythonConfig", "PyConfig_InitIsolatedConfig", "Py_SetProgramName",
	};
	unsigned int i;

	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strcmp(name, starts[i]))
			return i;
	return i;
}

/* R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT; R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT */
static bool is_slot(uint32_t type)
{
	return type == 6 || type == 7 || type == 1025 || type == 1026;
}

static bool consider_slot(void *ctx, const Elf64_Rela *r)
{
	struct slot_search *s = ctx;
	struct elf_symbol found;
	unsigned int rank;
	char name[NAME_MAX_BYTES];
	Elf64_Sym sym;

	if (!is_slot(ELF64_R_TYPE(r->r_info)) || !r->r_offset ||
	    elf_file_read(s->exe, s->exe->dyn.symtab + ELF64_R_SYM(r->r_info) * sizeof(sym), &sym,
			  sizeof(sym)) ||
	    sym.st_shndx != SHN_UNDEF ||
	    dynamic_string(s->exe, sym.st_name, name, sizeof(name)))
		return true;
	rank = rank_of(name);
	/* With lazy binding, the slot of any other function may never be set. */
	if (rank >= s->rank || (!s->set_at_start && rank == rank_of("")))
		return true;
	if (elf_file_dynsym(s->lib, name, &found) || found.type != STT_FUNC || !found.value)
		return true;
	s->slot = r->r_offset;
	s->symbol = found.value;
	s->rank = rank;
	return rank;
}

int elf_link_slot(const struct elf_file *exe, const struct elf_file *lib, uint64_t *slot,
		  uint64_t *symbol)
{
	struct slot_search s = { .exe = exe, .lib = lib, .rank = UINT32_MAX };
	uint64_t left = MAX_RELAS;
	struct dynamic d;
	bool now;
	int err = read_dynamic(exe, &d);

	if (err)
		return err;
	now = dynamic_value(&d, DT_FLAGS) & DF_BIND_NOW ||
	      dynamic_value(&d, DT_FLAGS_1) & DF_1_NOW;
	s.set_at_start = now;
	elf_relocs_each(exe, dynamic_value(&d, DT_JMPREL), dynamic_value(&d, DT_PLTRELSZ), 0,
			&left, consider_slot, &s);
	s.set_at_start = true;
	left = MAX_RELAS;
	if (s.rank)
		elf_relocs_each(exe, dynamic_value(&d, DT_RELA), dynamic_value(&d, DT_RELASZ), 0,
				&left, consider_slot, &s);
	free(d.entries);
	*slot = s.slot;
	*symbol = s.symbol;
	return s.slot ? 0 : -ENOENT;
}

/* ---- identity ---- */

/* Virtual address of the build id's bytes in a segment of notes; 0: there is none. */
static uint64_t find_build_id(const struct elf_file *f, const Elf64_Phdr *ph, size_t len)
{
	uint8_t notes[MAX_NOTES];
	size_t size = ph->p_filesz < sizeof(notes) ? ph->p_filesz : sizeof(notes), at = 0;
	Elf64_Nhdr n;

	if (elf_file_pread(f, ph->p_offset, notes, size))
		return 0;
	while (at + sizeof(n) <= size) {
		size_t name, desc;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		if (n.n_namesz > size || n.n_descsz > size)
			return 0;
		desc = name + ((n.n_namesz + 3) & ~3u);
		if (desc + n.n_descsz > size)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz >= len &&
		    !memcmp(notes + name, "GNU", 4))
			return ph->p_vaddr + desc;
		at = desc + ((n.n_descsz + 3) & ~3u);
	}
	return 0;
}

int elf_link_identity(const struct elf_file *f, uint64_t *vaddr, void *buf, size_t len)
{
	Elf64_Phdr ph[MAX_PHDRS];
	unsigned int cnt, i;
	uint64_t phoff;
	int err = read_phdrs(f, ph, &cnt, &phoff);

	if (err)
		return err;
	for (i = 0, *vaddr = 0; i < cnt && !*vaddr; i++)
		if (ph[i].p_type == PT_NOTE)
			*vaddr = find_build_id(f, &ph[i], len);
	/*
	 * Without a build id: the ELF header has the offset of the section headers, which
	 * depends on all sizes in the file.
	 */
	for (i = 0; i < cnt && !*vaddr; i++)
		if (ph[i].p_type == PT_LOAD && !ph[i].p_offset)
			*vaddr = ph[i].p_vaddr + offsetof(Elf64_Ehdr, e_shoff);
	return *vaddr ? elf_file_read(f, *vaddr, buf, len) : -ENOENT;
}

int elf_link_phdrs(const struct elf_file *f, uint64_t *vaddr)
{
	Elf64_Phdr ph[MAX_PHDRS];
	unsigned int cnt, i;
	uint64_t phoff;
	int err = read_phdrs(f, ph, &cnt, &phoff);

	if (err)
		return err;
	for (i = 0; i < cnt; i++)
		if (ph[i].p_type == PT_PHDR) {
			*vaddr = ph[i].p_vaddr;
			return 0;
		}
	for (i = 0; i < cnt; i++)
		if (ph[i].p_type == PT_LOAD && phoff >= ph[i].p_offset &&
		    phoff - ph[i].p_offset < ph[i].p_filesz) {
			*vaddr = ph[i].p_vaddr + (phoff - ph[i].p_offset);
			return 0;
		}
	return -ENOENT;
}

/* ---- libraries ---- */

int elf_link_interpreter(const struct elf_file *f, char *path, size_t size)
{
	Elf64_Phdr ph[MAX_PHDRS];
	unsigned int cnt, i;
	uint64_t phoff;
	int err = read_phdrs(f, ph, &cnt, &phoff);
	size_t len;

	for (i = 0; !err && i < cnt && ph[i].p_type != PT_INTERP; i++)
		continue;
	if (err || i == cnt || ph[i].p_filesz < 2)
		return err ? err : -ENOENT;
	len = ph[i].p_filesz < size ? ph[i].p_filesz : size;
	err = elf_file_pread(f, ph[i].p_offset, path, len);
	path[err ? 0 : len - 1] = '\0';
	return err;
}

int elf_link_libraries(const struct elf_file *f, int (*cb)(void *ctx, const char *name), void *ctx)
{
	char name[256];
	struct dynamic d;
	size_t i;
	int err = read_dynamic(f, &d);

	if (err)
		return err;
	for (i = 0; !err && i < d.cnt && d.entries[i].d_tag != DT_NULL; i++)
		if (d.entries[i].d_tag == DT_NEEDED &&
		    !dynamic_string(f, d.entries[i].d_un.d_val, name, sizeof(name)) &&
		    !strchr(name, '/'))
			err = cb(ctx, name);
	free(d.entries);
	return err;
}

struct with_prefix {
	const char *prefix;
	char *name;
	size_t size;
};

static int take_if_wanted(void *ctx, const char *name)
{
	struct with_prefix *w = ctx;

	if (strncmp(name, w->prefix, strlen(w->prefix)))
		return 0;
	snprintf(w->name, w->size, "%s", name);
	return 1;
}

int elf_link_needed(const struct elf_file *f, const char *prefix, char *name, size_t size)
{
	struct with_prefix w = { prefix, name, size };
	int err = elf_link_libraries(f, take_if_wanted, &w);

	return err == 1 ? 0 : err ? err : -ENOENT;
}

void elf_link_runpath(const struct elf_file *f, char *path, size_t size)
{
	struct dynamic d;
	uint64_t off;

	path[0] = '\0';
	if (read_dynamic(f, &d))
		return;
	off = dynamic_value(&d, DT_RUNPATH);
	if (!off)
		off = dynamic_value(&d, DT_RPATH);
	if (off && dynamic_string(f, off, path, size))
		path[0] = '\0';
	free(d.entries);
}
