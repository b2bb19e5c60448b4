// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cfi_entries.c - see cfi_entries.h. */
#include "elf/cfi_entries.h"

#include <errno.h>

/* Common beginning of both kinds of entries. */
struct entry {
	size_t off, end;	/* in the section */
	size_t id_at;		/* position of id: .eh_frame's are relative to it */
	uint64_t id;		/* of an FDE: the location of its CIE */
	bool is_cie;
	struct cfi_reader rest;	/* after id */
};

void cfi_entries_begin(struct cfi_entries *e, const struct cfi_section *s)
{
	memset(e, 0, sizeof(*e));
	e->section = s;
}

/* 1; 0: an entry of length 0, which ends .eh_frame, or a part of it; -EBADMSG: it has no end. */
static int read_entry(const struct cfi_section *s, size_t off, struct entry *out)
{
	struct cfi_reader r = { s->bytes + off, s->bytes + s->len, false };
	uint64_t len = cfi_uint(&r, 4);
	bool wide = len == 0xffffffff;
	unsigned int id_bytes = wide && s->debug ? 8 : 4;

	if (wide)
		len = cfi_uint(&r, 8);
	if (r.broken || len > cfi_left(&r))
		return -EBADMSG;
	out->off = off;
	out->id_at = (size_t)(r.at - s->bytes);
	out->end = out->id_at + len;
	if (!len)
		return 0;
	out->rest = cfi_block(&r, len);
	out->id = cfi_uint(&out->rest, id_bytes);
	out->is_cie = out->id == (!s->debug ? 0 : id_bytes == 8 ? UINT64_MAX : UINT32_MAX);
	return 1;
}

/* The letters of an augmentation (LSB Core 5.0, 10.6.1.1.1), and their data. */
static bool read_augmentation(struct cfi_reader letters, struct cfi_reader data,
			      struct cfi_cie *cie)
{
	uint8_t encoding;

	for (; letters.at < letters.end; letters.at++) {
		switch (*letters.at) {
		case 'L':
			cfi_uint(&data, 1);
			break;
		case 'P':
			encoding = (uint8_t)cfi_uint(&data, 1);
			if (encoding != CFI_PTR_OMIT)
				cfi_pointer_raw(&data, encoding);
			break;
		case 'R':
			cie->encoding = (uint8_t)cfi_uint(&data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':	/* arm64: return addresses are signed with the B key */
		case 'G':	/* arm64: the stack's memory is tagged */
			break;
		default:
			return false;
		}
	}
	return !data.broken;
}

static bool read_letters(struct cfi_reader *r, struct cfi_reader *letters)
{
	const uint8_t *nul = memchr(r->at, 0, cfi_left(r));

	if (!nul)
		return false;
	*letters = cfi_block(r, (uint64_t)(nul - r->at));
	r->at++;
	return true;
}

static bool parse_cie(const struct cfi_section *s, const struct entry *e, struct cfi_cie *cie)
{
	struct cfi_reader r = e->rest, letters, data = { 0 };
	unsigned int version = (unsigned int)cfi_uint(&r, 1);

	*cie = (struct cfi_cie){ .encoding = CFI_PTR_ABS };
	if (version != 1 && version != 3 && !(version == 4 && s->debug))
		return false;
	if (!read_letters(&r, &letters))
		return false;
	/* Addresses of 8 bytes, and no segments. */
	if (version == 4 && (cfi_uint(&r, 1) != 8 || cfi_uint(&r, 1) != 0))
		return false;
	cie->code_align = cfi_uleb(&r);
	cie->data_align = cfi_sleb(&r);
	cie->ra = version == 1 ? cfi_uint(&r, 1) : cfi_uleb(&r);
	if (cfi_left(&letters) && *letters.at == 'z') {
		letters.at++;
		cie->augmented = true;
		data = cfi_block(&r, cfi_uleb(&r));
	}
	cie->program = r;
	return !r.broken && read_augmentation(letters, data, cie);
}

static bool read_cie(const struct cfi_section *s, size_t off, struct cfi_cie *cie)
{
	struct entry e;

	return off < s->len && read_entry(s, off, &e) == 1 && e.is_cie && !e.rest.broken &&
	       e.end - e.off <= CFI_CIE_MAX && parse_cie(s, &e, cie);
}

/* NULL: there is no usable one at that offset. */
static const struct cfi_cie *cie_at(struct cfi_entries *e, uint64_t off)
{
	unsigned int i = (unsigned int)(off / 4 % CFI_CIES);

	if (off >= e->section->len)
		return NULL;
	if (e->cies[i].off_1 != off + 1) {
		e->cies[i].off_1 = off + 1;
		e->cies[i].usable = read_cie(e->section, (size_t)off, &e->cies[i].cie);
	}
	return e->cies[i].usable ? &e->cies[i].cie : NULL;
}

static bool parse_fde(struct cfi_entries *e, const struct entry *entry, struct cfi_fde *fde)
{
	const struct cfi_section *s = e->section;
	const struct cfi_cie *cie = cie_at(e, s->debug ? entry->id : entry->id_at - entry->id);
	struct cfi_reader r = entry->rest;
	uint64_t place = s->vaddr + (uint64_t)(r.at - s->bytes), bytes;

	if (!cie)
		return false;
	fde->cie = cie;
	fde->start = cfi_pointer(&r, cie->encoding, place);
	bytes = cfi_pointer_raw(&r, cie->encoding);
	if (__builtin_add_overflow(fde->start, bytes, &fde->end))
		return false;
	if (cie->augmented)
		cfi_block(&r, cfi_uleb(&r));
	fde->program = r;
	fde->program_vaddr = s->vaddr + (uint64_t)(r.at - s->bytes);
	return !r.broken;
}

int cfi_entries_next(struct cfi_entries *e, struct cfi_fde *fde)
{
	const struct cfi_section *s = e->section;
	struct entry entry;
	int what;

	while (s->len - e->at >= 4) {
		what = read_entry(s, e->at, &entry);
		if (what < 0 || (!what && !s->measured)) {
			e->at = s->len;
			return what;
		}
		e->at = entry.end;
		if (what && !entry.is_cie)
			return !entry.rest.broken && parse_fde(e, &entry, fde) ? 1 : -EBADMSG;
	}
	return 0;
}
