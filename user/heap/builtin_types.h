/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * builtin_types.h - the types of CPython itself, such as str and dict, which every program uses. A
 * leak is easier to find by the classes that hold them.
 */
#ifndef TACHBPF_HEAP_BUILTIN_TYPES_H
#define TACHBPF_HEAP_BUILTIN_TYPES_H

#include <stdbool.h>

/*
 * Returns true if a type with this name, as in heap_row.name, is CPython's own; exceptions are not.
 * A class of the program with such a name counts as CPython's if the name has no module.
 */
bool heap_type_is_builtin(const char *name);

#endif
