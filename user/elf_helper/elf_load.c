// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_load.c - see elf_load.h. */
#include "elf_helper/elf_load.h"

#include <string.h>

#include "elf_helper/elf_debug.h"

/* libdw makes about as much of a file's sections as they have bytes, twice. */
#define LINES_FACTOR 2
#define LINES_BYTES_MAX (1u << 30)

struct asker {
	struct elf_opener *opener;
	uint32_t file;
};

static int ask(void *ctx, const struct elf_want_debug *want)
{
	const struct asker *a = ctx;

	return elf_opener_ask(a->opener, WANT_DEBUG, a->file, want, sizeof(*want));
}

static void find_debug(struct elf_opener *o, struct elf_held *h)
{
	struct asker a = { o, h->file };

	if (h->debug_asked)
		return;
	h->debug_asked = true;
	h->debug_fd = elf_debug_file(h->fd, ask, &a);
}

/* .symtab has what .dynsym has, and more. */
static void read_symbols(struct elf_opener *o, struct elf_held *h, struct elf_symbols *s)
{
	if (elf_symbols_add(s, h->fd, SHT_SYMTAB) > 0)
		return;
	elf_symbols_add(s, h->fd, SHT_DYNSYM);
	find_debug(o, h);
	if (h->debug_fd >= 0 && elf_symbols_add(s, h->debug_fd, SHT_SYMTAB) > 0)
		return;
	h->mini_fd = elf_debug_mini(h->fd);
	if (h->mini_fd >= 0)
		elf_symbols_add(s, h->mini_fd, SHT_SYMTAB);
}

void elf_load_symbols(struct elf_opener *o, struct elf_held *h)
{
	if (h->symbols_tried)
		return;
	h->symbols_tried = true;
	if (elf_file_open(&h->elf, h->fd) || elf_segments_read(&h->elf, &h->segments))
		memset(&h->segments, 0, sizeof(h->segments));
	h->symbols = elf_symbols_new();
	if (!h->symbols)
		return;
	read_symbols(o, h, h->symbols);
	elf_symbols_sort(h->symbols);
	h->bytes += elf_symbols_bytes(h->symbols);
	elf_files_trim(o->files);
}

void elf_load_lines(struct elf_opener *o, struct elf_held *h)
{
	struct asker a = { o, h->file };
	uint64_t bytes;
	int fd = h->fd;

	if (h->lines_tried)
		return;
	h->lines_tried = true;
	if (!elf_debug_has(fd, ".debug_info")) {
		find_debug(o, h);
		fd = h->debug_fd;
	}
	bytes = fd >= 0 ? elf_debug_bytes(fd) * LINES_FACTOR : 0;
	if (!bytes || bytes > LINES_BYTES_MAX)
		return;
	h->alt_fd = elf_debug_alt(fd, ask, &a);
	h->lines = elf_lines_new(fd, h->alt_fd);
	h->bytes += bytes;
	elf_files_trim(o->files);
}

void elf_load_perf(struct elf_opener *o, struct elf_held *h)
{
	if (h->perf_tried)
		return;
	h->perf_tried = true;
	h->perf = perf_map_read(h->fd);
	if (h->perf)
		h->bytes += perf_map_bytes(h->perf);
	elf_files_trim(o->files);
}
