// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * code.c - reads a code object's names and line table from a process.
 *
 * The code object's header is read before and after the objects that it refers to. The code object
 * holds references to them, so if the header did not change, they were alive meanwhile.
 * PyCodeObject: CPython, Include/cpython/code.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/code.h"
#include "cpython/layout.h"

/* Most line tables fit. */
#define FIRST_READ 512
/* sizeof(PyObject) assumed by py_code_layout(). */
#define PLAIN_HEAD 16

/*
 * co_flags (Include/cpython/code.h): of async def, of a generator with @types.coroutine, and of
 * async def with a yield. Only what waits for a coroutine's result runs any of them.
 */
#define CO_COROUTINE 0x80
#define CO_ITERABLE_COROUTINE 0x100
#define CO_ASYNC_GENERATOR 0x200
#define CO_ASYNC (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR)

struct header {
	uint64_t filename, name, qualname, linetable;
	int32_t firstlineno;
	uint32_t version;	/* co_version, or the hash of the names if it is not usable */
	uint32_t flags;		/* co_flags; 0: not asked for */
};

void code_header_parts(const struct py_layout *l,
		       struct code_header_part parts[CODE_HEADER_PARTS])
{
	const struct code_header_part all[CODE_HEADER_PARTS] = {
		{ l->co_filename, 8 }, { l->co_name, 8 }, { l->co_qualname, 8 },
		{ l->co_linetable, 8 }, { l->co_firstlineno, 4 },
		{ l->co_version == ABI_NO_OFF ? 0 : l->co_version,
		  l->co_version == ABI_NO_OFF ? 0 : 4 },
	};

	memcpy(parts, all, sizeof(all));
}

/* Longer than PyCodeObject's is no code object: it has 216 bytes in 3.15, 240 free-threaded. */
size_t code_header_bytes(const struct py_layout *l)
{
	struct code_header_part parts[CODE_HEADER_PARTS];
	size_t end = 0, i;

	code_header_parts(l, parts);
	for (i = 0; i < CODE_HEADER_PARTS; i++)
		if (parts[i].off + parts[i].len > (int)end)
			end = parts[i].off + parts[i].len;
	return end <= CODE_HEADER_MAX ? end : 0;
}

/* The hash that the BPF side computes (read_string_hash() in bpf/pystring.bpf.h). 0: unreadable. */
static uint32_t read_string_hash(const struct target_mem *mem, const struct py_layout *l,
				 uint64_t str)
{
	uint64_t head[STRING_HEAD / 8] = { 0 }, tail[STRING_TAIL / 8] = { 0 }, length;
	uint64_t data = str + l->str_data;

	if (mem->read(mem->ctx, str + l->str_length, &length, sizeof(length)) ||
	    mem->read(mem->ctx, data, head, length < STRING_HEAD ? length : STRING_HEAD))
		return 0;
	if (length > STRING_HEAD &&
	    mem->read(mem->ctx, data + length - STRING_TAIL, tail, sizeof(tail)))
		return 0;
	return string_hash(length, head, tail);
}

static void parse_header(const struct target_mem *mem, const struct py_layout *l,
			 const uint8_t *b, struct header *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(&h->filename, b + l->co_filename, 8);
	memcpy(&h->name, b + l->co_name, 8);
	memcpy(&h->qualname, b + l->co_qualname, 8);
	memcpy(&h->linetable, b + l->co_linetable, 8);
	memcpy(&h->firstlineno, b + l->co_firstlineno, 4);
	if (l->co_version != ABI_NO_OFF)
		memcpy(&h->version, b + l->co_version, 4);
	if (!h->version)
		h->version = names_hash(read_string_hash(mem, l, h->qualname),
					read_string_hash(mem, l, h->filename));
}

/* Returns the offset of co_flags, which is below code_header_bytes(); 0: unknown. */
static size_t flags_at(const struct py_object_layout *o)
{
	const struct py_code_layout *row = py_code_layout(o->minor);

	return row && o->str_length >= PLAIN_HEAD ? row->flags + o->str_length - PLAIN_HEAD : 0;
}

/* flags: flags_at(), or 0. */
static int read_header(const struct target_mem *mem, const struct py_layout *l, uint64_t addr,
		       size_t flags, struct header *h)
{
	size_t end = code_header_bytes(l);
	uint8_t b[CODE_HEADER_MAX];
	int err = end ? mem->read(mem->ctx, addr, b, end) : -EBADMSG;

	if (err)
		return err;
	parse_header(mem, l, b, h);
	if (flags && flags + 4 <= end)
		memcpy(&h->flags, b + flags, 4);
	return 0;
}

static uint32_t header_identity(const struct header *h)
{
	return code_identity(h->filename, h->name, h->qualname, h->linetable,
			     (uint32_t)h->firstlineno, h->version);
}

uint32_t code_identity_of(const struct target_mem *mem, const struct py_layout *l,
			  const uint8_t *bytes)
{
	struct header h;

	parse_header(mem, l, bytes, &h);
	return header_identity(&h);
}

/* Read a bytes object. -EFBIG: it is longer than CODE_TABLE_MAX. */
static int read_bytes(const struct target_mem *mem, const struct py_object_layout *o,
		      uint64_t addr, uint8_t **data, uint32_t *len)
{
	size_t need = o->bytes_data > o->bytes_size + 8u ? o->bytes_data : o->bytes_size + 8u;
	uint8_t first[FIRST_READ];
	uint64_t size;
	size_t n, have;
	int err;

	if (need > sizeof(first))
		return -EBADMSG;
	n = object_first_read(addr, need, sizeof(first));
	err = mem->read(mem->ctx, addr, first, n);
	if (err)
		return err;
	memcpy(&size, first + o->bytes_size, sizeof(size));
	if (size > INT64_MAX)
		return -EBADMSG;
	if (size > CODE_TABLE_MAX)
		return -EFBIG;
	*data = malloc(size + 1);
	if (!*data)
		return -ENOMEM;
	*len = size;
	have = n - o->bytes_data < size ? n - o->bytes_data : size;
	memcpy(*data, first + o->bytes_data, have);
	if (have == size)
		return 0;
	return mem->read(mem->ctx, addr + o->bytes_data + have, *data + have, size - have);
}

/*
 * If the line table is too long or unreadable, it is left empty: the names are still useful, and
 * code_position() then returns firstlineno.
 */
static int read_parts(const struct target_mem *mem, const struct py_object_layout *o,
		      const struct header *h, struct code_object *code)
{
	int err;

	err = code_read_string(mem, o, h->filename, &code->file, &code->file_len);
	if (!err)
		err = code_read_string(mem, o, h->qualname, &code->name, &code->name_len);
	if (err)
		return err;
	err = read_bytes(mem, o, h->linetable, &code->linetable, &code->linetable_len);
	if (err != -EFAULT && err != -ENODATA && err != -EFBIG)
		return err;
	free(code->linetable);
	code->linetable = NULL;
	code->linetable_len = 0;
	code->without_lines = true;
	return 0;
}

int code_identity_read(const struct target_mem *mem, const struct py_layout *l, uint64_t addr,
		       uint32_t *identity)
{
	struct header h;
	int err = read_header(mem, l, addr, 0, &h);

	if (!err)
		*identity = header_identity(&h);
	return err;
}

int code_check(const struct target_mem *mem, const struct py_layout *l, uint64_t addr,
	       uint32_t identity)
{
	uint32_t now;
	int err = code_identity_read(mem, l, addr, &now);

	if (err)
		return err;
	return now == identity ? 0 : -ESTALE;
}

int code_read(const struct target_mem *mem, const struct py_layout *l,
	      const struct py_object_layout *o, uint64_t addr, struct code_object *code)
{
	struct header h;
	int err;

	memset(code, 0, sizeof(*code));
	err = read_header(mem, l, addr, flags_at(o), &h);
	if (err)
		return err;
	code->addr = addr;
	code->minor = o->minor;
	code->firstlineno = h.firstlineno;
	code->identity = header_identity(&h);
	code->coroutine = h.flags & CO_ASYNC;
	err = read_parts(mem, o, &h, code);
	/* Bad content is only an error if the code object still exists. */
	if (code_check(mem, l, addr, code->identity))
		err = -ESTALE;
	if (err)
		code_free(code);
	return err;
}

void code_free(struct code_object *code)
{
	free(code->file);
	free(code->name);
	free(code->linetable);
	memset(code, 0, sizeof(*code));
}
