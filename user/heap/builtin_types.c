// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* builtin_types.c - see builtin_types.h. */
#include "heap/builtin_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/*
 * Sorted: tp_name of the types without a module in 3.6 to 3.15, as type.__subclasses__() finds them
 * from object on; without exceptions, and without names that programs give classes of their own
 * (Context, Token, Struct, items, keys, values, entry).
 */
static const char *const names[] = {
	"CArgObject", "EncodingMap", "FrameLocalsProxy", "InstructionSequence", "InterpreterID",
	"NoDefaultType", "NoneType", "NotImplementedType", "PyCapsule", "StgDict",
	"UnraisableHookArgs", "_abc_data", "_buffer_wrapper", "anext_awaitable", "async_generator",
	"async_generator_asend", "async_generator_athrow", "async_generator_wrapped_value",
	"asyncgen_hooks", "bool", "builtin_function_or_method", "builtin_method", "bytearray",
	"bytearray_iterator", "bytes", "bytes_iterator", "callable_iterator", "cell", "classmethod",
	"classmethod_descriptor", "code", "complex", "coroutine", "coroutine_wrapper", "dict",
	"dict_itemiterator", "dict_items", "dict_keyiterator", "dict_keys",
	"dict_reverseitemiterator", "dict_reversekeyiterator", "dict_reversevalueiterator",
	"dict_valueiterator", "dict_values", "ellipsis", "enumerate", "fieldnameiterator", "filter",
	"float", "formatteriterator", "frame", "frozendict", "frozenset", "function", "generator",
	"generic_alias_iterator", "getset_descriptor", "hamt", "hamt_array_node",
	"hamt_bitmap_node", "hamt_collision_node", "instancemethod", "int", "iterator",
	"lazy_import", "line_iterator", "list", "list_iterator", "list_reverseiterator",
	"longrange_iterator", "managedbuffer", "map", "mappingproxy", "member_descriptor",
	"memory_iterator", "memoryview", "method", "method-wrapper", "method_descriptor", "module",
	"moduledef", "object", "odict_items", "odict_iterator", "odict_keys", "odict_values",
	"positions_iterator", "property", "range", "range_iterator", "reversed", "sentinel", "set",
	"set_iterator", "slice", "staticmethod", "stderrprinter", "str", "str_ascii_iterator",
	"str_iterator", "super", "symtable", "traceback", "tuple", "tuple_iterator", "type",
	"unpack_iterator", "uop_executor", "weakcallableproxy", "weakproxy", "weakref",
	"wrapper_descriptor", "zip",
};

static int compare_names(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *)name);
}

bool heap_type_is_builtin(const char *name)
{
	static const char module[] = "builtins.";

	if (!strncmp(name, module, sizeof(module) - 1))
		return true;
	return bsearch(name, names, ARRAY_SIZE(names), sizeof(names[0]), compare_names);
}
