/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf.h - a bounded reader of one ELF file, which is hostile.
 *
 * Knows ELF (64 bit, little endian) and nothing of Python. Everything is read with pread() into
 * buffers of limited size: a file with false sizes, or one that is truncated meanwhile, causes
 * -ENOENT or -EBADMSG and never a signal.
 */
#ifndef TACHBPF_ELF_H
#define TACHBPF_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELF_MAX_LOADS 32

/* The machine type that this program was built for. */
#if defined(__x86_64__)
#define ELF_OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_OWN_MACHINE EM_AARCH64
#else
#error "x86-64 and arm64 are supported"
#endif

/* A part of the file as the loader maps it. Memory beyond filesz is zero (bss). */
struct elf_load {
	uint64_t vaddr, off, filesz, memsz;
	bool writable, executable;
};

/* Pointers of the dynamic section (virtual addresses; 0: missing). */
struct elf_dynamic {
	uint64_t symtab, strtab, strtab_bytes, gnu_hash, sysv_hash;
	uint64_t rela, rela_bytes, rela_relative;	/* the first ones are relative */
	uint64_t jmprel, jmprel_bytes;
	uint64_t soname;	/* offset in strtab */
	bool has_soname;
	bool needs_glibc;	/* DT_NEEDED libc.so.6 */
	bool needs_musl;	/* DT_NEEDED libc.so, libc.musl-x86_64.so.1 (Alpine) */
};

struct elf_file {
	int fd;
	uint64_t size;
	uint16_t machine;	/* EM_* */
	bool program;		/* an executable, not a library */
	uint64_t shoff;
	uint32_t shnum, shstrndx;
	struct elf_load loads[ELF_MAX_LOADS];
	unsigned int load_cnt;
	struct elf_dynamic dyn;
	uint64_t tls_align, tls_memsz;	/* PT_TLS */
	uint64_t eh_frame_hdr;	/* PT_GNU_EH_FRAME: virtual address; 0: missing */
};

struct elf_range {
	uint64_t vaddr, off, size;
	uint32_t link;		/* sh_link */
	uint64_t flags;		/* sh_flags */
};

struct elf_symbol {
	uint64_t value, size;
	uint8_t type;		/* STT_* */
};

/* Name of a machine type: "x86-64", "arm64", else "another machine type". */
const char *elf_machine_name(uint16_t machine);

/*
 * Read the headers of the file behind fd, which stays owned by the caller. 0; -ENOENT: not
 * an executable or library; -ENOEXEC: not 64-bit little endian; other -errno.
 */
int elf_file_open(struct elf_file *f, int fd);

/*
 * Read len bytes of the memory image at vaddr from
 * the file. 0; -EFAULT: not mapped; other -errno.
 */
int elf_file_read(const struct elf_file *f, uint64_t vaddr, void *buf, size_t len);

/* Read at most len bytes of the memory image at vaddr. Returns their number, or -errno. */
ssize_t elf_file_read_some(const struct elf_file *f, uint64_t vaddr, void *buf, size_t len);

/* Read len bytes at a file offset. 0; -ENODATA: the file is shorter; other -errno. */
int elf_file_pread(const struct elf_file *f, uint64_t off, void *buf, size_t len);

/* Find a section by name. 0 or -ENOENT. */
int elf_file_section(const struct elf_file *f, const char *name, struct elf_range *r);

/* Find a defined symbol by hash, as the dynamic linker does. 0 or -ENOENT. */
int elf_file_dynsym(const struct elf_file *f, const char *name, struct elf_symbol *sym);

/*
 * Find defined symbols of .symtab in one pass: names[i] → syms[i]; a missing symbol gets value 0.
 * 0, or -ENOENT: there is no symbol table. Slow.
 */
int elf_file_symtab(const struct elf_file *f, const char *const *names, struct elf_symbol *syms,
		    unsigned int cnt);

/* Copy DT_SONAME, NUL-terminated and truncated to size. 0 or -ENOENT. */
int elf_file_soname(const struct elf_file *f, char *buf, size_t size);

#endif
