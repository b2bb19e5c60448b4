/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cfi_reader.h - reads numbers one after another from hostile bytes.
 *
 * Reading beyond the end returns 0, and the reader is broken from then on: it has no bytes left. So
 * a caller may check `broken` once, after several reads.
 */
#ifndef TACHBPF_ELF_CFI_READER_H
#define TACHBPF_ELF_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_reader {
	const uint8_t *at, *end;
	bool broken;
};

static inline size_t cfi_left(const struct cfi_reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline void cfi_break(struct cfi_reader *r)
{
	r->at = r->end;
	r->broken = true;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. Both supported machine types are little endian. */
static inline uint64_t cfi_uint(struct cfi_reader *r, unsigned int bytes)
{
	uint64_t v = 0;

	if (cfi_left(r) < bytes) {
		cfi_break(r);
		return 0;
	}
	memcpy(&v, r->at, bytes);
	r->at += bytes;
	return v;
}

/* A signed number of 1, 2, 4 or 8 bytes. */
static inline int64_t cfi_int(struct cfi_reader *r, unsigned int bytes)
{
	unsigned int unused = 64 - 8 * bytes;

	return (int64_t)(cfi_uint(r, bytes) << unused) >> unused;
}

/* LEB128 (DWARF 5, 7.6). A number that does not fit 64 bits breaks the reader. */
static inline uint64_t cfi_uleb(struct cfi_reader *r)
{
	unsigned int shift;
	uint64_t v = 0;

	for (shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	cfi_break(r);
	return 0;
}

static inline int64_t cfi_sleb(struct cfi_reader *r)
{
	unsigned int shift;
	uint64_t v = 0;

	for (shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			v |= ~0ull << (shift + 7);
		return (int64_t)v;
	}
	cfi_break(r);
	return 0;
}

/* The next len bytes, as a reader of their own. */
static inline struct cfi_reader cfi_block(struct cfi_reader *r, uint64_t len)
{
	struct cfi_reader block = { r->at, r->at, false };

	if (len > cfi_left(r)) {
		cfi_break(r);
		return (struct cfi_reader){ r->end, r->end, true };
	}
	r->at += len;
	block.end = r->at;
	return block;
}

/* Pointer encodings (LSB Core 5.0, 10.5.1). */
enum {
	CFI_PTR_ABS = 0x00, CFI_PTR_ULEB = 0x01, CFI_PTR_U2 = 0x02, CFI_PTR_U4 = 0x03,
	CFI_PTR_U8 = 0x04, CFI_PTR_SLEB = 0x09, CFI_PTR_S2 = 0x0a, CFI_PTR_S4 = 0x0b,
	CFI_PTR_S8 = 0x0c,
	CFI_PTR_FORM = 0x0f,	/* mask of all of these */
	CFI_PTR_PCREL = 0x10,	/* relative to the pointer's own address */
	CFI_PTR_BASE = 0x70,	/* mask: relative to what */
	CFI_PTR_INDIRECT = 0x80,
	CFI_PTR_OMIT = 0xff,
};

/* The number in an encoded pointer, as stored. */
static inline uint64_t cfi_pointer_raw(struct cfi_reader *r, uint8_t encoding)
{
	switch (encoding & CFI_PTR_FORM) {
	case CFI_PTR_ABS:
	case CFI_PTR_U8:
	case CFI_PTR_S8:
		return cfi_uint(r, 8);
	case CFI_PTR_ULEB:
		return cfi_uleb(r);
	case CFI_PTR_U2:
		return cfi_uint(r, 2);
	case CFI_PTR_U4:
		return cfi_uint(r, 4);
	case CFI_PTR_SLEB:
		return (uint64_t)cfi_sleb(r);
	case CFI_PTR_S2:
		return (uint64_t)cfi_int(r, 2);
	case CFI_PTR_S4:
		return (uint64_t)cfi_int(r, 4);
	}
	cfi_break(r);
	return 0;
}

/*
 * The address that an encoded pointer means; place is the pointer's own. Only absolute and
 * pc-relative ones that are not indirect can be decoded without the process: others break r.
 */
static inline uint64_t cfi_pointer(struct cfi_reader *r, uint8_t encoding, uint64_t place)
{
	uint8_t base = encoding & (CFI_PTR_BASE | CFI_PTR_INDIRECT);
	uint64_t v = cfi_pointer_raw(r, encoding);

	if (base != CFI_PTR_ABS && base != CFI_PTR_PCREL)
		cfi_break(r);
	return base == CFI_PTR_PCREL ? v + place : v;
}

#endif
