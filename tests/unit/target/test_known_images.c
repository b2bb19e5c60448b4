// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_known_images.c - images are held by processes; those that nobody holds go. */
#include "target/known_images.h"
#include "tests/unit/tach_test.h"

static struct known_images k;

static const struct cpython_image *get(uint64_t number, uint32_t owner)
{
	struct file_id file = { .dev = 1, .ino = number };
	struct cpython_image image = { .minor = 12, .runtime_vaddr = number };

	return known_images_get(&k, &file, &image, owner);
}

static void test_one_copy(void **state)
{
	const struct cpython_image *a, *b;

	known_images_init(&k);
	a = get(1, 1000);
	b = get(2, 1000);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(get(1, 0), a);
	assert_int_equal(known_image_file(a)->ino, 1);
	assert_int_equal(k.cnt, 2);
	known_image_release(a);
	assert_int_equal(k.idle.cnt, 0);	/* it is held twice */
	known_image_release(a);
	assert_int_equal(k.idle.cnt, 1);
	assert_ptr_equal(get(1, 0), a);		/* nobody held it, and it was kept */
	assert_int_equal(k.idle.cnt, 0);
	known_images_free(&k);
}

/* Who only looks for an image holds it if it is there, and makes none. */
static void test_found_or_not(void **state)
{
	const struct file_id first = { .dev = 1, .ino = 1 }, second = { .dev = 1, .ino = 2 };
	const struct cpython_image *a;

	known_images_init(&k);
	assert_null(known_images_find(&k, &first));
	assert_int_equal(k.cnt, 0);
	a = get(1, 1000);
	assert_ptr_equal(known_images_find(&k, &first), a);
	assert_null(known_images_find(&k, &second));
	known_image_release(a);
	assert_int_equal(k.idle.cnt, 0);	/* it is held twice */
	known_image_release(a);
	assert_int_equal(k.idle.cnt, 1);
	known_images_free(&k);
}

/* A user's processes run ever new copies: what others left behind is still there. */
static void test_copies_without_end(void **state)
{
	const struct cpython_image *others, *roots;
	uint64_t i;

	known_images_init(&k);
	others = get(1, 1001);
	roots = get(2, 0);
	known_image_release(others);
	known_image_release(roots);
	for (i = 100; i < 100000; i++) {
		known_image_release(get(i, 1000));
		assert_true(k.cnt <= 2 + IDLE_IMAGES_OF_USER);
	}
	assert_int_equal(k.cnt, 2 + IDLE_IMAGES_OF_USER);
	assert_ptr_equal(get(1, 1001), others);
	assert_ptr_equal(get(2, 0), roots);
	known_images_free(&k);
}

/* Whatever comes, an image that a process holds stays what it is. */
static void test_held_images_stay(void **state)
{
	enum { HELD = 20000 };
	static const struct cpython_image *held[HELD];
	uint64_t i;

	known_images_init(&k);
	for (i = 0; i < HELD; i++) {
		held[i] = get(1000000 + i, 1000);
		assert_non_null(held[i]);	/* nobody is refused */
		known_image_release(get(i, i));
	}
	for (i = 0; i < HELD; i++)
		assert_int_equal(held[i]->runtime_vaddr, 1000000 + i);
	assert_int_equal(k.cnt, HELD + IDLE_IMAGES_MAX);
	for (i = 0; i < HELD; i++)
		known_image_release(held[i]);
	assert_int_equal(k.cnt, IDLE_IMAGES_MAX);
	known_images_free(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_copy),
		cmocka_unit_test(test_found_or_not),
		cmocka_unit_test(test_copies_without_end),
		cmocka_unit_test(test_held_images_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
