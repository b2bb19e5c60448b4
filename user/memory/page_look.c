// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_look.c - see page_look.h: mappings, the time that reading takes, and copies of memory. */
#include "memory/page_look.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"
#include "memory/page_check.h"

/* ---- time ---- */

/* CPU time: one hundredth of the time that passes, saved up for at most that long. */
#define SHARE 100
#define SAVED_MAX_NS 20000000ll

static struct {
	int64_t left_ns;
	uint64_t at_ns;
} budget = { .left_ns = SAVED_MAX_NS };

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static bool has_time(uint64_t now)
{
	if (budget.at_ns)
		budget.left_ns += (int64_t)((now - budget.at_ns) / SHARE);
	if (budget.left_ns > SAVED_MAX_NS)
		budget.left_ns = SAVED_MAX_NS;
	budget.at_ns = now;
	return budget.left_ns > 0;
}

/* ---- memory ---- */

/* Entries of pagemap: Documentation/admin-guide/mm/pagemap.rst, Linux v6.6 */
#define MAP_SHARED_FILE (1ull << 61)
#define MAP_PRESENT (1ull << 63)
#define ENTRIES 512u

struct look {
	pid_t task;
	int pagemap;
	uint32_t page_bytes;
	uint64_t entries[ENTRIES];	/* of pagemap, from page `first` on */
	uint64_t first, cnt;		/* page numbers */
};

/* So that reading one page after another, backwards too, takes few calls. */
static void load_entries(struct look *l, uint64_t page)
{
	uint64_t first = page > ENTRIES * 3 / 4 ? page - ENTRIES * 3 / 4 : 0;
	ssize_t n = pread(l->pagemap, l->entries, sizeof(l->entries),
			  (off_t)(first * sizeof(*l->entries)));

	l->first = first;
	l->cnt = n > 0 ? (uint64_t)n / sizeof(*l->entries) : 0;
}

/* Returns true if the page is there, and the process' own. */
static bool is_there(struct look *l, uint64_t page)
{
	if (page - l->first >= l->cnt)
		load_entries(l, page);
	return page - l->first < l->cnt &&
	       (l->entries[page - l->first] & (MAP_PRESENT | MAP_SHARED_FILE)) == MAP_PRESENT;
}

static int copy(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct look *l = ctx;
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };
	uint64_t page = addr / l->page_bytes, last = (addr + len - 1) / l->page_bytes;
	ssize_t n;

	for (; page <= last; page++)
		if (!is_there(l, page))
			return -EFAULT;
	n = process_vm_readv(l->task, &to, 1, &from, 1, 0);
	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

static uint64_t first_there(void *ctx, uint64_t addr, uint64_t floor)
{
	struct look *l = ctx;
	uint64_t page = addr / l->page_bytes, least = floor / l->page_bytes;

	while (page > least && is_there(l, page - 1))
		page--;
	return page * l->page_bytes > floor ? page * l->page_bytes : floor;
}

/* ---- mappings ---- */

/* The mappings of the addresses; end 0: none that is anonymous, private and writable. */
struct areas {
	struct page_area list[PAGE_LOOK_MAX];
	const uint64_t *addrs;
	size_t cnt, at;		/* at: the next address without a mapping */
};

static bool is_anonymous(const struct proc_map *m)
{
	return m->write && !m->shared && !m->inode &&
	       (!*m->path || !strcmp(m->path, "[heap]") || !strncmp(m->path, "[anon:", 6));
}

static int take_map(void *ctx, const struct proc_map *m)
{
	struct areas *a = ctx;

	for (; a->at < a->cnt && a->addrs[a->at] < m->end; a->at++)
		if (a->addrs[a->at] >= m->start && is_anonymous(m))
			a->list[a->at] = (struct page_area){
				.start = m->start, .end = m->end,
				.heap = !strcmp(m->path, "[heap]"),
			};
	return a->at == a->cnt;
}

static void look_at_page(struct look *l, const struct page_area *area, uint64_t addr,
			 struct page_content *out)
{
	const struct page_memory mem = { copy, first_there, l, l->page_bytes,
					 (uint32_t)l->task };

	l->cnt = 0;	/* what is there changes */
	page_content_read(&mem, area, addr, out);
}

int page_look(pid_t task, int pagemap, uint32_t page_bytes, const uint64_t *addrs, size_t cnt,
	      bool last, struct page_content *contents)
{
	static struct look l;
	static struct areas a;
	int64_t begun = cpu_ns();
	size_t i;
	int err = 0;

	l = (struct look){ .task = task, .pagemap = pagemap, .page_bytes = page_bytes };
	a = (struct areas){ .addrs = addrs, .cnt = cnt };
	memset(contents, 0, cnt * sizeof(*contents));
	for (i = 0; i < cnt; i++)
		contents[i].addr = addrs[i];
	if (!has_time(now_ns()) && !last)
		return 0;
	err = proc_all_maps(task, take_map, &a);
	for (i = 0; err >= 0 && i < cnt; i++) {
		if (!last && cpu_ns() - begun > budget.left_ns)
			break;
		if (a.list[i].end)
			look_at_page(&l, &a.list[i], addrs[i], &contents[i]);
	}
	budget.left_ns -= cpu_ns() - begun;
	return err < 0 ? err : 0;
}
