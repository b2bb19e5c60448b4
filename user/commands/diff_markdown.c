// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * diff_markdown.c - tachbpf diff --format markdown: what a reviewer wants to know first, and the
 * functions that changed. It becomes a comment, so names and paths must be nothing but text.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes_text.h"
#include "base/markdown.h"
#include "base/text.h"
#include "commands/diff_show.h"
#include "commands/show.h"

#define NAME_COLUMNS 80
#define PLACE_COLUMNS 100

struct comment {
	const struct diff_side *sides;
	enum diff_of of;
	bool noise;		/* the sampling error is known: both sides have samples */
	const char *whole;	/* what shares are of */
	const char *more, *less;	/* what it means for a function to have grown */
	int err;
};

static void set_words(struct comment *c)
{
	const char *modes[] = { diff_side_mode(&c->sides[0]), diff_side_mode(&c->sides[1]) };
	const char *mode = modes[0] && modes[1] && strcmp(modes[0], modes[1]) ? "" :
			   modes[0] ? modes[0] : modes[1] ? modes[1] : "";
	bool cpu = !strcmp(mode, "cpu"), wall = !strcmp(mode, "wall") || !strcmp(mode, "all");

	c->more = "Slower";
	c->less = "Faster";
	c->whole = cpu ? "the CPU time" : wall ? "the time" : "the samples";
	if (c->of == DIFF_OF_COUNTS || (*mode && !cpu && !wall)) {
		c->more = "More";
		c->less = "Less";
	}
}

static void put_code(struct comment *c, char *text, size_t width, enum text_cut cut)
{
	if (!text || markdown_code(stdout, text, width, cut))
		c->err = -ENOMEM;
	free(text);
}

static void put_name(struct comment *c, const struct diff_row *row)
{
	put_code(c, text_escape(row->func.data, row->func.len), NAME_COLUMNS, CUT_RIGHT);
}

/* A row's self on a side. */
static void put_self(const struct comment *c, const struct diff_row *row, int side)
{
	enum profile_unit unit = c->sides[side].unit;
	char text[SHOW_AMOUNT_BYTES], bytes[BYTES_TEXT_MAX];

	if (c->of == DIFF_OF_COUNTS)
		printf("%s", bytes_text((double)row->self[side], bytes));
	else if (unit == UNIT_NANOSECONDS)
		printf("%.2f %%, %s s", row->self_pct[side],
		       show_amount(row->self[side], unit, text));
	else
		printf("%.2f %%", row->self_pct[side]);
}

static void put_change(const struct comment *c, const struct diff_row *row)
{
	double change = diff_change(row, c->of);
	char bytes[BYTES_TEXT_MAX];

	if (c->of == DIFF_OF_COUNTS)
		printf("%s%s", change > 0 ? "+" : "", bytes_text(change, bytes));
	else
		printf("%+.2f", change);
}

/* "`parse`, 12.10 % → 16.30 % of the CPU time (+4.20 points, sampling error ±1.80)" */
static void put_sentence(struct comment *c, const struct diff_row *row, size_t others)
{
	put_name(c, row);
	printf(", ");
	put_self(c, row, 0);
	printf(" → ");
	put_self(c, row, 1);
	if (c->of == DIFF_OF_SHARES)
		printf(" of %s", c->whole);
	printf(" (");
	put_change(c, row);
	if (c->of == DIFF_OF_SHARES)
		printf(" points");
	if (c->noise)
		printf(", sampling error ±%.2f", row->self_noise);
	printf(")");
	if (others)
		printf(", and %zu more %s", others, text_plural(others, "function", "functions"));
	printf(".");
}

static void put_headline(struct comment *c, const struct diff_shown *r)
{
	struct diff_summary s = diff_summarise(r->list, r->all, c->of, c->noise);

	if (!report_sample_cnt(c->sides[0].report) || !report_sample_cnt(c->sides[1].report)) {
		printf("**Nothing to compare:** a profile has no samples.\n\n");
		return;
	}
	if (s.grown) {
		printf("**%s:** ", c->more);
		put_sentence(c, s.most_grown, s.grown - 1);
	}
	if (s.shrunk) {
		printf("%s**%s:** ", s.grown ? " " : "", c->less);
		put_sentence(c, s.most_shrunk, s.shrunk - 1);
	}
	if (!s.largest) {
		printf("**No function changed.**");
	} else if (!s.grown && !s.shrunk) {
		printf("**No function changed by more than the sampling error.** "
		       "The largest change: ");
		put_sentence(c, s.largest, 0);
	}
	printf("\n\n");
}

static void put_side(struct comment *c, const char *which, const struct diff_side *s)
{
	const char *mode = diff_side_mode(s);
	char total[SHOW_AMOUNT_BYTES];

	printf("- %s: ", which);
	put_code(c, text_escape(s->title, strlen(s->title)), PLACE_COLUMNS, CUT_LEFT);
	printf(", %s", show_total(report_sample_cnt(s->report), s->unit, total));
	if (s->longest_s > 0)
		printf(", %.2f s", s->longest_s);
	if (mode)
		printf(", %s mode", mode);
	printf("\n");
}

static void put_row(struct comment *c, const struct diff_row *row)
{
	const char *bold = c->noise && fabs(row->self_delta) > row->self_noise ? "**" : "";

	printf("| ");
	put_name(c, row);
	printf(" | ");
	put_code(c, show_place(row->kind, &row->file, row->line), PLACE_COLUMNS, CUT_LEFT);
	printf(" | ");
	put_self(c, row, 0);
	printf(" | ");
	put_self(c, row, 1);
	printf(" | %s", bold);
	put_change(c, row);
	printf("%s |\n", bold);
}

/* Functions whose change would be shown as 0.00 have no row. */
static void put_table(struct comment *c, const struct diff_options *opts,
		      const struct diff_shown *r)
{
	double least = c->of == DIFF_OF_COUNTS ? 1 : 0.005;
	size_t i, changed = 0, shown = 0, most;

	for (i = 0; i < r->all; i++)
		changed += fabs(diff_change(&r->list[i], c->of)) >= least;
	most = limit_rows(opts->limit, changed);
	if (!changed)
		return;
	printf("\n| function | file:line | before | after | change |\n"
	       "| :-- | :-- | --: | --: | --: |\n");
	for (i = 0; i < r->all && shown < most; i++) {
		if (fabs(diff_change(&r->list[i], c->of)) < least)
			continue;
		put_row(c, &r->list[i]);
		shown++;
	}
	printf("\n");
	if (shown < changed)
		printf("%zu more %s changed. ", changed - shown,
		       text_plural(changed - shown, "function", "functions"));
	if (c->of == DIFF_OF_SHARES)
		printf("Self, as a share of %s%s", c->whole,
		       c->noise ? "; bold: by more than the sampling error.\n" : ".\n");
	else
		printf("Memory held, by the function that allocated it.\n");
}

int diff_print_markdown(const struct diff_options *opts, const struct diff_side sides[2],
			const struct diff_shown *r)
{
	struct comment c = {
		.sides = sides,
		.of = diff_in_bytes(sides) ? DIFF_OF_COUNTS : DIFF_OF_SHARES,
		.noise = sides[0].unit == UNIT_SAMPLES && sides[1].unit == UNIT_SAMPLES,
	};

	set_words(&c);
	put_headline(&c, r);
	if (r->grown)
		printf("**%zu %s grew by more than %.2f points beyond the sampling error.**\n\n",
		       r->grown, text_plural(r->grown, "function", "functions"), opts->fail_over);
	put_side(&c, "before", &sides[0]);
	put_side(&c, "after", &sides[1]);
	put_table(&c, opts, r);
	return c.err;
}
