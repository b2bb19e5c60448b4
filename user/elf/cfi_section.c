// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cfi_section.c - see cfi_section.h.
 *
 * A section is read, not mapped: the file's owner could truncate it, and SIGBUS would kill us.
 */
#include "elf/cfi_section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "elf/cfi_reader.h"

/* For elf_file_section(), sections without contents or size have 0 bytes. */
static int read_bytes(const struct elf_file *elf, uint64_t off, uint64_t len, uint8_t **bytes)
{
	int err;

	if (!len || off > elf->size || len > elf->size - off)
		return -ENOENT;
	if (len > CFI_SECTION_MAX)
		return -EFBIG;
	*bytes = malloc(len);
	if (!*bytes)
		return -ENOMEM;
	err = elf_file_pread(elf, off, *bytes, len);
	if (err) {
		free(*bytes);
		*bytes = NULL;
	}
	return err;
}

static int read_section(const struct elf_file *elf, const struct elf_range *r,
			struct cfi_section *s)
{
	int err = read_bytes(elf, r->off, r->size, &s->bytes);

	if (err)
		return err;
	s->len = r->size;
	s->vaddr = r->vaddr;
	s->measured = true;
	return 0;
}

/* The address of .eh_frame, from .eh_frame_hdr (LSB Core 5.0, 10.6.2). 0 or -ENOENT. */
static int find_eh_frame(const struct elf_file *elf, uint64_t *vaddr)
{
	uint8_t hdr[12];
	struct cfi_reader r = { hdr + 4, hdr + sizeof(hdr), false };

	if (!elf->eh_frame_hdr || elf_file_read(elf, elf->eh_frame_hdr, hdr, sizeof(hdr)))
		return -ENOENT;
	if (hdr[0] != 1 || hdr[1] == CFI_PTR_OMIT)
		return -ENOENT;
	*vaddr = cfi_pointer(&r, hdr[1], elf->eh_frame_hdr + 4);
	return r.broken ? -ENOENT : 0;
}

/* Read from .eh_frame to the end of its segment: its last entry shows where the section ends. */
static int read_by_segment(const struct elf_file *elf, struct cfi_section *s)
{
	unsigned int i;
	int err;

	if (find_eh_frame(elf, &s->vaddr))
		return -ENOENT;
	for (i = 0; i < elf->load_cnt; i++) {
		const struct elf_load *l = &elf->loads[i];
		uint64_t skip = s->vaddr - l->vaddr, len;

		if (s->vaddr < l->vaddr || skip >= l->filesz || l->off > elf->size ||
		    skip > elf->size - l->off)
			continue;
		len = l->filesz - skip;
		if (len > elf->size - l->off - skip)
			len = elf->size - l->off - skip;
		err = read_bytes(elf, l->off + skip, len, &s->bytes);
		s->len = err ? 0 : len;
		return err;
	}
	return -ENOENT;
}

int cfi_section_read_eh(const struct elf_file *elf, struct cfi_section *s)
{
	struct elf_range r;

	*s = (struct cfi_section){ 0 };
	if (!elf_file_section(elf, ".eh_frame", &r) && r.size)
		return read_section(elf, &r, s);
	return read_by_segment(elf, s);
}

/* Replace the bytes, which begin with an Elf64_Chdr, by their decompressed content. */
static int decompress_section(struct cfi_section *s)
{
	uint8_t *plain;
	Elf64_Chdr h;
	uLongf len;

	if (s->len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, s->bytes, sizeof(h));
	if (h.ch_type != ELFCOMPRESS_ZLIB || !h.ch_size)
		return -ENOENT;
	if (h.ch_size > CFI_SECTION_MAX)
		return -EFBIG;
	plain = malloc(h.ch_size);
	if (!plain)
		return -ENOMEM;
	len = h.ch_size;
	if (uncompress(plain, &len, s->bytes + sizeof(h), s->len - sizeof(h)) != Z_OK ||
	    len != h.ch_size) {
		free(plain);
		return -EBADMSG;
	}
	free(s->bytes);
	s->bytes = plain;
	s->len = len;
	return 0;
}

int cfi_section_read_debug(const struct elf_file *elf, struct cfi_section *s)
{
	struct elf_range r;
	int err;

	*s = (struct cfi_section){ 0 };
	if (elf_file_section(elf, ".debug_frame", &r))
		return -ENOENT;
	err = read_section(elf, &r, s);
	if (!err && r.flags & SHF_COMPRESSED)
		err = decompress_section(s);
	s->debug = true;
	s->vaddr = 0;
	return err;
}

void cfi_section_free(struct cfi_section *s)
{
	free(s->bytes);
	*s = (struct cfi_section){ 0 };
}
