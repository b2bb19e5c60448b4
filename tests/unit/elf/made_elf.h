/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * made_elf.h - for tests: an ELF library that is made in memory, as large as a test needs it, with
 * functions, strings, writable data and relocations. Its addresses are not offsets in the file.
 */
#ifndef TACHBPF_TESTS_MADE_ELF_H
#define TACHBPF_TESTS_MADE_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf.h"

#define MADE_BASE 0x400000ull
#define MADE_FUNCTIONS 256
#define MADE_WORDS 32768
#define MADE_RELAS 1024

/* How a word of the data gets its address: it has it, or the linker writes it there. */
enum made_how { MADE_PLAIN, MADE_RELATIVE, MADE_SYMBOL, MADE_HOW_CNT };

struct made_row {
	int32_t start, fde;
};

static struct made_elf {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[5];
	Elf64_Dyn dyn[8];
	uint8_t frame_hdr[12];
	struct made_row rows[MADE_FUNCTIONS];
	Elf64_Sym syms[MADE_RELAS];
	Elf64_Rela relas[MADE_RELAS];
	char names[32];		/* the string table of symbols */
	char strings[16384];
	uint8_t text[16 * MADE_FUNCTIONS];
	_Alignas(16) uint64_t data[MADE_WORDS];
} made;

static struct {
	enum made_how how;
	uint32_t relas, words;
	size_t string_bytes;
	uint32_t more_flags;	/* of the segment with the strings */
} making;

#define MADE_AT(member) (MADE_BASE + offsetof(struct made_elf, member))

static inline void made_begin(enum made_how how)
{
	uint32_t i, cnt = MADE_FUNCTIONS;

	memset(&made, 0, sizeof(made));
	making.how = how;
	making.relas = making.words = 0;
	making.string_bytes = 0;
	making.more_flags = 0;
	memcpy(made.eh.e_ident, ELFMAG, SELFMAG);
	made.eh.e_ident[EI_CLASS] = ELFCLASS64;
	made.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	made.eh.e_type = ET_DYN;
	made.eh.e_machine = ELF_OWN_MACHINE;
	made.eh.e_phoff = offsetof(struct made_elf, ph);
	made.eh.e_phnum = ARRAY_SIZE(made.ph);
	made.eh.e_phentsize = sizeof(made.ph[0]);
	memcpy(made.names, "\0PyNone_There", 14);
	memcpy(made.frame_hdr, "\x01\x1b\x03\x3b", 4);
	memcpy(made.frame_hdr + 8, &cnt, 4);
	for (i = 0; i < MADE_FUNCTIONS; i++)
		made.rows[i].start = (int32_t)(MADE_AT(text) + 16 * i - MADE_AT(frame_hdr));
}

static inline uint64_t made_function(uint32_t i)
{
	return MADE_AT(text) + 16ull * i;
}

/* The address of a string; NULL: 0. */
static inline uint64_t made_string(const char *s)
{
	size_t at = making.string_bytes;

	if (!s)
		return 0;
	assert_true(at + strlen(s) < sizeof(made.strings));
	strcpy(made.strings + at, s);
	making.string_bytes += strlen(s) + 1;
	return MADE_AT(strings) + at;
}

static inline uint64_t made_word_at(uint32_t word)
{
	return MADE_AT(data) + 8ull * word;
}

/* Adds a relocation of this word: of a symbol with this value, or of none; 0: it is undefined. */
static inline void made_relocate(uint32_t word, enum made_how how, uint64_t value)
{
	const bool intel = ELF_OWN_MACHINE == EM_X86_64;
	uint32_t type = how == MADE_RELATIVE ? (intel ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE) :
					       (intel ? R_X86_64_64 : R_AARCH64_ABS64);
	uint32_t i = making.relas++;

	assert_true(i < MADE_RELAS);
	made.relas[i] = (Elf64_Rela){ .r_offset = made_word_at(word),
				      .r_info = ELF64_R_INFO(how == MADE_SYMBOL ? i : 0, type),
				      .r_addend = how == MADE_SYMBOL ? 4 : (int64_t)value };
	if (how == MADE_SYMBOL && value)
		made.syms[i] = (Elf64_Sym){ .st_shndx = 1, .st_value = value - 4 };
}

/* Appends a number, or an address; returns its place. */
static inline uint32_t made_word(uint64_t value)
{
	assert_true(making.words < MADE_WORDS);
	made.data[making.words] = value;
	return making.words++;
}

static inline void made_set(uint32_t word, uint64_t address)
{
	if (address && making.how != MADE_PLAIN)
		made_relocate(word, making.how, address);
	else
		made.data[word] = address;
}

static inline uint32_t made_address(uint64_t address)
{
	uint32_t word = made_word(0);

	made_set(word, address);
	return word;
}

/* One that is in another file. */
static inline uint32_t made_elsewhere(void)
{
	uint32_t word = made_word(0);

	made_relocate(word, MADE_SYMBOL, 0);
	return word;
}

static inline Elf64_Phdr made_segment(uint32_t type, uint64_t from, uint64_t bytes, uint32_t flags)
{
	return (Elf64_Phdr){ .p_type = type, .p_flags = flags, .p_vaddr = from,
			     .p_offset = from - MADE_BASE, .p_filesz = bytes, .p_memsz = bytes };
}

/* Completes the file. Returns its descriptor. */
static inline int made_end(void)
{
	const Elf64_Dyn dyn[] = {
		{ DT_STRTAB, { MADE_AT(names) } }, { DT_STRSZ, { sizeof(made.names) } },
		{ DT_SYMTAB, { MADE_AT(syms) } }, { DT_RELA, { MADE_AT(relas) } },
		{ DT_RELASZ, { making.relas * sizeof(made.relas[0]) } },
	};
	int fd = memfd_create("made", MFD_CLOEXEC);

	memcpy(made.dyn, dyn, sizeof(dyn));
	made.ph[0] = made_segment(PT_LOAD, MADE_BASE, offsetof(struct made_elf, text),
				  PF_R | making.more_flags);
	made.ph[1] = made_segment(PT_LOAD, MADE_AT(text), sizeof(made.text), PF_R | PF_X);
	made.ph[2] = made_segment(PT_LOAD, MADE_AT(data), sizeof(made.data), PF_R | PF_W);
	made.ph[3] = made_segment(PT_DYNAMIC, MADE_AT(dyn), sizeof(made.dyn), PF_R);
	made.ph[4] = made_segment(PT_GNU_EH_FRAME, MADE_AT(frame_hdr),
				  sizeof(made.frame_hdr) + sizeof(made.rows), PF_R);
	assert_int_equal(write(fd, &made, sizeof(made)), sizeof(made));
	return fd;
}

#endif
