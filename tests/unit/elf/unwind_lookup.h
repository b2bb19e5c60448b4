/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind_lookup.h - a table of tests: built from a file, and asked as the BPF side does. */
#ifndef TACHBPF_TESTS_UNWIND_LOOKUP_H
#define TACHBPF_TESTS_UNWIND_LOOKUP_H

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/unwind_build.h"

struct lookup {
	struct elf_file elf;
	const struct unwind_file *file;
	size_t len;
};

/* Build the table of the file behind fd, and map it. 0 or -errno. */
static inline int lookup_build(struct lookup *l, int fd)
{
	const uint64_t hash[2] = { 1, 2 };
	int err = elf_file_open(&l->elf, fd), table;
	struct stat st;
	void *map;

	if (err)
		return err;
	table = unwind_build(&l->elf, hash);
	if (table < 0)
		return table;
	map = fstat(table, &st) ? MAP_FAILED :
	      mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, table, 0);
	close(table);
	if (map == MAP_FAILED)
		return -errno;
	l->file = map;
	l->len = (size_t)st.st_size;
	return 0;
}

static inline void lookup_free(struct lookup *l)
{
	munmap((void *)(uintptr_t)l->file, l->len);
}

static inline const uint8_t *lookup_parts(const struct lookup *l)
{
	return (const uint8_t *)l->file + UNWIND_FILE_HEAD;
}

static inline const struct unwind_row *lookup_rows(const struct lookup *l)
{
	return (const struct unwind_row *)lookup_parts(l);
}

/* The number of the row of an offset from the table's start; it is less than bytes. */
static inline uint32_t lookup_row(const struct lookup *l, uint32_t off)
{
	const uint32_t *index = (const uint32_t *)lookup_parts(l) + l->file->index_at;
	const struct unwind_row *rows = lookup_rows(l);
	uint32_t low = index[off >> l->file->shift], high = index[(off >> l->file->shift) + 1];

	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (rows[mid].addr <= off)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static inline void lookup_unpack(const struct lookup *l, uint32_t packed, struct unwind_rule *rule)
{
	const struct unwind_rule *rules = (const struct unwind_rule *)lookup_parts(l) +
					  l->file->ext_at;

	if ((packed & 7) == UNWIND_EXT)
		*rule = rules[packed >> 3];
	else
		unwind_unpack(packed, rule);
}

/* The rule of an address in the file. */
static inline struct unwind_rule lookup_rule(const struct lookup *l, uint64_t addr)
{
	struct unwind_rule rule = { 0 };
	uint64_t off = addr - l->file->start;

	if (off < l->file->bytes)
		lookup_unpack(l, lookup_rows(l)[lookup_row(l, (uint32_t)off)].rule, &rule);
	return rule;
}

#endif
