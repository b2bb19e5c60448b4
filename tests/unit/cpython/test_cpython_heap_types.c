// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_heap_types.c - which addresses are types, their names and kinds, and objects at the
 * start of blocks, of each version; and types that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cpython/fake_heap.h"

static struct fake_heap h;
static uint8_t block[512];
static struct heap_object o;

static const struct heap_type *type_at(uint64_t addr)
{
	return heap_types_at(h.types, addr);
}

static void test_types(void **state)
{
	EACH_VERSION(minor, big) {
		const struct heap_type *session;

		fake_heap_make(&h, minor, big);
		assert_string_equal(type_at(h.t.list)->name, "list");
		assert_int_equal(type_at(h.t.list)->kind, HEAP_LIST);
		assert_int_equal(type_at(h.t.list)->before, h.build.gc_head);
		assert_int_equal(type_at(h.t.text)->kind, HEAP_STR);
		assert_int_equal(type_at(h.t.text)->before, 0);
		assert_int_equal(type_at(h.t.set)->kind, HEAP_SET);
		assert_int_equal(type_at(h.t.real)->kind, HEAP_PLAIN);
		assert_string_equal(type_at(h.object)->name, "object");
		assert_int_equal(type_at(h.type)->kind, HEAP_TYPE);
		session = type_at(h.session);
		assert_string_equal(session->name, "app.Session");
		assert_int_equal(session->base, h.object);
		assert_int_equal(session->before, h.build.gc_head + (minor >= 11 ? 16 : 0));
		assert_int_equal(session->value_cnt, minor >= 11 ? 3 : 0);
		assert_ptr_equal(type_at(h.session), session);
		fake_heap_end(&h);
	}
}

/* Each is checked once, also what is none. */
static void test_remembers(void **state)
{
	uint32_t reads;

	fake_heap_make(&h, 11, false);
	type_at(h.t.list);
	assert_null(type_at(FAKE_BASE + 40000));
	assert_null(type_at(16));
	reads = h.f.reads;
	type_at(h.t.list);
	type_at(FAKE_BASE + 40000);
	assert_int_equal(h.f.reads, reads);
	fake_heap_end(&h);
}

/* The kind of a class is its base's, whatever its name. */
static void test_bases(void **state)
{
	uint64_t own, set;

	fake_heap_make(&h, 12, false);
	own = fake_named_type(&h.f, "set", PY_HEAP_TYPE);
	fake_complete(&h, own, 16, 0);
	set = fake_named_type(&h.f, "Names", PY_HEAP_TYPE);
	fake_complete(&h, set, 208, 0);
	fake_poke(&h.f, set + h.f.head + 240, h.t.set, 8);
	assert_int_equal(type_at(own)->kind, HEAP_PLAIN);
	assert_int_equal(type_at(set)->kind, HEAP_SET);
	fake_heap_end(&h);
}

static void test_no_types(void **state)
{
	static const struct {
		int off;		/* after the head */
		uint64_t value;
	} wrong[] = {
		{ -8, 0 }, { -8, 3 }, { -8, FAKE_BASE + 60000 },	/* its type */
		{ 8, 0 }, { 8, FAKE_BASE }, { 8, 1ull << 60 },		/* its name */
		{ 16, 0 }, { 16, 1ull << 60 }, { 16, ~0ull },		/* tp_basicsize */
		{ 24, ~0ull }, { 24, 1ull << 60 },			/* tp_itemsize */
		{ 272, 1ull << 60 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		fake_heap_make(&h, 13, false);
		fake_poke(&h.f, h.t.real + h.f.head + wrong[i].off, wrong[i].value, 8);
		assert_null(type_at(h.t.real));
		assert_non_null(type_at(h.t.list));
		fake_heap_end(&h);
	}
}

/* Types of types, and bases, in circles: the work on them ends. */
static void test_circles(void **state)
{
	uint64_t a, b, i, chain[64];

	fake_heap_make(&h, 10, false);
	a = fake_named_type(&h.f, "A", PY_IS_TYPE);
	b = fake_named_type(&h.f, "B", PY_IS_TYPE);
	fake_complete(&h, a, 16, 0);
	fake_complete(&h, b, 16, 0);
	fake_poke(&h.f, a + 8, b, 8);
	fake_poke(&h.f, b + 8, a, 8);
	assert_null(type_at(a));
	assert_null(type_at(b));
	fake_heap_end(&h);

	fake_heap_make(&h, 10, false);
	for (i = 0; i < 2; i++) {
		chain[i] = fake_named_type(&h.f, "C", 0);
		fake_complete(&h, chain[i], 16, 0);
	}
	fake_poke(&h.f, chain[0] + 256, chain[1], 8);
	fake_poke(&h.f, chain[1] + 256, chain[0], 8);
	assert_non_null(type_at(chain[0]));
	assert_true(h.f.reads < 100);
	fake_heap_end(&h);
}

/* A second `type` is none: all lead to one. */
static void test_one_root(void **state)
{
	uint64_t other, real;

	fake_heap_make(&h, 9, false);
	assert_non_null(type_at(h.t.list));
	other = fake_named_type(&h.f, "type", PY_IS_TYPE);
	fake_complete(&h, other, 880, 40);
	fake_poke(&h.f, other + 8, other, 8);
	real = h.t.real;
	fake_poke(&h.f, real + 8, other, 8);
	assert_null(type_at(real));
	fake_heap_end(&h);
}

/* Names are printable and end, whatever they are. */
static void test_names(void **state)
{
	char name[63];
	uint64_t type;
	size_t i;

	fake_heap_make(&h, 13, false);
	for (i = 0; i < sizeof(name) - 1; i++)
		name[i] = (char)('a' + i % 26);
	name[i] = '\0';
	type = fake_named_type(&h.f, name, 0);
	fake_complete(&h, type, 16, 0);
	assert_string_equal(type_at(type)->name, name);
	type = fake_named_type(&h.f, "\x1b[2J", 0);
	fake_complete(&h, type, 16, 0);
	assert_null(type_at(type));
	fake_heap_end(&h);
}

static void put(uint32_t before, uint64_t type)
{
	memset(block, 0, sizeof(block));
	fake_head(&h, block + before, type);
}

static void test_objects(void **state)
{
	EACH_VERSION(minor, big) {
		uint32_t before;

		fake_heap_make(&h, minor, big);
		put(0, h.t.real);
		assert_int_equal(heap_object_in_block(h.types, block, 64, &o), HEAP_OBJECT);
		assert_int_equal(o.off, 0);
		assert_int_equal(o.refs, 1);
		before = h.build.gc_head;
		put(before, h.t.list);
		assert_int_equal(heap_object_in_block(h.types, block, 128, &o), HEAP_OBJECT);
		assert_int_equal(o.off, before);
		assert_string_equal(o.type->name, "list");
		assert_int_equal(heap_object_behind(h.types, block, 128, before, &o),
				 HEAP_OBJECT);
		before += minor >= 11 ? 16 : 0;
		put(before, h.session);
		assert_int_equal(heap_object_in_block(h.types, block, 128, &o), HEAP_OBJECT);
		assert_string_equal(o.type->name, "app.Session");
		assert_int_equal(o.off, before);
		/* At another place, or in too short a block, it is none. */
		put(before + 32, h.session);
		assert_int_not_equal(heap_object_in_block(h.types, block, 128, &o), HEAP_OBJECT);
		put(0, h.t.set);
		assert_int_not_equal(heap_object_in_block(h.types, block, 64, &o), HEAP_OBJECT);
		memset(block, 0, sizeof(block));
		assert_int_equal(heap_object_in_block(h.types, block, 64, &o), HEAP_RAW);
		fake_heap_end(&h);
	}
}

/* What was freed has no references, or the next free one in their place. */
static void test_freed(void **state)
{
	const uint64_t words[] = { 0, 0x7f0012345670ull, 0xffffffffffffffffull };
	const uint64_t immortal[] = { 0xffffffffull, 3ull << 30 | 5ull << 48 };
	unsigned int minor;
	size_t i;

	for (minor = 6; minor <= 15; minor++) {
		fake_heap_make(&h, minor, false);
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			put(0, h.t.real);
			memcpy(block, &words[i], 8);
			assert_int_not_equal(heap_object_in_block(h.types, block, 64, &o),
					     HEAP_OBJECT);
			assert_false(heap_object_at(h.types, block, 64, &o));
			assert_false(heap_seems_object(h.types, block));
		}
		put(0, h.t.real);
		memcpy(block, &immortal[minor >= 14], 8);
		if (minor >= 12) {
			assert_true(heap_object_at(h.types, block, 64, &o));
			assert_int_equal(o.refs, UINT32_MAX);
		}
		fake_heap_end(&h);
	}
}

/* Free-threaded: two counts; those of functions are not counted at all. */
static void test_free_threaded(void **state)
{
	const uint64_t shared[] = { 4, 1ull << 60 };
	const uint64_t dead = 3;
	size_t i;

	fake_heap_make(&h, 14, true);
	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		memset(block, 0, sizeof(block));
		memcpy(block + 16, &shared[i], 8);
		memcpy(block + 24, &h.t.real, 8);
		assert_true(heap_object_at(h.types, block, 64, &o));
	}
	memcpy(block + 16, &dead, 8);
	assert_false(heap_object_at(h.types, block, 64, &o));
	fake_heap_end(&h);
}

/* A reference count, and a type that is none: not the same as memory without objects. */
static void test_bad(void **state)
{
	fake_heap_make(&h, 11, false);
	put(0, FAKE_BASE + 50000);
	assert_int_equal(heap_object_in_block(h.types, block, 64, &o), HEAP_BAD);
	fake_heap_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_remembers),
		cmocka_unit_test(test_bases),
		cmocka_unit_test(test_no_types),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_one_root),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
