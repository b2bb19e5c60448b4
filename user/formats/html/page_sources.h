/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page_sources.h - the source text of the lines that a flame graph shows. */
#ifndef TACHBPF_PAGE_SOURCES_H
#define TACHBPF_PAGE_SOURCES_H

#include "base/json.h"
#include "model/event.h"
#include "model/source_lookup.h"

/* Characters of a line, and bytes of all together; further lines have no text. */
#define PAGE_LINE_CHARACTERS 200
#define PAGE_SOURCES_BYTES (512 * 1024)

/*
 * Writes the member "sources", { "/srv/app.py": { "12": "x = f(y)" } }: the lines of all Python
 * frames in the tables, without their indentation, in printable form. Writes nothing if there is no
 * text. Returns 0 or -ENOMEM.
 */
int html_json_sources(struct json *j, const struct source_lookup *sources,
		      const struct profile_tables *tables);

#endif
