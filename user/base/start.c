// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * start.c - see start.h.
 */
#include "base/start.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void start_program(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, SIG_IGN);
}

/* Relocations in code (an old linker's, never ours) would be lost with the pages that have them. */
static bool relocates_code(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_TEXTREL ||
			    (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
				return true;
	}
	return false;
}

/* Gives back the pages that nobody can have written. */
static int forget_pages(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin, end;
	const ElfW(Phdr) *p = info->dlpi_phdr;
	int i;

	if (relocates_code(info))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++, p++) {
		begin = (info->dlpi_addr + p->p_vaddr + page - 1) / page * page;
		end = (info->dlpi_addr + p->p_vaddr + p->p_memsz) / page * page;
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && begin < end)
			madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

/*
 * Blocks from this size on are mappings of their own, which go back to the kernel when they are
 * freed: tables that grow, and those of what has ended. glibc would raise the limit to the largest
 * that was ever freed, for BPF programs some MiB, and keep twice as much at the end of its heap.
 */
#define MAPPING_BYTES (64 * 1024)
#define HEAP_END_BYTES (128 * 1024)

void start_over(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPING_BYTES);
	mallopt(M_TRIM_THRESHOLD, HEAP_END_BYTES);
	malloc_trim(0);
	dl_iterate_phdr(forget_pages, NULL);
}
