// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_elf_methods.c - CPython's tables of methods and types, in files made here: each form, with
 * each kind of relocation; what is no table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "elf_helper/elf_methods.h"
#include "elf_helper/elf_slots.h"
#include "tests/unit/elf/made_elf.h"

static struct elf_methods methods;
static uint64_t data_at;	/* where the file says that its data is; 0: where it is */

/* ---- CPython's structures ---- */

/* Each appends one, and returns its address. */
static uint64_t method(const char *name, uint32_t function)
{
	uint32_t at = made_address(made_string(name));

	made_address(made_function(function));
	made_word(1);			/* METH_VARARGS */
	made_address(made_string("doc"));
	return made_word_at(at);
}

/* 0: no function */
static uint64_t getset(const char *name, uint32_t get, uint32_t set)
{
	uint32_t at = made_address(made_string(name));

	made_address(get ? made_function(get) : 0);
	made_address(set ? made_function(set) : 0);
	made_address(made_string("doc"));
	made_word(17);			/* closure */
	return made_word_at(at);
}

static void sentinel(uint32_t words)
{
	while (words--)
		made_word(0);
}

/* Returns the place of tp_name; the slots are set by made_set(). */
static uint32_t type(const char *name)
{
	uint32_t i, at;

	for (i = 0; i < 3; i++)
		made_word(0);		/* PyObject_VAR_HEAD */
	at = made_address(made_string(name));
	for (i = 1; i < 49; i++)
		made_word(i == TYPE_SIZE ? 32 : i == TYPE_FLAGS ? 0x1500 : 0);
	return at;
}

static void module(const char *name, uint64_t table)
{
	uint32_t i;

	for (i = 0; i < 5; i++)
		made_word(0);		/* PyModuleDef_Base */
	made_address(made_string(name));
	made_address(made_string("doc"));
	made_word(UINT64_MAX);		/* m_size -1 */
	made_address(table);
	for (i = 0; i < 4; i++)
		made_word(0);
}

/* ---- what is read of it ---- */

static void load(void)
{
	struct elf_segments segments;
	struct elf_file f;
	int fd = made_end();
	size_t i;

	if (data_at)
		assert_int_equal(pwrite(fd, &data_at, 8, offsetof(struct made_elf, ph[2].p_vaddr)),
				 8);

	assert_int_equal(elf_file_open(&f, fd), 0);
	assert_int_equal(elf_segments_read(&f, &segments), 0);
	assert_int_equal(elf_methods_read(&f, &segments, &methods), 0);
	for (i = 0; i < methods.cnt; i++) {
		assert_true(methods.functions[i].start < methods.functions[i].end);
		assert_true(methods.functions[i].name < methods.text_bytes);
		assert_true(!i || methods.functions[i - 1].start < methods.functions[i].start);
	}
	close(fd);
}

static const char *name_of(uint32_t function)
{
	size_t i;

	for (i = 0; i < methods.cnt; i++)
		if (methods.functions[i].start == made_function(function)) {
			assert_int_equal(methods.functions[i].end, made_function(function + 1));
			return methods.text + methods.functions[i].name;
		}
	return "";
}

/* Reads the file and compares the names of functions 1, 2 ... of which there are no more. */
static void expect(const char *const *names, size_t cnt)
{
	size_t i, named = 0;

	load();
	for (i = 0; i < cnt; i++) {
		assert_string_equal(name_of((uint32_t)i + 1), names[i]);
		named += !!*names[i];
	}
	assert_int_equal(methods.cnt, named);
	elf_methods_free(&methods);
}

#define EXPECT(...) do { \
	static const char *const names_[] = { __VA_ARGS__ }; \
	expect(names_, ARRAY_SIZE(names_)); \
} while (0)

/* ---- the forms ---- */

static void write_type(void)
{
	uint64_t methods_at = method("run", 1), getset_at;
	uint32_t t;

	method("stop", 2);
	sentinel(4);
	getset_at = getset("state", 3, 4);
	getset("only_set", 0, 5);
	sentinel(5);
	t = type("mod.Thing");
	made_set(t + TYPE_METHODS, methods_at);
	made_set(t + TYPE_GETSET, getset_at);
	made_set(t + 3, made_function(6));	/* tp_dealloc */
	made_set(t + 13, made_function(7));	/* tp_call */
	made_set(t + 36, made_function(8));	/* tp_new */
	made_set(t + 47, made_function(9));	/* tp_vectorcall */
}

static void test_types(void **state)
{
	uint32_t how;

	for (how = 0; how < MADE_HOW_CNT; how++) {
		made_begin(how);
		write_type();
		EXPECT("mod.Thing.run", "mod.Thing.stop", "mod.Thing.state", "mod.Thing.state",
		       "mod.Thing.only_set", "mod.Thing.tp_dealloc", "mod.Thing.__call__",
		       "mod.Thing.__new__", "mod.Thing.__new__");
	}
}

/* Appends a table of so many words, of which one has this function. */
static uint64_t words_with(uint32_t cnt, uint32_t word, uint32_t function)
{
	uint32_t at = making.words;

	sentinel(cnt);
	made_set(at + word, made_function(function));
	return made_word_at(at);
}

static void test_tables_of_slots(void **state)
{
	uint32_t how, t;

	for (how = 0; how < MADE_HOW_CNT; how++) {
		uint64_t number, sequence, mapping, async, buffer;

		made_begin(how);
		number = words_with(36, 30, 1);
		sequence = words_with(10, 7, 2);
		mapping = words_with(3, 1, 3);
		async = words_with(4, 2, 4);
		buffer = words_with(2, 0, 5);
		t = type("Number");
		made_set(t + TYPE_NUMBER, number);
		made_set(t + TYPE_SEQUENCE, sequence);
		made_set(t + TYPE_MAPPING, mapping);
		made_set(t + TYPE_ASYNC, async);
		made_set(t + TYPE_BUFFER, buffer);
		EXPECT("Number.__truediv__", "Number.__contains__", "Number.__getitem__",
		       "Number.__anext__", "Number.__buffer__");
	}
}

/* Up to 3.7 a type has no tp_vectorcall: what follows it is there. */
static void test_a_table_behind_a_type(void **state)
{
	uint64_t buffer;
	uint32_t t;

	made_begin(0);
	buffer = words_with(2, 0, 1);
	t = type("mod.Thing");
	made_set(t + TYPE_BUFFER, buffer);
	made_set(t + 47, made_function(1));
	EXPECT("mod.Thing.__buffer__");
}

/* PyType_Spec: what most types of extension modules are made of. */
static void test_specs(void **state)
{
	uint32_t how, slots;

	for (how = 0; how < MADE_HOW_CNT; how++) {
		uint64_t methods_at, getset_at;

		made_begin(how);
		methods_at = method("compress", 1);
		sentinel(4);
		getset_at = getset("eof", 2, 0);
		sentinel(5);
		slots = made_word(SLOT_METHODS);
		made_address(methods_at);
		made_word(SLOT_GETSET);
		made_address(getset_at);
		made_word(52);		/* Py_tp_dealloc */
		made_address(made_function(3));
		made_word(37);		/* Py_nb_true_divide */
		made_address(made_function(4));
		made_word(56);		/* Py_tp_doc */
		made_address(made_string("doc"));
		sentinel(2);
		made_address(made_string("zlib.Compress"));
		made_word(48);		/* basicsize, itemsize */
		made_word(0x100);
		made_address(made_word_at(slots));
		EXPECT("zlib.Compress.compress", "zlib.Compress.eof", "zlib.Compress.tp_dealloc",
		       "zlib.Compress.__truediv__");
	}
}

static void test_modules(void **state)
{
	uint32_t how;

	for (how = 0; how < MADE_HOW_CNT; how++) {
		uint64_t table;

		made_begin(how);
		table = method("dumps", 1);
		method("loads", 2);
		sentinel(4);
		module("json.fast", table);
		/* A table that nobody has is given to something at run time. */
		method("later", 3);
		sentinel(4);
		EXPECT("json.fast.dumps", "json.fast.loads", "later");
	}
}

/* Of several modules nobody knows whose table it is. */
static void test_two_modules(void **state)
{
	uint64_t first, second;

	made_begin(MADE_RELATIVE);
	first = method("f", 1);
	sentinel(4);
	second = method("f", 2);
	sentinel(4);
	method("g", 3);
	sentinel(4);
	module("a", first);
	module("b", second);
	EXPECT("a.f", "b.f", "g");
}

/* Cython: each function has an entry of its own, without an end, and its module no table. */
static void test_single_entries(void **state)
{
	made_begin(MADE_RELATIVE);
	method("parse", 1);
	made_word(0x1234);
	method("feed", 2);
	made_word(0xdeadbeefdead);
	EXPECT("parse", "feed");
}

/* A method that is in another library does not end the table. */
static void test_elsewhere(void **state)
{
	uint64_t table;

	made_begin(MADE_RELATIVE);
	table = method("ours", 1);
	made_address(made_string("theirs"));
	made_elsewhere();
	made_word(4);
	made_word(0);
	method("also_ours", 2);
	sentinel(4);
	module("m", table);
	EXPECT("m.ours", "m.also_ours");
}

/* One function of several tables: a method's name is better than an attribute's or a slot's. */
static void test_which_table(void **state)
{
	uint64_t methods_at, getset_at;
	uint32_t t;

	made_begin(MADE_RELATIVE);
	methods_at = method("__getitem__", 1);
	method("again", 1);
	sentinel(4);
	getset_at = getset("both", 2, 2);
	getset("attribute", 1, 0);
	sentinel(5);
	t = type("dict");
	made_set(t + TYPE_METHODS, methods_at);
	made_set(t + TYPE_GETSET, getset_at);
	made_set(t + 5, made_function(1));
	made_set(t + 8, made_function(2));
	EXPECT("dict.__getitem__", "dict.both");
}

/* Older linkers have code and strings in one segment. */
static void test_strings_beside_code(void **state)
{
	made_begin(MADE_RELATIVE);
	making.more_flags = PF_X;
	write_type();
	module("m", 0);
	EXPECT("mod.Thing.run", "mod.Thing.stop", "mod.Thing.state", "mod.Thing.state",
	       "mod.Thing.only_set", "mod.Thing.tp_dealloc", "mod.Thing.__call__",
	       "mod.Thing.__new__", "mod.Thing.__new__");
}

/* Up to 3.9 PyAsyncMethods has three words: nobody looks for am_send in what follows. */
static void test_table_without_its_end(void **state)
{
	uint64_t async;
	uint32_t t;

	made_begin(MADE_RELATIVE);
	async = words_with(3, 0, 1);
	for (t = 0; t < 300; t++)
		made_address(made_function(2));
	t = type("m.Async");
	made_set(t + TYPE_ASYNC, async);
	EXPECT("m.Async.__await__");
}

static void test_numbers_of_3_15(void **state)
{
	static const uint32_t numbers[] = { 88, 89, 90, 91, 81 };
	uint32_t i, slots;

	made_begin(MADE_RELATIVE);
	slots = making.words;
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		made_word(numbers[i] | 4 << 16);	/* with flags */
		made_address(made_function(i + 1));
	}
	sentinel(2);
	made_address(made_string("array.array"));
	made_word(48);
	made_word(0);
	made_address(made_word_at(slots));
	EXPECT("array.array.__buffer__", "array.array.__release_buffer__",
	       "array.array.__setitem__", "array.array.__len__", "array.array.am_send");
}

/* ---- types that share functions ---- */

static uint32_t type_with(const char *name, uint32_t function, uint64_t base)
{
	uint32_t t = type(name);

	made_set(t + 24, made_function(function));	/* tp_iter */
	if (base)
		made_set(t + TYPE_BASE, base);
	return t;
}

static void test_common_base(void **state)
{
	uint64_t base;

	made_begin(MADE_RELATIVE);
	base = made_word_at(type_with("m.Base", 1, 0)) - 24;
	type_with("m.One", 1, base);
	type_with("m.Two", 1, base);
	type_with("m.Three", 2, base);
	type_with("m.Four", 2, base);
	type_with("m.Five", 3, 0);
	type_with("m.Six", 3, 0);
	type_with("m.Seven", 4, 0);
	type_with("n.Eight", 4, 0);
	EXPECT("m.Base.__iter__", "m.Base.__iter__", "m.*.__iter__", "__iter__");
}

/* ---- what is no table ---- */

/* A type's own words are no table of attributes. */
static void test_within_a_type(void **state)
{
	uint32_t t;

	made_begin(MADE_RELATIVE);
	t = type("m.One");
	made_set(t + TYPE_DOC, made_string("One"));
	made_set(t + 20, made_function(1));	/* tp_traverse */
	made_set(t + 21, made_function(2));	/* tp_clear */
	t = type("m.Two");
	made.data[t + TYPE_FLAGS] = 0;
	made_set(t + TYPE_FLAGS, made_string("FLAGS"));
	made_set(t + 20, made_function(3));
	EXPECT("m.One.tp_traverse", "m.One.tp_clear", "m.Two.tp_traverse");
}

static void test_no_tables(void **state)
{
	uint32_t t;

	made_begin(MADE_RELATIVE);
	/* No such flags; not the beginning of a function; no identifier; code as a text. */
	t = (uint32_t)((method("flags", 1) - MADE_AT(data)) / 8);
	made.data[t + 2] = 0x400;
	made_address(made_string("inside"));
	made_address(made_function(1) + 1);
	made_word(1);
	made_word(0);
	method("two words", 1);
	method("", 1);
	method("1st", 1);
	method("dotted.name", 1);
	method("caf\xc3\xa9", 1);
	t = (uint32_t)((method("doc", 1) - MADE_AT(data)) / 8);
	made_set(t + 3, made_function(2));
	made_address(made_function(2));		/* a name that is code */
	made_address(made_function(1));
	made_word(1);
	made_word(0);
	getset("nothing", 0, 0);
	EXPECT("");
}

/* Structures that are nearly a type. */
static void test_no_types(void **state)
{
	uint32_t t;

	made_begin(MADE_RELATIVE);
	t = type_with("Large", 1, 0);
	made.data[t + TYPE_SIZE] = 1 << 20;
	t = type_with("Flags", 1, 0);
	made.data[t + TYPE_FLAGS] = 1ull << 40;
	t = type_with("Offset", 1, 0);
	made.data[t + TYPE_DICT_OFFSET] = 0x123456;
	t = type_with("Data", 1, 0);
	made_set(t + 13, made_string("no code"));
	t = type_with("Code", 1, 0);
	made_set(t + TYPE_DOC, made_function(1));
	type_with("no name", 1, 0);
	type_with(".dot", 1, 0);
	type_with("dot.", 1, 0);
	type("Empty");
	EXPECT("");
}

static void test_no_specs(void **state)
{
	uint32_t slots;

	made_begin(MADE_RELATIVE);
	slots = made_word(52);
	made_address(made_function(1));
	made_word(200);			/* there is no such slot */
	made_address(made_function(2));
	sentinel(2);
	made_address(made_string("m.Spec"));
	made_word(48);
	made_word(0);
	made_address(made_word_at(slots));
	EXPECT("");
}

/* A library that has nothing to do with CPython is not searched. */
static void test_of_another_language(void **state)
{
	made_begin(MADE_RELATIVE);
	write_type();
	memset(made.names, 0, sizeof(made.names));
	memcpy(made.names, "\0XPyNone", 8);
	EXPECT("");
}

static void test_without_functions(void **state)
{
	made_begin(MADE_RELATIVE);
	write_type();
	made.frame_hdr[3] = 0;
	EXPECT("");
}

/* The data wraps at the end of all addresses, or code is at the same ones. */
static void test_where_data_cannot_be(void **state)
{
	const uint64_t places[] = { -4096ull, MADE_AT(text) - 4096, MADE_AT(data) };
	uint32_t i, k;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		made_begin(MADE_PLAIN);
		for (k = 0; k < 512; k++)
			made_word(0);
		method("f", 1);
		sentinel(4);
		data_at = places[i];
		load();
		data_at = 0;
		assert_int_equal(methods.cnt, i > 0);
		elf_methods_free(&methods);
	}
}

/* ---- limits ---- */

/* Of one table the first entries belong to its type; what follows is on its own. */
static void test_a_long_table(void **state)
{
	uint64_t name;
	uint32_t i, t;

	made_begin(MADE_PLAIN);
	name = made_string("same");
	for (i = 0; i < 4100; i++) {
		made_word(name);
		made_word(made_function(i < 4096 ? 1 : 2));
		made_word(1);
		made_word(0);
	}
	sentinel(4);
	t = type("m.Long");
	made_set(t + TYPE_METHODS, MADE_AT(data));
	EXPECT("m.Long.same", "same");
}

static void test_long_names(void **state)
{
	char name[200], shown[400];

	made_begin(MADE_PLAIN);
	memset(name, 'n', sizeof(name));
	name[127] = '\0';
	method(name, 1);
	module(name, MADE_AT(data));
	name[127] = 'n';
	name[128] = '\0';
	method(name, 2);
	load();
	name[127] = '\0';
	snprintf(shown, sizeof(shown), "%s.%s", name, name);
	assert_string_equal(name_of(1), shown);
	assert_string_equal(name_of(2), "");
	elf_methods_free(&methods);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_tables_of_slots),
		cmocka_unit_test(test_a_table_behind_a_type),
		cmocka_unit_test(test_specs),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_two_modules),
		cmocka_unit_test(test_single_entries),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_which_table),
		cmocka_unit_test(test_common_base),
		cmocka_unit_test(test_strings_beside_code),
		cmocka_unit_test(test_table_without_its_end),
		cmocka_unit_test(test_numbers_of_3_15),
		cmocka_unit_test(test_within_a_type),
		cmocka_unit_test(test_no_tables),
		cmocka_unit_test(test_no_types),
		cmocka_unit_test(test_no_specs),
		cmocka_unit_test(test_of_another_language),
		cmocka_unit_test(test_without_functions),
		cmocka_unit_test(test_where_data_cannot_be),
		cmocka_unit_test(test_a_long_table),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
