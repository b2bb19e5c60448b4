// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_stack_tree.c - random stacks of several processes whose threads have the same ids, counted
 * again by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/intern.h"
#include "model/stack_frame.h"
#include "model/stack_tree.h"

#define PROCESSES 3
#define THREADS 5
#define STATUSES 2
#define FRAMES 6
#define DEPTH 3		/* stacks have 0 to DEPTH frames */
#define STACKS (1 + FRAMES + FRAMES * FRAMES + FRAMES * FRAMES * FRAMES)
#define EVENTS 20000

/* By process, thread, status and stack. */
typedef uint64_t counts[PROCESSES][THREADS][STATUSES][STACKS];

static struct intern *tables(void)
{
	struct intern *in = intern_new();
	char name[8];
	uint32_t i, id;

	assert_non_null(in);
	for (i = 0; i < FRAMES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, name, &id), 0);
		assert_int_equal(id, i);
	}
	return in;
}

/* The number of a stack: from the root, one digit for a frame; 0 is none. */
static uint32_t extend(uint32_t stack, uint32_t frame)
{
	return stack * FRAMES + frame + 1;
}

/* The last stack of each thread of the process. */
static struct {
	uint32_t depth, frames[DEPTH];
} last[THREADS];

/* What a reader may say of the event: nothing, or no more frames than the thread's last one had. */
static uint32_t some_kept_1(const struct event *ev)
{
	uint32_t depth = last[ev->thread_id].depth;

	return (uint32_t)rand() % (2 + frames_shared(last[ev->thread_id].frames, depth, ev->frames,
						     ev->nframes));
}

static void add(struct stack_tree *t, uint32_t process, counts *want)
{
	uint32_t frames[DEPTH], depth = (uint32_t)rand() % (DEPTH + 1), stack = 0, i;
	struct event ev = { .thread_id = (uint64_t)rand() % THREADS, .frames = frames,
			    .nframes = depth, .weight = 1 + (uint64_t)rand() % 3,
			    .status = (uint8_t)(rand() % STATUSES) };

	for (i = depth; i-- > 0;) {
		frames[i] = (uint32_t)rand() % FRAMES;
		stack = extend(stack, frames[i]);
	}
	ev.kept_1 = some_kept_1(&ev);
	last[ev.thread_id].depth = depth;
	memcpy(last[ev.thread_id].frames, frames, depth * sizeof(*frames));
	assert_int_equal(stack_tree_event(t, &ev), 0);
	(*want)[process][ev.thread_id][ev.status][stack] += ev.weight;
}

static void fill(struct stack_tree *t, uint32_t first, uint32_t cnt, const struct intern *in,
		 counts *want)
{
	uint32_t i, n;

	for (i = 0; i < cnt; i++) {
		assert_int_equal(stack_tree_begin(t, intern_tables(in)), 0);
		memset(last, 0, sizeof(last));
		for (n = 0; n < EVENTS; n++)
			add(t, first + i, want);
		stack_tree_end(t);
	}
}

static uint32_t stack_of(const struct stack_tree_view *v, uint32_t node)
{
	const struct string_ref *name;

	if (!node)
		return 0;
	name = &v->tables->strings[v->tables->frames[v->nodes[node].frame].func];
	return extend(stack_of(v, v->nodes[node].parent), (uint32_t)(name->data[1] - '0'));
}

/* Each sum is in one share, and nothing else is. */
static void check(const struct stack_tree *t, counts *want)
{
	struct stack_tree_view v = stack_tree_view(t);
	uint32_t i, cnt = 0;

	for (i = 0; i < v.share_cnt; i++) {
		const struct stack_share *g = &v.shares[i];
		const struct stack_thread *th = &v.threads[g->thread];
		size_t stack = stack_of(&v, g->node);
		uint64_t *sum = &(*want)[th->process][th->thread_id][g->status][stack];

		assert_true(*sum && *sum == g->weight);
		*sum = 0;
	}
	for (i = 0; i < sizeof(*want) / sizeof(uint64_t); i++)
		cnt += ((uint64_t *)want)[i] != 0;
	assert_int_equal(cnt, 0);
	assert_int_equal(v.thread_cnt, PROCESSES * THREADS);
	assert_int_equal(v.node_cnt, STACKS);
}

static void test_processes(void **state)
{
	struct stack_tree *t = stack_tree_new(DETAIL_LINE);
	counts *want = calloc(1, sizeof(*want));
	struct intern *in = tables();

	assert_non_null(want);
	fill(t, 0, PROCESSES, in, want);
	check(t, want);
	stack_tree_free(t);
	intern_free(in);
	free(want);
}

static void test_merge(void **state)
{
	struct stack_tree *t = stack_tree_new(DETAIL_LINE), *other = stack_tree_new(DETAIL_LINE);
	counts *want = calloc(1, sizeof(*want));
	struct intern *in = tables();

	assert_non_null(want);
	fill(t, 0, 1, in, want);
	fill(other, 1, 1, in, want);
	assert_int_equal(stack_tree_merge(t, other, NULL), 0);
	fill(t, 2, 1, in, want);
	check(t, want);
	stack_tree_free(t);
	stack_tree_free(other);
	intern_free(in);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
