// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_window.c - windows in which code objects are not read again: when they begin, how long they
 * last, what is never left unread, and what the record says of it.
 */
#include "world.h"

#define PERIOD_NS 1000000u
#define WINDOW_NS 8000000u
#define STEADY 64		/* reads until a code object may be left unread */
#define DEPTH 10u

static struct world w;

static void set(const volatile unsigned int *setting, unsigned int value)
{
	host_set((void *)setting, &value, sizeof(value));
}

/* A process that was sampled for long, in which the counter of 3.12 is not known. */
static void begin(int minor)
{
	u32 i;

	world_init(&w, minor);
	set(&cfg_period_ns, PERIOD_NS);
	set(&cfg_window_ns, WINDOW_NS);
	w.proc.ticks = 100000;
	world_put_proc(&w);
	for (i = 0; i < DEPTH; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 2 * i);
	host.now_ns += 1ull << 32;
}

static void end(void)
{
	set(&cfg_period_ns, 0);
	set(&cfg_window_ns, 0);
}

static const struct raw_sample *sample_after(u64 ns)
{
	host.now_ns += ns;
	return world_expect(&w, DEPTH, 0);
}

/* Sample until all code objects are steady, and a window has just begun. */
static void make_steady(void)
{
	const struct raw_sample *s = NULL;
	int i;

	for (i = 0; i < STEADY + 2; i++)
		s = sample_after(20 * 1024 * 1024);	/* more than a second in all */
	assert_int_equal(s->codes_ns, 0);
}

/* Put another code object at the same address. */
static void replace(u32 code, u32 line)
{
	host_mem_put32(W_CODES + code * W_CODE_STEP + w.img.layout.co_firstlineno, line);
}

static void test_unread_in_a_window(void **state)
{
	const struct raw_sample *s;
	u64 unread, began;
	int minor;

	for (minor = 6; minor <= 12; minor++) {
		begin(minor);
		make_steady();
		began = host.now_ns;
		replace(3, 9999);	/* nobody looks: the record says since when */
		s = sample_after(PERIOD_NS);
		assert_in_range(s->codes_ns, began - 2 * 1024, began);
		assert_true(s->h.time_ns > s->codes_ns);
		unread = host.reads;
		/* The next window reads all. */
		w.want[3].id = world_code_identity(&w, 3);
		s = sample_after(WINDOW_NS);
		assert_int_equal(s->codes_ns, 0);
		assert_true(host.reads >= unread + DEPTH);
		end();
	}
}

/* An address at which another code object was seen is read with each sample from then on. */
static void test_changed_is_always_read(void **state)
{
	const struct raw_sample *s;
	int i;

	begin(11);
	make_steady();
	replace(3, 9999);
	w.want[3].id = world_code_identity(&w, 3);
	sample_after(WINDOW_NS + 2048);
	make_steady();
	s = sample_after(PERIOD_NS);
	assert_int_not_equal(s->codes_ns, 0);	/* the others are unread */
	for (i = 0; i < 5; i++) {
		replace(3, 100 + i);
		w.want[3].id = world_code_identity(&w, 3);
		sample_after(PERIOD_NS / 2);
	}
	end();
}

/* A new code object is read with each sample until it has been the same for long. */
static void test_new_is_read(void **state)
{
	int i;

	begin(11);
	for (i = 0; i < STEADY * 10; i++)
		assert_int_equal(sample_after(PERIOD_NS / 2)->codes_ns, 0);
	make_steady();
	assert_int_not_equal(sample_after(PERIOD_NS)->codes_ns, 0);
	end();
}

/* A window is a small share of the time for which the process was sampled. */
static void test_young_process(void **state)
{
	int i;

	begin(11);
	make_steady();
	w.proc.ticks = 0;
	world_put_proc(&w);
	for (i = 0; i < 10; i++)
		assert_int_equal(sample_after(PERIOD_NS)->codes_ns, 0);
	w.proc.ticks = 3 * 1024;	/* 3 ms */
	world_put_proc(&w);
	sample_after(WINDOW_NS);
	assert_int_not_equal(sample_after(PERIOD_NS)->codes_ns, 0);
	assert_int_not_equal(sample_after(PERIOD_NS)->codes_ns, 0);
	assert_int_equal(sample_after(PERIOD_NS + 100000)->codes_ns, 0);
	end();
}

/* With the interpreter's counter nothing is uncertain; without windows everything is read. */
static void test_certain(void **state)
{
	int minor;

	for (minor = 13; minor <= LAYOUT_MINOR_MAX; minor++) {
		begin(minor);
		make_steady();
		assert_int_equal(sample_after(PERIOD_NS)->codes_ns, 0);
		end();
	}
	begin(11);
	set(&cfg_window_ns, 0);
	make_steady();
	replace(3, 9999);
	w.want[3].id = world_code_identity(&w, 3);
	assert_int_equal(sample_after(PERIOD_NS)->codes_ns, 0);
	end();
}

/* Another process at the same addresses has windows of its own. */
static void test_another_process(void **state)
{
	begin(11);
	make_steady();
	w.proc.ident += 2;
	world_put_proc(&w);
	replace(3, 9999);
	w.want[3].id = world_code_identity(&w, 3);
	assert_int_equal(sample_after(PERIOD_NS)->codes_ns, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unread_in_a_window),
		cmocka_unit_test(test_changed_is_always_read),
		cmocka_unit_test(test_new_is_read),
		cmocka_unit_test(test_young_process),
		cmocka_unit_test(test_certain),
		cmocka_unit_test(test_another_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
