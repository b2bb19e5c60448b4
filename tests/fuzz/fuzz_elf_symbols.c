// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_elf_symbols.c - a hostile ELF file through what the helper reads of it itself: program
 * headers, symbols, mini debuginfo, names of C++ and Rust.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_helper/elf_debug.h"
#include "elf_helper/elf_demangle.h"
#include "elf_helper/elf_segments.h"
#include "elf_helper/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int no_file(void *ctx, const struct elf_want_debug *want)
{
	if (want->id_bytes > sizeof(want->id) ||
	    strnlen(want->name, sizeof(want->name)) == sizeof(want->name) ||
	    strchr(want->name, '/'))
		abort();
	return -1;
}

static void check_name(const struct elf_symbols *s, uint64_t addr)
{
	char name[ELF_MANGLED_BYTES], shown[64];
	uint64_t start;

	if (!elf_symbols_find(s, addr, name, &start))
		return;
	if (start > addr || strnlen(name, sizeof(name)) == sizeof(name) ||
	    elf_demangle(name, shown, sizeof(shown)) != strlen(shown))
		abort();
}

static void read_segments(int fd)
{
	struct elf_segments segments;
	struct elf_facts facts;
	struct elf_file f;
	uint32_t i;

	if (elf_file_open(&f, fd) || elf_segments_read(&f, &segments))
		return;
	elf_facts_fill(&f, &segments, &facts);
	if (facts.plt_end < facts.plt_start || facts.load_cnt > 8 ||
	    facts.build_id_bytes > sizeof(facts.build_id))
		abort();
	for (i = 0; i < facts.load_cnt; i++)
		if (elf_segments_start(&f, &segments, facts.loads[i].vaddr + 64) >
		    facts.loads[i].vaddr + 64)
			abort();
}

static void read_symbols(int fd)
{
	struct elf_symbols *s = elf_symbols_new();
	struct elf_match *found = NULL;
	int cnt, i;

	elf_symbols_add(s, fd, SHT_SYMTAB);
	elf_symbols_add(s, fd, SHT_DYNSYM);
	elf_symbols_sort(s);
	cnt = elf_symbols_match(s, "_Z*\0f\0*", 3, false, &found);
	for (i = 0; i < cnt && i < 64; i++) {
		if (found[i].pattern > 2 || found[i].end < found[i].start ||
		    (i && found[i].start < found[i - 1].start))
			abort();
		check_name(s, found[i].start);
		check_name(s, found[i].end);
	}
	free(found);
	elf_symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	int mini;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_segments(fd);
	read_symbols(fd);
	elf_debug_file(fd, no_file, NULL);
	elf_debug_alt(fd, no_file, NULL);
	mini = elf_debug_mini(fd);
	if (mini >= 0) {
		read_symbols(mini);
		close(mini);
	}
	return 0;
}
