// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_call.c - see chains_call.h: which memory of a process is read, and which pages of it are
 * present.
 */
#include "heap/chains_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"

#define REGIONS_MAX 65536u
#define PAGE 4096u
/* Entries of pagemap that are read at a time: 2 MiB of memory. */
#define ENTRIES 512u
#define PAGES_FEW 17u
/* Documentation/admin-guide/mm/pagemap.rst, Linux v6.6 */
#define MAP_PRESENT (1ull << 63)

struct regions {
	struct heap_region *list;
	size_t cnt, cap;
	uint64_t file_end;		/* of the last mapping with a file */
	char file[HEAP_NAME_BYTES];
	bool cut;
	int pagemap;			/* -1: none */
	uint64_t first, entries[ENTRIES];	/* of the page number `first` on */
	uint64_t entry_cnt;
};

/* ---- mappings ---- */

static const char *file_name(const struct proc_map *m)
{
	const char *slash = strrchr(m->path, '/');

	return m->inode && slash ? slash + 1 : "";
}

/* Memory of others, devices and stacks is left out. */
static bool is_wanted(const struct proc_map *m)
{
	return m->write && !m->shared && strncmp(m->path, "/dev/", 5) &&
	       (m->path[0] != '[' || !strcmp(m->path, "[heap]") ||
		!strncmp(m->path, "[anon", 5));
}

/* A file's bss follows its data without a gap. */
static int take_map(void *ctx, const struct proc_map *m)
{
	struct regions *r = ctx;
	struct heap_region region = { .start = m->start, .end = m->end };
	const char *name = file_name(m);

	if (*name)
		escape_text(name, strlen(name), r->file, sizeof(r->file));
	else if (m->path[0] || m->start != r->file_end)
		r->file[0] = '\0';
	r->file_end = m->end;
	if (!is_wanted(m))
		return 0;
	if (r->cnt == REGIONS_MAX) {
		r->cut = true;
		return 0;
	}
	memcpy(region.file, r->file, sizeof(region.file));
	return array_add(r->list, r->cnt, r->cap, region);
}

/* ---- pages ---- */

static bool entries_read(struct regions *r, uint64_t page, uint64_t cnt)
{
	ssize_t n = pread(r->pagemap, r->entries, cnt * sizeof(r->entries[0]),
			  (off_t)(page * sizeof(r->entries[0])));

	r->first = page;
	r->entry_cnt = n > 0 ? (uint64_t)n / sizeof(r->entries[0]) : 0;
	return r->entry_cnt > 0;
}

/*
 * heap_memory.run. What cannot be asked counts as present. A question about few pages, which is of
 * a single object, gets an answer that is not older than itself.
 */
static uint64_t run_of_pages(void *ctx, uint64_t addr, uint64_t end, bool *present)
{
	struct regions *r = ctx;
	uint64_t page = addr / PAGE, at, pages = (end - 1) / PAGE - page + 1;

	*present = true;
	if (pages <= PAGES_FEW)
		r->entry_cnt = 0;
	else
		pages = ENTRIES;
	if (page - r->first >= r->entry_cnt && !entries_read(r, page, pages))
		return end - addr;
	*present = r->entries[page - r->first] & MAP_PRESENT;
	for (at = page + 1; at * PAGE < end; at++) {
		if (at - r->first >= r->entry_cnt && !entries_read(r, at, ENTRIES))
			break;
		if (!(r->entries[at - r->first] & MAP_PRESENT) == *present)
			break;
	}
	return (at * PAGE < end ? at * PAGE : end) - addr;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) ? 0 :
		(uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

int heap_chains_run(void *shared, const int *fds)
{
	struct heap_chains_call *call = shared;
	static struct heap_target target;
	static struct heap_why why;
	struct regions r = { .pagemap = -1 };
	uint64_t cpu = cpu_ns();
	char path[32];
	int err;

	memcpy(&target, &call->target, sizeof(target));
	memcpy(&why, &call->why, sizeof(why));
	why.type[sizeof(why.type) - 1] = '\0';
	err = proc_all_maps(target.tgid, take_map, &r);
	if (!err || err == -EFBIG) {
		snprintf(path, sizeof(path), "/proc/%d/pagemap", target.tgid);
		r.pagemap = open(path, O_RDONLY | O_CLOEXEC);
		err = heap_chains_find(&(struct heap_memory){
			.mem = { proc_mem_read, (void *)(intptr_t)target.tgid },
			.run = r.pagemap >= 0 ? run_of_pages : NULL, .run_ctx = &r,
			.regions = r.list, .region_cnt = (uint32_t)r.cnt,
		}, &target, &why, &call->result);
		call->result.limited |= r.cut;
		call->result.cpu_ns = cpu_ns() - cpu;
	}
	if (r.pagemap >= 0)
		close(r.pagemap);
	free(r.list);
	return err;
}

void heap_chains_check(struct heap_chains *chains)
{
	struct heap_chain *chain;
	uint32_t i, k;

	chains->limited = *(const volatile unsigned char *)&chains->limited & 1;
	chains->type[sizeof(chains->type) - 1] = '\0';
	if (chains->name_cnt > HEAP_WHY_NAMES_MAX)
		chains->name_cnt = HEAP_WHY_NAMES_MAX;
	for (i = 0; i < chains->name_cnt; i++)
		chains->names[i].type[HEAP_NAME_BYTES - 1] = '\0';
	if (chains->chain_cnt > HEAP_CHAINS_MAX)
		chains->chain_cnt = HEAP_CHAINS_MAX;
	for (i = 0; i < chains->chain_cnt; i++) {
		chain = &chains->chains[i];
		if (chain->link_cnt > HEAP_LINKS_MAX)
			chain->link_cnt = HEAP_LINKS_MAX;
		if ((unsigned int)chain->root >= HEAP_ROOT_CNT)
			chain->root = HEAP_ROOT_UNKNOWN;
		chain->cut = *(const volatile unsigned char *)&chain->cut & 1;
		chain->root_name[sizeof(chain->root_name) - 1] = '\0';
		for (k = 0; k < chain->link_cnt; k++) {
			chain->links[k].type[HEAP_NAME_BYTES - 1] = '\0';
			chain->links[k].name[HEAP_NAME_BYTES - 1] = '\0';
		}
	}
}
