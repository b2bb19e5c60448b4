/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem_types.h - the types that have grown in a recording of --mode mem: the first line of its
 * answer, a table and JSON.
 */
#ifndef TACHBPF_MEM_TYPES_H
#define TACHBPF_MEM_TYPES_H

#include <stdio.h>

#include "base/json.h"
#include "formats/mlyze/type_growth.h"

/*
 * Returns "app.Session grew by 492 objects (48.0 KiB) in 6.1 s, and with it bytearray by 9.3 MiB",
 * or that no type grew; printable, to be freed. NULL: there were no two censuses, or no memory.
 */
char *mem_types_sentence(const struct type_growths *g);

/* The name of the type that the sentence begins with, any bytes; NULL: none grew. */
const char *mem_types_first(const struct type_growths *g);

/* Prints the types that have grown as a table, at most limit of them; 0: all. */
void mem_types_print(const struct type_growths *g, uint32_t limit);

/* Writes the member "types"; null: there were no two censuses. start_us: of the file. */
void mem_types_json(struct json *j, const struct type_growths *g, uint64_t start_us);

#endif
