// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_diff.c - tachbpf diff: the rows of analysis/diff.h as a table or JSON, or a flame graph;
 * diff_markdown.c prints Markdown.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/diff.h"
#include "base/bytes_text.h"
#include "base/colour.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/commands.h"
#include "commands/diff_show.h"
#include "commands/heap_diff.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/show.h"
#include "formats/html/flamegraph.h"
#include "model/profile_names.h"

/* Columns of the numbers before the names, with their gaps. */
#define NUMBER_COLUMNS 46
#define NAME_COLUMNS 60

/* ---- JSON ---- */

static void json_side(struct json *j, const char *key, const struct diff_row *row, int side)
{
	json_object(j, key);
	json_uint(j, "self", row->self[side]);
	json_double(j, "self_pct", row->self_pct[side]);
	json_uint(j, "total", row->total[side]);
	json_double(j, "total_pct", row->total_pct[side]);
	json_object_end(j);
}

static void json_row(struct json *j, const struct diff_row *row)
{
	json_object(j, NULL);
	show_json_row(j, &row->func, row->kind, &row->file, row->line);
	json_side(j, "a", row, 0);
	json_side(j, "b", row, 1);
	json_double(j, "self_delta", row->self_delta);
	json_double(j, "self_noise", row->self_noise);
	json_double(j, "total_delta", row->total_delta);
	json_double(j, "self_more", row->self_more);
	json_double(j, "total_more", row->total_more);
	json_object_end(j);
}

static void print_json(const struct diff_options *opts, const struct diff_side *sides,
		       const struct diff_shown *r)
{
	static const char *const keys[] = { "a", "b" };
	struct json j;
	size_t i;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	for (i = 0; i < 2; i++) {
		json_object(&j, keys[i]);
		json_string(&j, "path", sides[i].path);
		if (sides[i].moment)
			json_string(&j, "title", sides[i].title);
		json_string(&j, "unit", profile_unit_name(sides[i].unit));
		json_string(&j, "mode", diff_side_mode(&sides[i]));
		json_uint(&j, "samples", report_sample_cnt(sides[i].report));
		json_uint(&j, "profiles", sides[i].profile_cnt);
		json_object_end(&j);
	}
	json_uint(&j, "row_count", r->all);
	json_double(&j, "grown", opts->fail_over >= 0 ? (double)r->grown : NAN);
	json_array(&j, "rows");
	for (i = 0; i < r->cnt; i++)
		json_row(&j, &r->list[i]);
	json_array_end(&j);
	json_object_end(&j);
}

/* ---- the table ---- */

static void print_delta(double delta)
{
	enum colour colour = delta >= 0.005 ? COLOUR_RED :
			     delta <= -0.005 ? COLOUR_GREEN : COLOUR_NONE;

	printf(" %s%+7.2f%s", colour_on(stdout, colour), delta,
	       colour == COLOUR_NONE ? "" : colour_off(stdout));
}

static void print_shares(const struct diff_row *row)
{
	printf("%6.2f %6.2f", row->self_pct[0], row->self_pct[1]);
	print_delta(row->self_delta);
	printf("  %6.2f %6.2f", row->total_pct[0], row->total_pct[1]);
	print_delta(row->total_delta);
	printf("  ");
}

/* Prints as many columns as print_shares(). */
static void print_bytes(const struct diff_row *row)
{
	const double numbers[] = { (double)row->self[0], (double)row->self[1], row->self_more,
				   row->total_more };
	char text[BYTES_TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		enum colour colour = i < 2 || !numbers[i] ? COLOUR_NONE :
				     numbers[i] > 0 ? COLOUR_RED : COLOUR_GREEN;

		printf("%s%s%10s%s", i ? " " : "", colour_on(stdout, colour),
		       bytes_text(numbers[i], text),
		       colour == COLOUR_NONE ? "" : colour_off(stdout));
	}
	printf("   ");
}

static int print_row(const struct diff_row *row, enum profile_unit unit,
		     const struct text_column *names, const struct text_column *places)
{
	char *name = text_escape(row->func.data, row->func.len);
	char *place = show_place(row->kind, &row->file, row->line);

	if (name && place) {
		if (unit == UNIT_BYTES)
			print_bytes(row);
		else
			print_shares(row);
		text_cell(stdout, names, name, *place);
		text_cell(stdout, places, place, false);
		printf("\n");
	}
	free(name);
	free(place);
	return name && place ? 0 : -ENOMEM;
}

static int print_side(const struct diff_side *s, char letter)
{
	char *shown = text_escape(s->title, strlen(s->title)), *text = NULL;
	const char *mode = diff_side_mode(s);
	char seconds[32] = "", amount[SHOW_AMOUNT_BYTES];
	int n = -1;

	if (s->longest_s > 0)
		snprintf(seconds, sizeof(seconds), ", %.2f s", s->longest_s);
	if (shown)
		n = asprintf(&text, "%c: %s: %s (100 %%)%s%s%s%s", letter, shown,
			     show_total(report_sample_cnt(s->report), s->unit, amount), seconds,
			     mode ? ", " : "",
			     mode ? mode : "", mode ? " mode" : "");
	free(shown);
	if (n < 0)
		return -ENOMEM;
	text_wrap(stdout, text, 0, text_terminal_width(stdout));
	free(text);
	return 0;
}

/* --fail-over: prints the functions that grew, within the limit of rows. */
static int print_grown(const struct diff_options *opts, const struct diff_shown *r)
{
	size_t i, shown = 0, most = limit_rows(opts->limit, r->grown);

	printf("\n%zu %s grew by more than %.2f points beyond %s noise\n", r->grown,
	       text_plural(r->grown, "function", "functions"), opts->fail_over,
	       text_plural(r->grown, "its", "their"));
	for (i = 0; i < r->all && shown < most; i++) {
		const struct diff_row *row = &r->list[i];
		char *name, *place;

		if (!diff_has_grown(row, opts->fail_over))
			continue;
		name = text_escape(row->func.data, row->func.len);
		place = show_place(row->kind, &row->file, row->line);
		if (name && place)
			printf("  %+.2f, noise %.2f: %s  %s\n", row->self_delta, row->self_noise,
			       name, place);
		free(name);
		free(place);
		if (!name || !place)
			return -ENOMEM;
		shown++;
	}
	limit_print_more("  ", r->grown, shown);
	return 0;
}

static int print_table(const struct diff_options *opts, const struct diff_side *sides,
		       const struct diff_shown *r)
{
	struct text_column names = { .width = NAME_COLUMNS, .cut = CUT_RIGHT };
	struct text_column places = { .cut = CUT_LEFT };
	size_t terminal = text_terminal_width(stdout), i;
	int err = 0;

	/* A long name is cut on a terminal; elsewhere it shifts the rest of its row. */
	names.spill = !terminal;
	for (i = 0; !err && i < 2; i++)
		err = print_side(&sides[i], "AB"[i]);
	if (err)
		return err;
	if (terminal > NUMBER_COLUMNS + 20) {
		names.width = (terminal - NUMBER_COLUMNS) / 2 - 1;
		places.width = terminal - NUMBER_COLUMNS - names.width - 2;
	} else if (terminal) {
		names.width = places.width = 10;
	}
	printf("\n%s%s%-*s  file:line%s\n", colour_on(stdout, COLOUR_BOLD),
	       diff_in_bytes(sides) ? "    self A          B       more total more   " :
				 "self A      B   delta  totalA      B   delta  ",
	       (int)names.width, "function", colour_off(stdout));
	for (i = 0; !err && i < r->cnt; i++)
		err = print_row(&r->list[i], diff_in_bytes(sides) ? UNIT_BYTES : UNIT_SAMPLES,
				&names, &places);
	if (!err)
		limit_print_more("", r->all, r->cnt);
	if (!err && opts->fail_over >= 0)
		err = print_grown(opts, r);
	return err;
}

/* Prints the result. *grown: --fail-over: how many functions grew by more. */
static int print_result(const struct diff_options *opts, struct diff_side *sides, size_t *grown)
{
	struct diff_shown r = { 0 };
	size_t i;
	int err = 0;

	r.list = diff_rows(sides[0].report, sides[1].report, opts->sort,
			   diff_in_bytes(sides) ? DIFF_OF_COUNTS : DIFF_OF_SHARES, &r.all);
	if (!r.list)
		return -ENOMEM;
	r.cnt = limit_rows(opts->limit, r.all);
	for (i = 0; i < r.all; i++)
		r.grown += opts->fail_over >= 0 && diff_has_grown(&r.list[i], opts->fail_over);
	*grown = r.grown;
	if (opts->json)
		print_json(opts, sides, &r);
	else if (opts->format == DIFF_MARKDOWN)
		err = diff_print_markdown(opts, sides, &r);
	else
		err = print_table(opts, sides, &r);
	free(r.list);
	return err;
}

/* Writes the flame graph's page. 0; -EIO after logging. */
static int write_page(const struct diff_options *opts, struct diff_side *sides)
{
	bool to_stdout = !strcmp(opts->output, "-");
	struct output_file file = { .fd = STDOUT_FILENO };
	int err = to_stdout ? 0 : output_open(&file, opts->output);

	if (err)
		return -EIO;
	err = flamegraph_diff(file.fd, sides[0].graph, sides[0].title, sides[1].graph,
			      sides[1].title);
	if (err)
		profile_out_complain(to_stdout ? "standard output" : opts->output, err);
	if (to_stdout)
		return err ? -EIO : 0;
	if (!err)
		return output_commit(&file) ? -EIO : 0;
	output_abort(&file);
	return -EIO;
}

/* The sides differ in mode or unit: text says how. 0 with --force; else -EIO. */
__attribute__((format(printf, 2, 3)))
static int refuse_sides(const struct diff_options *opts, const char *text, ...)
{
	char shown[128];
	va_list ap;

	va_start(ap, text);
	vsnprintf(shown, sizeof(shown), text, ap);
	va_end(ap);
	if (opts->force)
		return 0;
	log_error("%s: their shares are not comparable; use --force to compare them anyway",
		  shown);
	return -EIO;
}

/* Checks that the sides can be compared. 0; -EIO after logging why not. */
static int check_sides(const struct diff_options *opts, const struct diff_side *sides)
{
	const struct diff_side *a = &sides[0], *b = &sides[1];
	size_t i;
	int err = 0;

	if (a->unit != b->unit)
		err = refuse_sides(opts, "A counts %s, B counts %s", profile_unit_name(a->unit),
			     profile_unit_name(b->unit));
	if (!err && a->modes && b->modes && a->modes != b->modes)
		err = refuse_sides(opts, "A is in mode %s, B in mode %s", diff_side_mode(a),
			     diff_side_mode(b));
	for (i = 0; !err && opts->fail_over >= 0 && i < 2; i++) {
		if (sides[i].unit == UNIT_SAMPLES && report_sample_cnt(sides[i].report))
			continue;
		log_error("--fail-over requires samples, but %c has %s", "AB"[i],
			  sides[i].unit == UNIT_SAMPLES ? "none" :
							  profile_unit_name(sides[i].unit));
		err = -EIO;
	}
	for (i = 0; !err && i < 2; i++)
		if (sides[i].report && !report_sample_cnt(sides[i].report))
			log_warn("%c has no %s%s: nothing to compare with", "AB"[i],
				 profile_unit_name(sides[i].unit),
				 sample_filter_is_empty(&opts->input.filter) ? "" :
				 " that meet the conditions");
	return err;
}

int diff_run(const struct diff_options *opts)
{
	struct diff_side sides[2] = { 0 };
	size_t grown = 0;
	bool failed;
	int err, i;

	if (heap_diff_takes(opts))
		return heap_diff_run(opts);
	err = diff_sides_read(sides, opts);
	if (!err)
		err = check_sides(opts, sides);
	if (!err)
		err = opts->format == DIFF_FLAMEGRAPH ? write_page(opts, sides) :
							print_result(opts, sides, &grown);
	if (!err)
		err = output_flush_stdout();
	else if (err != -EIO)
		log_error("cannot compare the profiles: %s", strerror(-err));
	failed = sides[0].set.failed || sides[1].set.failed;
	for (i = 0; i < 2; i++)
		diff_side_free(&sides[i]);
	if (err || failed)
		return EXIT_FAILURE;
	return grown ? EXIT_GROWN : EXIT_SUCCESS;
}
