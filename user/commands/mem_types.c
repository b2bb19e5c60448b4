// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mem_types.c - see mem_types.h. */
#include "commands/mem_types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes_text.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/show.h"

/* Names are hostile. */
#define SHOWN_BYTES (4 * HEAP_NAME_BYTES)

static const char *shown_name(const struct type_growth *g, char out[SHOWN_BYTES])
{
	return escape_text(g->name, strlen(g->name), out, SHOWN_BYTES);
}

const char *mem_types_first(const struct type_growths *g)
{
	const struct type_growth *own, *most;

	type_growths_leaders(g, &own, &most);
	return own ? own->name : most ? most->name : NULL;
}

char *mem_types_sentence(const struct type_growths *g)
{
	const struct type_growth *own, *most, *first;
	char name[SHOWN_BYTES], other[SHOWN_BYTES] = "", bytes[BYTES_TEXT_MAX];
	char other_bytes[BYTES_TEXT_MAX] = "", *text;
	int n;

	if (!g->to)
		return NULL;
	type_growths_leaders(g, &own, &most);
	first = own ? own : most;
	if (!first)
		return asprintf(&text, "no type of object grew by more than the error of the "
				"censuses in %.1f s", type_growths_seconds(g)) < 0 ? NULL : text;
	if (first != most) {
		shown_name(most, other);
		bytes_text((double)most->more_bytes, other_bytes);
	}
	n = asprintf(&text, "%s grew by %" PRId64 " %s (%s) in %.1f s%s%s%s%s",
		     shown_name(first, name), first->more_objects,
		     first->more_objects == 1 ? "object" : "objects",
		     bytes_text((double)first->more_bytes, bytes), type_growths_seconds(g),
		     first != most ? ", and with it " : "", other, first != most ? " by " : "",
		     other_bytes);
	return n < 0 ? NULL : text;
}

/* ---- the table ---- */

enum column { MORE_OBJECTS, MORE_BYTES, ERROR, OBJECTS, BYTES, TYPE, COLUMNS };

static const struct text_column columns[COLUMNS] = {
	[MORE_OBJECTS] = { 10, CUT_RIGHT, true, true },
	[MORE_BYTES] = { 10, CUT_RIGHT, true, true },
	[ERROR] = { 10, CUT_RIGHT, true, true }, [OBJECTS] = { 10, CUT_RIGHT, true, true },
	[BYTES] = { 10, CUT_RIGHT, true, true }, [TYPE] = { 0, CUT_LEFT, false, false },
};
#define WIDE_COLUMNS 80		/* from here on there is room for what there is at the end */
#define TYPE_MIN 12

/* width: of the terminal; 0: none. */
static void print_cells(const char *const texts[COLUMNS], size_t width)
{
	size_t used = 0;
	int i;

	for (i = 0; i < COLUMNS; i++) {
		struct text_column column = columns[i];

		if ((i == OBJECTS || i == BYTES) && width && width < WIDE_COLUMNS)
			continue;
		if (i == TYPE && width)
			column.width = width > used + TYPE_MIN ? width - used : TYPE_MIN;
		text_cell(stdout, &column, texts[i], i != TYPE);
		used += column.width + 2;
	}
	printf("\n");
}

static void print_row(const struct type_growth *g, size_t width)
{
	char more_objects[24], more_bytes[BYTES_TEXT_MAX + 1], error[BYTES_TEXT_MAX + 4];
	char objects[24], bytes[BYTES_TEXT_MAX], text[BYTES_TEXT_MAX], name[SHOWN_BYTES];
	const char *const texts[COLUMNS] = {
		more_objects, more_bytes, error, objects, bytes_text((double)g->bytes, bytes),
		shown_name(g, name),
	};

	snprintf(more_objects, sizeof(more_objects), "%+" PRId64, g->more_objects);
	snprintf(more_bytes, sizeof(more_bytes), "%s%s", g->more_bytes > 0 ? "+" : "",
		 bytes_text((double)g->more_bytes, text));
	snprintf(error, sizeof(error), "%s%s", g->bytes_error ? "±" : "",
		 g->bytes_error ? bytes_text((double)g->bytes_error, text) : "");
	snprintf(objects, sizeof(objects), "%" PRIu64, g->objects);
	print_cells(texts, width);
}

void mem_types_print(const struct type_growths *g, uint32_t limit)
{
	static const char *const headings[COLUMNS] = {
		"objects", "bytes", "error", "at the end", "bytes", "type",
	};
	size_t width = text_terminal_width(stdout), i, grown = 0, shown;

	for (i = 0; i < g->cnt; i++)
		grown += type_has_grown(&g->list[i]);
	if (!grown)
		return;
	printf("\nTypes that grew in %.1f s\n", type_growths_seconds(g));
	print_cells(headings, width);
	shown = limit_rows(limit, grown);
	for (i = 0, grown = 0; i < g->cnt; i++)
		if (type_has_grown(&g->list[i]) && grown++ < shown)
			print_row(&g->list[i], width);
	limit_print_more("", grown, shown);
}

/* ---- JSON ---- */

static void json_growth(struct json *j, const struct type_growth *g)
{
	json_object(j, NULL);
	json_string(j, "type", g->name);
	json_int(j, "objects", g->more_objects);
	json_uint(j, "objects_error", g->objects_error);
	json_int(j, "bytes", g->more_bytes);
	json_uint(j, "bytes_error", g->bytes_error);
	json_uint(j, "objects_at_end", g->objects);
	json_uint(j, "bytes_at_end", g->bytes);
	json_bool(j, "grew", type_has_grown(g));
	json_object_end(j);
}

void mem_types_json(struct json *j, const struct type_growths *g, uint64_t start_us)
{
	size_t i;

	if (!g->to) {
		json_null(j, "types");
		return;
	}
	json_object(j, "types");
	json_double(j, "from", (double)(g->from->time_us - start_us) / 1e6);
	json_double(j, "to", (double)(g->to->time_us - start_us) / 1e6);
	json_bool(j, "limited", g->from->limited || g->to->limited);
	json_array(j, "growth");
	for (i = 0; i < g->cnt; i++)
		json_growth(j, &g->list[i]);
	json_array_end(j);
	json_object_end(j);
}
