/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_chains_show.h - what tachbpf heap --why shows: who keeps the objects of a type, as text and
 * JSON. For heap_why.c.
 */
#ifndef TACHBPF_HEAP_CHAINS_SHOW_H
#define TACHBPF_HEAP_CHAINS_SHOW_H

#include "commands/heap_show.h"
#include "heap/chains.h"

/* The first member of the JSON: its key, whose value is the version. */
#define HEAP_CHAINS_JSON_KEY "heap_chains"
#define HEAP_CHAINS_JSON_VERSION 1

/* One process. Its census is not used. */
int heap_chains_text(const struct heap_screen *s, const struct heap_shown *p,
		     const struct heap_chains *chains);
void heap_chains_json(struct json *j, const struct heap_shown *p, const struct python *python,
		      const struct heap_chains *chains);

#endif
