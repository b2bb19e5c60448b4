// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_report.c - tachbpf report: the rows of analysis/report.h as a table or JSON.
 */
#include "base/arith.h"
#include "base/colour.h"
#include "base/text.h"
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/json.h"
#include "base/output.h"
#include "base/util.h"
#include "commands/limit.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "formats/readers.h"
#include "model/process_frame.h"
#include "model/profile_names.h"
#include "model/thread_names.h"

/* Columns of the numbers; the widest column of names where no terminal limits it. */
#define NUMBER_COLUMNS 28
#define ALIGN_COLUMNS 60

struct run {
	const struct report_options *opts;
	struct profile_set *set;
	struct report *report;
	const struct profile_file **profiles;	/* by report_row.profile */
	size_t profile_cnt;
	enum profile_mode mode;
	bool modes_differ;
	enum profile_unit unit;			/* of the first profile: others are refused */
	bool timed;				/* at least one profile knows how long it took */
	double longest_s;
	/* Of the profile being read: */
	uint64_t last_us;
	const struct profile_file *file;
	struct process_root root;
	uint32_t *row_of;			/* by root frame: 1 + the row of its process, 0:
						 * none; NULL: the file is of one process */
	uint32_t row_of_rest;			/* 1 + the row of samples without a process frame,
						 * 0: none */
	bool spare_row;				/* the file's own row is not used so far */
};

/* What is printed of a row. */
struct line {
	const struct report_row *row;
	char *id;	/* by process, thread: the number; else NULL */
	char *name;
	char *place;
};

static int append_profile(struct run *run, const struct profile_file *file)
{
	const struct profile_file **profiles;

	profiles = reallocarray(run->profiles, run->profile_cnt + 1, sizeof(*profiles));
	if (!profiles)
		return -ENOMEM;
	run->profiles = profiles;
	run->profiles[run->profile_cnt++] = file;
	return 0;
}

/* The label of the file's row. By container, "" means that the process is in none. */
static const char *label_of(const struct run *run, const struct profile_file *file)
{
	if (run->opts->by == REPORT_BY_CONTAINER)
		return file->process.container ? file->process.container : "";
	return file->process.comm ? file->process.comm : file->name;
}

static bool by_process(const struct run *run)
{
	return run->opts->by == REPORT_BY_PROCESS || run->opts->by == REPORT_BY_CONTAINER;
}

/* Make a row for one of the processes in the file; the first one gets the file's own row. */
static int new_row(struct run *run, const struct profile_file *file, uint32_t *row)
{
	const char *label = label_of(run, file);
	int err = 0;

	if (run->spare_row) {
		run->spare_row = false;
		run->profiles[run->profile_cnt - 1] = file;
		report_rename(run->report, label);
	} else {
		run->set->many = true;
		err = append_profile(run, file);
		if (!err)
			err = report_begin(run->report, run->root.tables, label);
	}
	*row = run->profile_cnt;
	return err;
}

/*
 * By process, in a file of several: select the row of the process in run->root, or of samples
 * without a process frame. 0 or -ENOMEM.
 */
static int select_row(struct run *run, bool is_process)
{
	uint32_t *row = is_process ? &run->row_of[run->root.frame] : &run->row_of_rest;
	const struct profile_file *file = run->file;
	int err = 0;

	if (!*row && is_process) {
		const char *in = *run->root.container ? run->root.container :
							file->process.container;
		struct profile_file *inner = profile_set_inner(run->set, file, run->root.tgid,
							       run->root.comm, in);

		if (!inner)
			return -ENOMEM;
		inner->process.command = file->process.command;
		file = inner;
	}
	if (!*row)
		err = new_row(run, file, row);
	if (!err)
		report_select(run->report, *row - 1);
	return err;
}

static int on_event(void *ctx, const struct event *ev)
{
	struct run *run = ctx;
	struct event inner = *ev;
	bool is_process;
	int err = 0;

	if (ev->time_us > run->last_us)
		run->last_us = ev->time_us;
	if (run->row_of) {
		is_process = process_root_of(&run->root, ev);
		inner.nframes -= is_process;	/* its frame is no function */
		if (by_process(run))
			err = select_row(run, is_process);
	}
	return err ? err : report_event(run->report, &inner);
}

/* 0; -EMEDIUMTYPE after logging that its unit differs from that of the others; -ENOMEM. */
static int begin_profile(struct run *run, const struct profile_file *file,
			 const struct reader_info *info)
{
	if (run->profile_cnt && run->unit != info->meta.unit) {
		log_error("'%s': counts %s, what came before it %s: give it a report of its own",
			  file->shown, profile_unit_name(info->meta.unit),
			  profile_unit_name(run->unit));
		run->set->failed = true;
		return -EMEDIUMTYPE;
	}
	if (run->profile_cnt && run->mode != info->meta.mode)
		run->modes_differ = true;
	run->mode = info->meta.mode;
	run->unit = info->meta.unit;
	run->timed |= info->timed;
	return append_profile(run, file);
}

/* Prepare for a file; if its process is unknown, it may be of several processes. 0 or -ENOMEM. */
static int prepare_processes(struct run *run, const struct profile_file *file,
			     const struct profile_tables *tables)
{
	run->file = file;
	run->row_of_rest = 0;
	run->spare_row = true;
	free(run->row_of);
	run->row_of = NULL;
	run->root = (struct process_root){ .tables = tables };
	if (file->process.tgid)
		return 0;
	run->row_of = calloc((size_t)tables->frame_cnt + 1, sizeof(*run->row_of));
	return run->row_of ? 0 : -ENOMEM;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	struct run *run = ctx;
	double seconds;
	int err;

	err = begin_profile(run, file, info);
	if (err)
		return err == -EMEDIUMTYPE ? 0 : err;
	run->last_us = info->meta.start_us;
	err = prepare_processes(run, file, reader_tables(r));
	if (err)
		return err;
	err = report_begin(run->report, reader_tables(r), label_of(run, file));
	if (!err)
		err = profile_set_run(run->set, file, r, on_event, run);
	if (!err)
		err = report_end(run->report);
	if (!info->timed)
		return err;
	seconds = info->stats.known ? info->stats.duration_s :
				      (run->last_us - info->meta.start_us) / 1e6;
	if (seconds > run->longest_s)
		run->longest_s = seconds;
	return err;
}

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

static void json_row(struct json *j, const struct run *run, const struct report_row *row)
{
	uint64_t samples = report_sample_cnt(run->report);

	json_object(j, NULL);
	if (by_code(run)) {
		json_string_n(j, "function", row->func.data, row->func.len);
		if (frame_kind_has_file(row->kind))
			json_string_n(j, "file", row->file.data, row->file.len);
		else
			json_null(j, "file");
		if (row->line > 0)
			json_int(j, "line", row->line);
		else
			json_null(j, "line");
		json_uint(j, "total", row->total);
		json_double(j, "total_pct", percent(row->total, samples));
	} else if (run->opts->by == REPORT_BY_CONTAINER) {
		json_string(j, "container", row->func.len ? row->func.data : NULL);
		json_string(j, "image", run->profiles[row->profile]->process.image);
		json_uint(j, "processes", row->profile_cnt);
	} else {
		const struct profile_file *file = run->profiles[row->profile];

		json_string(j, "path", file->path);
		if (file->process.tgid)
			json_uint(j, "pid", file->process.tgid);
		else
			json_null(j, "pid");
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

static void print_json(const struct run *run, const struct report_row *rows, size_t cnt,
		       size_t all)
{
	struct json j;
	size_t i;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	json_array(&j, "paths");
	for (i = 0; i < run->profile_cnt; i++)
		json_string(&j, NULL, run->profiles[i]->path);
	json_array_end(&j);
	json_string(&j, "unit", profile_unit_name(run->unit));
	json_uint(&j, "samples", report_sample_cnt(run->report));
	if (run->timed)
		json_double(&j, "duration_s", run->longest_s);
	else
		json_null(&j, "duration_s");
	json_string(&j, "mode", run->modes_differ ? "mixed" : profile_mode_name(run->mode));
	json_uint(&j, "row_count", all);
	json_array(&j, "rows");
	for (i = 0; i < cnt; i++)
		json_row(&j, run, &rows[i]);
	json_array_end(&j);
	json_object_end(&j);
}

/* ---- the table ---- */

static int line_of_code(struct line *line)
{
	const struct report_row *row = line->row;
	char *file;

	line->name = text_escape(row->func.data, row->func.len);
	if (!frame_kind_has_file(row->kind)) {
		line->place = strdup("");
		return line->name && line->place ? 0 : -ENOMEM;
	}
	file = text_escape(row->file.data, row->file.len);
	if (file && row->line > 0) {
		if (asprintf(&line->place, "%s:%d", file, row->line) < 0)
			line->place = NULL;
		free(file);
	} else {
		line->place = file;
	}
	return line->name && line->place ? 0 : -ENOMEM;
}

/* The number of processes, the container, its image. */
static int line_of_container(const struct run *run, struct line *line)
{
	const struct profile_file *file = run->profiles[line->row->profile];
	const char *image = file->process.image ? file->process.image : "";

	if (asprintf(&line->id, "%u", line->row->profile_cnt) < 0)
		line->id = NULL;
	line->name = line->row->func.len ? text_escape(line->row->func.data, line->row->func.len) :
					   strdup("(none)");
	line->place = text_escape(image, strlen(image));
	return line->id && line->name && line->place ? 0 : -ENOMEM;
}

static int line_of_process(const struct run *run, struct line *line)
{
	const struct profile_file *file = run->profiles[line->row->profile];
	const char *command = file->process.command ? file->process.command : "";
	char label[THREAD_LABEL_BYTES];
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
	line->place = text_escape(command, strlen(command));
	return line->id && line->name && line->place ? 0 : -ENOMEM;
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
};

/* Distribute the columns that the numbers leave on the terminal to names and places. */
static void share(struct table *t, size_t place, size_t left, bool has_id)
{
	if (has_id) {
		t->id.width = t->id.width + 2 < left / 2 ? t->id.width : left / 2 - 2;
		left -= t->id.width + 2;
	}
	if (t->name.width + place > left && t->name.width > left / 2)
		t->name.width = place < left / 2 ? left - place : left / 2;
	t->place.width = left - t->name.width;
}

static struct table fit(const struct line *lines, size_t cnt, enum report_by by)
{
	size_t terminal = text_terminal_width(stdout), place = 0, i;
	struct table t = {
		/* The end of an id matters most. Without a terminal, a long name is not cut. */
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
		share(&t, place, terminal - NUMBER_COLUMNS - 4, lines[0].id);
	else if (t.name.width > ALIGN_COLUMNS)
		t.name.width = ALIGN_COLUMNS;
	return t;
}

static void put_header(const struct run *run, FILE *out)
{
	const struct report_options *opts = run->opts;
	char *shown = text_escape(opts->input.paths[0], strlen(opts->input.paths[0]));
	bool one = run->profile_cnt == 1;
	char mode[32];

	snprintf(mode, sizeof(mode), "%s mode", profile_mode_name(run->mode));
	if (opts->input.path_cnt == 1 && shown)
		fprintf(out, "%s", shown);
	if (opts->input.path_cnt == 1 && run->set->many)
		fprintf(out, ", ");
	if (opts->input.path_cnt > 1 || run->set->many)
		fprintf(out, "%zu %s", run->profile_cnt, one ? "process" : "processes");
	fprintf(out, ": %llu %s", (unsigned long long)report_sample_cnt(run->report),
		profile_unit_name(run->unit));
	if (run->timed)
		fprintf(out, ", %s%.2f s", one ? "" : "up to ", run->longest_s);
	if (run->mode != MODE_UNKNOWN || run->modes_differ)
		fprintf(out, ", %s", run->modes_differ ? "several modes" : mode);
	free(shown);
}

static int print_header(const struct run *run)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int err = -ENOMEM;

	if (out) {
		put_header(run, out);
		err = fclose(out) ? -ENOMEM : 0;
	}
	if (!err) {
		text_wrap(stdout, text, 0, text_terminal_width(stdout));
		printf("\n");
	}
	free(text);
	return err;
}

/* As perf's report has them: from 5 % on, from 0.5 % on. */
static enum colour colour_of(double share)
{
	return share >= 5 ? COLOUR_RED : share >= 0.5 ? COLOUR_GREEN : COLOUR_NONE;
}

static void print_share(double share, int width)
{
	enum colour colour = colour_of(share);

	printf("%s%*.2f%s", colour_on(stdout, colour), width, share,
	       colour == COLOUR_NONE ? "" : colour_off(stdout));
}

static void print_line(const struct run *run, const struct line *line, const struct table *t)
{
	uint64_t samples = report_sample_cnt(run->report);
	const struct report_row *row = line->row;

	if (line->id) {
		print_share(percent(row->self, samples), 8);
		printf("  %10llu  ", (unsigned long long)row->self);
		text_cell(stdout, &t->id, line->id, true);
	} else {
		print_share(percent(row->self, samples), 7);
		print_share(percent(row->total, samples), 9);
		printf("  %10llu  ", (unsigned long long)row->self);
	}
	text_cell(stdout, &t->name, line->name, *line->place);
	text_cell(stdout, &t->place, line->place, false);
	printf("\n");
}

static void print_lines(const struct run *run, const struct line *lines, size_t cnt)
{
	/* The column is too narrow for "nanoseconds". */
	const char *what = run->unit == UNIT_NANOSECONDS ? "ns" : profile_unit_name(run->unit);
	enum report_by by = run->opts->by;
	struct table t = fit(lines, cnt, by);
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
		err = by_code(run) ? line_of_code(&lines[i]) :
		      run->opts->by == REPORT_BY_CONTAINER ? line_of_container(run, &lines[i]) :
							     line_of_process(run, &lines[i]);
	}
	if (!err)
		err = print_header(run);
	if (!err) {
		if (cnt)
			print_lines(run, lines, cnt);
		limit_print_more("", all, cnt);
	}
	for (i = 0; lines && i < cnt; i++) {
		free(lines[i].id);
		free(lines[i].name);
		free(lines[i].place);
	}
	free(lines);
	return err;
}

static int print(struct run *run)
{
	const struct report_row *rows;
	size_t all, cnt;
	int err = 0;

	rows = report_rows(run->report, run->opts->sort, &all);
	if (!rows)
		return -ENOMEM;
	cnt = limit_rows(run->opts->limit, all);
	if (run->opts->json)
		print_json(run, rows, cnt, all);
	else
		err = print_table(run, rows, cnt, all);
	return err;
}

int report_run(const struct report_options *opts)
{
	struct profile_set set;
	struct run run = { .opts = opts, .set = &set };
	int err;

	if (opts->by == REPORT_BY_GIL)
		return gil_run(&(struct gil_options){ opts->input, opts->limit, opts->json });
	err = profile_set_open(&set, opts->input.paths, opts->input.path_cnt, &opts->input.reader);
	if (err)
		goto out;
	set.filter = &opts->input.filter;
	run.report = report_new(opts->by);
	err = run.report ? profile_set_each(&set, add_profile, &run) : -ENOMEM;
	if (!err && !run.profile_cnt)
		goto out;	/* none could be read: logged for each */
	if (!err)
		err = print(&run);
	if (err)
		log_error("cannot make the report: %s", strerror(-err));
	else
		err = output_flush_stdout();
out:
	if (set.failed)
		err = -EIO;	/* reported where it happened */
	report_free(run.report);
	free(run.row_of);
	free(run.profiles);
	profile_set_free(&set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
