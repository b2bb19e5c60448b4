// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_mem.c - see heap_mem.h. */
#include "heap/heap_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/time.h"
#include "host/proc.h"

/* IOV_MAX is 1024. */
#define TOGETHER 512u
/* Documentation/admin-guide/mm/pagemap.rst, Linux v6.6 */
#define MAP_PRESENT (1ull << 63)
#define ENTRIES 4096u

int heap_mem_open(struct heap_mem *m, pid_t tgid, uint64_t bytes, uint64_t time_ns)
{
	char path[64];
	pid_t task = proc_living_task(tgid);

	*m = (struct heap_mem){ .tgid = task, .pagemap = -1, .bytes_max = bytes,
				.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
				.begin_ns = now_ns(), .time_ns = time_ns,
				.begin_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) };
	if (!task)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", task);
	m->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

void heap_mem_close(struct heap_mem *m)
{
	if (m->pagemap >= 0)
		close(m->pagemap);
	m->pagemap = -1;
}

static bool is_late(const struct heap_mem *m)
{
	uint64_t took = now_ns() - m->begin_ns;

	return took > m->time_ns &&
	       (took / HEAP_SLOW_TIMES > m->time_ns ||
		clock_ns(CLOCK_PROCESS_CPUTIME_ID) - m->begin_cpu_ns > m->time_ns / 2);
}

/* Count a read that is about to be made. Returns false if it may not. */
static bool may_read(struct heap_mem *m, size_t len)
{
	if (m->ended)
		return false;
	m->bytes_read += len;
	m->ended = m->bytes_read > m->bytes_max || is_late(m);
	return !m->ended;
}

int heap_mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct heap_mem *m = ctx;

	return may_read(m, len) ? proc_mem_read((void *)(intptr_t)m->tgid, addr, buf, len) :
		-E2BIG;
}

/* Mark the pieces that n bytes fill, and returns their number. */
static size_t mark_read(struct heap_piece *pieces, size_t cnt, ssize_t n)
{
	size_t i;

	for (i = 0; i < cnt && n >= (ssize_t)pieces[i].len; i++) {
		n -= pieces[i].len;
		pieces[i].ok = true;
	}
	return i;
}

static size_t read_some(struct heap_mem *m, struct heap_piece *pieces, size_t cnt)
{
	struct iovec local[TOGETHER], remote[TOGETHER];
	size_t i, done, bytes = 0;
	ssize_t n;

	for (i = 0; i < cnt; i++) {
		local[i] = (struct iovec){ pieces[i].buf, pieces[i].len };
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].addr, pieces[i].len };
		bytes += pieces[i].len;
	}
	if (!may_read(m, bytes))
		return cnt;
	n = process_vm_readv(m->tgid, local, cnt, remote, cnt, 0);
	m->denied |= n < 0 && errno == EPERM;
	done = mark_read(pieces, cnt, n);
	return done < cnt ? done + 1 : cnt;	/* without the one that cannot be read */
}

void heap_mem_read_many(struct heap_mem *m, struct heap_piece *pieces, size_t cnt)
{
	size_t at, i;

	for (i = 0; i < cnt; i++)
		pieces[i].ok = false;
	for (at = 0; at < cnt && !m->ended; )
		at += read_some(m, pieces + at, cnt - at < TOGETHER ? cnt - at : TOGETHER);
}

/* The entries of n pages from addr on; without a pagemap, all are present. */
static void read_entries(const struct heap_mem *m, uint64_t addr, uint64_t *entries, size_t n)
{
	size_t i;

	memset(entries, 0, n * sizeof(*entries));
	if (m->pagemap >= 0 && pread(m->pagemap, entries, n * sizeof(*entries),
				     (off_t)(addr / m->page_bytes * sizeof(*entries))) < 0)
		memset(entries, 0, n * sizeof(*entries));
	for (i = 0; m->pagemap < 0 && i < n; i++)
		entries[i] = MAP_PRESENT;
}

void heap_mem_pages(struct heap_mem *m, uint64_t addr, uint32_t step, uint16_t *pages, size_t cnt)
{
	uint64_t entries[ENTRIES];
	uint32_t each = step / m->page_bytes, k;
	size_t at, n, i;

	each = each < 1 ? 1 : each > 16 ? 16 : each;
	for (at = 0; at < cnt; at += n) {
		n = step < m->page_bytes ? 1 : ENTRIES / each;
		n = n < cnt - at ? n : cnt - at;
		read_entries(m, addr + at * step, entries, n * each);
		for (i = 0; i < n; i++)
			for (k = 0, pages[at + i] = 0; k < each; k++)
				if (entries[i * each + k] & MAP_PRESENT)
					pages[at + i] |= (uint16_t)(1u << k);
	}
}

/* ---- mappings ---- */

static int add_map(struct heap_maps *maps, uint64_t start, uint64_t end)
{
	struct heap_map *bigger;

	if (maps->cnt == maps->cap) {
		maps->cap = maps->cap ? 2 * maps->cap : 256;
		bigger = realloc(maps->list, maps->cap * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		maps->list = bigger;
	}
	maps->list[maps->cnt++] = (struct heap_map){ start, end };
	return 0;
}

static int take_map(void *ctx, const struct proc_map *m)
{
	struct heap_maps *maps = ctx;

	if (!m->write || m->shared || m->inode ||
	    (*m->path && strcmp(m->path, "[heap]") && strncmp(m->path, "[anon:", 6)))
		return 0;
	if (maps->cnt >= HEAP_MAPS_MAX) {
		maps->cut = true;
		return 1;
	}
	return add_map(maps, m->start, m->end);
}

int heap_maps_read(struct heap_maps *maps, pid_t tgid)
{
	int err = proc_all_maps(tgid, take_map, maps);

	maps->cut |= err == -EFBIG;
	return err == -EFBIG || err > 0 ? 0 : err;
}

const struct heap_map *heap_maps_find(const struct heap_maps *maps, uint64_t addr)
{
	size_t lo = 0, hi = maps->cnt, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (maps->list[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < maps->cnt && maps->list[lo].start <= addr ? &maps->list[lo] : NULL;
}

void heap_maps_free(struct heap_maps *maps)
{
	free(maps->list);
	*maps = (struct heap_maps){ 0 };
}
