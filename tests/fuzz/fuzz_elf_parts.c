// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuzz_elf_parts.c - a hostile library's call frame information and jumps, through the helper. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_helper/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct elf_parts *p)
{
	size_t i;

	for (i = 0; i < p->cnt; i++)
		if (p->parts[i].start >= p->parts[i].end ||
		    (i && p->parts[i].start < p->parts[i - 1].end))
			abort();
}

/* All symbols, too: here the library is not stripped. */
static void name(int fd, const struct elf_parts *p)
{
	struct elf_symbols *s = elf_symbols_new();
	char text[ELF_MANGLED_BYTES];
	uint64_t start;
	size_t i;

	elf_symbols_add(s, fd, SHT_DYNSYM);
	elf_symbols_sort(s);
	elf_symbols_add_parts(s, p);
	for (i = 0; i < p->cnt; i++)
		if (elf_symbols_find(s, p->parts[i].start, text, &start) &&
		    start > p->parts[i].start)
			abort();
	elf_symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_parts p;
	struct elf_file f;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (elf_file_open(&f, fd))
		return 0;
	if (!elf_parts_read(&f, &p)) {
		check(&p);
		name(fd, &p);
	}
	elf_parts_free(&p);
	return 0;
}
