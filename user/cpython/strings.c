// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * strings.c - reads a str object from a process as UTF-8.
 *
 * A str has 1, 2 or 4 bytes per code point (PEP 393; CPython, Include/cpython/unicodeobject.h).
 * Kind 1 that is not ASCII is Latin-1. The result is valid UTF-8, whatever the memory contains:
 * lone surrogates, which represent undecodable bytes of file names (PEP 383), and impossible code
 * points become U+FFFD.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/code.h"
#include "cpython/object.h"

#define REPLACEMENT 0xfffd
/* Enough for the header and a long path; 99 % of names take one read. */
#define FIRST_READ 320

size_t object_first_read(uint64_t addr, size_t need, size_t want)
{
	size_t fits = OBJECT_PAGE - (addr & (OBJECT_PAGE - 1));

	if (want > fits)
		want = fits;
	return want > need ? want : need;
}

static size_t put_utf8(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = REPLACEMENT;
	if (c < 0x80) {
		out[0] = c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = 0xc0 | c >> 6;
		out[1] = 0x80 | (c & 63);
		return 2;
	}
	if (c < 0x10000) {
		out[0] = 0xe0 | c >> 12;
		out[1] = 0x80 | (c >> 6 & 63);
		out[2] = 0x80 | (c & 63);
		return 3;
	}
	out[0] = 0xf0 | c >> 18;
	out[1] = 0x80 | (c >> 12 & 63);
	out[2] = 0x80 | (c >> 6 & 63);
	out[3] = 0x80 | (c & 63);
	return 4;
}

/* cnt code points of kind bytes each → malloc'ed UTF-8 of at most CODE_STRING_MAX. */
static int to_utf8(const uint8_t *data, uint32_t cnt, unsigned int kind, char **s, uint32_t *len)
{
	size_t cap = (size_t)cnt * (kind == 1 ? 2 : kind == 2 ? 3 : 4), n = 0, one;
	char *out, c[4];
	uint32_t i;

	out = malloc((cap < CODE_STRING_MAX ? cap : CODE_STRING_MAX) + 1);
	if (!out)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		uint32_t code = 0;

		memcpy(&code, data + (size_t)i * kind, kind);
		one = put_utf8(c, code);
		if (n + one > CODE_STRING_MAX)
			break;
		memcpy(out + n, c, one);
		n += one;
	}
	out[n] = '\0';
	*s = out;
	*len = n;
	return 0;
}

/* The fields of a str's header. */
struct str_header {
	uint64_t data;		/* address of the code points */
	uint32_t cnt;		/* number of code points to read */
	unsigned int kind;
};

static int parse_header(const struct target_mem *mem, const struct py_object_layout *o,
			const uint8_t *head, uint64_t addr, struct str_header *h)
{
	uint64_t length;
	uint32_t state;

	memcpy(&length, head + o->str_length, sizeof(length));
	memcpy(&state, head + o->str_state, sizeof(state));
	h->kind = (state & o->str_kind_mask) >> o->str_kind_shift;
	if (h->kind != 1 && h->kind != 2 && h->kind != 4)
		return -EBADMSG;
	if (length > UINT32_MAX)
		return -EBADMSG;
	h->cnt = length < CODE_STRING_MAX ? length : CODE_STRING_MAX;
	/* Not compact (a subclass of str): the data is elsewhere. */
	if (!(state & o->str_compact_bit))
		return mem->read(mem->ctx, addr + o->str_compact_data, &h->data, sizeof(h->data));
	h->data = addr + (state & o->str_ascii_bit ? o->str_ascii_data : o->str_compact_data);
	return 0;
}

int code_read_string(const struct target_mem *mem, const struct py_object_layout *o,
		     uint64_t addr, char **s, uint32_t *len)
{
	size_t need = o->str_length + 8u, n, bytes;
	uint8_t first[FIRST_READ], *rest = NULL;
	struct str_header h;
	int err;

	/* Read no more than every str has: it may be the last object in mapped memory. */
	if (need < o->str_state + 4u)
		need = o->str_state + 4u;
	if (need > sizeof(first))
		return -EBADMSG;
	n = object_first_read(addr, need, sizeof(first));
	err = mem->read(mem->ctx, addr, first, n);
	if (err)
		return err;
	err = parse_header(mem, o, first, addr, &h);
	if (err)
		return err;
	bytes = (size_t)h.cnt * h.kind;
	if (h.data >= addr && h.data - addr <= n && bytes <= n - (h.data - addr))
		return to_utf8(first + (h.data - addr), h.cnt, h.kind, s, len);
	rest = malloc(bytes + 1);
	if (!rest)
		return -ENOMEM;
	err = mem->read(mem->ctx, h.data, rest, bytes);
	if (!err)
		err = to_utf8(rest, h.cnt, h.kind, s, len);
	free(rest);
	return err;
}
