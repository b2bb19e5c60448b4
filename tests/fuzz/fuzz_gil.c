// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_gil.c - whatever the TACH reader accepts through gil.c: every wait must be in
 * every list once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/gil.h"
#include "analysis/gil_rows.h"
#include "formats/tach/tach_reader.h"

/* A few compressed bytes can mean gigabytes of samples. */
#define EVENTS_MAX 200000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct gil *gil;
	int (*on_event)(void *ctx, const struct event *ev);
	unsigned long cnt;
};

static void require(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static int consume(void *ctx, const struct event *ev)
{
	struct run *run = ctx;

	require(!run->on_event(run->gil, ev), "every event is taken");
	return ++run->cnt == EVENTS_MAX ? -ECANCELED : 0;
}

static void run(struct tach_reader *r, struct gil *g,
		int (*on_event)(void *ctx, const struct event *ev))
{
	struct run run = { .gil = g, .on_event = on_event };
	char why[256] = "";

	tach_reader_run(r, consume, &run, why, sizeof(why));
}

static void check_process(const struct gil *g, const struct gil_rows *rows, uint32_t number)
{
	uint64_t threads = 0, lines = 0, pairs = 0, stacks = 0;
	struct gil_order order;
	uint32_t i, cnt;
	const struct gil_process *p = &gil_processes(g, &cnt)[number];

	order = gil_rows_threads(rows, number);
	for (i = 0; i < order.cnt; i++)
		threads += gil_threads(g, &cnt)[order.ids[i]].waited;
	order = gil_rows_lines(rows, number);
	for (i = 0; i < order.cnt; i++)
		lines += gil_lines(g, &cnt)[order.ids[i]].waited;
	order = gil_rows_pairs(rows, number);
	for (i = 0; i < order.cnt; i++)
		pairs += gil_pair(g, order.ids[i]).waited;
	order = gil_rows_stacks(rows, number);
	for (i = 0; i < order.cnt; i++)
		stacks += gil_stack(g, order.ids[i]).waited;
	require(lines == p->waited, "waits by line");
	require(pairs + p->pairs_left_out == p->waited, "waits by pair");
	require(stacks + p->stacks_left_out == p->waited, "waits by stack");
	require(p->waited <= p->wanted && p->held + p->wanted <= p->samples, "parts of the whole");
	gil_processes(g, &cnt);
	require(cnt > 1 || threads == p->waited, "waits by thread");
	gil_known(g, p, false);
}

/* Every wait is in a cell, whose threads and lines there are, or is left out. */
static void check_cells(const struct gil *g)
{
	const struct gil_cells *cells = gil_cells(g);
	uint32_t i, process_cnt, thread_cnt, line_cnt;
	const struct gil_process *processes = gil_processes(g, &process_cnt);
	uint64_t waited = 0, sum = 0;

	gil_threads(g, &thread_cnt);
	gil_lines(g, &line_cnt);
	for (i = 0; i < process_cnt; i++)
		waited += processes[i].waited - processes[i].cells_left_out;
	for (i = 0; i < gil_cells_cnt(cells); i++) {
		struct gil_cell c = gil_cells_get(cells, i);

		sum += c.waited;
		require(c.waiter < thread_cnt && c.waiter_line < line_cnt, "a waiter");
		require(c.holder_line == GIL_NO_LINE ||
			(c.holder < thread_cnt && c.holder_line < line_cnt), "a holder");
		require(c.holder != c.waiter, "nobody waits for himself");
	}
	require(sum == waited, "waits by cell");
}

static void try_gil(struct tach_reader *r, bool shared)
{
	struct gil *g = gil_new(&tach_reader_info(r)->meta, tach_reader_tables(r), shared);
	struct gil_rows *rows;
	uint32_t cnt, i;

	require(g != NULL && !gil_collect_cells(g), "memory");
	run(r, g, gil_hold_event);
	require(!gil_holds_done(g), "holders are sorted");
	run(r, g, gil_wait_event);
	gil_waits_done(g);
	rows = gil_rows_new(g);
	require(rows != NULL, "memory");
	gil_processes(g, &cnt);
	for (i = 0; i < cnt; i++)
		check_process(g, rows, i);
	check_cells(g);
	gil_rows_free(rows);
	gil_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct tach_reader *r;
	char why[256] = "";

	if (fd < 0) {
		fd = memfd_create("in", MFD_CLOEXEC);
		require(fd >= 0, "descriptors");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	require(!ftruncate(fd, 0), "ftruncate");
	require(pwrite(fd, data, size, 0) == (ssize_t)size, "pwrite");
	r = tach_reader_open(path, why, sizeof(why));
	if (!r)
		return 0;
	try_gil(r, false);
	try_gil(r, true);
	tach_reader_free(r);
	return 0;
}
