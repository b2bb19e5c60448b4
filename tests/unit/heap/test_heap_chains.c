// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_heap_chains.c - who keeps objects, out of the memory of each version, and out of hostile
 * memory: lying sizes, circles, limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/chains_call.h"
#include "tests/unit/heap/fake_chains.h"

static struct fake_chains c;

static const struct heap_chain *find(void)
{
	assert_int_equal(heap_chains_find(&c.memory, &c.target, &c.why, &c.out), 0);
	assert_string_equal(c.out.type, "app.Session");
	assert_false(c.out.limited);
	assert_true(c.out.chain_cnt >= 1);
	return &c.out.chains[0];
}

static void expect_chain(const struct heap_chain *chain, enum heap_root root, const char *name,
			 uint32_t count, uint32_t links)
{
	assert_int_equal(chain->root, root);
	assert_string_equal(chain->root_name, name);
	assert_int_equal(chain->count, count);
	assert_int_equal(chain->link_cnt, links);
	assert_string_equal(chain->links[links - 1].type, "app.Session");
	assert_string_equal(chain->links[links - 1].name, "");
}

static void expect_link(const struct heap_link *link, const char *type, const char *name)
{
	assert_string_equal(link->type, type);
	assert_string_equal(link->name, name);
}

static void test_a_variable(void **state)
{
	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		fake_variable(&c, "only", fake_session(&c));
		expect_chain(find(), HEAP_ROOT_MODULE, "app.only", 1, 1);
		assert_int_equal(c.out.objects, 1);
		assert_int_equal(c.out.sampled, 1);
	}
}

static void test_a_dict(void **state)
{
	const struct heap_chain *chain;
	uint64_t objs[20];
	unsigned int i;

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		for (i = 0; i < 10; i++) {
			objs[2 * i] = fake_interned(&c, "key");
			objs[2 * i + 1] = fake_session(&c);
		}
		fake_variable(&c, "CACHE", fake_kept_dict(&c, objs, 10));
		chain = find();
		expect_chain(chain, HEAP_ROOT_MODULE, "app.CACHE", 10, 2);
		expect_link(&chain->links[0], "dict", "[]");	/* many keys are data */
		c.why.values = true;
		expect_link(&find()->links[0], "dict", "key");
	}
}

static void test_a_few_keys_are_names(void **state)
{
	const struct heap_chain *chain;
	uint64_t inner[2], outer[2];

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		inner[0] = fake_interned(&c, "current");
		inner[1] = fake_session(&c);
		outer[0] = fake_str(&c.h.f, &c.h.t, "secret");	/* is not interned */
		outer[1] = fake_kept_dict(&c, inner, 1);
		fake_variable(&c, "STATE", fake_kept_dict(&c, outer, 1));
		chain = find();
		expect_chain(chain, HEAP_ROOT_MODULE, "app.STATE", 1, 3);
		expect_link(&chain->links[0], "dict", "[]");
		expect_link(&chain->links[1], "dict", "current");
	}
}

static void test_lists_and_tuples(void **state)
{
	const struct heap_chain *chain;
	uint64_t objs[3], list;

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		objs[0] = fake_session(&c);
		objs[1] = fake_session(&c);
		objs[2] = fake_session(&c);
		list = fake_kept_list(&c, objs, 2);
		fake_variable(&c, "ROWS", fake_kept_tuple(&c, &list, 1));
		fake_variable(&c, "last", objs[2]);
		chain = find();
		assert_int_equal(c.out.chain_cnt, 2);
		expect_chain(chain, HEAP_ROOT_MODULE, "app.ROWS", 2, 3);
		expect_link(&chain->links[0], "tuple", "[]");
		expect_link(&chain->links[1], "list", "[]");
		expect_chain(&chain[1], HEAP_ROOT_MODULE, "app.last", 1, 1);
	}
}

/* The shorter of two chains is shown. */
static void test_two_keepers(void **state)
{
	uint64_t session, list;

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		session = fake_session(&c);
		list = fake_kept_list(&c, &session, 1);
		list = fake_kept_list(&c, &list, 1);
		fake_variable(&c, "FAR", list);
		list = fake_kept_list(&c, &session, 1);
		fake_variable(&c, "NEAR", list);
		expect_chain(find(), HEAP_ROOT_MODULE, "app.NEAR", 1, 2);
		assert_int_equal(c.out.chain_cnt, 1);
	}
}

static void test_circles(void **state)
{
	uint64_t session, list;

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		session = fake_session(&c);
		list = fake_kept_list(&c, &session, 1);
		/* An attribute: the session keeps its list. */
		fake_poke(&c.h.f, session + c.h.f.head + (minor < 11 ? 0 : 8), list, 8);
		if (minor >= 13)
			fake_poke(&c.h.f, session + c.h.f.head, 3, 1);
		fake_session(&c);
		find();
		assert_int_equal(c.out.sampled, 2);
		assert_int_equal(c.out.chain_cnt, 2);
		assert_true(c.out.chains[0].root == HEAP_ROOT_UNKNOWN ||
			    c.out.chains[1].root == HEAP_ROOT_UNKNOWN);
		if (minor < 11 || minor >= 13)	/* else attributes are elsewhere */
			assert_true(c.out.chains[0].root == HEAP_ROOT_CYCLE ||
				    c.out.chains[1].root == HEAP_ROOT_CYCLE);
	}
}

static void test_c_code(void **state)
{
	uint64_t session, word;

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		session = fake_session(&c);
		word = fake_take(&c.h.f, 4096) + 2048;
		fake_poke(&c.h.f, word, session, 8);
		strcpy(c.region.file, "_held.so");
		expect_chain(find(), HEAP_ROOT_C, "_held.so", 1, 1);
		/* Left over: the only reference that is counted is a list's. */
		fake_variable(&c, "ALL", fake_kept_list(&c, &session, 1));
		expect_chain(find(), HEAP_ROOT_MODULE, "app.ALL", 1, 2);
	}
}

/* Freed objects have no references. */
static void test_freed(void **state)
{
	uint64_t objs[2];

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		objs[0] = fake_session(&c);
		objs[1] = fake_session(&c);
		fake_variable(&c, "ALL", fake_kept_list(&c, objs, 2));
		fake_poke(&c.h.f, objs[1] + c.h.f.head - 16, 0, 8);
		fake_poke(&c.h.f, objs[1] + 8, 0, 8);
		if (!big)
			fake_poke(&c.h.f, objs[1], 0, 8);
		fake_poke(&c.h.f, objs[1] + c.h.f.head - 8, c.h.session, 8);
		find();
		assert_int_equal(c.out.objects, 1);
	}
}

/* A variable of this type. */
static void keep_another(const char *type_name, const char *variable)
{
	struct fake_threads *f = &c.h.f;
	uint64_t type = fake_named_type(f, type_name, FAKE_HAVE_GC);

	fake_complete(&c.h, type, f->head, 0);
	if (!variable)
		return;
	fake_take(f, FAKE_GAP);
	fake_variable(&c, variable, fake_alive(&c, fake_object(f, type, 64)));
}

static void look_for(const char *type, int wanted)
{
	snprintf(c.why.type, sizeof(c.why.type), "%s", type);
	assert_int_equal(heap_chains_find(&c.memory, &c.target, &c.why, &c.out), wanted);
	heap_chains_check(&c.out);
}

static uint64_t objects_named(const char *name)
{
	uint32_t i;

	for (i = 0; i < c.out.name_cnt; i++)
		if (!strcmp(c.out.names[i].type, name))
			return c.out.names[i].objects;
	return 0;
}

/* Several types with the wanted last part: nobody can know which one was meant. */
static void test_several_types(void **state)
{
	char name[32];
	unsigned int i;

	EACH_VERSION(minor, big) {
		fake_chains_make(&c, minor, big);
		fake_variable(&c, "one", fake_session(&c));
		fake_variable(&c, "two", fake_session(&c));
		keep_another("unused.Session", NULL);
		look_for("Session", 0);		/* only one of them has objects */
		assert_string_equal(c.out.type, "app.Session");
		assert_int_equal(c.out.objects, 2);
		keep_another("lib.Session", "three");
		look_for("Session", -ENOTUNIQ);
		assert_int_equal(c.out.name_cnt, 2);
		assert_int_equal(objects_named("app.Session"), 2);
		assert_int_equal(objects_named("lib.Session"), 1);
		assert_int_equal(c.out.chain_cnt, 0);
		look_for("lib.Session", 0);
		assert_string_equal(c.out.type, "lib.Session");
		assert_int_equal(c.out.objects, 1);
		keep_another("Session", "four");	/* its whole name */
		look_for("Session", 0);
		assert_string_equal(c.out.type, "Session");
		assert_int_equal(c.out.objects, 1);
	}
	fake_chains_make(&c, 12, false);
	for (i = 0; i < HEAP_WHY_NAMES_MAX + 3; i++) {
		snprintf(name, sizeof(name), "lib%u.Many", i);
		keep_another(name, name);
	}
	look_for("Many", -ENOTUNIQ);
	assert_int_equal(c.out.name_cnt, HEAP_WHY_NAMES_MAX);
}

static void test_none(void **state)
{
	fake_chains_make(&c, 12, false);
	assert_int_equal(heap_chains_find(&c.memory, &c.target, &c.why, &c.out), -ENOENT);
	assert_int_equal(c.out.chain_cnt, 0);
	memset(c.h.f.mem, 0, sizeof(c.h.f.mem));
	assert_int_equal(heap_chains_find(&c.memory, &c.target, &c.why, &c.out), -EBADMSG);
	c.memory.region_cnt = 0;
	assert_int_equal(heap_chains_find(&c.memory, &c.target, &c.why, &c.out), -EBADMSG);
}

/* Sizes that no object has: the search ends, and names nobody who does not keep them. */
static void test_lies(void **state)
{
	static const uint64_t sizes[] = { 1ull << 60, UINT64_MAX, 1ull << 63, 0 };
	uint64_t session, list, dict, objs[2];
	unsigned int i;

	EACH_VERSION(minor, big)
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			fake_chains_make(&c, minor, big);
			session = fake_session(&c);
			list = fake_kept_list(&c, &session, 1);
			objs[0] = fake_interned(&c, "key");
			objs[1] = list;
			dict = fake_kept_dict(&c, objs, 1);
			fake_variable(&c, "ALL", dict);
			fake_poke(&c.h.f, dict + c.h.f.head, sizes[i], 8);
			fake_poke(&c.h.f, list + c.h.f.head, sizes[i], 8);
			find();
			assert_int_equal(c.out.sampled, 1);
			fake_poke(&c.h.f, dict + c.h.f.head + 16, sizes[i], 8);
			find();
			fake_poke(&c.h.f, c.names + 8, sizes[i], 8);
			find();
			fake_poke(&c.h.f, c.h.session + c.h.f.head + 24, sizes[i], 8);
			heap_chains_find(&c.memory, &c.target, &c.why, &c.out);
		}
}

static void test_limits(void **state)
{
	fake_chains_make(&c, 11, false);
	fake_variable(&c, "only", fake_session(&c));
	c.why.limits.bytes = 4096;
	heap_chains_find(&c.memory, &c.target, &c.why, &c.out);
	assert_true(c.out.limited);
	assert_true(c.out.bytes_read <= 4096 + FAKE_BYTES);
	c.why.limits.bytes = 0;
	c.why.limits.time_ns = 1;
	heap_chains_find(&c.memory, &c.target, &c.why, &c.out);
	assert_true(c.out.limited);
}

/* What a worker that was taken over may answer. */
static void test_check(void **state)
{
	static struct heap_chains lies;
	uint32_t i;

	memset(&lies, 0xff, sizeof(lies));
	heap_chains_check(&lies);
	assert_int_equal(lies.chain_cnt, HEAP_CHAINS_MAX);
	assert_int_equal(lies.type[sizeof(lies.type) - 1], 0);
	assert_int_equal(lies.name_cnt, HEAP_WHY_NAMES_MAX);
	for (i = 0; i < lies.name_cnt; i++)
		assert_int_equal(lies.names[i].type[HEAP_NAME_BYTES - 1], 0);
	for (i = 0; i < lies.chain_cnt; i++) {
		assert_true((unsigned int)lies.chains[i].root < HEAP_ROOT_CNT);
		assert_int_equal(lies.chains[i].link_cnt, HEAP_LINKS_MAX);
		assert_int_equal(lies.chains[i].links[0].name[HEAP_NAME_BYTES - 1], 0);
		assert_int_equal(lies.chains[i].root_name[HEAP_ROOT_NAME_BYTES - 1], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_variable),
		cmocka_unit_test(test_a_dict),
		cmocka_unit_test(test_a_few_keys_are_names),
		cmocka_unit_test(test_lists_and_tuples),
		cmocka_unit_test(test_two_keepers),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_c_code),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_several_types),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
