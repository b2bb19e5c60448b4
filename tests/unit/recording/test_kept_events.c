// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_kept_events.c - what is kept comes back as it was, in less memory. */
#include "tests/unit/tach_test.h"

#include "recording/kept_events.h"

#define EVENTS 2000

/* The i-th event: threads, times, depths and stacks change in all ways. */
static struct event make(uint64_t *seed, struct event *last, uint32_t frames[EVENT_MAX_FRAMES])
{
	struct event ev = *last;
	uint32_t i, keep;

	ev.nframes = rnd(seed) % 7 ? last->nframes : (uint32_t)(rnd(seed) % (EVENT_MAX_FRAMES + 1));
	keep = ev.nframes ? (uint32_t)(rnd(seed) % ev.nframes) : 0;
	for (i = 0; i < ev.nframes; i++)
		if (i < keep || i >= last->nframes)
			frames[i] = (uint32_t)(rnd(seed) >> (rnd(seed) % 64));
	ev.frames = frames;
	ev.time_us = last->time_us + rnd(seed) % 100000 - 50000;
	ev.thread_id = rnd(seed) % 4;
	ev.interp_id = rnd(seed) % 3;
	ev.weight = rnd(seed) % 9 ? 1 : rnd(seed);
	ev.tick_ns = (uint32_t)rnd(seed);
	ev.status = (uint8_t)rnd(seed);
	return ev;
}

static void check_equal(const struct event *a, const struct event *b)
{
	assert_int_equal(a->time_us, b->time_us);
	assert_int_equal(a->thread_id, b->thread_id);
	assert_int_equal(a->interp_id, b->interp_id);
	assert_int_equal(a->weight, b->weight);
	assert_int_equal(a->tick_ns, b->tick_ns);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->nframes, b->nframes);
	if (a->nframes)
		assert_memory_equal(a->frames, b->frames, a->nframes * sizeof(*a->frames));
}

struct expected {
	uint64_t seed;
	struct event last;
	uint32_t frames[EVENT_MAX_FRAMES];
	size_t cnt, stop_at;
};

static int check_next(void *ctx, const struct event *ev)
{
	struct expected *e = ctx;

	e->last = make(&e->seed, &e->last, e->frames);
	check_equal(ev, &e->last);
	return ++e->cnt == e->stop_at ? -EINTR : 0;
}

static void test_all_comes_back(void **state)
{
	struct expected in = { .seed = 42, .last.time_us = 1u << 30 }, out = in;
	struct kept_events k = { 0 };
	struct kept_last last;
	size_t i;

	kept_last_reset(&last);
	for (i = 0; i < EVENTS; i++) {
		in.last = make(&in.seed, &in.last, in.frames);
		assert_int_equal(kept_events_add(&k, &last, &in.last), 0);
	}
	assert_int_equal(k.cnt, EVENTS);
	kept_events_close(&k);
	assert_int_equal(kept_events_bytes(&k), k.data.len);
	assert_int_equal(kept_events_replay(&k, check_next, &out), 0);
	assert_int_equal(out.cnt, EVENTS);
	kept_events_free(&k);
}

static void test_who_reads_may_stop(void **state)
{
	struct expected in = { .seed = 7 }, out = in;
	struct kept_events k = { 0 };
	struct kept_last last;
	int i;

	kept_last_reset(&last);
	for (i = 0; i < 5; i++) {
		in.last = make(&in.seed, &in.last, in.frames);
		assert_int_equal(kept_events_add(&k, &last, &in.last), 0);
	}
	out.stop_at = 3;
	assert_int_equal(kept_events_replay(&k, check_next, &out), -EINTR);
	assert_int_equal(out.cnt, 3);
	kept_events_free(&k);
}

/* A loop's stacks differ in the innermost frame: 20 frames take less than one number each. */
static void test_it_is_small(void **state)
{
	uint32_t frames[20], i;
	struct event ev = { .nframes = 20, .frames = frames, .thread_id = 4711, .weight = 1,
			    .tick_ns = 10101010, .time_us = 1ull << 40 };
	struct kept_events k = { 0 };
	struct kept_last last;

	kept_last_reset(&last);
	for (i = 0; i < 20; i++)
		frames[i] = 1000 + i;
	for (i = 0; i < 1000; i++) {
		frames[0] = 1000 + i % 3;
		ev.time_us += 10101;
		assert_int_equal(kept_events_add(&k, &last, &ev), 0);
	}
	kept_events_close(&k);
	assert_in_range(kept_events_bytes(&k), 1000, 20 * 1000);
	kept_events_free(&k);
}

static void test_nothing(void **state)
{
	struct kept_events k = { 0 };
	struct expected none = { 0 };

	kept_events_close(&k);
	assert_int_equal(kept_events_replay(&k, check_next, &none), 0);
	assert_int_equal(none.cnt, 0);
	kept_events_free(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_comes_back), cmocka_unit_test(test_who_reads_may_stop),
		cmocka_unit_test(test_it_is_small), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
