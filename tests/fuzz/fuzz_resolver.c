// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_resolver.c - reads code objects, strings, lines and opcodes out of hostile memory.
 *
 * Input: bytes for the version, lasti, Py_TRACE_REFS and a newer version, a u32 of where to start;
 * the rest is the memory, at every address (modulo its length), so that whatever is
 * taken for a pointer leads somewhere. Addresses with the top bit set are not mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/code.h"
#include "cpython/layout.h"
#include "model/event.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const uint8_t *bytes;
	size_t len;
};

static int mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct memory *m = ctx;
	uint8_t *out = buf;
	size_t i;

	if (addr >> 63 || len > 1u << 17)
		return -EFAULT;
	for (i = 0; i < len; i++)
		out[i] = m->bytes[(addr + i) % m->len];
	return 0;
}

/* RFC 3629, no more and no less. */
static void check_utf8(const char *str, size_t len)
{
	const uint8_t *s = (const uint8_t *)str, *end = s + len;

	check(str[len] == '\0' && len <= CODE_STRING_MAX);
	while (s < end) {
		uint32_t c = *s++, more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3, i;

		check(c < 0x80 || (c >= 0xc2 && c <= 0xf4));
		check((size_t)(end - s) >= more);
		if (more)
			c &= 0x3f >> more;
		for (i = 0; i < more; i++, s++) {
			check((*s & 0xc0) == 0x80);
			c = c << 6 | (*s & 0x3f);
		}
		check(c <= 0x10ffff && (c < 0xd800 || c > 0xdfff));
	}
}

static void check_position(const struct code_object *code, uint32_t lasti)
{
	struct code_position p;

	code_position(code, lasti, &p);
	check(p.line >= 1 || p.line == LINE_NONE);
	check(p.end_line >= p.line && p.column >= COLUMN_NONE && p.end_column >= COLUMN_NONE);
	check((p.column == COLUMN_NONE) == (p.end_column == COLUMN_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpython_image img = { .major = 3 };
	struct target_mem mem = { .read = mem_read };
	struct code_object code;
	struct memory m;
	uint32_t addr, lasti, i, len;
	char *s;

	if (size < 16)
		return 0;
	memcpy(&addr, data + 4, sizeof(addr));
	lasti = data[1];
	m = (struct memory){ data + 8, size - 8 };
	mem.ctx = &m;
	img.minor = 6 + data[0] % 7;
	img.trace_refs = data[2] & 1;
	check(!layout_from_table(&img));
	if (!code_read_string(&mem, &img.objects, addr, &s, &len)) {
		check_utf8(s, len);
		free(s);
	}
	code_opcode(&mem, &img.layout, img.minor, addr, lasti * 130);
	code_opcode(&mem, &img.layout, 13 + data[3] % 3, addr, lasti * 130);
	if (code_read(&mem, &img.layout, &img.objects, addr, &code))
		return 0;
	check_utf8(code.file, code.file_len);
	check_utf8(code.name, code.name_len);
	for (i = 0; i < 64; i++)
		check_position(&code, lasti * i);
	check_position(&code, UINT32_MAX);
	code_free(&code);
	return 0;
}
