// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_mem.c - tachbpf mem: who allocated the memory of Memlyze traces and still holds it, and
 * whether the files follow the rules of their format.
 */
#include "commands/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/output.h"
#include "base/util.h"
#include "commands/show.h"
#include "commands/mem_show.h"
#include "commands/mem_types.h"
#include "commands/profile_set.h"
#include "formats/foreign.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/readers.h"

#define WHY_BYTES 256
#define TYPES_SHOWN 10		/* more are in the JSON */

struct run {
	const struct mem_options *opts;
	struct profile_set set;
	struct memory_rows *rows;	/* of all files */
	struct json json;
	uint32_t intervals;		/* the maximum of all files */
	size_t shown;			/* files whose rows were read */
	bool pages, blocks, exited;	/* as in struct mem_rows, like the next line */
	uint32_t pid;
	char type[HEAP_NAME_BYTES];
	bool failed;			/* a file could not be read or is damaged */
};

static void report_damage(struct run *run, const struct mem_trace *t)
{
	char shown[WHY_BYTES * 2];

	log_error("'%s': rule %d (%s) broken at byte %" PRIu64 ": %s", t->shown, t->error.rule,
		  mlyze_rule_name(t->error.rule), t->error.off,
		  escape_text(t->error.text, strlen(t->error.text), shown, sizeof(shown)));
	run->failed = true;
}

/*
 * If the file is something other than a Memlyze trace, the error's text says what. False: its
 * format is unknown, or it is a damaged trace.
 */
static bool is_other(struct mem_trace *t, const struct profile_file *file)
{
	char *why = t->error.text;
	const size_t why_size = sizeof(t->error.text);
	const struct reader_ops *format = reader_detect(t->in);
	bool event = file->session && session_json_event(file->session);

	if (t->error.rule != MLYZE_RULE_MAGIC)
		return false;
	if (foreign_explain(t->in, why, why_size))
		return true;
	if (format == &reader_tach)
		snprintf(why, why_size, "this is a profile of %s, not of memory: see "
			 "tachbpf report", event ? "events" : "time");
	else if (format)
		snprintf(why, why_size, "this is a profile in the format %s, but mem reads mlyze: "
			 "see tachbpf report", format->name);
	return format;
}

/* The file says more about its process than its name or the JSON next to it. */
static void identify_trace(struct mem_trace *t, const struct profile_file *file)
{
	const struct session_process *p = &file->process;

	t->pid = t->notes.pid ? t->notes.pid : p->tgid;
	t->comm = t->notes.comm ? t->notes.comm : p->comm;
	t->container = t->notes.container ? t->notes.container : p->container;
}

/*
 * 0, with t->error set if the header is damaged; -EBADMSG after logging why it cannot be opened;
 * -ENOMEM.
 */
static int open_trace(struct run *run, struct mem_trace *t, const struct profile_file *file)
{
	char why[WHY_BYTES];
	int err;

	t->path = file->path;
	t->shown = file->shown;
	t->in = input_map(t->path, why, sizeof(why));
	if (!t->in) {
		log_error("'%s': %s", t->shown, why);
		run->failed = true;
		return -EBADMSG;
	}
	t->file = mlyze_open(t->in->data, t->in->size, &t->error);
	if (!t->file)
		return t->error.rule ? 0 : -ENOMEM;
	err = mlyze_notes_read(t->file, &t->notes);
	identify_trace(t, file);
	return err;
}

static void close_trace(struct mem_trace *t)
{
	type_growths_free(&t->types);
	memory_list_free(&t->list);
	mlyze_stats_free(&t->stats);
	mlyze_notes_free(&t->notes);
	mlyze_free(t->file);
	input_unmap(t->in);
}

/* none: the result if the time was not given. */
static uint64_t time_of_filter(const struct sample_filter_time *time, uint64_t start_us,
			       uint64_t none)
{
	if (!time->given)
		return none;
	return time->absolute ? time->us : add_capped(start_us, time->us);
}

static int add_up(struct run *run, struct mem_trace *t, const struct profile_file *file)
{
	const struct sample_filter_options *range = &run->opts->input.filter;
	uint64_t start = mlyze_start_us(t->file);
	struct memory_source source = { .file = t->file, .notes = &t->notes, .pid = t->pid,
					.comm = t->comm, .container = t->container,
					.names = t->notes.names ? t->notes.names :
							file->process.thread_names };
	struct memory_scope scope = { .by = run->opts->by,
				      .from_us = time_of_filter(&range->from, start, 0),
				      .to_us = time_of_filter(&range->to, start, 0),
				      .intervals = run->opts->intervals };
	int err;

	err = memory_rows_add(run->rows, &source, &scope, &t->stats, &t->list);
	if (err)
		return err;
	if (t->stats.damaged)
		t->error = t->stats.error;
	err = type_growths_read(&t->notes, t->stats.start_us, t->stats.end_us, &t->types);
	if (err)
		return err;
	t->grown = memory_grown(&t->notes, t->stats.start_us, t->stats.end_us);
	if (t->list.intervals > run->intervals)
		run->intervals = t->list.intervals;
	return 0;
}

/* Returns the rows to show: sorted, and only those that leak if requested. */
static struct mem_rows sorted_rows(const struct run *run, struct memory_row *list, size_t cnt,
				   bool of_file)
{
	const struct mem_options *o = run->opts;
	struct mem_rows rows = {
		.all = run->rows, .list = list, .of_file = of_file, .pages = run->pages,
		.blocks = run->blocks, .pid = run->shown == 1 ? run->pid : 0, .exited = run->exited,
		.type = run->shown == 1 ? run->type : "",
	};

	rows.cnt = memory_rows_sort(list, cnt, o->sort, o->leaks);
	rows.shown = limit_rows(o->limit, rows.cnt);
	return rows;
}

static void note_how(struct run *run, const struct mem_trace *t)
{
	const char *first = mem_types_first(&t->types);
	bool blocks = t->notes.exact || t->notes.sampled.bursts;

	run->pages |= t->notes.recorded && !blocks;
	run->blocks |= t->notes.recorded && blocks;
	run->exited = t->notes.exited;
	run->pid = t->pid;
	snprintf(run->type, sizeof(run->type), "%s", first ? first : "");
}

static void show_file(struct run *run, struct mem_trace *t)
{
	const struct mem_options *o = run->opts;
	struct mem_rows rows;

	run->shown++;
	note_how(run, t);
	if (!o->json) {
		if (limit_rows(o->limit, run->shown) < run->shown)
			return;
		if (run->shown > 1)
			printf("\n");
		mem_text_file(o, t);
		if (run->set.file_cnt == 1)
			mem_types_print(&t->types, o->limit < TYPES_SHOWN ? o->limit : TYPES_SHOWN);
		return;
	}
	rows = sorted_rows(run, t->list.rows, t->list.cnt, true);
	mem_json_file(&run->json, o, t, &rows);
}

static int check_file(struct run *run, struct mem_trace *t)
{
	struct mlyze_stats stats;
	int err = 0;

	if (t->file && !t->error.rule)
		err = mlyze_stats_collect(t->file, NULL, &stats);
	if (err)
		return err;
	if (t->file && !t->error.rule) {
		if (stats.damaged)
			t->error = stats.error;
		mlyze_stats_free(&stats);
	}
	if (t->error.rule)
		report_damage(run, t);
	if (run->opts->json)
		mem_json_file(&run->json, run->opts, t, NULL);
	else if (!t->error.rule)
		printf("%s: valid\n", t->shown);
	return 0;
}

static void report_other(struct run *run, const struct mem_trace *t)
{
	log_error("'%s': %s", t->shown, t->error.text);
	run->failed = true;
	if (run->opts->json)
		mem_json_file(&run->json, run->opts, t, NULL);
}

static int do_file(struct run *run, const struct profile_file *file)
{
	struct mem_trace t = { 0 };
	int err = open_trace(run, &t, file);

	if (!err && !t.file && !run->opts->validate && is_other(&t, file)) {
		report_other(run, &t);
	} else if (!err && (!t.file || run->opts->validate)) {
		err = check_file(run, &t);
	} else if (!err) {
		err = add_up(run, &t, file);
		if (!err && t.error.rule)
			report_damage(run, &t);
		if (!err)
			show_file(run, &t);
	}
	close_trace(&t);
	return err == -EBADMSG ? 0 : err;
}

/* Prints the rows of all files. */
static int show_rows(struct run *run)
{
	const struct mem_options *o = run->opts;
	size_t cnt;
	struct memory_row *list = memory_rows_list(run->rows, &cnt);
	struct mem_rows rows;

	if (!list)
		return -ENOMEM;
	rows = sorted_rows(run, list, cnt, false);
	if (o->json) {
		mem_json_rows(&run->json, o, &rows);
	} else if (run->shown) {
		limit_print_more("\nfiles: ", run->shown, limit_rows(o->limit, run->shown));
		mem_text_rows(o, &rows, run->intervals,
			      sample_filter_has_time(&o->input.filter));
	}
	free(list);
	return 0;
}

static int show_files(struct run *run)
{
	const struct mem_options *o = run->opts;
	size_t i;
	int err = run->rows ? 0 : -ENOMEM;

	if (o->json) {
		json_start(&run->json, stdout, true);
		json_object(&run->json, NULL);
		json_array(&run->json, "files");
	}
	for (i = 0; !err && i < run->set.file_cnt; i++)
		err = do_file(run, &run->set.files[i]);
	if (o->json)
		json_array_end(&run->json);
	if (!err && !o->validate)
		err = show_rows(run);
	if (o->json)
		json_object_end(&run->json);
	return err;
}

/* --html: a flame graph of all stacks. */
static int write_page(const struct mem_options *opts)
{
	struct convert_options convert = { .input = opts->input };

	convert.export.format = &sink_flamegraph;
	convert.export.output = opts->html;
	return convert_run(&convert);
}

int mem_run(const struct mem_options *opts)
{
	struct run run = { .opts = opts };
	int err;

	if (opts->html)
		return write_page(opts);
	run.rows = memory_rows_new(opts->by);
	if (profile_set_open(&run.set, opts->input.paths, opts->input.path_cnt, NULL))
		run.failed = true;
	err = show_files(&run);
	if (err)
		log_error("cannot read the traces: %s", strerror(-err));
	else
		err = output_flush_stdout();
	run.failed |= run.set.failed;
	memory_rows_free(run.rows);
	profile_set_free(&run.set);
	return err || run.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
