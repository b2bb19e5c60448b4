/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_mem.h - reads the memory of a process: many small pieces with one system call, within limits
 * on bytes and time. And its private writable memory that no file backs, where objects are.
 *
 * Pages that are not in memory are not touched: a read would bring them there.
 */
#ifndef TACHBPF_HEAP_HEAP_MEM_H
#define TACHBPF_HEAP_HEAP_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct heap_mem {
	pid_t tgid;
	uint32_t page_bytes;
	int pagemap;			/* descriptor; -1: none, all pages count as present */
	uint64_t bytes_read, bytes_max;
	uint64_t begin_ns, time_ns;	/* CLOCK_MONOTONIC, and the limit */
	uint64_t begin_cpu_ns;
	bool denied;			/* a read was refused: EPERM */
	bool ended;			/* a limit was reached: all further reads fail */
};

/*
 * Limits: bytes, and time from now on. On a busy machine it may take longer, if it has had a CPU
 * for less than half of that time: at most HEAP_SLOW_TIMES as long. 0; -ESRCH: no such process.
 */
#define HEAP_SLOW_TIMES 8u
int heap_mem_open(struct heap_mem *m, pid_t tgid, uint64_t bytes, uint64_t time_ns);
void heap_mem_close(struct heap_mem *m);

/* For struct target_mem; ctx: a struct heap_mem. 0; -EFAULT, -E2BIG: limits; other -errno. */
int heap_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);

struct heap_piece {
	uint64_t addr;
	void *buf;
	uint32_t len;
	bool ok;		/* all was read */
};
/* Sets ok of each. */
void heap_mem_read_many(struct heap_mem *m, struct heap_piece *pieces, size_t cnt);

/*
 * Set bit k of pages[i] if the page at addr + i * step + k * page_bytes is in memory. step: a
 * multiple of the page size, at most 16 times as much; or less than it: then only bit 0 is used.
 */
void heap_mem_pages(struct heap_mem *m, uint64_t addr, uint32_t step, uint16_t *pages, size_t cnt);

/* ---- mappings ---- */

#define HEAP_MAPS_MAX 65536u

struct heap_map {
	uint64_t start, end;
};
struct heap_maps {
	struct heap_map *list;		/* sorted */
	size_t cnt, cap;
	bool cut;			/* there are more */
};

/* Those of private writable memory without a file, also [heap], not stacks. 0 or -errno. */
int heap_maps_read(struct heap_maps *maps, pid_t tgid);
/* The mapping of an address; NULL: none of these. */
const struct heap_map *heap_maps_find(const struct heap_maps *maps, uint64_t addr);
void heap_maps_free(struct heap_maps *maps);

#endif
