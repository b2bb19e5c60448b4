// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_report.c - tachbpf report: the rows of analysis/report.h as a table or JSON.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/arith.h"
#include "base/colour.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/report_show.h"
#include "commands/show.h"
#include "model/profile_names.h"
#include "model/thread_names.h"
#include "telemetry/command_label.h"

/* Columns of the numbers; the widest column of names if no terminal limits it. */
#define NUMBER_COLUMNS 28
#define ALIGN_COLUMNS 60

struct run {
	const struct report_options *opts;
	struct report_read read;
};

/* The texts of a row. */
struct line {
	const struct report_row *row;
	char *id;	/* by process, thread: the number; else NULL */
	char *name;
	char *place;
};

static bool by_code(const struct run *run)
{
	return run->opts->by == REPORT_BY_FUNCTION || run->opts->by == REPORT_BY_LINE;
}

/* ---- JSON ---- */

static void json_thread(struct json *j, const struct profile_file *file,
			const struct report_row *row)
{
	json_uint(j, "thread", row->thread_id);
	json_string(j, "thread_name",
		    thread_names_find(file->process.thread_names, row->thread_id));
	json_bool(j, "main", row->main);
}

/* Writes the keys of OpenTelemetry, of the row's first profile. */
static void json_service(struct json *j, const struct run *run, const struct report_row *row)
{
	const struct named_service *n = run->read.profiles[row->profile]->service;
	bool by_version = run->opts->by == REPORT_BY_VERSION;
	int i;

	for (i = 0; i < SERVICE_PART_CNT; i++) {
		if (i != SERVICE_HOST && (i != SERVICE_VERSION || by_version))
			json_string(j, service_part_keys[i], n ? n->of.part[i] : NULL);
	}
	json_uint(j, "profiles", row->profile_cnt);
}

static void json_row(struct json *j, const struct run *run, const struct report_row *row)
{
	uint64_t samples = report_sample_cnt(run->read.report);

	json_object(j, NULL);
	if (by_code(run)) {
		show_json_row(j, &row->func, row->kind, &row->file, row->line);
		json_uint(j, "total", row->total);
		json_double(j, "total_pct", percent(row->total, samples));
	} else if (run->opts->by == REPORT_BY_CONTAINER) {
		json_string(j, "container", row->func.len ? row->func.data : NULL);
		json_string(j, "image", run->read.profiles[row->profile]->process.image);
		json_uint(j, "processes", row->profile_cnt);
	} else if (report_joins(run->opts->by)) {
		json_service(j, run, row);
	} else {
		const struct profile_file *file = run->read.profiles[row->profile];

		json_string(j, "path", file->path);
		json_uint_known(j, "pid", file->process.tgid);
		json_string(j, "comm", file->process.comm);
		json_string(j, "command", file->process.command);
		json_string(j, "container", file->process.container);
		if (run->opts->by == REPORT_BY_THREAD)
			json_thread(j, file, row);
	}
	json_uint(j, "self", row->self);
	json_double(j, "self_pct", percent(row->self, samples));
	json_object_end(j);
}

/* Returns the samples that no row has. */
static uint64_t outside_rows(const struct run *run, const struct report_row *rows, size_t cnt)
{
	uint64_t left = report_sample_cnt(run->read.report);
	size_t i;

	for (i = 0; i < cnt; i++)
		left -= rows[i].self < left ? rows[i].self : left;
	return left;
}

static void print_json(const struct run *run, const struct report_row *rows, size_t cnt,
		       size_t all)
{
	struct json j;
	size_t i;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	report_json_head(&j, &run->read);
	json_uint(&j, "row_count", all);
	json_array(&j, "rows");
	for (i = 0; i < cnt; i++)
		json_row(&j, run, &rows[i]);
	json_array_end(&j);
	report_json_foot(&j, run->opts, &run->read, outside_rows(run, rows, all));
	json_object_end(&j);
}

/* ---- the table ---- */

static void line_of_code(struct line *line)
{
	line->name = text_escape(line->row->func.data, line->row->func.len);
	line->place = show_place(line->row->kind, &line->row->file, line->row->line);
}

/* Returns what is shown next to the container or service: its image, its environment. */
static const char *joined_place(const struct run *run, const struct profile_file *file)
{
	const char *place = run->opts->by == REPORT_BY_CONTAINER ? file->process.image :
			    file->service ? file->service->of.part[SERVICE_ENVIRONMENT] : NULL;

	return place ? place : "";
}

/* Sets the number of profiles, and what they are joined by. */
static void line_of_joined(const struct run *run, struct line *line)
{
	const char *place = joined_place(run, run->read.profiles[line->row->profile]);

	if (asprintf(&line->id, "%u", line->row->profile_cnt) < 0)
		line->id = NULL;
	line->name = line->row->func.len ? text_escape(line->row->func.data, line->row->func.len) :
					   strdup("(none)");
	line->place = text_escape(place, strlen(place));
}

static void line_of_process(const struct run *run, struct line *line)
{
	const struct profile_file *file = run->read.profiles[line->row->profile];
	const char *command = file->process.command ? file->process.command : "";
	char label[THREAD_LABEL_BYTES], program[COMMAND_LABEL_BYTES];
	int n;

	if (run->opts->by == REPORT_BY_THREAD)
		n = asprintf(&line->id, "%s%s", line->row->main ? "main " : "",
			     thread_label(file->process.thread_names, line->row->thread_id, "",
					  label));
	else if (file->process.tgid)
		n = asprintf(&line->id, "%u", file->process.tgid);
	else
		n = asprintf(&line->id, "-");
	if (n < 0)
		line->id = NULL;
	line->name = text_escape(line->row->func.data, line->row->func.len);
	/* A terminal has no room for paths of interpreters. */
	line->place = text_terminal_width(stdout) ?
		      strdup(command_label(command, strlen(command), 0, program)) :
		      text_escape(command, strlen(command));
}

struct table {
	struct text_column id, name, place;
};

static const struct {
	const char *id, *name, *place;	/* headings */
} columns[] = {
	[REPORT_BY_FUNCTION] = { NULL, "function", "file:line" },
	[REPORT_BY_LINE] = { NULL, "function", "file:line" },
	[REPORT_BY_PROCESS] = { "pid", "process", "command" },
	[REPORT_BY_THREAD] = { "thread", "process", "command" },
	[REPORT_BY_CONTAINER] = { "processes", "container", "image" },
	[REPORT_BY_SERVICE] = { "profiles", "service", "environment" },
	[REPORT_BY_VERSION] = { "profiles", "service version", "environment" },
};

/* Distributes the columns that the numbers leave on the terminal to names and places. */
static void share_columns(struct table *t, size_t place, size_t left, bool has_id)
{
	if (has_id) {
		t->id.width = t->id.width + 2 < left / 2 ? t->id.width : left / 2 - 2;
		left -= t->id.width + 2;
	}
	if (t->name.width + place > left && t->name.width > left / 2)
		t->name.width = place < left / 2 ? left - place : left / 2;
	t->place.width = left - t->name.width;
}

static struct table fit_table(const struct line *lines, size_t cnt, enum report_by by)
{
	size_t terminal = text_terminal_width(stdout), place = 0, i;
	struct table t = {
		/* The end of an id is the most important. Without a terminal, a name is not cut. */
		.id = { .width = 6, .cut = CUT_LEFT, .right = true },
		.name = { .width = strlen(columns[by].name), .cut = CUT_RIGHT, .spill = !terminal },
		.place = { .cut = lines[0].id ? CUT_RIGHT : CUT_LEFT },
	};

	if (columns[by].id)
		t.id.width = text_widest(t.id.width, columns[by].id);
	for (i = 0; i < cnt; i++) {
		if (lines[i].id)
			t.id.width = text_widest(t.id.width, lines[i].id);
		t.name.width = text_widest(t.name.width, lines[i].name);
		place = text_widest(place, lines[i].place);
	}
	if (terminal)
		share_columns(&t, place, terminal - NUMBER_COLUMNS - 4, lines[0].id);
	else if (t.name.width > ALIGN_COLUMNS)
		t.name.width = ALIGN_COLUMNS;
	return t;
}

static void print_line(const struct run *run, const struct line *line, const struct table *t)
{
	uint64_t samples = report_sample_cnt(run->read.report);
	const struct report_row *row = line->row;
	char amount[SHOW_AMOUNT_BYTES];

	show_amount(row->self, run->read.unit, amount);
	if (line->id) {
		report_print_share(percent(row->self, samples), 8);
		printf("  %10s  ", amount);
		text_cell(stdout, &t->id, line->id, true);
	} else {
		report_print_share(percent(row->self, samples), 7);
		report_print_share(percent(row->total, samples), 9);
		printf("  %10s  ", amount);
	}
	text_cell(stdout, &t->name, line->name, *line->place);
	text_cell(stdout, &t->place, line->place, false);
	printf("\n");
}

static void print_lines(const struct run *run, const struct line *lines, size_t cnt)
{
	const char *what = show_unit(run->read.unit);
	enum report_by by = run->opts->by;
	struct table t = fit_table(lines, cnt, by);
	size_t i;

	printf("%s", colour_on(stdout, COLOUR_BOLD));
	if (columns[by].id)
		printf("%8s  %10s  %*s  ", "share %", what, (int)t.id.width, columns[by].id);
	else
		printf("%7s %8s  %10s  ", "self %", "total %", what);
	printf("%-*s  %s%s\n", (int)t.name.width, columns[by].name, columns[by].place,
	       colour_off(stdout));
	for (i = 0; i < cnt; i++)
		print_line(run, &lines[i], &t);
}

static int print_table(const struct run *run, const struct report_row *rows, size_t cnt,
		       size_t all)
{
	struct line *lines = calloc(cnt + 1, sizeof(*lines));
	int err = lines ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; !err && i < cnt; i++) {
		lines[i].row = &rows[i];
		if (by_code(run))
			line_of_code(&lines[i]);
		else if (report_joins(run->opts->by))
			line_of_joined(run, &lines[i]);
		else
			line_of_process(run, &lines[i]);
		if (!lines[i].name || !lines[i].place || (!by_code(run) && !lines[i].id))
			err = -ENOMEM;
	}
	if (!err)
		err = report_print_head(run->opts, &run->read);
	if (!err) {
		printf("\n");
		if (cnt)
			print_lines(run, lines, cnt);
		limit_print_more("", all, cnt);
		report_print_foot(run->opts, &run->read, outside_rows(run, rows, all));
	}
	for (i = 0; lines && i < cnt; i++) {
		free(lines[i].id);
		free(lines[i].name);
		free(lines[i].place);
	}
	free(lines);
	return err;
}

static int print_report(struct run *run)
{
	const struct report_row *rows;
	size_t all, cnt;
	int err = 0;

	if (run->opts->annotate)
		return annotate_show(run->opts, &run->read);
	rows = report_rows(run->read.report, run->opts->sort, &all);
	if (!rows)
		return -ENOMEM;
	cnt = limit_rows(run->opts->limit, all);
	if (run->opts->json)
		print_json(run, rows, cnt, all);
	else
		err = print_table(run, rows, cnt, all);
	return err;
}

static enum report_rows_of rows_of(const struct report_options *opts)
{
	if (opts->mine)
		return ROWS_OF_PROJECT;
	return opts->detail ? ROWS_OF_FRAMES : opts->native ? ROWS_OF_FUNCTIONS : ROWS_OF_PYTHON;
}

int report_run(const struct report_options *opts)
{
	struct run run = { .opts = opts };
	int err;

	if (opts->by == REPORT_BY_GIL)
		return gil_run(&(struct gil_options){ opts->input, opts->limit, opts->json, NULL });
	err = report_read(&run.read, opts->annotate ? REPORT_BY_SOURCE_LINE : opts->by,
			  rows_of(opts), &opts->input, 0);
	if (!err)
		err = print_report(&run);
	if (!err)
		err = output_flush_stdout();
	else if (err != -EIO && err != -ENOENT)
		log_error("cannot create the report: %s", strerror(-err));
	if (run.read.set.failed)
		err = -EIO;	/* already reported */
	report_read_free(&run.read);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
