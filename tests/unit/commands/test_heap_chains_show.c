// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_chains_show.c - chains of references as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "commands/heap_chains_show.h"

static struct heap_chains chains;

static struct heap_chain *add(enum heap_root root, const char *name, uint32_t count)
{
	struct heap_chain *c = &chains.chains[chains.chain_cnt++];

	memset(c, 0, sizeof(*c));
	c->root = root;
	c->count = count;
	strcpy(c->root_name, name);
	chains.sampled += count;
	return c;
}

static void link_add(struct heap_chain *c, const char *type, const char *name)
{
	strcpy(c->links[c->link_cnt].type, type);
	strcpy(c->links[c->link_cnt++].name, name);
}

static void begin(uint64_t objects)
{
	memset(&chains, 0, sizeof(chains));
	chains.objects = objects;
	strcpy(chains.type, "app.Session");
}

/* The text; to be freed. */
static char *shown(void)
{
	const struct heap_shown p = { .pid = 7, .program = "app.py", .python = "3.11.2" };
	size_t len;
	char *text;
	struct heap_screen s = { .out = open_memstream(&text, &len), .limit = 10, .next = true };

	assert_non_null(s.out);
	assert_int_equal(heap_chains_text(&s, &p, &chains), 0);
	fclose(s.out);
	return text;
}

static void expect(const char *what)
{
	char *text = shown();

	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
	free(text);
}

static void test_a_chain(void **state)
{
	struct heap_chain *c;

	begin(1234);
	c = add(HEAP_ROOT_MODULE, "app.CACHE", 99);
	link_add(c, "dict", "[]");
	link_add(c, "app.Session", "data");
	link_add(c, "bytearray", "");
	c = add(HEAP_ROOT_C, "_speedups.so", 1);
	link_add(c, "bytearray", "");
	expect("99 % of the 1,234 app.Session objects are kept by app.CACHE, a dict.\n");
	expect("Process 7 (app.py, Python 3.11.2): references to 100 of them, chosen at random,");
	expect("  99.0%  app.CACHE (dict) → app.Session.data (bytearray)\n");
	expect("   1.0%  C code (data of _speedups.so) → bytearray\n");
	expect("sudo tachbpf heap 7 --since 30s");
}

static void test_all_roots(void **state)
{
	static const struct {
		enum heap_root root;
		const char *name, *said, *chain;
	} rows[] = {
		{ HEAP_ROOT_CLASS, "app.R.all",
		  "kept by app.R.all, a list (an attribute of a class).",
		  "app.R.all (list) → app.Session" },
		{ HEAP_ROOT_FRAME, "f() in a.py: x",
		  "variable of a function that is running: f() in",
		  "f() in a.py: x (list) → app.Session" },
		{ HEAP_ROOT_SUSPENDED, "f() in a.py: x", "suspended coroutine or generator: f() in",
		  "suspended f() in a.py: x (list) → app.Session" },
		{ HEAP_ROOT_THREAD, "thread 9", "kept by data of thread 9.",
		  "thread 9 (list) → app.Session" },
		{ HEAP_ROOT_C, "", "held by C code: no Python object refers to them.",
		  "C code → list → app.Session" },
		{ HEAP_ROOT_CYCLE, "", "kept only by each other", "each other → list" },
		{ HEAP_ROOT_UNKNOWN, "", "kept by something that was not found",
		  "the keepers of 4 were not found" },
	};
	struct heap_chain *c;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(4);
		c = add(rows[i].root, rows[i].name, 4);
		link_add(c, "list", "[]");
		link_add(c, "app.Session", "");
		expect(rows[i].said);
		expect(rows[i].chain);
	}
}

static void test_odd_chains(void **state)
{
	struct heap_chain *c;

	begin(1);
	c = add(HEAP_ROOT_MODULE, "app.f", 1);
	link_add(c, "function", "closure variable rows");
	link_add(c, "list", "[]");
	link_add(c, "app.Session", "");
	expect("The only app.Session object is kept by app.f, a function.\n");
	expect("app.f (function) → closure variable rows (list) → app.Session\n");
	c->cut = true;
	expect("app.f → … → function → closure variable rows (list) → app.Session\n");
	strcpy(c->root_name, "app.\x1b[2J");
	expect("app.\\x1b[2J");
	chains.limited = true;
	chains.gone = 3;
	chains.other = 2;
	chains.unread = 4096;
	expect("2 more objects have further chains");
	expect("3 further objects were freed meanwhile");
	expect("4.0 KiB could not be read");
	expect("A limit ended the search early");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chain),
		cmocka_unit_test(test_all_roots),
		cmocka_unit_test(test_odd_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
