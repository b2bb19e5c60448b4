/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_cfi.h - call frame information by hand, and an ELF file that has it.
 *
 * One segment maps the whole file at FAKE_BASE. Functions lie from FAKE_CODE on; their bytes are
 * never looked at. What a test wants to be different it patches in elf[].
 */
#ifndef TACHBPF_TESTS_FAKE_CFI_H
#define TACHBPF_TESTS_FAKE_CFI_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAKE_BASE   0x10000ull
#define FAKE_EH     0x1000u	/* .eh_frame: the other offsets are in the file, too */
#define FAKE_DEBUG  0x3000u
#define FAKE_HDR    0x5000u	/* .eh_frame_hdr */
#define FAKE_SHSTR  0x6000u
#define FAKE_SHDRS  0x6100u
#define FAKE_BYTES  0x10000u
#define FAKE_CODE   0x18000ull	/* an address */

#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* The bytes of a section. */
struct fake_cfi {
	uint8_t bytes[0x2000];
	size_t len;
	uint64_t vaddr;		/* 0: .debug_frame */
	size_t cie;		/* offset of the CIE that came last */
};

static inline void fake_bytes(struct fake_cfi *c, const void *bytes, size_t len)
{
	memcpy(c->bytes + c->len, bytes, len);
	c->len += len;
}

static inline void fake_uint(struct fake_cfi *c, uint64_t v, size_t len)
{
	fake_bytes(c, &v, len);
}

/* Fill the entry up with DW_CFA_nop, and say its length. */
static inline void fake_end(struct fake_cfi *c, size_t entry)
{
	uint32_t len;

	while ((c->len - entry) % 8 != 4)
		fake_uint(c, 0, 1);
	len = (uint32_t)(c->len - entry - 4);
	memcpy(c->bytes + entry, &len, sizeof(len));
}

/* A CIE with these bytes behind its id: from its version on. */
static inline void fake_raw_cie(struct fake_cfi *c, const uint8_t *bytes, size_t len)
{
	c->cie = c->len;
	fake_uint(c, 0, 4);
	fake_uint(c, c->vaddr ? 0 : UINT32_MAX, 4);
	fake_bytes(c, bytes, len);
	fake_end(c, c->cie);
}

/* A CIE as GCC writes it for x86-64: addresses of 4 bytes, pc-relative; CFA rsp+8, ra at CFA-8. */
static inline void fake_cie(struct fake_cfi *c)
{
	if (c->vaddr)
		fake_raw_cie(c, CODE(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1));
	else
		fake_raw_cie(c, CODE(1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1));
}

/* The same for arm64: CFA sp+0; instructions have 4 bytes. */
static inline void fake_cie_arm64(struct fake_cfi *c)
{
	fake_raw_cie(c, CODE(1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0));
}

/* An FDE of the last one of these CIEs. */
static inline void fake_fde(struct fake_cfi *c, uint64_t start, uint32_t bytes,
			    const uint8_t *program, size_t len)
{
	size_t at = c->len;

	fake_uint(c, 0, 4);
	fake_uint(c, c->vaddr ? at + 4 - c->cie : c->cie, 4);
	if (c->vaddr) {
		fake_uint(c, start - (c->vaddr + c->len), 4);
		fake_uint(c, bytes, 4);
		fake_uint(c, 0, 1);
	} else {
		fake_uint(c, start, 8);
		fake_uint(c, bytes, 8);
	}
	fake_bytes(c, program, len);
	fake_end(c, at);
}

struct fake_unwind {
	uint16_t machine;
	bool no_sections;	/* only PT_GNU_EH_FRAME */
	uint64_t debug_flags;	/* sh_flags of .debug_frame */
	struct fake_cfi eh, debug;
	uint8_t elf[FAKE_BYTES];
};

static inline void fake_begin(struct fake_unwind *f, uint16_t machine)
{
	memset(f, 0, sizeof(*f));
	f->machine = machine;
	f->eh.vaddr = FAKE_BASE + FAKE_EH;
}

static inline void fake_sections(struct fake_unwind *f)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	const Elf64_Shdr sections[] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = f->eh.vaddr,
		  .sh_offset = FAKE_EH, .sh_size = f->eh.len },
		{ .sh_name = 11, .sh_type = SHT_PROGBITS, .sh_offset = FAKE_DEBUG,
		  .sh_size = f->debug.len, .sh_flags = f->debug_flags },
		{ .sh_name = 24, .sh_type = SHT_STRTAB, .sh_offset = FAKE_SHSTR,
		  .sh_size = sizeof(names) },
	};

	memcpy(f->elf + FAKE_SHSTR, names, sizeof(names));
	memcpy(f->elf + FAKE_SHDRS, sections, sizeof(sections));
}

/* The file's bytes, in elf[]. */
static inline void fake_make(struct fake_unwind *f)
{
	const Elf64_Phdr headers[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = FAKE_BASE,
		  .p_filesz = FAKE_BYTES, .p_memsz = FAKE_BYTES },
		{ .p_type = PT_GNU_EH_FRAME, .p_vaddr = FAKE_BASE + FAKE_HDR,
		  .p_offset = FAKE_HDR, .p_filesz = 8, .p_memsz = 8 },
	};
	const Elf64_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = f->machine, .e_version = EV_CURRENT,
		.e_phoff = sizeof(head), .e_phentsize = sizeof(headers[0]), .e_phnum = 2,
		.e_shoff = f->no_sections ? 0 : FAKE_SHDRS, .e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = f->no_sections ? 0 : 4, .e_shstrndx = f->no_sections ? 0 : 3,
	};
	/* Version; .eh_frame's address is pc-relative; there is no table. */
	const uint8_t hdr[4] = { 1, 0x1b, 0xff, 0xff };
	const int32_t to = (int32_t)FAKE_EH - (int32_t)(FAKE_HDR + 4);

	memcpy(f->elf, &head, sizeof(head));
	memcpy(f->elf + sizeof(head), headers, sizeof(headers));
	memcpy(f->elf + FAKE_EH, f->eh.bytes, f->eh.len);
	memcpy(f->elf + FAKE_DEBUG, f->debug.bytes, f->debug.len);
	memcpy(f->elf + FAKE_HDR, hdr, sizeof(hdr));
	memcpy(f->elf + FAKE_HDR + sizeof(hdr), &to, sizeof(to));
	if (!f->no_sections)
		fake_sections(f);
}

/* elf[] as a file. */
static inline int fake_file(const struct fake_unwind *f)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, f->elf, sizeof(f->elf)) != (ssize_t)sizeof(f->elf)) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
