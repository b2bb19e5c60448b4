// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_diff.c - tachbpf diff: the rows of analysis/diff.h as a table or JSON, or a flame graph.
 */
#include "base/text.h"
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/diff.h"
#include "base/json.h"
#include "base/output.h"
#include "base/util.h"
#include "commands/limit.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "formats/html/flamegraph.h"
#include "formats/readers.h"
#include "model/profile_names.h"

/* Columns of the numbers in front of the names, with their gaps. */
#define NUMBER_COLUMNS 46
#define NAME_COLUMNS 60

/* One of the two sides, A or B. */
struct side {
	struct profile_set set;
	struct report *report;		/* for a table or JSON, else NULL */
	struct flamegraph *graph;	/* for a flame graph, else NULL */
	enum profile_unit unit;
	size_t profile_cnt;
};

static int graph_event(void *ctx, const struct event *ev)
{
	return flamegraph_event(ctx, ev);
}

static int add_to_graph(struct side *s, const struct profile_file *file, struct reader *r)
{
	char platform[PROFILE_PLATFORM_BYTES];
	struct profile_meta meta = reader_info(r)->meta;
	struct profile_stats stats = reader_info(r)->stats;
	int err;

	profile_file_context(file, &meta, &stats, platform);
	err = flamegraph_begin(s->graph, &meta, reader_tables(r));
	if (!err)
		err = profile_set_run(&s->set, file, r, graph_event, s->graph);
	return err ? err : flamegraph_end(s->graph, &stats);
}

static int add_to_report(struct side *s, const struct profile_file *file, struct reader *r)
{
	int err = report_begin(s->report, reader_tables(r), file->name);

	if (!err)
		err = profile_set_run(&s->set, file, r, report_event, s->report);
	return err ? err : report_end(s->report);
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	enum profile_unit unit = reader_info(r)->meta.unit;
	struct side *s = ctx;
	int err;

	if (s->profile_cnt && s->unit != unit) {
		log_error("'%s' counts %s and the files before it %s: leave one out", file->shown,
			  profile_unit_name(unit), profile_unit_name(s->unit));
		return -EIO;
	}
	s->unit = unit;
	err = s->graph ? add_to_graph(s, file, r) : add_to_report(s, file, r);
	s->profile_cnt += !err;
	return err;
}

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
	json_string_n(j, "function", row->func.data, row->func.len);
	if (frame_kind_has_file(row->kind))
		json_string_n(j, "file", row->file.data, row->file.len);
	else
		json_null(j, "file");
	if (row->line > 0)
		json_int(j, "line", row->line);
	else
		json_null(j, "line");
	json_side(j, "a", row, 0);
	json_side(j, "b", row, 1);
	json_double(j, "self_delta", row->self_delta);
	json_double(j, "total_delta", row->total_delta);
	json_object_end(j);
}

static void print_json(const struct diff_options *opts, const struct side *sides,
		       const struct diff_row *rows, size_t cnt, size_t all)
{
	static const char *const keys[] = { "a", "b" };
	struct json j;
	size_t i;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	for (i = 0; i < 2; i++) {
		json_object(&j, keys[i]);
		json_string(&j, "path", opts->input.paths[i]);
		json_string(&j, "unit", profile_unit_name(sides[i].unit));
		json_uint(&j, "samples", report_sample_cnt(sides[i].report));
		json_uint(&j, "profiles", sides[i].profile_cnt);
		json_object_end(&j);
	}
	json_uint(&j, "row_count", all);
	json_array(&j, "rows");
	for (i = 0; i < cnt; i++)
		json_row(&j, &rows[i]);
	json_array_end(&j);
	json_object_end(&j);
}

/* ---- the table ---- */

/* The row's "FILE:LINE", "" if it has no file; to be freed. NULL: out of memory. */
static char *place_of(const struct diff_row *row)
{
	char *file, *place = NULL;

	if (!frame_kind_has_file(row->kind))
		return strdup("");
	file = text_escape(row->file.data, row->file.len);
	if (!file || row->line <= 0)
		return file;
	if (asprintf(&place, "%s:%d", file, row->line) < 0)
		place = NULL;
	free(file);
	return place;
}

static int print_row(const struct diff_row *row, const struct text_column *names,
		     const struct text_column *places)
{
	char *name = text_escape(row->func.data, row->func.len), *place = place_of(row);

	if (name && place) {
		printf("%6.2f %6.2f %+7.2f  %6.2f %6.2f %+7.2f  ", row->self_pct[0],
		       row->self_pct[1], row->self_delta, row->total_pct[0], row->total_pct[1],
		       row->total_delta);
		text_cell(stdout, names, name, *place);
		text_cell(stdout, places, place, false);
		printf("\n");
	}
	free(name);
	free(place);
	return name && place ? 0 : -ENOMEM;
}

static int print_table(const struct diff_options *opts, const struct side *sides,
		       const struct diff_row *rows, size_t cnt, size_t all)
{
	struct text_column names = { .width = NAME_COLUMNS, .cut = CUT_RIGHT };
	struct text_column places = { .cut = CUT_LEFT };
	size_t terminal = text_terminal_width(stdout), i;
	int err = 0;

	/* A long name is cut on a terminal; elsewhere it moves the rest of its row. */
	names.spill = !terminal;
	for (i = 0; i < 2; i++) {
		char *shown = text_escape(opts->input.paths[i], strlen(opts->input.paths[i]));

		printf("%c: %s: %llu %s\n", "AB"[i], shown ? shown : "?",
		       (unsigned long long)report_sample_cnt(sides[i].report),
		       profile_unit_name(sides[i].unit));
		free(shown);
	}
	if (terminal > NUMBER_COLUMNS + 20) {
		names.width = (terminal - NUMBER_COLUMNS) / 2 - 1;
		places.width = terminal - NUMBER_COLUMNS - names.width - 2;
	} else if (terminal) {
		names.width = places.width = 10;
	}
	printf("\nself A      B   delta  totalA      B   delta  %-*s  file:line\n",
	       (int)names.width, "function");
	for (i = 0; !err && i < cnt; i++)
		err = print_row(&rows[i], &names, &places);
	if (!err)
		limit_print_more("", all, cnt);
	return err;
}

static int print(const struct diff_options *opts, struct side *sides)
{
	size_t all, cnt;
	struct diff_row *rows = diff_rows(sides[0].report, sides[1].report, opts->sort, &all);
	int err = 0;

	if (!rows)
		return -ENOMEM;
	cnt = limit_rows(opts->limit, all);
	if (opts->json)
		print_json(opts, sides, rows, cnt, all);
	else
		err = print_table(opts, sides, rows, cnt, all);
	free(rows);
	return err;
}

/* 0; -EIO: nothing could be read, and that was logged; -ENOMEM. */
static int read_side(struct side *s, const struct diff_options *opts, size_t i)
{
	int err = profile_set_open(&s->set, &opts->input.paths[i], 1, &opts->input.reader);

	if (err)
		return -EIO;
	s->set.filter = &opts->input.filter;
	if (opts->format)
		s->graph = flamegraph_new();
	else
		s->report = report_new(REPORT_BY_FUNCTION);
	if (!s->report && !s->graph)
		return -ENOMEM;
	err = profile_set_each(&s->set, add_profile, s);
	return err || s->profile_cnt ? err : -EIO;
}

/* Write the flame graph's page. 0; -EIO after logging. */
static int write_page(const struct diff_options *opts, struct side *sides)
{
	bool to_stdout = !strcmp(opts->output, "-");
	struct output_file file = { .fd = STDOUT_FILENO };
	int err = to_stdout ? 0 : output_open(&file, opts->output);

	if (err)
		return -EIO;
	err = flamegraph_diff(file.fd, sides[0].graph, opts->input.paths[0], sides[1].graph,
			      opts->input.paths[1]);
	if (err)
		profile_out_complain(to_stdout ? "standard output" : opts->output, err);
	if (to_stdout)
		return err ? -EIO : 0;
	if (!err)
		return output_commit(&file) ? -EIO : 0;
	output_abort(&file);
	return -EIO;
}

int diff_run(const struct diff_options *opts)
{
	struct side sides[2] = { 0 };
	bool failed;
	int err, i;

	err = read_side(&sides[0], opts, 0);
	if (!err)
		err = read_side(&sides[1], opts, 1);
	if (!err && sides[0].unit != sides[1].unit) {
		log_error("A counts %s and B %s: these cannot be compared",
			  profile_unit_name(sides[0].unit), profile_unit_name(sides[1].unit));
		err = -EIO;
	}
	if (!err)
		err = opts->format ? write_page(opts, sides) : print(opts, sides);
	if (!err)
		err = output_flush_stdout();
	else if (err != -EIO)
		log_error("cannot compare the profiles: %s", strerror(-err));
	failed = sides[0].set.failed || sides[1].set.failed;
	for (i = 0; i < 2; i++) {
		report_free(sides[i].report);
		flamegraph_free(sides[i].graph);
		profile_set_free(&sides[i].set);
	}
	return err || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
