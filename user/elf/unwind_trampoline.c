// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind_trampoline.c - see unwind_trampoline.h. */
#include "elf/unwind_trampoline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CODE_BYTES_MAX 65536u	/* of the vDSO: 4 or 8 KiB */

/* mov x8, #__NR_rt_sigreturn; svc #0 */
static const uint32_t trampoline[] = { 0xd2801168, 0xd4000001 };

static int find_in(const struct elf_file *elf, const struct elf_load *l, uint64_t *start)
{
	uint32_t *code;
	ssize_t len;
	size_t i;

	if (!l->executable || l->memsz > CODE_BYTES_MAX)
		return -ENOENT;
	code = malloc(CODE_BYTES_MAX);
	if (!code)
		return -ENOMEM;
	len = elf_file_read_some(elf, l->vaddr, code, CODE_BYTES_MAX);
	for (i = 1; len > 0 && (i + 2) * sizeof(*code) <= (size_t)len; i++)
		if (!memcmp(code + i, trampoline, sizeof(trampoline)))
			break;
	free(code);
	if (len <= 0 || (i + 2) * sizeof(*code) > (size_t)len)
		return -ENOENT;
	*start = l->vaddr + (i - 1) * sizeof(*code);
	return 0;
}

int unwind_trampoline_find(const struct elf_file *elf, uint64_t *start)
{
	unsigned int i;
	int err = -ENOENT;

	for (i = 0; err == -ENOENT && elf->machine == EM_AARCH64 && i < elf->load_cnt; i++)
		err = find_in(elf, &elf->loads[i], start);
	return err;
}
