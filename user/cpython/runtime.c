// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * runtime.c - finds _PyRuntime by its name, its section, the symbol table or its cookie.
 *
 * Sources: Python/pylifecycle.c (from v3.10.0 on it is alone in section .PyRuntime),
 * Include/internal/pycore_debug_offsets.h (from 3.13 on it begins with a cookie, so that it can
 * also be found in the writable part of a file without section headers).
 */
#include "cpython/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/debug_offsets.h"
#include "cpython/version.h"

/*
 * Limits on bytes of a file that are searched. CPython itself has 0.7 MiB of data and 3 MiB of
 * constants.
 */
#define SCAN_DATA_MAX  (64u << 20)
#define SCAN_CONST_MAX (8u << 20)
#define SCAN_CHUNK     (64u << 10)

/*
 * Check whether a _PyRuntime begins here. 2: its debug offsets are valid; 1: it may be a newer
 * version's; 0: no.
 */
static int judge_runtime(const uint8_t *bytes, size_t len)
{
	struct cpython_image img = { 0 };
	struct debug_offsets d;
	const char *what;
	uint32_t hex;
	int ft;

	if (debug_offsets_version(bytes, len, &hex, &ft) || version_from_hex(&img, hex) ||
	    img.major != 3 || img.minor < 13)
		return 0;
	return debug_offsets_read(bytes, len, img.minor, &d, &what) ? 1 : 2;
}

/* Look for the cookie in one chunk at vaddr. Returns true if the result is certain. */
static bool scan_chunk(const struct elf_file *f, const uint8_t *chunk, size_t len,
		       uint64_t vaddr, uint64_t *found)
{
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	size_t i;

	for (i = -vaddr & 7; i + 8 <= len; i += 8) {
		ssize_t n;
		int how;

		if (memcmp(chunk + i, DEBUG_OFFSETS_COOKIE, 8))
			continue;
		n = elf_file_read_some(f, vaddr + i, bytes, sizeof(bytes));
		how = n > 0 ? judge_runtime(bytes, n) : 0;
		if (how == 2 || (how && !*found))
			*found = vaddr + i;
		if (how == 2)
			return true;
	}
	return false;
}

static int scan_cookie(const struct elf_file *f, uint64_t *vaddr)
{
	uint8_t *chunk = malloc(SCAN_CHUNK);
	uint64_t left = SCAN_DATA_MAX;
	unsigned int i;

	*vaddr = 0;
	for (i = 0; chunk && i < f->load_cnt; i++) {
		uint64_t at = f->loads[i].vaddr, end = at + f->loads[i].filesz;

		/* Chunks begin at multiples of 8, so no cookie crosses the border of two. */
		while (f->loads[i].writable && at < end && left) {
			size_t want = SCAN_CHUNK - (at & 7);
			ssize_t n = elf_file_read_some(f, at, chunk, want < left ? want : left);

			if (n <= 0)
				break;
			if (scan_chunk(f, chunk, n, at, vaddr))
				goto out;
			at += n;
			left -= n;
		}
	}
out:
	free(chunk);
	return *vaddr ? 0 : -ENOENT;
}

int runtime_find(const struct elf_file *f, uint64_t *vaddr)
{
	static const char *const name[] = { "_PyRuntime" };
	struct elf_range section;
	struct elf_symbol sym;

	if (!elf_file_dynsym(f, name[0], &sym))
		*vaddr = sym.value;
	else if (!elf_file_section(f, ".PyRuntime", &section))
		*vaddr = section.vaddr;
	else if (f->program && !elf_file_symtab(f, name, &sym, 1) && sym.value)
		*vaddr = sym.value;
	else if (!f->shnum)
		return scan_cookie(f, vaddr);
	else
		return -ENOENT;
	return 0;
}

/* Returns true if vaddr is in memory, but not in the file. */
static bool is_bss(const struct elf_file *f, uint64_t vaddr)
{
	unsigned int i;

	for (i = 0; i < f->load_cnt; i++) {
		uint64_t skip = vaddr - f->loads[i].vaddr;

		if (vaddr >= f->loads[i].vaddr && skip < f->loads[i].memsz)
			return skip >= f->loads[i].filesz;
	}
	return false;
}

bool runtime_copies(const struct elf_file *f, uint64_t *runtime, uint64_t *none)
{
	struct elf_symbol sym;

	*runtime = *none = 0;
	/*
	 * A program that defines the functions itself also has the variables (up to 3.9 in .bss).
	 */
	if (!f->program || !elf_file_dynsym(f, "Py_InitializeEx", &sym))
		return false;
	if (!elf_file_dynsym(f, "_PyRuntime", &sym) && is_bss(f, sym.value))
		*runtime = sym.value;
	if (!elf_file_dynsym(f, "_Py_NoneStruct", &sym) && is_bss(f, sym.value))
		*none = sym.value;
	return *runtime || *none;
}

/*
 * The beginnings of strings that every version contains: Python/pylifecycle.c,
 * fatal_error(), and Python/import.c. Incomplete, or they would be found in tachbpf itself.
 * Programs that are linked to a libpython may contain the first one.
 */
static bool has_words(const struct elf_file *f, uint64_t off, uint64_t len)
{
	static const char fatal[] = "atal Python error: ", frozen[] = "frozen_importlib";
	bool found = false;
	char *s, *at;

	if (len > SCAN_CONST_MAX || len > f->size)
		return false;
	s = malloc(len + 1);
	if (!s)
		return false;
	s[0] = '\0';
	if (!elf_file_pread(f, off, s + 1, len)) {
		at = memmem(s + 1, len, fatal, sizeof(fatal) - 1);
		if (at && at[-1] == 'F')
			at = memmem(s + 1, len, frozen, sizeof(frozen) - 1);
		else
			at = NULL;
		found = at && at[-1] == '_';
	}
	free(s);
	return found;
}

bool runtime_is_hidden(const struct elf_file *f)
{
	struct elf_range r;
	unsigned int i;

	if (!f->program)
		return false;
	if (f->shnum)
		return !elf_file_section(f, ".rodata", &r) && has_words(f, r.off, r.size);
	for (i = 0; i < f->load_cnt; i++)
		if (!f->loads[i].writable && has_words(f, f->loads[i].off, f->loads[i].filesz))
			return true;
	return false;
}

/*
 * PyInterpreterState_Head() returns interp_head: its first instruction is mov X(%rip),%rax.
 * PyGILState_GetThisThreadState() passes autoTLSkey on: its first instruction of this kind
 * is mov K(%rip),%edi (v3.6.15, Python/pystate.c). Machine code of x86-64 only.
 */
int runtime_decode(const struct elf_file *f, enum runtime_static which, uint64_t *vaddr)
{
	static const struct {
		const char *function;
		uint8_t code[3], len;
	} loads[] = {
		[RUNTIME_INTERP_HEAD] = { "PyInterpreterState_Head", { 0x48, 0x8b, 0x05 }, 3 },
		[RUNTIME_TLS_KEY] = { "PyGILState_GetThisThreadState", { 0x8b, 0x3d }, 2 },
	};
	struct elf_symbol fn;
	uint8_t code[64];
	int32_t disp;
	ssize_t n, i;

	if (f->machine != EM_X86_64 || elf_file_dynsym(f, loads[which].function, &fn))
		return -ENOENT;
	n = elf_file_read_some(f, fn.value, code, sizeof(code));
	for (i = 0; i + loads[which].len + 4 <= n; i++) {
		if (memcmp(code + i, loads[which].code, loads[which].len))
			continue;
		i += loads[which].len;
		memcpy(&disp, code + i, sizeof(disp));
		*vaddr = fn.value + (uint64_t)i + sizeof(disp) + (int64_t)disp;
		return 0;
	}
	return -ENOENT;
}
