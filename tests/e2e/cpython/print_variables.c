/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * print_variables.c MINOR HEAD - where user/cpython takes things to be in 3.MINOR, in a build whose
 * objects have a head of so many bytes; as header_variables.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cpython/with.h"

#define PRINT(name, value) printf("%s %lld\n", name, (long long)(value))
#define MORE(field) PRINT(#field, l->field + more)

int main(int argc, char **argv)
{
	int minor = atoi(argv[1]), head = atoi(argv[2]), more = head - 16;
	const struct py_code_layout *l = py_code_layout(minor);
	struct py_object_layout o = { .str_length = head, .minor = minor };
	struct py_walk w;

	py_walk_init(&w, NULL, &o, 0);
	MORE(argcount); MORE(kwonly); MORE(stacksize); MORE(flags); MORE(cnt); MORE(names);
	MORE(second);
	MORE(used);
	if (l->third)
		MORE(third);
	if (l->exceptions)
		MORE(exceptions);
	PRINT("globals", l->globals + (minor <= 10 ? more : 0));
	PRINT("slots", l->slots + (minor <= 10 ? more : 0));
	MORE(generator);
	if (minor <= 10) {
		PRINT("blocks_before_slots", PY_BLOCKS_BYTES);
		PRINT("iblock_before_blocks", PY_IBLOCK_BEFORE);
	}
	if (l->stack)
		PRINT("stack", l->stack + (minor <= 10 ? more : 0));
	if (l->depth)
		MORE(depth);
	if (l->state)
		MORE(state);
	if (minor >= 8 && minor <= 10)
		PRINT("coroutine", w.head);
	PRINT("head", w.head);
	PRINT("type", w.head - 8);
	PRINT("tp_name", w.head + 8);
	PRINT("tp_flags", w.head + 152);
	PRINT("tp_mro", w.head + PY_TYPE_MRO);
	PRINT("ref_object", w.head);
	PRINT("tuple_items", py_tuple_items(&w, 0));
	PRINT("list_items", w.head + 8);
	PRINT("set_used", w.head + 8);
	PRINT("set_mask", w.head + 16);
	PRINT("set_table", w.head + 24);
	PRINT("set_entry", 16);
	PRINT("cell", w.head);
	PRINT("real", w.head);
	PRINT("builtin_self", w.head + 8);
	if (py_thread_dict(minor))
		PRINT("thread_dict", py_thread_dict(minor));
	PRINT("method_self", w.head + 8);
	return 0;
}
