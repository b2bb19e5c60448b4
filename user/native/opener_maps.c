// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* opener_maps.c - see opener_maps.h. */
#include "native/opener_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "bpf/abi_native.h"
#include "host/proc.h"
#include "native/native_wire.h"
#include "native/opener_files.h"

/* Limits of a reading: pages that are checked (1 GiB of code), and changes among them. */
#define PAGES_MAX 262144u
#define TURNS_MAX 64u

/* A mapping of any kind, with its path; end 0: none. */
struct seen {
	struct opener_map map;
	bool exec, write, shared;
	char path[OPENER_PATH_MAX];
};

struct collected {
	struct elf_message m;
	opener_send_fn send;
	pid_t tgid;
	uint32_t total;
	int pagemap;			/* -1: not opened */
	uint32_t pages, turns;		/* so far */
	struct seen seen[3];
	struct seen *before, *held;	/* the last two: what held is depends on the next one */
	struct seen *next;
	struct opener_map last;		/* not in data yet; end 0: none */
	char path[OPENER_PATH_MAX];
	_Alignas(8) uint8_t data[ELF_WIRE_BYTES];
};

/* ---- messages ---- */

static int flush_maps(struct collected *c, uint32_t more)
{
	int err;

	c->m.more = more;
	err = c->send(&c->m, c->data);
	c->m.cnt = c->m.bytes = 0;
	return err;
}

/* Appends the last mapping to the others. */
static int put_last(struct collected *c)
{
	uint32_t bytes = (uint32_t)sizeof(c->last) + ((c->last.path_bytes + 7) & ~7u);
	int err = c->last.end && c->m.bytes + bytes > sizeof(c->data) ? flush_maps(c, 1) : 0;

	if (err || !c->last.end)
		return err;
	memset(c->data + c->m.bytes, 0, bytes);
	memcpy(c->data + c->m.bytes, &c->last, sizeof(c->last));
	memcpy(c->data + c->m.bytes + sizeof(c->last), c->path, c->last.path_bytes);
	c->m.bytes += bytes;
	c->m.cnt++;
	c->last.end = 0;
	return 0;
}

static uint64_t file_end(const struct opener_map *m)
{
	return m->offset + (m->end - m->start);
}

/* Returns true if b begins where a ends, in memory and in the same file. */
static bool continues_map(const struct opener_map *a, const struct opener_map *b)
{
	return a->end == b->start && a->dev == b->dev && a->ino == b->ino && b->ino &&
	       file_end(a) == b->offset;
}

/* Adds code at addresses of m, or a part of it. path: its path, of m->path_bytes. */
static int add_code(struct collected *c, const struct opener_map *m, const char *path)
{
	int err;

	if (c->last.end && continues_map(&c->last, m) && c->last.flags == m->flags) {
		c->last.end = m->end;
		return 0;
	}
	err = put_last(c);
	if (!err && c->total++ >= NATIVE_MAPPINGS)
		err = -E2BIG;
	if (err)
		return err;
	c->last = *m;
	memcpy(c->path, path, m->path_bytes);
	return 0;
}

/* ---- pages that the process has written ---- */

#define PAGEMAP_FILE (1ull << 61)	/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_PRESENT (1ull << 63)
#define BATCH 512

/* Entry of a page of a private mapping with a file. */
static bool is_written(uint64_t entry)
{
	return entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) && !(entry & PAGEMAP_FILE);
}

/* Reads the entries of up to BATCH pages from addr on. Returns the number, 0 if there are none. */
static size_t read_pagemap(struct collected *c, uint64_t addr, uint64_t page,
			   uint64_t entries[BATCH])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", c->tgid);
	if (c->pagemap < 0)
		c->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (c->pagemap < 0 || c->pages + BATCH > PAGES_MAX)
		return 0;
	c->pages += BATCH;
	n = pread(c->pagemap, entries, BATCH * sizeof(entries[0]), (off_t)(addr / page * 8));
	return n < 0 ? 0 : (size_t)n / sizeof(entries[0]);
}

static int add_part(struct collected *c, uint64_t start, uint64_t end, bool changed)
{
	struct opener_map part = c->held->map;

	if (start == end)
		return 0;
	part.offset += start - part.start;
	part.start = start;
	part.end = end;
	part.flags = changed ? OPENER_CHANGED : 0;
	return add_code(c, &part, c->held->path);
}

/* Adds the held mapping in parts: written, and not. */
static int add_by_page(struct collected *c)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entries[BATCH];
	uint64_t addr = c->held->map.start, from = addr;
	size_t cnt = 0, i = 0;
	bool changed = false;
	int err = 0;

	for (; !err && addr < c->held->map.end; addr += page, i++) {
		if (i == cnt) {
			cnt = read_pagemap(c, addr, page, entries);
			i = 0;
		}
		if (!cnt || c->turns >= TURNS_MAX)
			break;
		if (is_written(entries[i]) == changed)
			continue;
		err = add_part(c, from, addr, changed);
		from = addr;
		changed = !changed;
		c->turns++;
	}
	return err ? err : add_part(c, from, c->held->map.end, changed);
}

/* ---- what a mapping is ---- */

static bool has_file(const struct opener_map *m, const char *path)
{
	return m->ino && strncmp(path, "/anon_hugepage", 14);
}

/* Returns true if the held mapping, memory, is where the file on both sides would continue. */
static bool fills_file(const struct collected *c, const struct opener_map *next)
{
	struct opener_map whole = c->before->map;

	if (has_file(&c->held->map, c->held->path) || whole.end != c->held->map.start)
		return false;
	whole.end = c->held->map.end;
	return next && continues_map(&whole, next);
}

/* Returns true if the process may have made the held mapping's pages writable. */
static bool may_be_written(const struct collected *c, const struct opener_map *next,
			   bool next_exec)
{
	return c->held->write ||
	       (c->before->exec && continues_map(&c->before->map, &c->held->map)) ||
	       (next_exec && continues_map(&c->held->map, next));
}

/* Adds the held mapping; next: the one that follows, or NULL. */
static int add_held(struct collected *c, const struct seen *next)
{
	const struct opener_map *its = next ? &next->map : NULL;
	const struct seen *h = c->held;
	struct opener_map part;

	if (!h->map.end || !h->exec)
		return 0;
	if (fills_file(c, its)) {
		part = c->before->map;
		part.start = h->map.start;
		part.end = h->map.end;
		part.offset = file_end(&c->before->map);
		part.flags = OPENER_CHANGED;
		return add_code(c, &part, c->before->path);
	}
	if (h->map.ino && !h->shared && may_be_written(c, its, next && next->exec))
		return add_by_page(c);
	return add_code(c, &h->map, h->path);
}

static void set_seen(struct seen *s, const struct proc_map *map)
{
	size_t len = strnlen(map->path, OPENER_PATH_MAX - 1);

	s->map = (struct opener_map){
		.start = map->start, .end = map->end, .offset = map->offset, .dev = map->dev,
		.ino = map->inode, .path_bytes = (uint32_t)len + 1,
	};
	s->exec = map->exec;
	s->write = map->write;
	s->shared = map->shared;
	memcpy(s->path, map->path, len);
	s->path[len] = '\0';
}

static bool is_memory(const struct seen *s)
{
	return s->exec && !s->map.ino && !*s->path;
}

static int collect_map(void *ctx, const struct proc_map *map)
{
	struct collected *c = ctx;
	struct seen *oldest = c->before;
	int err;

	if (map->start >= map->end)
		return 0;
	set_seen(c->next, map);
	if (is_memory(c->held) && is_memory(c->next) && c->held->map.end == map->start) {
		c->held->map.end = map->end;
		return 0;
	}
	err = add_held(c, c->next);
	c->before = c->held;
	c->held = c->next;
	c->next = oldest;
	return err;
}

static void begin_maps(struct collected *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c->seen); i++) {
		c->seen[i].map.end = c->seen[i].map.ino = 0;
		c->seen[i].exec = false;
	}
	c->before = &c->seen[0];
	c->held = &c->seen[1];
	c->next = &c->seen[2];
	c->pagemap = -1;
	c->total = c->pages = c->turns = 0;
	c->last.end = 0;
}

int opener_maps(const struct elf_message *asked, const struct elf_place *place,
		opener_send_fn send)
{
	static struct collected c;
	int err = opener_same_process(place);

	c.m = (struct elf_message){ .kind = MAPS, .file = asked->file, .request = asked->request };
	c.send = send;
	c.tgid = (pid_t)place->tgid;
	begin_maps(&c);
	if (!err)
		err = proc_all_maps(c.tgid, collect_map, &c);
	if (!err || err == -EFBIG)	/* what was read of a list that is too long is used */
		err = add_held(&c, NULL);
	if (c.pagemap >= 0)
		close(c.pagemap);
	if (!err)
		err = put_last(&c) ? -EPIPE : opener_same_process(place);
	c.m.result = err;
	return flush_maps(&c, 0);
}
