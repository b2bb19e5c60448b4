/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code.h - reads a code object from a process, and finds the source position of an instruction.
 *
 * The memory is hostile and may change while it is read: sizes are limited, and the fingerprint
 * shows whether it is the code object that was sampled.
 */
#ifndef TACHBPF_CPYTHON_CODE_H
#define TACHBPF_CPYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/image.h"

/* Memory to read from: of a process, a core file or a test image. */
struct target_mem {
	/* Read len bytes at addr. 0, or -errno: the content of buf is undefined. */
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
};

/* Limits: bytes of a name or path (UTF-8), of a line table, and of bytecode. */
#define CODE_STRING_MAX 4096
#define CODE_TABLE_MAX (1u << 20)

struct code_object {
	char *file, *name;	/* valid UTF-8, may contain NULs; name is co_qualname */
	uint32_t file_len, name_len;
	int32_t firstlineno;
	uint8_t *linetable;
	uint32_t linetable_len;
	bool without_lines;	/* the code object has a line table that could not be read */
	bool coroutine;		/* it is a coroutine's, or an asynchronous generator's */
	uint32_t identity;	/* code_identity() of what was read */
	uint64_t addr;
	uint8_t minor;
};

struct code_position {
	int32_t line, end_line;		/* LINE_NONE: no line */
	int32_t column, end_column;	/* COLUMN_NONE */
};

/*
 * Read the code object at addr. On success the caller frees *code with code_free(). -ESTALE: the
 * fingerprint changed meanwhile. -EBADMSG: not a valid code object. Other -errno: unreadable. On
 * error there is nothing to free. A line table that is too long or unreadable (-EFAULT, -ENODATA)
 * is left empty: without_lines.
 */
int code_read(const struct target_mem *mem, const struct py_layout *l,
	      const struct py_object_layout *o, uint64_t addr, struct code_object *code);
void code_free(struct code_object *code);

/*
 * Check whether addr still has the code object with this identity (code_object.identity). 0: yes;
 * -ESTALE: no; other -errno: unreadable.
 */
int code_check(const struct target_mem *mem, const struct py_layout *l, uint64_t addr,
	       uint32_t identity);

/*
 * The fixed part of a code object, of at most CODE_HEADER_MAX bytes; 0: the layout is invalid. Its
 * fingerprint follows from CODE_HEADER_PARTS of it, of which unused ones have a length of 0; and,
 * where the interpreter has no version of it, from the text of its names, which is read from mem.
 */
#define CODE_HEADER_MAX 512
#define CODE_HEADER_PARTS 6
struct code_header_part {
	uint16_t off, len;
};
size_t code_header_bytes(const struct py_layout *l);
void code_header_parts(const struct py_layout *l,
		       struct code_header_part parts[CODE_HEADER_PARTS]);
uint32_t code_identity_of(const struct target_mem *mem, const struct py_layout *l,
			  const uint8_t *bytes);

/* Read the current fingerprint of the code object at addr (code_object.identity). 0 or -errno. */
int code_identity_read(const struct target_mem *mem, const struct py_layout *l, uint64_t addr,
		       uint32_t *identity);

/*
 * The source position of raw_frame.lasti: of the instruction at this byte offset, or the line that
 * the frame itself has. If the instruction has none, the position is that of the previous entry
 * with a line, else firstlineno; at RAW_LASTI_NONE or more it is firstlineno. Never fails.
 */
void code_position(const struct code_object *code, uint32_t lasti, struct code_position *pos);

/*
 * The opcode at byte offset lasti, as it is in the bytecode now (possibly specialised). An offset
 * in inline caches counts as the instruction that they belong to (3.11, 3.12). OPCODE_NONE (255):
 * unreadable.
 */
uint8_t code_opcode(const struct target_mem *mem, const struct py_layout *l, uint8_t minor,
		    uint64_t addr, uint32_t lasti);

/* Number of two-byte units of inline cache that follow an instruction; up to 3.10: 0. */
#define CODE_CACHES_UNKNOWN 255
uint8_t code_cache_units(uint8_t minor, uint8_t opcode);

/*
 * Read a str object as UTF-8. *s is NUL-terminated, and the caller frees it. A string longer than
 * CODE_STRING_MAX is cut between characters. 0 or -errno.
 */
int code_read_string(const struct target_mem *mem, const struct py_object_layout *o,
		     uint64_t addr, char **s, uint32_t *len);

/*
 * The smallest page size of all supported machines: whatever follows an object in its page is
 * mapped, too.
 */
#define OBJECT_PAGE 4096u

/*
 * How many bytes to read at addr if `need` bytes are required and `want` bytes are useful. Only
 * required bytes extend the read into the next page.
 */
size_t object_first_read(uint64_t addr, size_t need, size_t want);

#endif
