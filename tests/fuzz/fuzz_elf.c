// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_elf.c - two hostile ELF files through the ELF reader and what the dynamic linker does with
 * them (elf.h, elf_link.h), as the parser's functions DESCRIBE, LIBRARY and
 * FUNCTIONS call them. Input: u32 length of the executable, the executable, the library.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpython/libc.h"
#include "elf/elf.h"
#include "elf/elf_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_library(void *ctx, const char *name)
{
	if (strchr(name, '/'))
		abort();
	return 0;
}

/* Descriptor with these bytes, always the same one. */
static int file_of(int *fd, const uint8_t *data, size_t size)
{
	if (*fd < 0)
		*fd = memfd_create("elf", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, 0) || pwrite(*fd, data, size, 0) != (ssize_t)size)
		abort();
	return *fd;
}

static void check_end(const char *s, size_t size)
{
	if (strnlen(s, size) == size)
		abort();
}

/* As the parser does for --allocations: what is found lies in the file. */
static void find_functions(const struct elf_file *f)
{
	static const char *const names[] = { "malloc", "free", "_PyRuntime", "Py_BytesMain" };
	uint64_t offsets[4];
	int err = elf_functions_find(f, names, offsets, 4), found = 0, i;

	for (i = 0; i < 4; i++) {
		if (offsets[i] >= f->size && offsets[i])
			abort();
		found += !!offsets[i];
	}
	if (!err && !found)
		abort();
}

static void read_one(const struct elf_file *f, int fd)
{
	static const char *const names[] = { "_PyRuntime", "Py_Version", "Py_BytesMain" };
	static uint8_t memory[65536];
	char name[NAME_MAX] = "", path[PATH_MAX] = "";
	struct elf_symbol syms[3];
	struct elf_range range;
	uint16_t below;
	unsigned int i;

	if (f->load_cnt > ELF_MAX_LOADS)
		abort();
	for (i = 0; i < 3; i++)
		elf_file_dynsym(f, names[i], &syms[i]);
	elf_file_symtab(f, names, syms, 3);
	if (!elf_file_section(f, ".rodata", &range))
		elf_file_read(f, range.vaddr, memory, sizeof(memory));
	for (i = 0; i < f->load_cnt; i++)
		if (elf_file_read_some(f, f->loads[i].vaddr, memory, sizeof(memory)) >
		    (ssize_t)sizeof(memory))
			abort();
	elf_file_soname(f, name, sizeof(name));
	check_end(name, sizeof(name));
	if (!elf_link_needed(f, "libpython", name, sizeof(name)) &&
	    (strncmp(name, "libpython", 9) || strchr(name, '/')))
		abort();
	check_end(name, sizeof(name));
	elf_link_runpath(f, path, sizeof(path));
	check_end(path, sizeof(path));
	if (!elf_link_interpreter(f, path, sizeof(path)))
		check_end(path, sizeof(path));
	elf_link_libraries(f, check_library, NULL);
	libc_self_below(fd, &below);
	find_functions(f);
}

static void read_both(const struct elf_file *exe, const struct elf_file *lib)
{
	uint64_t phdr, slot, symbol, at;
	uint8_t id[16];

	elf_link_phdrs(exe, &phdr);
	if (!elf_link_slot(exe, lib, &slot, &symbol) && (!slot || !symbol))
		abort();
	elf_link_identity(lib, &at, id, sizeof(id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fds[2] = { -1, -1 };
	struct elf_file files[2];
	uint32_t len;
	bool ok[2];
	int i;

	if (size < sizeof(len))
		return 0;
	memcpy(&len, data, sizeof(len));
	data += sizeof(len);
	size -= sizeof(len);
	len = len < size ? len : size;
	ok[0] = !elf_file_open(&files[0], file_of(&fds[0], data, len));
	ok[1] = !elf_file_open(&files[1], file_of(&fds[1], data + len, size - len));
	for (i = 0; i < 2; i++)
		if (ok[i])
			read_one(&files[i], fds[i]);
	if (ok[0] && ok[1])
		read_both(&files[0], &files[1]);
	return 0;
}
