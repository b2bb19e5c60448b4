/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code.h - reads a code object out of a process and answers where in the source
 * an instruction is.
 *
 * The memory is hostile and may change while it is read: sizes are bounded, and
 * the fingerprint tells whether it is the code object that was sampled.
 */
#ifndef TACHBPF_CPYTHON_CODE_H
#define TACHBPF_CPYTHON_CODE_H

#include "cpython/image.h"

/* Somebody's memory: a process, a core, a test image. */
struct target_mem {
	/* Read len bytes at addr: 0, or -errno and nothing to rely on in buf. */
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
};

/* Longest name or path we take (UTF-8 bytes), and biggest line table and bytecode. */
#define CODE_STRING_MAX 4096
#define CODE_TABLE_MAX (1u << 20)

struct code_object {
	char *file, *name;	/* valid UTF-8, may contain NULs; name is co_qualname */
	uint32_t file_len, name_len;
	int32_t firstlineno;
	uint8_t *linetable;
	uint32_t linetable_len;
	bool without_lines;	/* it has a line table, and we have not */
	uint32_t identity;	/* code_identity() of what was read */
	uint64_t addr;
	uint8_t minor;
};

struct code_position {
	int32_t line, end_line;		/* LINE_NONE: no line */
	int32_t column, end_column;	/* COLUMN_NONE */
};

/*
 * Read the code object at addr. The identity is taken before and after: -ESTALE
 * when it changed meanwhile. 0, or -errno with nothing to free; -EBADMSG when it
 * is not a code object we can make sense of. A line table that is too long or cannot
 * be read (-EFAULT, -ENODATA) is left empty: without_lines.
 */
int code_read(const struct target_mem *mem, const struct py_layout *l,
	      const struct py_object_layout *o, uint64_t addr, struct code_object *code);
void code_free(struct code_object *code);

/*
 * Is the code object of this identity (code_object.identity) at addr now? 0: yes; -ESTALE:
 * no; -errno: it cannot be read.
 */
int code_check(const struct target_mem *mem, const struct py_layout *l, uint64_t addr,
	       uint32_t identity);

/*
 * Where the instruction at byte offset lasti is. Falls back to the previous
 * entry that has a line, then to firstlineno. RAW_LASTI_NONE or more: to firstlineno
 * at once. Never fails.
 */
void code_position(const struct code_object *code, uint32_t lasti, struct code_position *pos);

/*
 * The opcode at byte offset lasti, as it is in the bytecode now (possibly
 * specialised). Steps back from inline caches to the instruction they belong to
 * (3.11, 3.12). OPCODE_NONE (255) when it cannot be read.
 */
uint8_t code_opcode(const struct target_mem *mem, const struct py_layout *l, uint8_t minor,
		    uint64_t addr, uint32_t lasti);

/*
 * Read a str object as UTF-8. *s is malloc'ed and NUL-terminated. Longer than
 * CODE_STRING_MAX is cut at a character. 0 or -errno.
 */
int code_read_string(const struct target_mem *mem, const struct py_object_layout *o,
		     uint64_t addr, char **s, uint32_t *len);

#endif
