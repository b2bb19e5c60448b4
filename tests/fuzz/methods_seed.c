// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * methods_seed.c - a library with each form of CPython's tables, without its headers: layouts as in
 * Include/methodobject.h, descrobject.h, object.h and moduleobject.h.
 */
typedef void *(*function)(void *, void *);

struct method { const char *name; function meth; int flags; const char *doc; };
struct getset { const char *name; function get, set; const char *doc; void *closure; };
struct slot { int number; void *value; };
struct spec { const char *name; int size, item_size; unsigned int flags; struct slot *slots; };
struct module { void *base[5]; const char *name, *doc; long size; struct method *methods;
	void *more[4]; };
/* Words from tp_name on */
struct type { void *head[3]; const char *name; long size; void *words[47]; };

extern void *PyNumber_Add(void *, void *), *PyModuleDef_Init(void *);
void *PyInit_seed(void);

#define FUNCTION(name) \
	static __attribute__((noinline)) void *name(void *a, void *b) \
	{ \
		return PyNumber_Add(b, a); \
	}
FUNCTION(first) FUNCTION(second) FUNCTION(third) FUNCTION(fourth) FUNCTION(fifth) FUNCTION(sixth)

static struct method functions[] = { { "first", first, 1, "doc" },
				     { "add", PyNumber_Add, 4, 0 }, { 0 } };
static struct method methods[] = { { "second", second, 8, 0 },
				   { "again", second, 0x82, 0 }, { 0 } };
static struct getset attributes[] = { { "third", third, fourth, "doc", 0 }, { 0 } };
static struct method single = { "fifth", fifth, 1, 0 };
static void *numbers[36] = { first, [30] = (void *)sixth };
static void *sequences[10] = { (void *)third };
static struct type base = { .name = "seed.Base", .size = 32,
			    .words = { [1] = (void *)second, [7] = numbers, [8] = sequences,
				       [24] = methods, [26] = attributes } };
static struct type derived = { .name = "seed.Derived", .size = 40,
			       .words = { [1] = (void *)second, [34] = (void *)fourth,
					  [27] = &base } };
static struct slot slots[] = { { 64, methods }, { 73, attributes }, { 52, (void *)sixth }, { 0 } };
static struct spec spec = { "seed.Spec", 48, 0, 0x400, slots };
static struct module module = { .name = "seed", .doc = "doc", .size = -1, .methods = functions };

void *PyInit_seed(void)
{
	void *volatile used[] = { &single, &derived, &spec };

	return PyNumber_Add(PyModuleDef_Init(&module), used[0]);
}
