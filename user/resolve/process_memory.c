// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_memory.c - the memory of a process (--mode mem). Faults go into its page_book, answers
 * about pages come from a page_check; with --allocations, the blocks of its allocator and its own
 * mappings go into its process_blocks. Changes go to the observer, with the number of a stack,
 * which equals that of a sample. See process_internal.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "heap/census.h"
#include "memory/page_book.h"
#include "memory/page_check.h"
#include "memory/page_contents.h"
#include "model/event.h"
#include "model/thread_names.h"
#include "resolve/observer.h"
#include "resolve/process_blocks.h"
#include "resolve/process_internal.h"

/* A check waits this long for the answers about pages that were touched before it. */
#define CHECK_WAITS_NS 200000000ull

/* Limits of the stacks kept of one process, and of all their frames. */
#define STACKS_MAX (256u * 1024)
#define STACK_BYTES_MAX (64u << 20)

struct process_memory {
	struct page_book *pages;
	struct intern *stacks;	/* strings: a stack's ids */
	uint64_t stack_bytes;
	uint64_t last_us;	/* of the last event */
	uint64_t asked_ns;	/* of the answer that is being taken */
	uint64_t before;	/* bytes that the process had before the capture */
	bool before_known;
	struct memory_check check;	/* pending: waits for pages that were touched before it */
	uint64_t check_ns;	/* when the kernel's figures were read; 0: none is pending */
	uint64_t since;		/* bytes held now, minus those at check_ns; wraps */
	struct pages_round round;
	struct census_round census_round;
	struct process_blocks *blocks;	/* NULL: there was no record of a block */
};

/* ---- stacks and events ---- */

/* Returns the number of a stack, which may be new. */
static int number_of_frames(struct process_memory *m, const uint32_t *frames, uint32_t n,
			    uint32_t *stack)
{
	uint32_t before = intern_tables(m->stacks)->string_cnt;
	int err = intern_string(m->stacks, (const char *)frames, n * sizeof(*frames), stack);

	if (!err && intern_tables(m->stacks)->string_cnt != before)
		m->stack_bytes += n * sizeof(*frames);
	return err;
}

static int keep_stack(struct process *p, const uint32_t *frames, uint32_t n, uint32_t *stack)
{
	struct process_memory *m = p->memory;
	size_t bytes = n * sizeof(*frames);
	uint32_t not_kept;
	int err;

	if ((intern_tables(m->stacks)->string_cnt < STACKS_MAX &&
	     m->stack_bytes + bytes <= STACK_BYTES_MAX) ||
	    intern_find_string(m->stacks, (const char *)frames, bytes, stack))
		return number_of_frames(m, frames, n, stack);
	p->stats.stacks_not_kept++;
	err = other_frame(&p->others, FRAME_OF_NOT_KEPT, &not_kept);
	return err ? err : number_of_frames(m, &not_kept, 1, stack);
}

/* Threads without a Python stack have a struct thread only for their name, which is read once. */
static int frames_without_stack(struct process *p, const struct raw_head *head, struct event *ev,
				uint32_t out[EVENT_ROOM])
{
	uint64_t *counter;
	const char *name;
	int err;

	if (head->tid != (uint32_t)p->args.tgid && !process_thread(p, head->tid, head->interp_id))
		return -ENOMEM;
	name = thread_names_find(p->names, head->tid);
	err = process_no_stack_frames(p, head, head->h.sysno, name && *name ? name : p->comm, ev,
				      out, &counter);
	if (!err)
		++*counter;
	return err;
}

static int number_of_walked(struct process *p, const struct raw_sample *raw, size_t len,
			    uint32_t *stack)
{
	struct event ev = { .weight = 1, .status = raw->status };
	uint32_t frames[EVENT_ROOM];
	struct raw_head head;
	struct thread *t;
	int err = process_take_stack(p, raw, len, &t);

	if (err)
		return err;
	memcpy(&head, raw, sizeof(head));
	ev.status &= (uint8_t)~STATUS_UNKNOWN;	/* this stack is the record's own */
	err = process_lay_out(p, t, &head, NULL, &ev, frames);
	return err ? err : keep_stack(p, ev.frames, ev.nframes, stack);
}

/*
 * Returns the number of a record's stack, for struct memory_event: of a RAW_ALLOC, or of another
 * record laid out as a struct raw_sample. Beyond STACKS_MAX stacks of a process, or STACK_BYTES_MAX
 * bytes of them, new ones have the number of the stack "<stacks not kept>". 0, -EBADMSG or -ENOMEM.
 */
static int stack_number(struct process *p, const struct raw_sample *raw, size_t len,
			uint32_t *stack)
{
	uint32_t frames[EVENT_ROOM];
	struct event ev = { .weight = 1, .frames = frames, .nframes = 1 };
	struct raw_head head;
	int err;

	if (raw->nframes > ABI_MAX_FRAMES ||
	    len < raw_sample_bytes(raw->nframes, raw->flags))
		return -EBADMSG;
	if (raw->nframes)
		return number_of_walked(p, raw, len, stack);
	memcpy(&head, raw, sizeof(head));
	if (raw->flags & RAW_NOT_WALKED)
		err = other_frame(&p->others, FRAME_OF_NOT_WALKED, frames);
	else
		err = frames_without_stack(p, &head, &ev, frames);
	return err ? err : keep_stack(p, ev.frames, ev.nframes, stack);
}

static void count_memory(struct process *p, const struct memory_event *ev)
{
	if (ev->change == MEMORY_ALLOC) {
		p->stats.allocs++;
		p->stats.alloc_bytes += ev->bytes;
		p->stats.held_bytes += ev->bytes;
	} else if (ev->change == MEMORY_FREE) {
		p->stats.held_bytes -= ev->bytes < p->stats.held_bytes ? ev->bytes :
							       p->stats.held_bytes;
	}
}

static bool has_stack(enum memory_change change)
{
	return change == MEMORY_ALLOC || change == MEMORY_FREE || change == MEMORY_FATE;
}

int process_memory_emit(struct process *p, struct memory_event *ev)
{
	const struct observer *o = p->args.observer;
	uint32_t frames[EVENT_MAX_FRAMES];
	struct process_memory *m = p->memory;
	int err;

	if (has_stack(ev->change)) {
		struct string_ref stack = intern_tables(m->stacks)->strings[ev->stack];

		memcpy(frames, stack.data, stack.len);
		ev->frames = frames;
		ev->nframes = (uint32_t)(stack.len / sizeof(*frames));
	}
	if (ev->time_us < m->last_us)
		ev->time_us = m->last_us;
	m->last_us = ev->time_us;
	count_memory(p, ev);
	err = o->ops->memory ? o->ops->memory(p->args.observer, p, ev) : 0;
	p->ended |= err != 0;
	if (err)
		process_add_lost(p, (uint32_t)ev->thread_id, LOSS_WRITE, 1);
	return err;
}

/* ---- pages ---- */

/* page_book_fns */
static int page_got(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch)
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

static int page_gone(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack)
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

static const struct page_book_fns page_fns = { page_got, page_gone };

static int take_page(struct process *p, const struct raw_sample *raw, size_t len)
{
	const struct raw_memory *memory;
	struct page_touch touch = { .time_ns = raw->h.time_ns, .tid = raw->tid };
	int err = stack_number(p, raw, len, &touch.stack);

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

static int take_pages_unmapped(struct process *p, const struct raw_free *raw)
{
	p->memory->asked_ns = raw->h.time_ns;
	return page_book_unmapped(p->memory->pages, raw->addr, raw->bytes, raw->h.time_ns);
}

int process_take_moved(struct process *p, const void *record, size_t len)
{
	const struct raw_moved *raw = record;

	if (!p->memory)
		return -EBADMSG;
	p->memory->asked_ns = raw->h.time_ns;
	return page_book_move(p->memory->pages, raw->addr, raw->bytes, raw->to, raw->h.time_ns);
}

/* ---- blocks ---- */

static struct process_blocks *blocks_of(struct process *p)
{
	if (!p->memory->blocks)
		p->memory->blocks = process_blocks_new(p, process_memory_emit);
	return p->memory->blocks;
}

static int take_block(struct process *p, const struct raw_sample *raw, size_t len)
{
	struct process_blocks *blocks = blocks_of(p);
	uint32_t stack;
	int err = blocks ? stack_number(p, raw, len, &stack) : -ENOMEM;

	if (err)
		return err;
	p->stats.alloc_unwalked += (raw->flags & RAW_NOT_WALKED) != 0;
	return process_blocks_alloc(blocks, raw, stack);
}

static int take_block_freed(struct process *p, const struct raw_free *raw)
{
	struct process_blocks *blocks = blocks_of(p);

	return blocks ? process_blocks_freed(blocks, raw) : -ENOMEM;
}

int process_burst_begin(struct process *p, uint64_t time_ns, double weight, double speed)
{
	struct process_blocks *blocks = p->memory ? blocks_of(p) : NULL;

	return blocks ? process_blocks_burst(blocks, time_ns, weight, speed) : -ENOMEM;
}

int process_burst_end(struct process *p, uint64_t time_ns)
{
	return p->memory && p->memory->blocks ?
	       process_blocks_burst_end(p->memory->blocks, time_ns) : 0;
}

size_t process_blocks_ask(struct process *p, uint64_t *pos, struct block_place *places, size_t max)
{
	if (p->memory && p->memory->blocks)
		return process_blocks_list(p->memory->blocks, pos, places, max);
	*pos = UINT64_MAX;
	return 0;
}

int process_blocks_take(struct process *p, uint64_t now_ns, const struct block_place *places,
			const struct block_words *words, size_t cnt, bool *gone)
{
	return process_blocks_looked(p->memory->blocks, now_ns, places, words, cnt, gone);
}

/* ---- a RAW_ALLOC or RAW_FREE is for the pages or for the blocks ---- */

int process_take_alloc(struct process *p, const void *record, size_t len)
{
	const struct raw_sample *raw = record;

	if (!p->memory || !(raw->flags & RAW_WEIGHED))
		return -EBADMSG;
	if (raw->h.why == ALLOC_PAGE)
		return take_page(p, raw, len);
	return raw->h.why == ALLOC_BLOCK || raw->h.why == ALLOC_MAP ? take_block(p, raw, len) :
								       -EBADMSG;
}

int process_take_free(struct process *p, const void *record, size_t len)
{
	const struct raw_free *raw = record;

	if (!p->memory)
		return -EBADMSG;
	return raw->h.why == ALLOC_PAGE ? take_pages_unmapped(p, raw) : take_block_freed(p, raw);
}

/* ---- from start to end ---- */

int process_memory_init(struct process *p)
{
	struct process_memory *m;

	if (!p->args.memory)
		return 0;
	m = calloc(1, sizeof(*m));
	p->memory = m;
	if (!m)
		return -ENOMEM;
	m->pages = page_book_new((uint32_t)sysconf(_SC_PAGESIZE), &page_fns, p);
	m->stacks = intern_new();
	return m->pages && m->stacks ? 0 : -ENOMEM;
}

void process_memory_free(struct process *p)
{
	if (!p->memory)
		return;
	page_book_free(p->memory->pages);
	intern_free(p->memory->stacks);
	process_blocks_free(p->memory->blocks);
	free(p->memory);
}

/* ---- questions and answers ---- */

size_t process_pages_ask(const struct process *p, bool all, uint64_t *pos, uint64_t *addrs,
			 size_t max)
{
	return p->memory ? page_book_ask(p->memory->pages, all, pos, addrs, max) : 0;
}

size_t process_contents_ask(const struct process *p, bool again, uint64_t now_ns, uint64_t *addrs,
			    size_t max)
{
	struct process_memory *m = p->memory;

	if (!m)
		return 0;
	return again ? page_book_ask_again(m->pages, &m->round.look_pos, addrs, max) :
		       page_book_ask_soon(m->pages, now_ns, addrs, max);
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

struct census_round *process_census_round(struct process *p)
{
	return p->memory ? &p->memory->census_round : NULL;
}

int process_census_take(struct process *p, const struct heap_census *census)
{
	struct memory_event ev = {
		.change = MEMORY_CENSUS, .time_us = census->time_ns / US_NS, .census = census,
	};

	return p->memory ? process_without_memory(p, 0, process_memory_emit(p, &ev)) : -EBADMSG;
}

static int take_page_states(struct process_memory *m, const struct page_answer *a)
{
	uint64_t now = a->rss_anon + a->swapped;

	if (!m->before_known)
		m->before = now;
	m->before_known = true;
	page_book_set_growth(m->pages, now > m->before ? now - m->before : 0);
	return page_book_take(m->pages, a->states, a->cnt, a->asked_ns);
}

/*
 * Emits what was held when the kernel's figures were read. Pages without an answer count as
 * touched: the kernel has counted them.
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

/* Ends the pending check, if there is one: if it must not wait longer, or need not. */
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
		return 0;	/* not an error: process_pages_end() follows */
	if (answer->contents) {
		err = page_book_take_contents(p->memory->pages, answer->tag == PAGES_SOON,
					      answer->contents, answer->cnt, answer->read_ns);
		return process_without_memory(p, 0, err);
	}
	p->memory->asked_ns = answer->asked_ns;
	err = answer->err ? page_book_deny(p->memory->pages) : take_page_states(p->memory, answer);
	if (!err && answer->tag == PAGES_LAST) {
		err = end_check(p, true);
		begin_check(p->memory, answer);
	}
	if (!err)
		err = end_check(p, answer->asked_ns > p->memory->check_ns + CHECK_WAITS_NS);
	return process_without_memory(p, 0, err);
}

static int emit_fates(struct process *p)
{
	struct stack_fate *list;
	size_t cnt, i;
	int err = page_book_fates(p->memory->pages, &list, &cnt);

	for (i = 0; !err && i < cnt; i++) {
		struct memory_event ev = {
			.change = MEMORY_FATE, .time_us = p->memory->last_us,
			.stack = list[i].stack,
			.fate = { list[i].pages, list[i].own, list[i].reused, list[i].unused },
		};

		err = process_memory_emit(p, &ev);
	}
	free(list);
	return err;
}

int process_pages_end(struct process *p)
{
	int err;

	if (!p->memory)
		return 0;
	err = page_book_end(p->memory->pages);
	if (!err)
		err = end_check(p, true);
	if (!err && p->memory->blocks)
		err = process_blocks_end(p->memory->blocks, now_ns());
	return process_without_memory(p, 0, err ? err : emit_fates(p));
}
