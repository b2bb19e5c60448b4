/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_methods.h - names of functions that have no symbol, from the tables through which CPython
 * finds them: methods, attributes, types and their slots. The file is hostile.
 *
 * A function is named as in Python: "zlib.compress", "dict.update", "_json.Scanner.__call__". A
 * slot without such a name has that of its field: "dict.tp_dealloc".
 */
#ifndef TACHBPF_ELF_METHODS_H
#define TACHBPF_ELF_METHODS_H

#include "elf_helper/elf_segments.h"

struct elf_method {
	uint64_t start, end;	/* addresses in the file */
	uint32_t name;		/* offset in text */
};

struct elf_methods {
	struct elf_method *functions;	/* sorted by start, each function once */
	size_t cnt;
	char *text;
	size_t text_bytes;
};

/*
 * Reads the tables of a file that has to do with CPython; of another file *out is empty. Returns 0
 * or -errno; *out must be freed in either case. Functions begin where elf_segments_starts() says.
 */
int elf_methods_read(const struct elf_file *f, const struct elf_segments *s,
		     struct elf_methods *out);
void elf_methods_free(struct elf_methods *m);

#endif
