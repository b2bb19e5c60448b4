// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_memory.c - the pages of a process: faults go into its page_book, answers about them come
 * from a page_check, and what becomes of them goes to the observer. See process.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory/page_check.h"
#include "resolve/process_memory.h"

/* So long a check waits for the answers about pages that were touched before it. */
#define CHECK_WAITS_NS 200000000ull

/* page_book_fns */
static int got(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch)
{
	struct process *p = ctx;
	struct memory_event ev = {
		.change = MEMORY_ALLOC, .time_us = touch->time_ns / US_NS, .addr = addr,
		.bytes = bytes, .stack = touch->stack, .thread_id = touch->tid,
	};

	if (touch->time_ns > p->memory->check_ns)
		p->memory->since += bytes;
	return process_memory_emit(p, &ev);
}

static int gone(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack)
{
	struct process *p = ctx;
	struct memory_event ev = {
		.change = MEMORY_FREE, .time_us = p->memory->asked_ns / US_NS, .addr = addr,
		.bytes = bytes, .stack = stack,
	};

	if (p->memory->asked_ns > p->memory->check_ns)
		p->memory->since -= bytes;
	return process_memory_emit(p, &ev);
}

static const struct page_book_fns book_fns = { got, gone };

int process_memory_init(struct process *p)
{
	struct process_memory *m;

	if (!p->args.memory)
		return 0;
	m = calloc(1, sizeof(*m));
	p->memory = m;
	if (!m)
		return -ENOMEM;
	m->pages = page_book_new((uint32_t)sysconf(_SC_PAGESIZE), &book_fns, p);
	m->stacks = intern_new();
	return m->pages && m->stacks ? 0 : -ENOMEM;
}

void process_memory_free(struct process *p)
{
	if (!p->memory)
		return;
	page_book_free(p->memory->pages);
	intern_free(p->memory->stacks);
	free(p->memory);
}

/* ---- records ---- */

static int take_page(struct process *p, const struct raw_sample *raw, size_t len)
{
	const struct raw_memory *memory;
	struct page_touch touch = { .time_ns = raw->h.time_ns, .tid = raw->tid };
	int err = process_memory_stack(p, raw, len, &touch.stack);

	if (err)
		return err;
	memory = raw_sample_memory(raw);
	touch.addr = memory->addr;
	touch.weight = memory->weight;
	p->memory->round.touched = true;
	p->memory->asked_ns = raw->h.time_ns;
	p->stats.alloc_unwalked += (raw->flags & RAW_NOT_WALKED) != 0;
	err = page_book_touch(p->memory->pages, &touch);
	return err == -ENOSPC ? 0 : err;
}

int process_page(struct process *p, const struct raw_sample *raw, size_t len)
{
	return process_without_memory(p, raw->tid, take_page(p, raw, len));
}

int process_moved(struct process *p, const struct raw_moved *raw)
{
	if (!p->memory)
		return -EBADMSG;
	p->memory->asked_ns = raw->h.time_ns;
	return process_without_memory(p, raw->tid, page_book_move(p->memory->pages, raw->addr,
								  raw->bytes, raw->to));
}

int process_pages_unmapped(struct process *p, const struct raw_free *raw)
{
	p->memory->asked_ns = raw->h.time_ns;
	return process_without_memory(p, raw->tid,
				      page_book_unmapped(p->memory->pages, raw->addr, raw->bytes,
							 raw->h.time_ns));
}

/* ---- questions and answers ---- */

size_t process_pages_ask(const struct process *p, bool all, uint64_t *pos, uint64_t *addrs,
			 size_t max)
{
	return p->memory ? page_book_ask(p->memory->pages, all, pos, addrs, max) : 0;
}

bool process_pages_due(const struct process *p)
{
	return p->memory && (p->memory->round.touched || p->stats.held_bytes ||
			     page_book_pages(p->memory->pages));
}

struct pages_round *process_pages_round(struct process *p)
{
	return p->memory ? &p->memory->round : NULL;
}

static int take_pages(struct process_memory *m, const struct page_answer *a)
{
	uint64_t now = a->rss_anon + a->swapped;

	if (!m->before_known)
		m->before = now;
	m->before_known = true;
	page_book_set_growth(m->pages, now > m->before ? now - m->before : 0);
	return page_book_take(m->pages, a->states, a->cnt, a->asked_ns);
}

/*
 * What was held when the kernel's figures were read. Pages that have no answer yet count as what
 * they stand for: the kernel has counted them.
 */
static int emit_check(struct process *p, uint64_t waiting)
{
	struct process_memory *m = p->memory;
	uint64_t held = p->stats.held_bytes + waiting - m->since;
	struct memory_event ev = {
		.change = MEMORY_CHECK, .time_us = m->check_ns / US_NS, .check = m->check,
	};

	ev.check.held = (int64_t)held > 0 ? held : 0;
	ev.check.unchecked = page_book_unchecked(m->pages);
	m->check_ns = 0;
	return process_memory_emit(p, &ev);
}

/* The check that waits, if there is one: if it must not wait longer, or does not have to. */
static int end_check(struct process *p, bool must)
{
	struct process_memory *m = p->memory;
	uint64_t waiting;

	if (!m->check_ns)
		return 0;
	waiting = page_book_waiting_bytes(m->pages, m->check_ns);
	return waiting && !must ? 0 : emit_check(p, waiting);
}

static void begin_check(struct process_memory *m, const struct page_answer *a)
{
	m->check = (struct memory_check){ .rss_anon = a->rss_anon, .swapped = a->swapped };
	m->check_ns = a->read_ns;
	m->since = 0;
}

int process_pages_take(struct process *p, const struct page_answer *answer)
{
	int err;

	if (!p->memory)
		return -EBADMSG;
	if (answer->err && answer->err != -EACCES)
		return 0;	/* it ends: process_pages_end() will come */
	p->memory->asked_ns = answer->asked_ns;
	err = answer->err ? page_book_deny(p->memory->pages) : take_pages(p->memory, answer);
	if (!err && answer->tag == PAGES_LAST) {
		err = end_check(p, true);
		begin_check(p->memory, answer);
	}
	if (!err)
		err = end_check(p, answer->asked_ns > p->memory->check_ns + CHECK_WAITS_NS);
	return process_without_memory(p, 0, err);
}

int process_pages_end(struct process *p)
{
	int err;

	if (!p->memory)
		return 0;
	err = page_book_end(p->memory->pages);
	return process_without_memory(p, 0, err ? err : end_check(p, true));
}
