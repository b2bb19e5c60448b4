// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_held.c - memory events of a process: what it holds by stack, with room and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "agent/held.h"
#include "model/event.h"
#include "telemetry/window.h"

#define NAMES 8

static struct string_ref strings[NAMES] = {
	{ "a.py", 4 }, { "f", 1 }, { "g", 1 }, { "h", 1 }, { "i", 1 }, { "j", 1 },
};
static struct frame frames[NAMES];
static struct profile_tables tables = { frames, strings, NAMES - 2, NAMES - 2, NULL, 0 };

static struct held_room room;
static struct held *held;
static struct window *window;
static struct window_map *map;

static void begin(size_t max)
{
	uint32_t i;

	for (i = 1; i < tables.frame_cnt; i++)
		frames[i] = (struct frame){ .file = 0, .func = i, .line = (int32_t)i,
					    .end_line = LINE_NONE, .column = COLUMN_NONE,
					    .end_column = COLUMN_NONE, .opcode = OPCODE_NONE };
	room = (struct held_room){ .max = max };
	held = held_new(&room);
	window = window_new(&window_limits_default, 0, 1);
	map = window_map_new(&tables);
	assert_true(held && window && map);
}

static void end(void)
{
	held_free(held);
	assert_int_equal(room.used, 0);
	window_map_free(map);
	window_free(window);
}

/* The stack of number n is the frames 1 + n % 5 and 1. */
static void memory(enum memory_change change, uint32_t stack, uint64_t bytes)
{
	const uint32_t ids[] = { 1 + stack % 5, 1 };
	const struct memory_event ev = {
		.change = change, .stack = stack, .bytes = bytes, .nframes = 2, .frames = ids,
	};

	held_take(held, &ev);
}

static void alloc(uint32_t stack, uint64_t bytes)
{
	memory(MEMORY_ALLOC, stack, bytes);
}

static void gone(uint32_t stack, uint64_t bytes)
{
	memory(MEMORY_FREE, stack, bytes);
}

/* The window with what is held now, of service 0. */
static const struct window_series *shown(uint64_t *sum)
{
	window_reset(window, 0, 1);
	*sum = held_add(held, window, map, 0, 0);
	return window_series(window, 0, WINDOW_INUSE_SPACE);
}

static void test_held(void **state)
{
	const struct window_sample *samples;
	uint64_t sum;
	uint32_t cnt;

	begin(HELD_BYTES_MAX);
	assert_int_equal(shown(&sum)->samples, 0);
	assert_int_equal(sum, 0);
	alloc(0, 65536);
	alloc(1, 4096);
	alloc(0, 65536);
	gone(1, 4096);
	assert_int_equal(shown(&sum)->value, 131072);
	assert_int_equal(sum, 131072);
	/* A stack that holds nothing is not in the window. */
	samples = window_samples(window, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(samples[0].value, 131072);
	/* The window does not empty it. */
	alloc(1, 10);
	assert_int_equal(shown(&sum)->value, 131082);
	assert_int_equal(room.beyond, 0);
	/* Checks and collections change nothing, nor does a FREE of more than there is. */
	memory(MEMORY_CHECK, 0, 5);
	memory(MEMORY_COLLECTION, 0, 5);
	gone(1, 11);
	assert_int_equal(shown(&sum)->value, 131072);
	end();
}

/* Sums stay right when stacks find no room. */
static void test_no_room(void **state)
{
	uint64_t sum;
	uint32_t i;

	/* Three stacks, and the frames of two. */
	begin(3 * 16 + 2 * 8 + 4);
	for (i = 0; i < 3; i++)
		alloc(i, 100);
	assert_int_equal(room.beyond, 1);
	alloc(3, 1000);
	alloc(4, 1000);
	assert_int_equal(room.beyond, 3);
	assert_int_equal(shown(&sum)->value, 2300);
	gone(3, 1000);
	gone(2, 100);
	assert_int_equal(shown(&sum)->value, 1200);
	/* What was refused stays without a place: its FREE must find it. */
	gone(4, 1000);
	assert_int_equal(shown(&sum)->value, 200);
	alloc(UINT32_MAX, 7);
	assert_int_equal(shown(&sum)->value, 207);
	end();
}

/* Two processes share the room, and one that ends gives its part back. */
static void test_shared(void **state)
{
	struct held *other;

	begin(16 + 8);
	alloc(0, 1);
	other = held;
	held = held_new(&room);
	alloc(0, 1);
	assert_int_equal(room.beyond, 1);
	held_free(held);
	held_free(other);
	held = held_new(&room);
	alloc(0, 1);
	assert_int_equal(room.beyond, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held), cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
