/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_elf.h - builds small ELF files that look like a CPython, in a memfd.
 *
 * One PT_LOAD maps the whole file at FAKE_BASE. What a test wants to be different it
 * patches in image[], at the offsets below, or says in struct fake_elf.
 */
#ifndef TACHBPF_TESTS_FAKE_ELF_H
#define TACHBPF_TESTS_FAKE_ELF_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf.h"

/* PyGILState_GetThisThreadState() that returns the TLS variable at FAKE_TLS_OFF. */
#ifdef __aarch64__
#define FAKE_TLS_OFF 40
#define FAKE_TLS_CODE 0x40, 0xd0, 0x3b, 0xd5, 0x00, 0x14, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6
#else
#define FAKE_TLS_OFF -40
#define FAKE_TLS_CODE 0x64, 0x48, 0x8b, 0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3
#endif

#define FAKE_BASE    0x400000ull
#define FAKE_SIZE    8192
#define FAKE_DYNAMIC 0x200
#define FAKE_SYMTAB  0x300
#define FAKE_STRTAB  0x400
#define FAKE_HASH    0x600
#define FAKE_GETTER  0x680	/* PyGILState_GetThisThreadState */
#define FAKE_HEAD    0x6d0	/* PyInterpreterState_Head */
#define FAKE_VERSION 0x700	/* Py_Version */
#define FAKE_NONE    0x740	/* _Py_NoneStruct */
#define FAKE_COUNTER 0x760	/* 3.12's _Py_next_func_version */
#define FAKE_RODATA  0x780
#define FAKE_RUNTIME 0x1000	/* 0x800 bytes */
#define FAKE_SHSTR   0x1800
#define FAKE_SHDRS   0x1900
#define FAKE_ASYNCIO 0x1f00	/* .AsyncioDebug, at most 256 bytes */
#define FAKE_SECTIONS 7
#define FAKE_SYMBOLS  9

struct fake_elf {
	uint32_t hex;		/* Py_Version; 0: no such symbol */
	const void *runtime;	/* bytes of _PyRuntime */
	size_t runtime_len;
	bool no_dynsym;		/* only sections */
	bool gnu_hash;		/* DT_GNU_HASH instead of DT_HASH */
	bool symtab;		/* .symtab, too, with the symbols of .dynsym */
	bool counter;		/* _Py_next_func_version */
	bool trace_refs;	/* PyModule_Create2TraceRefs */
	bool statics;		/* 3.6: _PyThreadState_Current; others by head and getter */
	bool no_glibc;
	const char *rodata;	/* at most 127 bytes, sizeof */
	size_t rodata_len;
	const void *head;
	size_t head_len;
	const void *getter;
	size_t getter_len;
	const void *asyncio;	/* bytes of .AsyncioDebug; NULL: no such section */
	size_t asyncio_len;
	uint8_t image[FAKE_SIZE];
};

struct fake_strings {
	char data[0x200];
	size_t len;
};

static inline uint32_t fake_string(struct fake_strings *s, const char *name)
{
	size_t at = s->len ? s->len : 1;

	memcpy(s->data + at, name, strlen(name) + 1);
	s->len = at + strlen(name) + 1;
	return at;
}

static inline void fake_put(struct fake_elf *f, size_t off, const void *data, size_t len)
{
	memcpy(f->image + off, data, len);
}

/* A hash table of one bucket: a plain list of symbols 1 to cnt. */
static inline void fake_hash(struct fake_elf *f, const Elf64_Sym *syms, uint32_t cnt,
			     const struct fake_strings *s)
{
	uint32_t hash[16] = { 1, cnt + 1, cnt ? 1 : 0 }, i;

	if (f->gnu_hash) {
		/* buckets, first symbol, bloom words, bloom shift; bloom; bucket; chain */
		uint32_t gnu[16] = { 1, 1, 1, 5, ~0u, ~0u, 1 };

		for (i = 1; i <= cnt; i++) {
			const char *p = s->data + syms[i].st_name;
			uint32_t h = 5381;

			while (*p)
				h = h * 33 + (uint8_t)*p++;
			gnu[6 + i] = i == cnt ? h | 1 : h & ~1u;
		}
		fake_put(f, FAKE_HASH, gnu, sizeof(gnu));
		return;
	}
	/* buckets, symbols; bucket; chain by symbol number */
	for (i = 1; i < cnt; i++)
		hash[3 + i] = i + 1;
	fake_put(f, FAKE_HASH, hash, sizeof(hash));
}

static inline void fake_symbols(struct fake_elf *f, struct fake_strings *s)
{
	const struct {
		const char *name;
		uint64_t off;
		bool have;
	} all[] = {
		{ "_PyRuntime", FAKE_RUNTIME, f->runtime != NULL },
		{ "Py_Version", FAKE_VERSION, f->hex != 0 },
		{ "_Py_NoneStruct", FAKE_NONE, true },
		{ "PyGILState_GetThisThreadState", FAKE_GETTER, f->getter != NULL },
		{ "_Py_next_func_version", FAKE_COUNTER, f->counter },
		{ "PyModule_Create2TraceRefs", FAKE_HEAD, f->trace_refs },
		{ "_PyThreadState_Current", FAKE_RUNTIME, f->statics },
		{ "PyInterpreterState_Head", FAKE_HEAD, f->head != NULL },
	};
	uint32_t i, cnt = 0;
	Elf64_Sym syms[FAKE_SYMBOLS] = { { 0 } };

	for (i = 0; i < FAKE_SYMBOLS - 1; i++) {
		if (!all[i].have)
			continue;
		cnt++;
		syms[cnt] = (Elf64_Sym){ .st_name = fake_string(s, all[i].name),
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					 .st_shndx = 1, .st_value = FAKE_BASE + all[i].off,
					 .st_size = all[i].off == FAKE_COUNTER ? 4 : 0 };
	}
	fake_put(f, FAKE_SYMTAB, syms, sizeof(syms));
	fake_hash(f, syms, cnt, s);
}

static inline void fake_dynamic(struct fake_elf *f, struct fake_strings *s)
{
	uint32_t libc = fake_string(s, f->no_glibc ? "libc.musl-x86_64.so.1" : "libc.so.6");
	Elf64_Dyn dyn[] = {
		{ .d_tag = DT_NEEDED, .d_un.d_val = libc },
		{ .d_tag = DT_STRTAB, .d_un.d_val = FAKE_BASE + FAKE_STRTAB },
		{ .d_tag = DT_STRSZ, .d_un.d_val = s->len },
		{ .d_tag = DT_SYMTAB, .d_un.d_val = FAKE_BASE + FAKE_SYMTAB },
		{ .d_tag = f->no_dynsym ? DT_DEBUG : f->gnu_hash ? DT_GNU_HASH : DT_HASH,
		  .d_un.d_val = FAKE_BASE + FAKE_HASH },
		{ .d_tag = DT_NULL },
	};

	fake_put(f, FAKE_DYNAMIC, dyn, sizeof(dyn));
	fake_put(f, FAKE_STRTAB, s->data, sizeof(s->data));
}

static inline void fake_sections(struct fake_elf *f)
{
	struct fake_strings names = { .len = 0 };
	Elf64_Shdr sh[FAKE_SECTIONS] = { { 0 } };

	sh[1] = (Elf64_Shdr){ .sh_name = fake_string(&names, f->runtime ? ".PyRuntime" : ".data"),
			      .sh_type = SHT_PROGBITS, .sh_addr = FAKE_BASE + FAKE_RUNTIME,
			      .sh_offset = FAKE_RUNTIME, .sh_size = 0x800 };
	sh[2] = (Elf64_Shdr){ .sh_name = fake_string(&names, ".rodata"),
			      .sh_type = SHT_PROGBITS, .sh_addr = FAKE_BASE + FAKE_RODATA,
			      .sh_offset = FAKE_RODATA, .sh_size = 128 };
	sh[3] = (Elf64_Shdr){ .sh_name = fake_string(&names, ".shstrtab"),
			      .sh_type = SHT_STRTAB, .sh_offset = FAKE_SHSTR, .sh_size = 0x100 };
	if (f->symtab)
		sh[4] = (Elf64_Shdr){ .sh_name = fake_string(&names, ".symtab"),
				      .sh_type = SHT_SYMTAB, .sh_offset = FAKE_SYMTAB,
				      .sh_size = FAKE_SYMBOLS * sizeof(Elf64_Sym), .sh_link = 5 };
	sh[5] = (Elf64_Shdr){ .sh_name = fake_string(&names, ".strtab"),
			      .sh_type = SHT_STRTAB, .sh_offset = FAKE_STRTAB, .sh_size = 0x200 };
	if (f->asyncio)
		sh[6] = (Elf64_Shdr){ .sh_name = fake_string(&names, ".AsyncioDebug"),
				      .sh_type = SHT_PROGBITS, .sh_offset = FAKE_ASYNCIO,
				      .sh_size = f->asyncio_len };
	fake_put(f, FAKE_SHSTR, names.data, 0x100);
	fake_put(f, FAKE_SHDRS, sh, sizeof(sh));
}

static inline void fake_elf_build(struct fake_elf *f)
{
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = ELF_OWN_MACHINE, .e_version = EV_CURRENT,
		.e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2, .e_shoff = FAKE_SHDRS, .e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = f->asyncio ? FAKE_SECTIONS : FAKE_SECTIONS - 1, .e_shstrndx = 3,
	};
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD, .p_vaddr = FAKE_BASE, .p_filesz = FAKE_SIZE,
		  .p_memsz = FAKE_SIZE },
		{ .p_type = PT_DYNAMIC, .p_vaddr = FAKE_BASE + FAKE_DYNAMIC,
		  .p_offset = FAKE_DYNAMIC, .p_filesz = 0x100 },
	};
	struct fake_strings strings = { .len = 0 };
	uint64_t hex = f->hex;

	memset(f->image, 0, sizeof(f->image));
	fake_put(f, 0, &eh, sizeof(eh));
	fake_put(f, sizeof(eh), ph, sizeof(ph));
	fake_symbols(f, &strings);
	fake_dynamic(f, &strings);
	fake_sections(f);
	fake_put(f, FAKE_VERSION, &hex, sizeof(hex));
	if (f->runtime)
		fake_put(f, FAKE_RUNTIME, f->runtime, f->runtime_len);
	if (f->rodata)
		fake_put(f, FAKE_RODATA, f->rodata, f->rodata_len);
	if (f->head)
		fake_put(f, FAKE_HEAD, f->head, f->head_len);
	if (f->getter)
		fake_put(f, FAKE_GETTER, f->getter, f->getter_len);
	if (f->asyncio)
		fake_put(f, FAKE_ASYNCIO, f->asyncio, f->asyncio_len);
}

/* A file with these bytes; -1 on error. */
static inline int fake_file(const void *data, size_t len)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	if (fd >= 0 && len && write(fd, data, len) != (ssize_t)len) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
