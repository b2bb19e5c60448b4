// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_rows.c - headings, places and rows of the answer after a recording. See record_hot.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/record_hot.h"
#include "commands/show.h"

#define SHARE_COLUMNS 12	/* "  100.00 %  " */
#define WHAT_COLUMNS 20		/* at most, of what a thread waits for */

void record_heading(const char *text)
{
	fprintf(stderr, "\n%s%s%s\n", colour_on(stderr, COLOUR_BOLD), text, colour_off(stderr));
}

struct string_ref record_short_file(struct string_ref file)
{
	static const char *const vague[] = { "/__init__.py", "/__main__.py" };
	const char *end = file.data + file.len, *slash = memrchr(file.data, '/', file.len);
	size_t i;

	for (i = 0; slash && i < ARRAY_SIZE(vague); i++)
		if ((size_t)(end - slash) == strlen(vague[i]) &&
		    !memcmp(slash, vague[i], strlen(vague[i]))) {
			slash = memrchr(file.data, '/', (size_t)(slash - file.data));
			break;
		}
	if (!slash || slash + 1 == end)
		return file;
	return (struct string_ref){ slash + 1, (size_t)(end - slash - 1) };
}

char *record_place(enum frame_kind kind, struct string_ref file, struct string_ref func,
		   int32_t line)
{
	struct string_ref name = record_short_file(file);
	char *place = show_place(kind, &name, line);
	char *label = text_escape(func.data, func.len), *text = NULL;
	int n = -1;

	if (place && label)
		n = asprintf(&text, "%s%s%s", place, *place ? " " : "", label);
	free(place);
	free(label);
	return n < 0 ? NULL : text;
}

char *record_what(struct string_ref what)
{
	static const char *const begins[] = { "<blocked in ", "<exception ", "<waiting for " };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(begins); i++) {
		size_t len = strlen(begins[i]);

		if (what.len > len && !memcmp(what.data, begins[i], len))
			return text_escape(what.data + len, what.len - len - 1);
	}
	return text_escape(what.data, what.len);
}

void record_cells_free(struct record_cells *cells, size_t cnt)
{
	for (; cnt--; cells++) {
		free(cells->what);
		free(cells->place);
		free(cells->rest);
	}
}

void record_cells_print(const struct record_cells *cells, size_t cnt, enum text_cut cut, bool full)
{
	size_t terminal = text_terminal_width(stderr), width, most, used, i;
	size_t what = 0, place = 0, rest = 0;
	struct text_column column = { .cut = CUT_RIGHT }, last = { .cut = cut };

	width = terminal ? terminal : TEXT_COLUMNS;
	for (i = 0; i < cnt; i++) {
		what = text_widest(what, cells[i].what ? cells[i].what : "");
		place = text_widest(place, cells[i].place);
		rest = text_widest(rest, cells[i].rest);
	}
	what = what < WHAT_COLUMNS ? what : WHAT_COLUMNS;
	most = rest ? width / 2 : width - SHARE_COLUMNS;
	place = place < most ? place : most;
	used = SHARE_COLUMNS + (what ? what + 2 : 0) + place + 2;
	last.width = full && !terminal ? 0 : used + 8 < width ? width - used : 8;
	for (i = 0; i < cnt; i++) {
		fprintf(stderr, "  %6.2f %%  ", cells[i].share);
		column.width = what;
		if (what)
			text_cell(stderr, &column, cells[i].what ? cells[i].what : "", true);
		column.width = place;
		text_cell(stderr, &column, cells[i].place, *cells[i].rest);
		text_cell(stderr, &last, cells[i].rest, false);
		fprintf(stderr, "\n");
	}
}
