// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuzz_elf_methods.c - a hostile library's tables of methods and types, through the helper. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_helper/elf_methods.h"
#include "elf_helper/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct elf_methods *m)
{
	size_t i;

	for (i = 0; i < m->cnt; i++) {
		const struct elf_method *f = &m->functions[i];

		if (f->end <= f->start || (i && f->start <= f[-1].start) ||
		    f->name >= m->text_bytes || !m->text[f->name] ||
		    strnlen(m->text + f->name, m->text_bytes - f->name) >= ELF_MANGLED_BYTES)
			abort();
	}
	if (m->text_bytes && m->text[m->text_bytes - 1])
		abort();
}

static void find(const struct elf_symbols *s, uint64_t start)
{
	char name[ELF_MANGLED_BYTES];
	uint64_t at;

	if (elf_symbols_find(s, start, name, &at) && (at > start || !*name))
		abort();
}

/* As names and functions of a class. */
static void add(struct elf_methods *m)
{
	struct elf_symbols *s = elf_symbols_new();
	struct elf_match *found = NULL;
	int cnt, i;

	elf_symbols_add_methods(s, m);
	elf_symbols_sort(s);
	cnt = elf_symbols_match(s, "seed.*\0", 1, true, &found);
	for (i = 0; i < cnt; i++) {
		if (found[i].end < found[i].start || found[i].pattern > 1)
			abort();
		find(s, found[i].start);
	}
	free(found);
	elf_symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_segments segments;
	struct elf_methods m;
	struct elf_file f;
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (elf_file_open(&f, fd) || elf_segments_read(&f, &segments))
		return 0;
	if (!elf_methods_read(&f, &segments, &m)) {
		check(&m);
		add(&m);
	}
	elf_methods_free(&m);
	return 0;
}
