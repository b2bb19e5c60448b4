// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_heap_bytes.c - the bytes of objects and of what they own, of each version, compared
 * with what sys.getsizeof() said of such objects in these versions; and objects that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cpython/fake_heap.h"

static struct fake_heap h;
static struct heap_size size;

/* The size of the object at an address. */
static const struct heap_type *measure(uint64_t addr)
{
	uint8_t bytes[64 + HEAP_OBJECT_LOOK], more[HEAP_MORE_BYTES];
	const struct heap_type *type;
	int rounds = 0;
	uint64_t at;

	memcpy(bytes, h.f.mem + (addr - 64 - FAKE_BASE), sizeof(bytes));
	memcpy(&at, bytes + 64 + h.f.head - 8, 8);
	type = heap_types_at(h.types, at);
	assert_non_null(type);
	heap_size_begin(&h.build, type, addr, bytes + 64, 64, HEAP_OBJECT_LOOK, &size);
	while (size.more_bytes && rounds++ < 8) {
		assert_true(size.more_bytes <= HEAP_MORE_BYTES);
		if (h.f.target.read(h.f.target.ctx, size.more, more, size.more_bytes))
			break;
		heap_size_more(&h.build, type, more, &size);
	}
	assert_true(rounds <= 4);
	return type;
}

static uint64_t field(uint64_t object, int off)
{
	return object + h.f.head + off;
}

static void test_lists(void **state)
{
	EACH_VERSION(minor, big) {
		uint64_t list;

		fake_heap_make(&h, minor, big);
		list = fake_object(&h.f, h.t.list, 24);
		measure(list);
		assert_int_equal(size.bytes, 40 + h.f.head - 16 + h.build.gc_head);
		assert_int_equal(size.owned, 0);
		fake_poke(&h.f, field(list, 0), 3, 8);
		fake_poke(&h.f, field(list, 8), FAKE_BASE + 50000, 8);
		fake_poke(&h.f, field(list, 16), 8, 8);
		measure(list);
		assert_int_equal(size.owned, 64);
		assert_int_equal(size.items, 3);
		assert_int_equal(size.at, FAKE_BASE + 50000);
		assert_int_equal(size.at_bytes, 64);
		fake_heap_end(&h);
	}
}

static void test_plain(void **state)
{
	const uint32_t digits[] = { 1, 2, 3 };
	const uint64_t objs[4] = { 0 };

	EACH_VERSION(minor, big) {
		uint32_t more;

		fake_heap_make(&h, minor, big);
		more = h.f.head - 16;
		measure(fake_object(&h.f, h.t.real, 8));
		assert_int_equal(size.bytes, 24 + more);
		measure(fake_int(&h.f, h.t.integer, digits, 3, true));
		assert_int_equal(size.bytes, 24 + more + 12);
		measure(fake_int(&h.f, h.t.integer, digits, 0, false));
		assert_int_equal(size.bytes, 24 + more + (minor >= 12 ? 4 : 0));
		measure(fake_tuple(&h.f, &h.t, objs, 4));
		assert_int_equal(size.bytes, 24 + more + h.build.gc_head + 32);
		measure(fake_bytes(&h.f, &h.t, "abc", 3));
		assert_int_equal(size.bytes, 36 + more);
		assert_int_equal(size.owned, 0);
		fake_heap_end(&h);
	}
}

static void test_strings(void **state)
{
	EACH_VERSION(minor, big) {
		const struct py_object_layout *o = &h.build.objects;
		uint64_t str;

		fake_heap_make(&h, minor, big);
		measure(fake_str(&h.f, &h.t, "plain"));
		assert_int_equal(size.bytes, o->str_ascii_data + 6);
		measure(fake_str(&h.f, &h.t, "\xe9"));
		assert_int_equal(size.bytes, o->str_compact_data + 2);
		str = fake_str(&h.f, &h.t, "two");
		fake_poke(&h.f, str + o->str_state, 2u << o->str_kind_shift | o->str_compact_bit,
			  4);
		measure(str);
		assert_int_equal(size.bytes, o->str_compact_data + 8);
		/* Not compact: of a subclass. */
		fake_poke(&h.f, str + o->str_state, 4u << o->str_kind_shift, 4);
		fake_poke(&h.f, str + o->str_compact_data, FAKE_BASE + 60000, 8);
		measure(str);
		assert_int_equal(size.bytes, 80 + h.f.head - 16);
		assert_int_equal(size.owned, 16);
		fake_heap_end(&h);
	}
}

/* sys.getsizeof({1: 2}) - sys.getsizeof({}): a table of 8 in 3.6 to 3.10, then of str or others. */
static void test_dicts(void **state)
{
	EACH_VERSION(minor, big) {
		uint64_t keys, dict, one = 1;

		fake_heap_make(&h, minor, big);
		keys = fake_keys(&h.f, true);
		fake_poke(&h.f, keys, one, 8);		/* dk_refcnt */
		dict = fake_dict(&h.f, keys, 0);
		fake_poke(&h.f, dict + h.f.head - 8, h.t.dict, 8);
		measure(dict);
		/* 32 entries: 21 of them usable, and an index of a byte each. */
		assert_int_equal(size.owned, (minor >= 11 ? 32 : 40) + 32 + 21 * 24);
		assert_int_equal(size.at, keys);
		fake_poke(&h.f, keys, 2, 8);		/* shared */
		measure(dict);
		assert_int_equal(size.owned, 0);
		fake_poke(&h.f, keys, one, 8);
		if (minor >= 11) {
			fake_poke(&h.f, keys + 10, 1, 1);	/* all keys are str */
			measure(dict);
			assert_int_equal(size.owned, 32 + 32 + 21 * 16);
			fake_poke(&h.f, keys + 10, 2, 1);	/* shared by a class */
			measure(dict);
			assert_int_equal(size.owned, 0);
		}
		fake_heap_end(&h);
	}
}

/* A dict with its own values, and keys of its class. */
static void test_split_dicts(void **state)
{
	EACH_VERSION(minor, big) {
		const uint64_t values[3] = { 0 };
		uint64_t keys, dict, at;

		fake_heap_make(&h, minor, big);
		keys = fake_keys(&h.f, false);
		fake_poke(&h.f, keys, 5, 8);
		fake_poke(&h.f, keys + (minor >= 11 ? 16 : 24), 3, 8);	/* dk_usable */
		at = fake_take(&h.f, 256);
		fake_values(&h.f, at, values);
		if (minor >= 13)
			fake_poke(&h.f, at + 2, 0, 1);		/* not embedded */
		dict = fake_dict(&h.f, keys, at);
		fake_poke(&h.f, dict + h.f.head - 8, h.t.dict, 8);
		measure(dict);
		assert_int_equal(size.owned, minor < 11 ? 21 * 8 : minor < 13 ? 8 + 24 : 16 + 24);
		if (minor >= 13) {
			fake_poke(&h.f, at + 2, 1, 1);	/* in the object whose dict it is */
			measure(dict);
			assert_int_equal(size.owned, 0);
		}
		fake_heap_end(&h);
	}
}

static void test_sets(void **state)
{
	EACH_VERSION(minor, big) {
		uint64_t set;

		fake_heap_make(&h, minor, big);
		set = fake_object(&h.f, h.t.set, 192);
		fake_poke(&h.f, field(set, 16), 7, 8);
		fake_poke(&h.f, field(set, 24), field(set, 48), 8);	/* smalltable */
		measure(set);
		assert_int_equal(size.owned, 0);
		fake_poke(&h.f, field(set, 16), 31, 8);
		fake_poke(&h.f, field(set, 24), FAKE_BASE + 1000, 8);
		measure(set);
		assert_int_equal(size.owned, 32 * 16);
		fake_heap_end(&h);
	}
}

/* Attributes are in a dict, beside the object, or in it. */
static void test_instances(void **state)
{
	EACH_VERSION(minor, big) {
		uint64_t object, basic;

		fake_heap_make(&h, minor, big);
		fake_take(&h.f, 64);
		object = fake_object(&h.f, h.session, 64);
		basic = h.f.head + (minor >= 11 ? 0 : 16) + h.build.gc_head;
		measure(object);
		if (minor < 11) {
			assert_int_equal(size.bytes, basic);
		} else if (minor < 13) {
			assert_int_equal(size.bytes, basic + 16);
			assert_int_equal(size.owned, 0);
			fake_poke(&h.f, object - h.build.gc_head - 16 + (minor == 11 ? 0 : 8),
				  FAKE_BASE + 1000 + (minor == 11 ? 0 : 1) - (minor == 11 ? 0 : 2),
				  8);
			measure(object);
			assert_int_equal(size.owned, 8 + 24);
		} else {
			assert_int_equal(size.bytes, basic + 16 + 8 + 8 + 24);
		}
		fake_heap_end(&h);
	}
}

/* A type with this name, a C type, whose kind it tells. */
static uint64_t named(const char *name, uint64_t basic)
{
	uint64_t type = fake_named_type(&h.f, name, 0), object;

	fake_complete(&h, type, basic + h.f.head - 16, 0);
	object = fake_object(&h.f, type, 240);
	return object;
}

static void test_others(void **state)
{
	EACH_VERSION(minor, big) {
		uint64_t object, other;

		fake_heap_make(&h, minor, big);
		object = named("bytearray", 56);
		fake_poke(&h.f, field(object, 8), 1001, 8);
		fake_poke(&h.f, field(object, 16), FAKE_BASE + 1000, 8);
		measure(object);
		assert_int_equal(size.owned, 1001 + (minor >= 15 ? h.build.objects.bytes_data + 1 :
						     0));
		object = named("collections.deque", 200);
		fake_poke(&h.f, field(object, 0), 100, 8);
		fake_poke(&h.f, field(object, 8), FAKE_BASE + 1000, 8);
		fake_poke(&h.f, field(object, 24), 31, 8);
		measure(object);
		assert_int_equal(size.owned, 3 * 528);
		object = named("array.array", 64);
		other = fake_take(&h.f, 64);
		fake_poke(&h.f, other, 'd' | 8ull << 32, 8);
		fake_poke(&h.f, field(object, 8), FAKE_BASE + 1000, 8);
		fake_poke(&h.f, field(object, 16), 1000, 8);
		fake_poke(&h.f, field(object, 24), other, 8);
		measure(object);
		assert_int_equal(size.owned, 8000);
		fake_heap_end(&h);
	}
}

/* An array of numpy's: float64 (1000, 200), in C's order; or a part of another one. */
static void test_ndarrays(void **state)
{
	EACH_VERSION(minor, big) {
		const struct heap_type *type;
		uint64_t array, dims, descr;
		char text[64];

		fake_heap_make(&h, minor, big);
		array = named("numpy.ndarray", 88);
		dims = fake_take(&h.f, 64);
		descr = fake_take(&h.f, 64);
		fake_poke(&h.f, dims, 1000, 8);
		fake_poke(&h.f, dims + 8, 200, 8);
		fake_poke(&h.f, dims + 16, 1600, 8);
		fake_poke(&h.f, dims + 24, 8, 8);
		fake_poke(&h.f, descr + h.f.head + 8, 'f', 1);
		fake_poke(&h.f, field(array, 0), FAKE_BASE + 1000, 8);
		fake_poke(&h.f, field(array, 8), 2, 4);
		fake_poke(&h.f, field(array, 16), dims, 8);
		fake_poke(&h.f, field(array, 24), dims + 16, 8);
		fake_poke(&h.f, field(array, 40), descr, 8);
		fake_poke(&h.f, field(array, 48), 0x501 | 4, 4);
		type = measure(array);
		assert_int_equal(size.owned, 1600000 + 32);
		heap_size_text(type, &size, text, sizeof(text));
		assert_string_equal(text, "float64 (1000, 200)");
		fake_poke(&h.f, field(array, 32), FAKE_BASE + 1000, 8);	/* base */
		measure(array);
		assert_int_equal(size.owned, 0);
		fake_heap_end(&h);
	}
}

static void test_texts(void **state)
{
	const struct heap_type *type;
	uint64_t list;
	char text[64];

	fake_heap_make(&h, 12, false);
	list = fake_object(&h.f, h.t.list, 24);
	fake_poke(&h.f, field(list, 0), 1234567, 8);
	type = measure(list);
	heap_size_text(type, &size, text, sizeof(text));
	assert_string_equal(text, "1,234,567 items");
	heap_size_text(type, &size, text, 10);
	assert_true(strlen(text) < 10);
	size.items = 1;
	heap_size_text(type, &size, text, sizeof(text));
	assert_string_equal(text, "1 item");
	type = measure(fake_object(&h.f, h.t.real, 8));
	heap_size_text(type, &size, text, sizeof(text));
	assert_string_equal(text, "");
	fake_heap_end(&h);
}

/* Sizes of 2^60 and more: no sum overflows, no figure is beyond the limit. */
static void test_lies(void **state)
{
	static const uint64_t lies[] = { 1ull << 60, ~0ull, 1ull << 63, HEAP_BYTES_MAX, 65 };

	EACH_VERSION(minor, big) {
		uint64_t objects[12];
		size_t i, j, cnt = 0;
		int off;

		fake_heap_make(&h, minor, big);
		objects[cnt++] = fake_object(&h.f, h.t.list, 240);
		objects[cnt++] = fake_object(&h.f, h.t.tuple, 240);
		objects[cnt++] = fake_object(&h.f, h.t.set, 240);
		objects[cnt++] = fake_object(&h.f, h.t.dict, 240);
		objects[cnt++] = fake_object(&h.f, h.t.text, 240);
		objects[cnt++] = fake_object(&h.f, h.t.integer, 240);
		objects[cnt++] = named("bytearray", 56);
		objects[cnt++] = named("collections.deque", 200);
		objects[cnt++] = named("collections.OrderedDict", 112);
		objects[cnt++] = named("numpy.ndarray", 88);
		for (i = 0; i < cnt; i++)
			for (j = 0; j < ARRAY_SIZE(lies); j++)
				for (off = 0; off < 64; off += 8) {
					fake_poke(&h.f, field(objects[i], off), lies[j], 8);
					measure(objects[i]);
					assert_true(size.bytes <= 2 * HEAP_BYTES_MAX);
					assert_true(size.owned <= 2 * HEAP_BYTES_MAX);
				}
		fake_heap_end(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_dicts),
		cmocka_unit_test(test_split_dicts),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_ndarrays),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
