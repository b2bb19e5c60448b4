// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_page_book.c - any faults, moves and answers, in any order, into a page_book; and any bytes
 * as a worker's reply. What the book says must be one story: nothing is gone that was not got, and
 * no more is reused than is held.
 *
 * The input is a list of steps of STEP bytes: what, an address in pages, and three small numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/page_check_wire.h"
#include "memory/page_contents.h"

#define STEP 8
#define STEPS_MAX 4096
#define PAGE 4096ull
#define BLOCKS 8192

enum { TOUCH, ANSWER, ANSWER_HUGE, MOVE, ASK_NEW, ASK_ALL, END, UNMAPPED, SOON, AGAIN, KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	uint64_t name, bytes;
	uint32_t stack;
} blocks[BLOCKS];
static size_t cnt;
static uint64_t held;

static int got(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch)
{
	size_t i;

	(void)ctx;
	if (!bytes)
		abort();
	for (i = 0; i < cnt; i++)
		if (blocks[i].name == addr)
			abort();
	if (cnt == BLOCKS)
		return -1;	/* the rest of the input is left out */
	blocks[cnt].name = addr;
	blocks[cnt].bytes = bytes;
	blocks[cnt++].stack = touch->stack;
	held += bytes;
	return 0;
}

static int gone(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack)
{
	size_t i = 0;

	(void)ctx;
	while (i < cnt && blocks[i].name != addr)
		i++;
	if (i == cnt || blocks[i].bytes != bytes || blocks[i].stack != stack)
		abort();
	blocks[i] = blocks[--cnt];
	held -= bytes;
	return 0;
}

static const struct page_book_fns fns = { got, gone };

static int ask(struct page_book *b, bool all)
{
	uint64_t addrs[64], pos = 0, last = 0;
	size_t n, i;

	do {
		n = page_book_ask(b, all, &pos, addrs, 64);
		for (i = 0; i < n; i++) {
			if (i && addrs[i] <= last)
				abort();
			last = addrs[i];
		}
	} while (all && pos != UINT64_MAX);
	return 0;
}

/* A page in blocks of which the input says the states and the names. */
static int look(struct page_book *b, bool soon, const uint8_t *d, uint64_t now)
{
	struct page_content c = { .addr = (d[1] | (uint64_t)d[2] << 8) * PAGE };
	uint64_t addrs[8];
	uint32_t pos = 0;
	size_t i;

	for (i = 0; i < PAGE_PLACES; i++) {
		c.states[i] = (uint8_t)((d[3] >> (i & 3)) % PLACE_STATES);
		c.marks[i].id = d[4] & (i & 1 ? 1 : 3);
		c.marks[i].words = d[5] * 0x01010101u ^ (uint32_t)d[6] << (i & 31);
	}
	if (soon)
		page_book_ask_soon(b, now, addrs, d[7] % 8 + 1u);
	else
		page_book_ask_again(b, &pos, addrs, d[7] % 8 + 1u);
	return page_book_take_contents(b, soon, &c, 1, now);
}

static void check_fates(const struct page_book *b)
{
	struct stack_fate *list;
	uint64_t sum = 0;
	size_t n, i;

	if (page_book_fates(b, &list, &n))
		abort();
	for (i = 0; i < n; i++) {
		if (i && list[i].stack <= list[i - 1].stack)
			abort();
		sum += list[i].own + list[i].reused + list[i].unused;
	}
	if (sum > held)
		abort();
	free(list);
}

static int step(struct page_book *b, const uint8_t *d, uint64_t now)
{
	uint64_t addr = (d[1] | (uint64_t)d[2] << 8) * PAGE;
	struct page_touch t = { .addr = addr, .weight = (d[3] + 1) * PAGE, .time_ns = now,
				.stack = d[4], .tid = d[5] };
	struct page_state s = { .addr = addr, .frame = d[3], .kind = d[4] % (PAGE_OTHER + 1),
				.huge_before = d[5], .huge_after = d[6],
				.huge_bytes = 1u << (d[7] % 32) };
	int err;

	switch (d[0] % KINDS) {
	case TOUCH:
		err = page_book_touch(b, &t);
		break;
	case ANSWER:
	case ANSWER_HUGE:
		if (d[0] % KINDS == ANSWER_HUGE)
			s.kind = PAGE_HUGE;
		page_book_set_growth(b, (uint64_t)d[5] << 24);
		err = page_book_take(b, &s, 1, d[6] & 1 ? now : now / 2);
		break;
	case MOVE:
		err = page_book_move(b, addr, d[3] * PAGE, (d[4] | (uint64_t)d[5] << 8) * PAGE,
				     d[6] & 1 ? now : now / 2);
		break;
	case UNMAPPED:
		err = page_book_unmapped(b, addr, d[3] * PAGE, d[6] & 1 ? now : now / 2);
		break;
	case END:
		err = d[1] == 7 ? page_book_deny(b) : page_book_end(b);
		break;
	case SOON:
	case AGAIN:
		err = look(b, d[0] % KINDS == SOON, d, now);
		break;
	default:
		err = ask(b, d[0] % KINDS == ASK_ALL);
	}
	return err;
}

static void read_reply(const uint8_t *data, size_t size)
{
	struct page_question *q = calloc(1, sizeof(*q));
	struct page_reply *r = malloc(size ? size : 1);

	if (!q || !r)
		abort();
	memcpy(r, data, size);
	if (size >= sizeof(q->number))
		q->number = r->number;
	if (size >= offsetof(struct page_reply, states)) {
		q->cnt = r->cnt % (PAGE_CHECK_MAX + 1);
		q->what = r->what % PAGES_ASKED;
	}
	if (page_reply_ok(q, r, size) &&
	    (size != page_reply_bytes(r) || r->cnt > page_asked_max(q->what)))
		abort();
	if (page_question_ok((const struct page_question *)(const void *)r, size) &&
	    size < offsetof(struct page_question, addrs))
		abort();
	free(q);
	free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct page_book *b = page_book_new((uint32_t)PAGE, &fns, NULL);
	size_t i, n = size / STEP < STEPS_MAX ? size / STEP : STEPS_MAX;
	int err = 0;

	if (!b)
		abort();
	cnt = 0;
	held = 0;
	for (i = 0; i < n && !err; i++) {
		err = step(b, data + i * STEP, (i + 1) * 70000);
		if (!err && page_book_held(b) != held)
			abort();
	}
	if (!err)
		check_fates(b);
	page_book_free(b);
	read_reply(data, size);
	return 0;
}
