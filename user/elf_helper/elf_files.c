// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_files.c - see elf_files.h. */
#include "elf_helper/elf_files.h"

#include <string.h>
#include <unistd.h>

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Free the file's tables and the further files that they were made of. */
static void elf_files_drop_tables(struct elf_held *h)
{
	elf_symbols_free(h->symbols);
	elf_lines_free(h->lines);
	perf_map_free(h->perf);
	close_fd(&h->debug_fd);
	close_fd(&h->mini_fd);
	close_fd(&h->alt_fd);
	h->symbols = NULL;
	h->lines = NULL;
	h->perf = NULL;
	h->symbols_tried = h->lines_tried = h->perf_tried = h->debug_asked = false;
	h->bytes = 0;
}

static void let_go(struct elf_held *h)
{
	elf_files_drop_tables(h);
	close_fd(&h->fd);
	h->file = 0;
}

static struct elf_held *find_file(struct elf_files *f, uint32_t file)
{
	struct elf_held *h;

	for (h = f->held; h < f->held + ELF_FILES_MAX; h++)
		if (h->file == file)
			return h;
	return NULL;
}

/* Returns a free slot, or that of the least recently used file. */
static struct elf_held *make_place(struct elf_files *f)
{
	struct elf_held *h, *oldest = NULL;

	for (h = f->held; h < f->held + ELF_FILES_MAX; h++) {
		if (!h->file)
			return h;
		if (h != f->busy && (!oldest || h->used < oldest->used))
			oldest = h;
	}
	let_go(oldest);
	return oldest;
}

void elf_files_put(struct elf_files *f, uint32_t file, int fd)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (!file || (h && h == f->busy)) {
		close(fd);
		return;
	}
	if (h)
		let_go(h);
	else
		h = make_place(f);
	memset(h, 0, sizeof(*h));
	h->file = file;
	h->fd = fd;
	h->debug_fd = h->mini_fd = h->alt_fd = -1;
	h->used = ++f->clock;
}

struct elf_held *elf_files_get(struct elf_files *f, uint32_t file)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (h)
		h->used = ++f->clock;
	return h;
}

void elf_files_forget(struct elf_files *f, uint32_t file)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (h && h != f->busy)
		let_go(h);
}

void elf_files_free(struct elf_files *f)
{
	struct elf_held *h;

	for (h = f->held; h < f->held + ELF_FILES_MAX; h++)
		if (h->file)
			let_go(h);
}

void elf_files_trim(struct elf_files *f)
{
	struct elf_held *h, *oldest;
	size_t sum;

	for (;;) {
		oldest = NULL;
		sum = 0;
		for (h = f->held; h < f->held + ELF_FILES_MAX; h++) {
			sum += h->bytes;
			if (h->bytes && h != f->busy && (!oldest || h->used < oldest->used))
				oldest = h;
		}
		if (sum <= ELF_FILES_TABLE_BYTES || !oldest)
			return;
		elf_files_drop_tables(oldest);
	}
}
