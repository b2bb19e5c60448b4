// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libc.c - decodes pthread_self(). See libc.h.
 */
#include "cpython/libc.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "cpython/arm64.h"
#include "elf/elf.h"

/* bti, mrs, sub, ret; and space for a frame record */
#define SELF_CODE_BYTES 32

bool libc_self_is_below(uint16_t elf_machine)
{
	return elf_machine == EM_AARCH64;
}

static int read_self(const struct elf_file *f, uint16_t *below)
{
	static const char *const names[] = { "pthread_self" };
	uint8_t code[SELF_CODE_BYTES];
	struct elf_symbol fn;
	struct arm64_value v;
	ssize_t n;

	if (elf_file_dynsym(f, names[0], &fn) &&
	    (elf_file_symtab(f, names, &fn, 1) || !fn.value))
		return -ENOENT;
	n = elf_file_read_some(f, fn.value, code, sizeof(code));
	if (n <= 0 || arm64_returns(code, n, fn.value, &v) || v.kind != ARM64_TP ||
	    -v.off - 1 >= UINT16_MAX)
		return -ENOENT;
	*below = -v.off;
	return 0;
}

int libc_self_below(int fd, uint16_t *below)
{
	struct elf_file f;
	int err = elf_file_open(&f, fd);

	*below = 0;
	if (err)
		return err;
	if (!libc_self_is_below(f.machine))
		return -ENOENT;
	return read_self(&f, below);
}

int libc_mutexes_extra(uint16_t elf_machine, bool glibc, bool musl)
{
	if (elf_machine != EM_AARCH64 || musl)
		return 0;
	return glibc ? 2 * (48 - 40) : -1;
}

bool libc_is_name(const char *base)
{
	static const char *const names[] = {
		"libc.so.6",	/* glibc */
		"libc-2.",	/* glibc before 2.34: libc.so.6 is a link to it */
		"ld-musl-",	/* musl: libc and loader are one file */
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}
