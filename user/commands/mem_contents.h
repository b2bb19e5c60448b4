/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem_contents.h - tachbpf mem: how much of what a row holds is no longer what it made there. Only
 * for mem_show.c.
 */
#ifndef TACHBPF_MEM_CONTENTS_H
#define TACHBPF_MEM_CONTENTS_H

#include "analysis/memory_rows.h"
#include "base/json.h"

#define MEM_REUSED_COLUMNS 6

/* Returns true if that is known of a row. */
bool mem_rows_are_judged(const struct memory_row *rows, size_t cnt);
/* Prints a line of the head of a file, of all that is held; nothing if it is not known. */
void mem_text_contents(const struct memory_contents *c);
/* Prints it as a cell of the table, and a space; "-": unknown. */
void mem_print_reused(const struct memory_contents *c);
/* Writes the member "contents": an object; null: no page was looked at. */
void mem_json_contents(struct json *j, const struct memory_contents *c);

#endif
