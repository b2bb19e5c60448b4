// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_window.c - samples added up by service, sample type and stack: totals are exact whatever
 * happens, and nothing grows beyond its bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "tests/unit/telemetry/window_data.h"

static struct window *new_window(const struct window_limits *limits)
{
	struct window *w = window_new(limits ? limits : &window_limits_default, BEGIN_NS,
				      BEGIN_NS + 15 * NS_PER_S);

	assert_non_null(w);
	return w;
}

static void assert_exact(const struct window *w)
{
	uint32_t i, kind;
	uint64_t samples;

	for (i = 0; i < window_service_cnt(w); i++) {
		for (kind = 0; kind < WINDOW_KIND_CNT; kind++) {
			const struct window_series *s = window_series(w, i, kind);

			assert_int_equal(sum_of(w, i, kind, &samples), s->value);
			assert_int_equal(samples, s->samples);
		}
	}
}

static const char *func_of(const struct window *w, uint32_t frame)
{
	const struct profile_tables *t = window_names_tables(window_names(w));
	static char name[WINDOW_NAME_BYTES + 1];
	const struct string_ref *s = &t->strings[t->frames[frame].func];

	memcpy(name, s->data, s->len);
	name[s->len] = '\0';
	return name;
}

/* The same stack of two processes of a service is one; another service's is a sample of its own. */
static void test_stacks_are_shared(void **state)
{
	struct window *w = new_window(NULL);
	struct fake_process a = fake_process(), b = fake_process();
	uint32_t of_b[2], of_a[2], cnt, ids[EVENT_MAX_FRAMES];

	of_a[0] = python_frame(&a, "/x/a.py", "leaf", 3);
	of_a[1] = python_frame(&a, "/x/a.py", "root", 1);
	python_frame(&b, "/x/b.py", "unused", 9);
	of_b[1] = python_frame(&b, "/x/a.py", "root", 1);
	of_b[0] = python_frame(&b, "/x/a.py", "leaf", 3);
	add_stack(w, &a, 0, WINDOW_CPU, of_a, 2, 2, 100);
	add_stack(w, &b, 0, WINDOW_CPU, of_b, 2, 1, 200);
	assert_int_equal(window_stack_cnt(w), 1);
	add_stack(w, &b, 1, WINDOW_CPU, of_b, 2, 1, 7);
	add_stack(w, &b, 1, WINDOW_GIL_WAIT, of_b, 2, 1, 8);
	add_stack(w, &a, 1, WINDOW_GIL_WAIT, of_a, 2, 1, 9);
	assert_int_equal(window_stack_cnt(w), 1);
	window_samples(w, &cnt);
	assert_int_equal(cnt, 3);
	assert_int_equal(window_series(w, 0, WINDOW_CPU)->value, 400);
	assert_int_equal(window_series(w, 0, WINDOW_CPU)->samples, 3);
	assert_int_equal(window_series(w, 1, WINDOW_GIL_WAIT)->value, 17);
	assert_int_equal(window_stack(w, 0, ids), 2);
	assert_string_equal(func_of(w, ids[0]), "leaf");
	assert_string_equal(func_of(w, ids[1]), "root");
	assert_exact(w);
	fake_process_free(&a);
	window_free(w);
	fake_process_free(&b);
}

/* Types of objects: their names are the stacks; any bytes; limits as for all others. */
static void test_names_instead_of_stacks(void **state)
{
	struct window_limits limits = window_limits_default;
	struct window_place at = { .service = 1, .owner = 1, .kind = WINDOW_HEAP_SPACE,
				   .samples = 1, .mul = 3, .div = 2 };
	uint32_t ids[EVENT_MAX_FRAMES], cnt, i;
	const struct window_sample *samples;
	struct window *w;
	char name[32];

	limits.frames = 100;
	w = new_window(&limits);
	window_add_named(w, "app.Session", 100, &at);
	window_add_named(w, "dict", 10, &at);
	window_add_named(w, "app.Session", 50, &at);
	at.kind = WINDOW_HEAP_OBJECTS;
	window_add_named(w, "app.Session", 4, &at);
	samples = window_samples(w, &cnt);
	assert_int_equal(cnt, 3);
	assert_int_equal(window_stack_cnt(w), 2);
	assert_int_equal(samples[0].value, 225);
	assert_int_equal(samples[1].value, 15);
	assert_int_equal(samples[2].value, 6);
	assert_int_equal(window_stack(w, samples[0].stack, ids), 1);
	assert_string_equal(func_of(w, ids[0]), "app.Session");
	assert_int_equal(samples[2].stack, samples[0].stack);
	window_add_named(w, "\xff\n", 2, &at);
	for (i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "app.Type%u", i);
		window_add_named(w, name, 2, &at);
	}
	assert_true(window_series(w, 1, WINDOW_HEAP_OBJECTS)->other_value > 0);
	assert_true(window_others(w, WINDOW_OTHER_FRAMES) > 0);
	assert_int_equal(window_series(w, 1, WINDOW_HEAP_OBJECTS)->value, 6 + 3 + 200 * 3);
	assert_exact(w);
	window_free(w);
}

/* Samples with different links are kept apart. */
static void test_links(void **state)
{
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	uint32_t f = python_frame(&p, "a.py", "f", 1), cnt, i;
	const struct event ev = { .nframes = 1, .frames = &f, .weight = 1 };

	for (i = 0; i < 10; i++)
		window_add(w, p.map, &ev, &(struct window_place){ .mul = 5, .samples = 1,
								  .link = i % 3 });
	assert_int_equal(window_stack_cnt(w), 1);
	assert_int_equal(window_samples(w, &cnt)[0].value, 20);
	assert_int_equal(cnt, 3);
	assert_exact(w);
	window_free(w);
	fake_process_free(&p);
}

/* What a division leaves over is not lost; sums and products end at the highest number. */
static void test_weights(void **state)
{
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	uint32_t f = python_frame(&p, "a.py", "f", 1), i;
	struct event ev = { .nframes = 1, .frames = &f, .weight = 1 };
	const struct window_place third = { .kind = WINDOW_EXCEPTION, .mul = 10, .div = 3,
					    .samples = 1 };

	for (i = 0; i < 300; i++)
		window_add(w, p.map, &ev, &third);
	assert_int_equal(window_series(w, 0, WINDOW_EXCEPTION)->value, 1000);
	assert_exact(w);
	ev.weight = UINT64_MAX / 2;
	for (i = 0; i < 3; i++)
		window_add(w, p.map, &ev, &(struct window_place){ .mul = 3, .samples = 1 });
	assert_true(window_series(w, 0, WINDOW_CPU)->value == UINT64_MAX);
	assert_int_equal(window_series(w, 0, WINDOW_CPU)->samples, 3);
	window_free(w);
	fake_process_free(&p);
}

static void test_odd_events(void **state)
{
	static uint32_t deep[EVENT_MAX_FRAMES + 1];
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	uint32_t beyond[2] = { 5, UINT32_MAX }, ids[EVENT_MAX_FRAMES], i;

	add_stack(w, &p, 0, WINDOW_CPU, NULL, 0, 1, 1);
	assert_int_equal(window_stack(w, 0, ids), 1);
	assert_string_equal(func_of(w, ids[0]), "<no frames>");
	add_stack(w, &p, 0, WINDOW_CPU, beyond, 2, 1, 1);
	assert_int_equal(window_stack(w, 1, ids), 2);
	assert_string_equal(func_of(w, ids[1]), "<lost frame>");
	python_frame(&p, "a.py", "f", 1);
	add_stack(w, &p, 0, WINDOW_CPU, deep, EVENT_MAX_FRAMES, 1, 1);
	assert_int_equal(window_stack(w, 2, ids), EVENT_MAX_FRAMES);
	for (i = 0; i < 4; i++)
		add_stack(w, &p, 0, WINDOW_CPU, deep, EVENT_MAX_FRAMES + 1, 1, 1);
	assert_int_equal(window_others(w, WINDOW_OTHER_EVENT), 4);
	assert_int_equal(window_series(w, 0, WINDOW_CPU)->other_value, 4);
	assert_int_equal(window_series(w, 0, WINDOW_CPU)->value, 7);
	assert_exact(w);
	window_free(w);
	fake_process_free(&p);
}

/* A frame that was <unresolved> has its name from the next event on. */
static void test_named_later(void **state)
{
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	uint32_t unresolved = other_frame(&p, FRAME_SYNTHETIC, "<unresolved>"), later;
	uint32_t real = python_frame(&p, "a.py", "f", 1), ids[EVENT_MAX_FRAMES];

	assert_int_equal(intern_later(p.in, unresolved, &later), 0);
	add_stack(w, &p, 0, WINDOW_CPU, &later, 1, 1, 1);
	add_stack(w, &p, 0, WINDOW_CPU, &unresolved, 1, 1, 1);
	assert_int_equal(window_stack_cnt(w), 1);
	intern_name_later(p.in, later, real);
	add_stack(w, &p, 0, WINDOW_CPU, &later, 1, 1, 1);
	assert_int_equal(window_stack_cnt(w), 2);
	window_stack(w, 1, ids);
	assert_string_equal(func_of(w, ids[0]), "f");
	window_free(w);
	fake_process_free(&p);
}

/* Names with any bytes become printable UTF-8 with a bound. */
static void test_hostile_names(void **state)
{
	static char long_name[65536];
	static const char odd[] = "\xff\xfe\0x\x1b[31m\xe2\x80\xae\xc3\xa9";
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	const struct profile_tables *t;
	uint32_t f[2], i, cp;
	size_t at, n;

	memset(long_name, 0xe2, sizeof(long_name));
	f[0] = frame_bytes(&p, odd, sizeof(odd) - 1, long_name, sizeof(long_name), 1);
	memset(long_name, 'x', sizeof(long_name));
	f[1] = frame_bytes(&p, "", 0, long_name, sizeof(long_name), 1);
	add_stack(w, &p, 0, WINDOW_CPU, f, 2, 1, 1);
	t = window_names_tables(window_names(w));
	assert_int_equal(t->string_cnt, 4);
	for (i = 0; i < t->string_cnt; i++) {
		assert_true(t->strings[i].len <= WINDOW_NAME_BYTES);
		for (at = 0; at < t->strings[i].len; at += n) {
			n = utf8_char(t->strings[i].data + at, t->strings[i].len - at, &cp);
			assert_true(n && utf8_printable(cp));
		}
	}
	window_free(w);
	fake_process_free(&p);
}

/* A process with as many stacks, functions and bytes of names as it likes. */
static void add_many(struct window *w, uint32_t cnt, uint32_t depth)
{
	struct fake_process p = fake_process();
	uint32_t frames[EVENT_MAX_FRAMES], i, k;
	char name[200];

	for (i = 0; i < cnt; i++) {
		for (k = 0; k < depth; k++) {
			memset(name, 'a' + (int)(k % 26), sizeof(name));
			frames[k] = frame_bytes(&p, name, sizeof(name), (char *)&i, sizeof(i),
						(int32_t)k + 1);
		}
		add_stack(w, &p, i % 5, i % WINDOW_KIND_CNT, frames, depth, 1, i);
	}
	fake_process_free(&p);
}

static uint64_t value_of_all(const struct window *w)
{
	uint64_t sum = 0;
	uint32_t i, kind;

	for (i = 0; i < window_service_cnt(w); i++) {
		for (kind = 0; kind < WINDOW_KIND_CNT; kind++)
			sum += window_series(w, i, kind)->value;
	}
	return sum;
}

/* Each bound is reached, in turn: the rest is counted, totals stay exact. */
static void test_bounds(void **state)
{
	struct window_limits l;
	static const struct {
		size_t field;
		uint32_t limit;
		enum window_other cause;
	} bounds[] = {
		{ offsetof(struct window_limits, stacks), 300, WINDOW_OTHER_STACKS },
		{ offsetof(struct window_limits, stack_bytes), 3000, WINDOW_OTHER_STACKS },
		{ offsetof(struct window_limits, samples), 300, WINDOW_OTHER_SAMPLES },
		{ offsetof(struct window_limits, frames), 300, WINDOW_OTHER_FRAMES },
		{ offsetof(struct window_limits, name_bytes), 3000, WINDOW_OTHER_NAMES },
		{ offsetof(struct window_limits, services), 3, WINDOW_OTHER_SERVICES },
	};
	const uint32_t cnt = 2000;
	struct window *w;
	uint32_t i, k;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		l = window_limits_default;
		*(uint32_t *)(void *)((char *)&l + bounds[i].field) = bounds[i].limit;
		w = new_window(&l);
		add_many(w, cnt, 4);
		for (k = 0; k < WINDOW_OTHER_CNT; k++)
			assert_true((window_others(w, k) != 0) == (k == bounds[i].cause));
		assert_int_equal(value_of_all(w), (uint64_t)cnt * (cnt - 1) / 2);
		assert_exact(w);
		assert_true(window_service_cnt(w) <= l.services);
		assert_true(window_stack_cnt(w) <= l.stacks);
		assert_true(window_names_bytes(window_names(w)) <= l.name_bytes);
		assert_true(window_names_tables(window_names(w))->frame_cnt <= l.frames);
		window_free(w);
	}
}

/* A service that has as many stacks, samples and names as it likes leaves room for another's. */
static void test_a_service_takes_not_all_room(void **state)
{
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process(), other = fake_process();
	const struct window_limits *l = &window_limits_default;
	uint32_t f[30], i, k;
	uint64_t lost[WINDOW_OTHER_CNT];

	for (i = 0; i < 200000; i++) {
		for (k = 0; k < 30; k++)
			f[k] = python_frame(&p, "a.py", "f", (int32_t)(i / 2 + k + 1));
		add_stack(w, &p, 0, i % WINDOW_KIND_CNT, f, 1 + i % 30, 1, 1);
	}
	assert_true(window_others(w, WINDOW_OTHER_STACKS) + window_others(w, WINDOW_OTHER_FRAMES));
	assert_true(window_stack_cnt(w) <= l->stacks / 2);
	for (i = 0; i < WINDOW_OTHER_CNT; i++)
		lost[i] = window_others(w, i);
	for (i = 0; i < 10000; i++) {
		f[0] = python_frame(&other, "b.py", "g", (int32_t)i + 1);
		add_stack(w, &other, 1, WINDOW_CPU, f, 1, 1, 1);
	}
	for (i = 0; i < WINDOW_OTHER_CNT; i++)
		assert_int_equal(window_others(w, i), lost[i]);
	assert_int_equal(window_series(w, 1, WINDOW_CPU)->other_value, 0);
	assert_exact(w);
	window_free(w);
	fake_process_free(&p);
	fake_process_free(&other);
}

/* The size: 100,000 stacks of 20 frames that share nothing but their frames. */
static void test_memory(void **state)
{
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	uint32_t frames[20], i, k;
	uint64_t h;
	char name[64];

	for (i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "Class%u.method_with_a_name_%u", i / 10, i);
		python_frame(&p, "/srv/app/package/module.py", name, (int32_t)i + 1);
	}
	for (i = 0; i < 100000; i++) {
		for (k = 0, h = i + 1; k < 20; k++) {
			h = hash_u64(h + k);
			frames[k] = h % 10000;
		}
		add_stack(w, &p, i % 50, WINDOW_CPU, frames, 20, 1, 1);
	}
	assert_int_equal(window_stack_cnt(w), 100000);
	for (i = 0; i < WINDOW_OTHER_CNT; i++)
		assert_int_equal(window_others(w, i), 0);
	assert_true(window_bytes(w) <= 15 << 20);
	window_close(w, BEGIN_NS + NS_PER_S);
	assert_true(window_bytes(w) <= 13 << 20);
	assert_exact(w);
	window_free(w);
	fake_process_free(&p);
}

/* A stack has its frames, however many bytes each takes; with another frame it is another stack. */
static void test_frames_of_any_size(void **state)
{
	static const uint32_t sizes[] = { 0, 63, 64, 16383, 16384, 16999 };
	struct window *w = new_window(NULL);
	struct fake_process p = fake_process();
	uint32_t frames[ARRAY_SIZE(sizes)], ids[EVENT_MAX_FRAMES], f, i, k;

	for (i = 0; i < 17000; i++) {	/* our ids are the process's */
		f = python_frame(&p, "a.py", "f", (int32_t)i + 1);
		add_stack(w, &p, 0, WINDOW_CPU, &f, 1, 1, 1);
	}
	for (i = 0; i < 1 << ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < ARRAY_SIZE(sizes); k++)
			frames[k] = i >> k & 1 ? sizes[k] : sizes[ARRAY_SIZE(sizes) - 1 - k];
		add_stack(w, &p, 0, WINDOW_CPU, frames, ARRAY_SIZE(sizes), 1, 1);
		assert_int_equal(window_stack_cnt(w), 17001 + i);
		assert_int_equal(window_stack(w, 17000 + i, ids), ARRAY_SIZE(sizes));
		assert_memory_equal(ids, frames, sizeof(frames));
	}
	assert_int_equal(window_stack(w, 16999, ids), 1);
	assert_int_equal(ids[0], 16999);
	window_free(w);
	fake_process_free(&p);
}

static void test_reset(void **state)
{
	struct window_limits l = window_limits_default;
	struct window *w;
	struct fake_process p = fake_process();
	uint32_t f = python_frame(&p, "a.py", "f", 1), i, ids[EVENT_MAX_FRAMES];
	size_t large, small;

	l.frames = 25000;
	w = new_window(&l);
	assert_int_equal(window_begin_ns(w), BEGIN_NS);
	add_stack(w, &p, 3, WINDOW_CPU, &f, 1, 1, 10);
	add_many(w, 20000, 1);
	large = window_bytes(w);
	window_reset(w, BEGIN_NS + 15 * NS_PER_S, BEGIN_NS + 30 * NS_PER_S);
	assert_int_equal(window_begin_ns(w), BEGIN_NS + 15 * NS_PER_S);
	assert_int_equal(window_end_ns(w), BEGIN_NS + 30 * NS_PER_S);
	assert_int_equal(window_service_cnt(w), 0);
	assert_int_equal(window_stack_cnt(w), 0);
	assert_int_equal(window_series(w, 3, WINDOW_CPU)->value, 0);
	/* Names began anew: the process' ids mean other frames now. */
	assert_int_equal(window_names_tables(window_names(w))->frame_cnt, 0);
	add_many(w, 3, 1);
	add_stack(w, &p, 3, WINDOW_CPU, &f, 1, 1, 10);
	window_stack(w, 3, ids);
	assert_string_equal(func_of(w, ids[0]), "f");
	/* After a small window the memory of the large one is given back; names are kept. */
	for (i = 0; i < 2; i++) {
		assert_int_equal(window_series(w, 3, WINDOW_CPU)->value, 10);
		assert_exact(w);
		window_reset(w, BEGIN_NS, BEGIN_NS + NS_PER_S);
		assert_int_equal(window_names_tables(window_names(w))->frame_cnt, 4);
		add_stack(w, &p, 3, WINDOW_CPU, &f, 1, 1, 10);
		assert_int_equal(window_stack_cnt(w), 1);
	}
	small = window_bytes(w);
	assert_true(small < large / 3);
	window_close(w, BEGIN_NS + 7);
	assert_int_equal(window_end_ns(w), BEGIN_NS + 7);
	assert_int_equal(window_stack_cnt(w), 1);
	window_free(w);
	fake_process_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_are_shared),
		cmocka_unit_test(test_names_instead_of_stacks), cmocka_unit_test(test_links),
		cmocka_unit_test(test_weights), cmocka_unit_test(test_odd_events),
		cmocka_unit_test(test_named_later), cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_a_service_takes_not_all_room), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_frames_of_any_size), cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
