// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf.c - the bounded reader of ELF files.
 *
 * It does not use libelf: elf_begin() allocates by the section count in the file before any limit
 * of ours applies, and its fast mode maps the file, so that the file's owner could kill us with
 * SIGBUS by truncating it. Structures: System V gABI, chapters 4 and 5; DT_GNU_HASH: binutils
 * bfd/elflink.c.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf.h"

/* Limits on what is read from a file. Chrome has 40 sections, GHC's output 200. */
#define MAX_PHDRS     128
#define MAX_SHDRS     16384
#define MAX_SHSTRTAB  (1u << 20)
#define MAX_DYNS      1024
#define MAX_HASH_WALK 256
#define MAX_SYMTAB    (32u << 20)
#define MAX_STRTAB    (64u << 20)

int elf_file_pread(const struct elf_file *f, uint64_t off, void *buf, size_t len)
{
	uint8_t *p = buf;

	if (off > f->size || len > f->size - off)
		return -ENODATA;
	while (len) {
		ssize_t n = pread(f->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

ssize_t elf_file_read_some(const struct elf_file *f, uint64_t vaddr, void *buf, size_t len)
{
	unsigned int i;
	int err;

	for (i = 0; i < f->load_cnt; i++) {
		const struct elf_load *l = &f->loads[i];
		uint64_t skip = vaddr - l->vaddr;

		if (vaddr < l->vaddr || skip >= l->filesz)
			continue;
		if (len > l->filesz - skip)
			len = l->filesz - skip;
		if (l->off > UINT64_MAX - skip)
			return -EFAULT;
		err = elf_file_pread(f, l->off + skip, buf, len);
		return err ? err : (ssize_t)len;
	}
	return -EFAULT;
}

int elf_file_read(const struct elf_file *f, uint64_t vaddr, void *buf, size_t len)
{
	ssize_t n = elf_file_read_some(f, vaddr, buf, len);

	if (n < 0)
		return n;
	return (size_t)n == len ? 0 : -EFAULT;
}

/* Returns true if name is the string at offset off of the string table. */
static bool name_is(const struct elf_file *f, uint64_t off, const char *name)
{
	size_t len = strlen(name) + 1;
	char buf[160];

	if (len > sizeof(buf) || off >= f->dyn.strtab_bytes || len > f->dyn.strtab_bytes - off)
		return false;
	if (elf_file_read(f, f->dyn.strtab + off, buf, len))
		return false;
	return !memcmp(buf, name, len);
}

static void read_needed(struct elf_file *f, const Elf64_Dyn *dyns, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && dyns[i].d_tag != DT_NULL; i++) {
		if (dyns[i].d_tag != DT_NEEDED)
			continue;
		if (name_is(f, dyns[i].d_un.d_val, "libc.so.6"))
			f->dyn.needs_glibc = true;
		else if (name_is(f, dyns[i].d_un.d_val, "libc.so") ||
			 name_is(f, dyns[i].d_un.d_val, "libc.musl-x86_64.so.1") ||
			 name_is(f, dyns[i].d_un.d_val, "libc.musl-aarch64.so.1"))
			f->dyn.needs_musl = true;
	}
}

static void read_dynamic(struct elf_file *f, const Elf64_Phdr *ph)
{
	size_t cnt = ph->p_filesz / sizeof(Elf64_Dyn), i;
	Elf64_Dyn *dyns;

	if (cnt > MAX_DYNS)
		cnt = MAX_DYNS;
	dyns = calloc(cnt + 1, sizeof(*dyns));
	if (!dyns)
		return;
	if (elf_file_pread(f, ph->p_offset, dyns, cnt * sizeof(*dyns)))
		goto out;
	for (i = 0; i < cnt && dyns[i].d_tag != DT_NULL; i++) {
		uint64_t v = dyns[i].d_un.d_val;

		switch (dyns[i].d_tag) {
		case DT_SYMTAB:
			f->dyn.symtab = v;
			break;
		case DT_STRTAB:
			f->dyn.strtab = v;
			break;
		case DT_STRSZ:
			f->dyn.strtab_bytes = v;
			break;
		case DT_GNU_HASH:
			f->dyn.gnu_hash = v;
			break;
		case DT_HASH:
			f->dyn.sysv_hash = v;
			break;
		case DT_RELA:
			f->dyn.rela = v;
			break;
		case DT_RELASZ:
			f->dyn.rela_bytes = v;
			break;
		case DT_RELACOUNT:
			f->dyn.rela_relative = v;
			break;
		case DT_JMPREL:
			f->dyn.jmprel = v;
			break;
		case DT_PLTRELSZ:
			f->dyn.jmprel_bytes = v;
			break;
		case DT_FLAGS_1:
			f->program |= !!(v & DF_1_PIE);
			break;
		case DT_SONAME:
			f->dyn.soname = v;
			f->dyn.has_soname = true;
			break;
		}
	}
	read_needed(f, dyns, cnt);
out:
	free(dyns);
}

static int read_phdrs(struct elf_file *f, const Elf64_Ehdr *eh)
{
	Elf64_Phdr ph[MAX_PHDRS];
	unsigned int cnt = eh->e_phnum, i;
	const Elf64_Phdr *dynamic = NULL;
	int err;

	if (!cnt || cnt > MAX_PHDRS || eh->e_phentsize != sizeof(*ph))
		return -ENOENT;
	err = elf_file_pread(f, eh->e_phoff, ph, cnt * sizeof(*ph));
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	for (i = 0; i < cnt; i++) {
		if (ph[i].p_type == PT_LOAD && f->load_cnt < ELF_MAX_LOADS)
			f->loads[f->load_cnt++] = (struct elf_load){
				.vaddr = ph[i].p_vaddr, .off = ph[i].p_offset,
				.filesz = ph[i].p_filesz, .memsz = ph[i].p_memsz,
				.writable = ph[i].p_flags & PF_W,
				.executable = ph[i].p_flags & PF_X,
			};
		else if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
		else if (ph[i].p_type == PT_INTERP)
			f->program = true;
		else if (ph[i].p_type == PT_GNU_EH_FRAME)
			f->eh_frame_hdr = ph[i].p_vaddr;
		else if (ph[i].p_type == PT_TLS) {
			f->tls_align = ph[i].p_align;
			f->tls_memsz = ph[i].p_memsz;
		}
	}
	if (dynamic)
		read_dynamic(f, dynamic);
	return f->load_cnt ? 0 : -ENOENT;
}

const char *elf_machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "arm64";
	}
	return "another machine type";
}

int elf_file_open(struct elf_file *f, int fd)
{
	struct stat st;
	Elf64_Ehdr eh;
	int err;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	f->size = st.st_size;
	err = elf_file_pread(f, 0, &eh, sizeof(eh));
	if (err)
		return err == -ENODATA ? -ENOENT : err;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return -ENOENT;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return -ENOENT;
	f->machine = eh.e_machine;
	f->program = eh.e_type == ET_EXEC;
	if (eh.e_shentsize == sizeof(Elf64_Shdr) && eh.e_shnum <= MAX_SHDRS &&
	    eh.e_shstrndx < eh.e_shnum) {
		f->shoff = eh.e_shoff;
		f->shnum = eh.e_shnum;
		f->shstrndx = eh.e_shstrndx;
	}
	return read_phdrs(f, &eh);
}

int elf_file_section(const struct elf_file *f, const char *name, struct elf_range *r)
{
	size_t want = strlen(name) + 1;
	Elf64_Shdr *sh = NULL;
	char *names = NULL;
	uint64_t names_len;
	int err = -ENOENT;
	uint32_t i;

	if (!f->shnum)
		return -ENOENT;
	sh = calloc(f->shnum, sizeof(*sh));
	if (!sh)
		return -ENOMEM;
	if (elf_file_pread(f, f->shoff, sh, f->shnum * sizeof(*sh)))
		goto out;
	names_len = sh[f->shstrndx].sh_size;
	if (!names_len || names_len > MAX_SHSTRTAB || names_len > f->size)
		goto out;
	names = malloc(names_len);
	if (!names || elf_file_pread(f, sh[f->shstrndx].sh_offset, names, names_len))
		goto out;
	for (i = 0; i < f->shnum; i++) {
		if (sh[i].sh_name >= names_len || want > names_len - sh[i].sh_name ||
		    memcmp(names + sh[i].sh_name, name, want))
			continue;
		*r = (struct elf_range){
			.vaddr = sh[i].sh_addr, .off = sh[i].sh_offset,
			.size = sh[i].sh_type == SHT_NOBITS ? 0 : sh[i].sh_size,
			.link = sh[i].sh_link, .flags = sh[i].sh_flags,
		};
		err = 0;
		break;
	}
out:
	free(names);
	free(sh);
	return err;
}

/* Returns true if symbol number i defines name, and fills *sym. */
static bool dynsym_is(const struct elf_file *f, uint32_t i, const char *name,
		      struct elf_symbol *sym)
{
	Elf64_Sym s;

	if (elf_file_read(f, f->dyn.symtab + i * sizeof(s), &s, sizeof(s)))
		return false;
	if (s.st_shndx == SHN_UNDEF || !name_is(f, s.st_name, name))
		return false;
	*sym = (struct elf_symbol){ s.st_value, s.st_size, ELF64_ST_TYPE(s.st_info) };
	return true;
}

static int gnu_lookup(const struct elf_file *f, const char *name, struct elf_symbol *sym)
{
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
	} h;
	uint64_t at = f->dyn.gnu_hash, bloom;
	uint32_t hash = 5381, i, n, link;
	const char *p;

	for (p = name; *p; p++)
		hash = hash * 33 + (uint8_t)*p;
	if (elf_file_read(f, at, &h, sizeof(h)) || !h.buckets || !h.bloom_words)
		return -ENOENT;
	at += sizeof(h);
	if (elf_file_read(f, at + (hash / 64 % h.bloom_words) * 8ULL, &bloom, sizeof(bloom)))
		return -ENOENT;
	if (!(bloom >> (hash % 64) & 1) || !(bloom >> ((hash >> (h.bloom_shift % 32)) % 64) & 1))
		return -ENOENT;
	at += h.bloom_words * 8ULL;
	if (elf_file_read(f, at + hash % h.buckets * 4ULL, &i, sizeof(i)) || i < h.first)
		return -ENOENT;
	at += h.buckets * 4ULL;
	for (n = 0; n < MAX_HASH_WALK; n++, i++) {
		if (elf_file_read(f, at + (i - h.first) * 4ULL, &link, sizeof(link)))
			return -ENOENT;
		if ((link | 1) == (hash | 1) && dynsym_is(f, i, name, sym))
			return 0;
		if (link & 1)
			break;
	}
	return -ENOENT;
}

static int sysv_lookup(const struct elf_file *f, const char *name, struct elf_symbol *sym)
{
	uint64_t at = f->dyn.sysv_hash;
	uint32_t h[2], hash = 0, i, n;
	const char *p;

	for (p = name; *p; p++) {
		hash = (hash << 4) + (uint8_t)*p;
		hash ^= hash >> 24 & 0xf0;
	}
	hash &= 0x0fffffff;
	if (elf_file_read(f, at, h, sizeof(h)) || !h[0])
		return -ENOENT;
	if (elf_file_read(f, at + 8 + hash % h[0] * 4ULL, &i, sizeof(i)))
		return -ENOENT;
	for (n = 0; i && n < MAX_HASH_WALK; n++) {
		if (dynsym_is(f, i, name, sym))
			return 0;
		if (elf_file_read(f, at + 8 + (h[0] + (uint64_t)i) * 4, &i, sizeof(i)))
			break;
	}
	return -ENOENT;
}

int elf_file_dynsym(const struct elf_file *f, const char *name, struct elf_symbol *sym)
{
	if (!f->dyn.symtab || !f->dyn.strtab)
		return -ENOENT;
	if (f->dyn.gnu_hash)
		return gnu_lookup(f, name, sym);
	if (f->dyn.sysv_hash)
		return sysv_lookup(f, name, sym);
	return -ENOENT;
}

/* Read the string table in section number link into memory, NUL-terminated. The caller frees it. */
static char *read_strtab(const struct elf_file *f, uint32_t link, uint64_t *len)
{
	Elf64_Shdr sh;
	char *s;

	if (link >= f->shnum || elf_file_pread(f, f->shoff + link * sizeof(sh), &sh, sizeof(sh)))
		return NULL;
	if (sh.sh_size > MAX_STRTAB || sh.sh_size > f->size)
		return NULL;
	s = malloc(sh.sh_size + 1);
	if (!s || elf_file_pread(f, sh.sh_offset, s, sh.sh_size)) {
		free(s);
		return NULL;
	}
	s[sh.sh_size] = '\0';
	*len = sh.sh_size;
	return s;
}

int elf_file_symtab(const struct elf_file *f, const char *const *names, struct elf_symbol *syms,
		    unsigned int cnt)
{
	struct elf_range r;
	Elf64_Sym *tab = NULL;
	char *strs = NULL;
	uint64_t strs_len, i;
	unsigned int k;
	int err = -ENOENT;

	memset(syms, 0, cnt * sizeof(*syms));
	if (elf_file_section(f, ".symtab", &r) || r.size > MAX_SYMTAB || r.size > f->size)
		return -ENOENT;
	strs = read_strtab(f, r.link, &strs_len);
	tab = malloc(r.size + 1);
	if (!strs || !tab || elf_file_pread(f, r.off, tab, r.size))
		goto out;
	for (i = 0; i < r.size / sizeof(*tab); i++) {
		if (tab[i].st_shndx == SHN_UNDEF || tab[i].st_name >= strs_len)
			continue;
		for (k = 0; k < cnt; k++)
			if (!strcmp(strs + tab[i].st_name, names[k]))
				syms[k] = (struct elf_symbol){ tab[i].st_value, tab[i].st_size,
							       ELF64_ST_TYPE(tab[i].st_info) };
	}
	err = 0;
out:
	free(tab);
	free(strs);
	return err;
}

int elf_file_soname(const struct elf_file *f, char *buf, size_t size)
{
	ssize_t n;

	if (!f->dyn.has_soname || !size || f->dyn.soname >= f->dyn.strtab_bytes)
		return -ENOENT;
	n = elf_file_read_some(f, f->dyn.strtab + f->dyn.soname, buf, size - 1);
	if (n < 0)
		return -ENOENT;
	buf[n] = '\0';
	return 0;
}
