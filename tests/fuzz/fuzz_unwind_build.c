// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_unwind_build.c - a hostile ELF file becomes an unwind table (unwind_build.h) that is one:
 * its parts lie where its header says, its rows are sorted, and its index finds them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/unwind_build.h"
#include "elf/unwind_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_index(const struct unwind_file *f, const struct unwind_row *rows,
			const uint32_t *index)
{
	uint64_t cnt = unwind_index_cnt(f->bytes, f->shift), i;

	for (i = 0; i < cnt; i++) {
		need(index[i] < f->row_cnt && rows[index[i]].addr <= i << f->shift);
		need(index[i] + 1 == f->row_cnt || rows[index[i] + 1].addr > i << f->shift);
	}
}

static void check_table(const struct unwind_file *f)
{
	const uint8_t *parts = (const uint8_t *)f + UNWIND_FILE_HEAD;
	const struct unwind_row *rows = (const struct unwind_row *)parts;
	uint32_t i;

	need(rows[0].addr == 0);
	for (i = 0; i < f->row_cnt; i++) {
		need(rows[i].addr < f->bytes);
		need(!i || (rows[i].addr > rows[i - 1].addr && rows[i].rule != rows[i - 1].rule));
		need((rows[i].rule & 7) != UNWIND_EXT || rows[i].rule >> 3 < f->ext_cnt);
	}
	check_index(f, rows, (const uint32_t *)parts + f->index_at);
}

static void build(const struct elf_file *elf)
{
	const uint64_t hash[2] = { 1, 2 };
	static const uint8_t secret[192];
	uint64_t real_hash[2];
	struct stat st;
	void *map;
	int fd = unwind_build(elf, hash);

	if (fd < 0)
		return;
	need(!unwind_hash(elf, secret, real_hash));
	need(!fstat(fd, &st));
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	need(map != MAP_FAILED);
	need(unwind_file_is_valid(map, (size_t)st.st_size));
	check_table(map);
	munmap(map, (size_t)st.st_size);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_file elf;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (!elf_file_open(&elf, fd))
		build(&elf);
	return 0;
}
