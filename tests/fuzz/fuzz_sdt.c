// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_sdt.c - a hostile file through the reader of USDT probes (elf_sdt.h), as the parser's
 * function SDT calls it: what is found lies in the file.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_sdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_for(const struct elf_file *f, const char *name)
{
	struct elf_sdt_place places[ELF_SDT_PLACES_MAX];
	uint32_t cnt = 0, i;
	int err = elf_sdt_find(f, "probed", name, places, &cnt);

	if (cnt > ELF_SDT_PLACES_MAX || (!err && !cnt))
		abort();
	for (i = 0; i < cnt; i++)
		if (!places[i].offset || places[i].offset >= f->size ||
		    places[i].semaphore >= f->size)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_file f;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (elf_file_open(&f, fd))
		return 0;
	look_for(&f, "work");
	look_for(&f, "guarded");
	return 0;
}
