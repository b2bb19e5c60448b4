// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil_rows.c - see gil_rows.h.
 *
 * All rows are sorted once for all processes. The rows of a process are then found by binary
 * search, so that files with thousands of processes take little time.
 */
#include "analysis/gil_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* The order: process, then first and second in descending order, then id. */
struct key {
	uint32_t process, id;	/* id: the row's index */
	uint64_t first, second;
};

struct sorted {
	uint32_t *ids, *processes;
	uint32_t cnt;
};

struct gil_rows {
	struct sorted threads, lines, pairs, stacks;
	struct gil_interp *interps;
	uint32_t interp_cnt;
	uint32_t *thread_cnts;		/* indexed by process */
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->first != y->first)
		return x->first > y->first ? -1 : 1;
	if (x->second != y->second)
		return x->second > y->second ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Sorts cnt rows by key, except those for which key_of() returns false. 0; -1: no memory. */
static int sort_rows(struct sorted *s, const struct gil *g, uint32_t cnt,
		     bool (*key_of)(const struct gil *g, uint32_t i, struct key *key))
{
	struct key *keys = malloc(((size_t)cnt + 1) * sizeof(*keys));
	uint32_t i, n = 0;

	s->ids = malloc(((size_t)cnt + 1) * sizeof(*s->ids));
	s->processes = malloc(((size_t)cnt + 1) * sizeof(*s->processes));
	if (!keys || !s->ids || !s->processes) {
		free(keys);
		return -1;
	}
	for (i = 0; i < cnt; i++) {
		keys[n].id = i;
		n += key_of(g, i, &keys[n]);
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (i = 0; i < n; i++) {
		s->ids[i] = keys[i].id;
		s->processes[i] = keys[i].process;
	}
	s->cnt = n;
	free(keys);
	return 0;
}

static bool thread_key(const struct gil *g, uint32_t i, struct key *key)
{
	uint32_t cnt;
	const struct gil_thread *t = &gil_threads(g, &cnt)[i];

	key->process = t->process;
	key->first = t->waited;
	key->second = t->held;
	return t->waited || t->held;
}

static bool line_key(const struct gil *g, uint32_t i, struct key *key)
{
	uint32_t cnt;
	const struct gil_line *l = &gil_lines(g, &cnt)[i];

	key->process = l->process;
	key->first = l->waited + l->blamed;
	key->second = l->held;
	return true;
}

static bool pair_key(const struct gil *g, uint32_t i, struct key *key)
{
	struct gil_pair p = gil_pair(g, i);
	uint32_t cnt;

	key->process = gil_lines(g, &cnt)[p.waiter].process;
	key->first = p.waited;
	key->second = 0;
	return true;
}

static bool stack_key(const struct gil *g, uint32_t i, struct key *key)
{
	struct gil_stack s = gil_stack(g, i);

	key->process = s.process;
	key->first = s.waited;
	key->second = 0;
	return true;
}

static int compare_interps(const void *a, const void *b)
{
	const struct gil_interp *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->interp_id > y->interp_id) - (x->interp_id < y->interp_id);
}

/* Adds up the threads' held and waited by interpreter. Returns 0; -1: no memory. */
static int add_interps(struct gil_rows *r, const struct gil *g)
{
	uint32_t cnt, i, n = 0;
	const struct gil_thread *threads = gil_threads(g, &cnt);

	r->interps = malloc(((size_t)cnt + 1) * sizeof(*r->interps));
	if (!r->interps)
		return -1;
	for (i = 0; i < cnt; i++)
		r->interps[i] = (struct gil_interp){ threads[i].process, threads[i].interp_id,
						     threads[i].held, threads[i].waited };
	qsort(r->interps, cnt, sizeof(*r->interps), compare_interps);
	for (i = 0; i < cnt; i++) {
		if (n && !compare_interps(&r->interps[n - 1], &r->interps[i])) {
			r->interps[n - 1].held += r->interps[i].held;
			r->interps[n - 1].waited += r->interps[i].waited;
		} else {
			r->interps[n++] = r->interps[i];
		}
	}
	r->interp_cnt = n;
	return 0;
}

static int count_threads(struct gil_rows *r, const struct gil *g)
{
	uint32_t cnt, process_cnt, i;
	const struct gil_thread *threads = gil_threads(g, &cnt);

	gil_processes(g, &process_cnt);
	r->thread_cnts = calloc((size_t)process_cnt + 1, sizeof(*r->thread_cnts));
	if (!r->thread_cnts)
		return -1;
	for (i = 0; i < cnt; i++)
		r->thread_cnts[threads[i].process]++;
	return 0;
}

struct gil_rows *gil_rows_new(const struct gil *g)
{
	struct gil_rows *r = calloc(1, sizeof(*r));
	uint32_t thread_cnt, line_cnt;

	if (!r)
		return NULL;
	gil_threads(g, &thread_cnt);
	gil_lines(g, &line_cnt);
	if (sort_rows(&r->threads, g, thread_cnt, thread_key) ||
	    sort_rows(&r->lines, g, line_cnt, line_key) ||
	    sort_rows(&r->pairs, g, gil_pair_cnt(g), pair_key) ||
	    sort_rows(&r->stacks, g, gil_stack_cnt(g), stack_key) || add_interps(r, g) ||
	    count_threads(r, g)) {
		gil_rows_free(r);
		return NULL;
	}
	return r;
}

static void free_sorted(struct sorted *s)
{
	free(s->ids);
	free(s->processes);
}

void gil_rows_free(struct gil_rows *r)
{
	if (!r)
		return;
	free_sorted(&r->threads);
	free_sorted(&r->lines);
	free_sorted(&r->pairs);
	free_sorted(&r->stacks);
	free(r->interps);
	free(r->thread_cnts);
	free(r);
}

/* Returns the number of rows whose process has a lower number. */
static uint32_t rows_below(const uint32_t *processes, uint32_t cnt, uint64_t process)
{
	uint32_t low = 0, high = cnt;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (processes[mid] < process)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct gil_order order_of(const struct sorted *s, uint32_t process)
{
	uint32_t from = rows_below(s->processes, s->cnt, process);
	uint32_t to = rows_below(s->processes, s->cnt, (uint64_t)process + 1);

	return (struct gil_order){ s->ids + from, to - from };
}

struct gil_order gil_rows_threads(const struct gil_rows *r, uint32_t process)
{
	return order_of(&r->threads, process);
}

struct gil_order gil_rows_lines(const struct gil_rows *r, uint32_t process)
{
	return order_of(&r->lines, process);
}

struct gil_order gil_rows_pairs(const struct gil_rows *r, uint32_t process)
{
	return order_of(&r->pairs, process);
}

struct gil_order gil_rows_stacks(const struct gil_rows *r, uint32_t process)
{
	return order_of(&r->stacks, process);
}

const struct gil_interp *gil_rows_interps(const struct gil_rows *r, uint32_t process,
					  uint32_t *cnt)
{
	uint32_t low = 0, high = r->interp_cnt, from;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (r->interps[mid].process < process)
			low = mid + 1;
		else
			high = mid;
	}
	from = low;
	while (low < r->interp_cnt && r->interps[low].process == process)
		low++;
	*cnt = low - from;
	return r->interps + from;
}

uint32_t gil_rows_thread_cnt(const struct gil_rows *r, uint32_t process)
{
	return r->thread_cnts[process];
}
