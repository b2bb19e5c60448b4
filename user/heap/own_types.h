/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * own_types.h - whose a type is, by its name: a leak is found by the program's own classes, though
 * most of its bytes are in str, dict and list.
 */
#ifndef TACHBPF_HEAP_OWN_TYPES_H
#define TACHBPF_HEAP_OWN_TYPES_H

#include <stdbool.h>

/*
 * Returns true if the type belongs neither to the interpreter nor to its standard library: the
 * program's own, or a package's. name: as heap_row.name, any bytes.
 */
bool heap_type_is_own(const char *name);

#endif
