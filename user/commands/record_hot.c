// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_hot.c - the answer of a recording that has ended. See record_parts.h and record_hot.h. */
#include "commands/record_hot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/hot.h"
#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/memory_hint.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "commands/record_parts.h"
#include "commands/report_read.h"
#include "commands/show.h"
#include "commands/source_book.h"
#include "formats/readers.h"
#include "recording/recording.h"
#include "telemetry/command_label.h"

#define IDLE_NAMES 3
#define BUSY_CPUS 0.25		/* less CPU time: it mostly waits */
#define IDLE_HOST_PCT 10	/* less idle time: it may wait for a CPU */

/* What is read, and from which files. */
struct hot_read {
	const struct record_options *opts;
	struct profile_set set;
	struct hot *hot;
	struct source_book *book;
	uint64_t left;			/* events that may follow */
	uint64_t interval_us;
	bool cut;			/* there are more */
};

/* ---- reading ---- */

static int on_event(void *ctx, const struct event *ev)
{
	struct hot_read *r = ctx;

	if (!r->left)
		return -EFBIG;
	r->left--;	/* a run costs as much as a sample */
	return hot_event(r->hot, ev);
}

/* The mode that says which samples are waits. */
static enum profile_mode mode_of(const struct record_options *opts)
{
	return opts->event.kind != EVENT_NONE ? MODE_CPU :
	       opts->mode == RECORD_OFFCPU ? MODE_OFFCPU : record_modes[opts->mode].header;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *reader)
{
	const struct reader_info *info = reader_info(reader);
	struct hot_read *r = ctx;

	if (info->meta.unit != UNIT_SAMPLES)
		return 0;
	if (!r->hot)
		r->hot = hot_new(mode_of(r->opts));
	if (!r->hot)
		return -ENOMEM;
	r->interval_us = info->meta.interval_us;
	r->left -= r->left < HOT_FILE_EVENTS ? r->left : HOT_FILE_EVENTS;
	hot_begin(r->hot, reader_tables(reader), !file->process.tgid);
	reader_take(reader, EVENT_KEPT | EVENT_RUNS);
	return profile_set_run(&r->set, file, reader, on_event, r);
}

/* Reads what fits. 0 or -errno. */
static int hot_read(struct hot_read *r, const struct input_options *input, uint64_t limit)
{
	int err;

	r->left = limit;
	if (profile_set_open(&r->set, input->paths, input->path_cnt, &input->reader))
		return -EIO;
	r->set.filter = &input->filter;
	r->book = source_book_new(&r->set);
	if (r->book)
		source_book_only_kept(r->book);
	err = r->book ? profile_set_each(&r->set, add_profile, r) : -ENOMEM;
	r->cut = err == -EFBIG;
	return r->cut ? 0 : err;
}

static void hot_read_free(struct hot_read *r)
{
	source_book_free(r->book);
	hot_free(r->hot);
	profile_set_free(&r->set);
}

/* ---- tables ---- */

/* Makes the cells of a line with its source text. 0 or -ENOMEM. */
static int line_cells(struct hot_read *r, const struct hot_row *row, bool what,
		      struct record_cells *out)
{
	struct string_ref source = { "", 0 };

	if (row->kind == FRAME_PYTHON && row->line > 0)
		source = source_book_line(r->book, row->file, row->line);
	out->share = percent(row->weight, hot_total(r->hot));
	out->place = record_place(row->kind, row->file, row->func, row->line);
	out->rest = text_escape(source.data, source.len);
	out->what = what ? record_what(row->what) : NULL;
	if (!what && row->what.len && out->place) {	/* <GC>: beside the place */
		char *more = record_what(row->what), *both = NULL;

		if (!more || asprintf(&both, "%s %s", out->place, more) < 0)
			both = NULL;
		free(more);
		free(out->place);
		out->place = both;
	}
	return out->place && out->rest && (!what || out->what) ? 0 : -ENOMEM;
}

/* what: in a column of its own. most: rows. 0 or -ENOMEM. */
static int print_lines(struct hot_read *r, enum hot_table table, const char *heading, bool what,
		       size_t most)
{
	struct record_cells cells[HOT_ROWS] = { 0 };
	struct hot_row *rows;
	size_t cnt, i;
	int err = hot_rows(r->hot, table, &rows, &cnt);

	for (i = 0; !err && i < cnt && i < most; i++)
		err = line_cells(r, &rows[i], what, &cells[i]);
	if (!err && i) {
		record_heading(heading);
		record_cells_print(cells, i, CUT_RIGHT, false);
	}
	record_cells_free(cells, HOT_ROWS);
	free(rows);
	return err;
}

/* Functions, with the whole path of their hottest line. 0 or -ENOMEM. */
static int print_functions(struct hot_read *r, enum hot_table table, const char *heading)
{
	struct record_cells cells[HOT_ROWS] = { 0 };
	struct hot_row *rows;
	size_t cnt, i;
	int err = hot_functions(r->hot, table, &rows, &cnt);

	for (i = 0; !err && i < cnt && i < HOT_ROWS; i++) {
		cells[i].share = percent(rows[i].weight, hot_total(r->hot));
		cells[i].place = text_escape(rows[i].func.data, rows[i].func.len);
		cells[i].rest = show_place(rows[i].kind, &rows[i].file, rows[i].line);
		err = cells[i].place && cells[i].rest ? 0 : -ENOMEM;
	}
	if (!err && i) {
		record_heading(heading);
		record_cells_print(cells, i, CUT_LEFT, true);
	}
	record_cells_free(cells, HOT_ROWS);
	free(rows);
	return err;
}

/* ---- threads that wait for work ---- */

/* Appends "queue.get" of Queue.get() in queue.py. 0 or -ENOMEM. */
static int add_idle_name(struct buf *out, const struct hot_row *row)
{
	struct string_ref file = record_short_file(row->file), func = row->func;
	const char *dot = memrchr(func.data, '.', func.len);
	int err;

	if (file.len > 3 && !memcmp(file.data + file.len - 3, ".py", 3))
		file.len -= 3;
	if (dot) {
		func.len -= (size_t)(dot + 1 - func.data);
		func.data = dot + 1;
	}
	err = out->len ? buf_add(out, ", ", 2) : 0;
	if (!err)
		err = buf_add(out, file.data, file.len);
	if (!err)
		err = buf_add(out, ".", 1);
	if (!err)
		err = buf_add(out, func.data, func.len);
	return err;
}

/* One row for all of them. 0 or -ENOMEM. */
static int print_idle(struct hot_read *r)
{
	uint32_t threads = hot_threads(r->hot, true);
	struct buf names = { 0 };
	struct hot_row *rows;
	size_t cnt, i;
	char *shown = NULL;
	int err = hot_functions(r->hot, HOT_IDLES, &rows, &cnt);

	for (i = 0; !err && i < cnt && i < IDLE_NAMES; i++)
		err = add_idle_name(&names, &rows[i]);
	if (!err && cnt) {
		shown = text_escape((char *)names.data, names.len);
		fprintf(stderr, "  %6.2f %%  %u idle %s (in %s%s)\n",
			percent(hot_in_state(r->hot, HOT_IDLE), hot_total(r->hot)), threads,
			text_plural(threads, "thread", "threads"), shown ? shown : "?",
			cnt > IDLE_NAMES ? ", ..." : "");
	}
	free(shown);
	buf_free(&names);
	free(rows);
	return err;
}

static int print_waits(struct hot_read *r, const char *heading)
{
	int err = 0;

	if (hot_in_state(r->hot, HOT_WAITS))
		err = print_lines(r, HOT_WAITING, heading, true, HOT_ROWS);
	else if (!r->opts->idle)
		record_heading(heading);
	if (err || !hot_in_state(r->hot, HOT_IDLE))
		return err;
	return r->opts->idle ? print_lines(r, HOT_IDLES, "Where idle threads wait for work", true,
					   HOT_ROWS) : print_idle(r);
}

/* ---- processes ---- */

static int process_cells(const struct report_read *r, const struct report_row *row,
			 struct record_cells *out)
{
	const struct session_process *p = &r->profiles[row->profile]->process;
	const char *command = p->command ? p->command : "", *in = p->container;
	char label[COMMAND_LABEL_BYTES];
	int n;

	command_label(command, strlen(command), 0, label);
	if (!*label)
		escape_text(row->func.data, row->func.len, label, sizeof(label));
	n = p->tgid ? asprintf(&out->place, "%u %s", p->tgid, label) :
		      asprintf(&out->place, "%s", label);
	if (n < 0)
		out->place = NULL;
	out->share = percent(row->self, report_sample_cnt(r->report));
	out->rest = text_escape(in ? in : "", in ? strlen(in) : 0);
	return out->place && out->rest ? 0 : -ENOMEM;
}

static int function_cells(const struct report_read *r, const struct report_row *row,
			  struct record_cells *out)
{
	out->share = percent(row->self, report_sample_cnt(r->report));
	out->place = text_escape(row->func.data, row->func.len);
	out->rest = show_place(row->kind, &row->file, row->line);
	return out->place && out->rest ? 0 : -ENOMEM;
}

static int print_report_rows(struct report_read *r, const char *heading)
{
	bool functions = r->by == REPORT_BY_FUNCTION;
	struct record_cells cells[HOT_ROWS] = { 0 };
	size_t cnt, i;
	const struct report_row *rows = report_rows(r->report, REPORT_SORT_SELF, &cnt);
	int err = rows ? 0 : -ENOMEM;

	for (i = 0; !err && i < cnt && i < HOT_ROWS && rows[i].self; i++)
		err = (functions ? function_cells : process_cells)(r, &rows[i], &cells[i]);
	if (!err && i) {
		record_heading(heading);
		record_cells_print(cells, i, functions ? CUT_LEFT : CUT_RIGHT, functions);
	}
	record_cells_free(cells, HOT_ROWS);
	return err;
}

/* Prints the rows of the report command. Returns the weight that was read, 0: none. */
static uint64_t print_report(const struct input_options *input, enum report_by by, uint64_t limit,
			     const char *heading)
{
	struct report_read r;
	int err = report_read(&r, by, ROWS_OF_PYTHON, input, limit);
	uint64_t cnt = !err || err == -EFBIG ? report_sample_cnt(r.report) : 0;

	if (cnt)
		print_report_rows(&r, heading);
	report_read_free(&r);
	return cnt;
}

/* ---- the number ---- */

static void print_cpus(const struct record_options *opts, const struct recording_result *res)
{
	double cpus = res->elapsed_s > 0 ? res->cpu_s / res->elapsed_s : 0;
	long all = sysconf(_SC_NPROCESSORS_ONLN);

	fprintf(stderr, "CPU: %.2f of %ld %s", cpus, all,
		text_plural((uint64_t)all, "CPU", "CPUs"));
	if (cpus < BUSY_CPUS && !opts->select.all && !options_is_flight(&opts->flight)) {
		fprintf(stderr, ": it mostly waits%s; to see what for:\n  ",
			res->idle_pct < IDLE_HOST_PCT ? ", and the host is busy" : "");
		record_print_mode_command(opts, "wall");
	}
	fprintf(stderr, "\n");
}

static void print_state(const struct hot *h, enum hot_state state, const char *words, bool always)
{
	double share = percent(hot_in_state(h, state), hot_total(h));

	if (always || share >= 0.05)
		fprintf(stderr, "%s %.1f %% %s", state == HOT_RUNS ? "" : ",", share, words);
}

static double seconds_of(const struct hot_read *r, uint64_t weight)
{
	return (double)weight * (double)r->interval_us / 1e6;
}

static void print_number(const struct hot_read *r, const struct recording_result *res)
{
	const struct record_options *opts = r->opts;
	uint32_t threads = hot_threads(r->hot, false);
	const char *noun = text_plural(threads, "thread", "threads");
	double all_s = seconds_of(r, hot_total(r->hot));

	if (opts->event.kind != EVENT_NONE) {
		fprintf(stderr, "Events: %" PRIu64 ", %.1f per second\n", res->samples,
			res->elapsed_s > 0 ? (double)res->samples / res->elapsed_s : 0);
	} else if (opts->mode == RECORD_WALL || opts->mode == RECORD_ALL) {
		fprintf(stderr, "%u %s:", threads, noun);
		print_state(r->hot, HOT_RUNS, "running", true);
		print_state(r->hot, HOT_RUNNABLE, "waiting for a CPU", false);
		print_state(r->hot, HOT_WAITS, "waiting", true);
		print_state(r->hot, HOT_IDLE, "idle", false);
		fprintf(stderr, "\n");
	} else if (opts->mode == RECORD_OFFCPU) {
		fprintf(stderr, "Waited: %.2f s in %.2f s, by %u %s; idle: %.2f s of it\n", all_s,
			res->elapsed_s, threads, noun,
			seconds_of(r, hot_in_state(r->hot, HOT_IDLE)));
	} else if (opts->mode == RECORD_EXCEPTION) {
		fprintf(stderr, "Exceptions: raised or handled for %.2f s in %.2f s, by %u %s\n",
			all_s, res->elapsed_s, threads, noun);
	} else if (opts->mode == RECORD_CPU) {
		print_cpus(opts, res);
	}
}

/* ---- the answer of each mode ---- */

static int print_wall(struct hot_read *r)
{
	int err = print_waits(r, "Where threads wait (of the time of all threads)");

	return err ? err :
		     print_lines(r, HOT_LINES, "Where they run (or wait for a CPU)", false, 3);
}

/* rows of -a leave no room for functions. */
static int print_cpu(struct hot_read *r)
{
	int err = 0;

	if (r->opts->native)
		err = print_functions(r, HOT_C, "Hottest C functions (self, of all samples)");
	if (!err)
		err = print_lines(r, HOT_LINES, "Hottest lines (of all samples)", false, HOT_ROWS);
	if (!err && !r->opts->native && !r->opts->select.all)
		err = print_functions(r, HOT_LINES,
				      "Hottest functions (self, at their hottest line)");
	return err;
}

static int print_answer(struct hot_read *r, const struct recording_result *res)
{
	const struct record_options *opts = r->opts;

	if (opts->event.kind != EVENT_NONE)
		return print_lines(r, HOT_LINES, "Lines with the most events", false, HOT_ROWS);
	switch (opts->mode) {
	case RECORD_WALL: case RECORD_ALL:
		return print_wall(r);
	case RECORD_OFFCPU:
		return print_waits(r, "What threads wait for (of all time waited)");
	case RECORD_EXCEPTION:
		return print_lines(r, HOT_LINES, "Exceptions, and where they are handled", true,
				   HOT_ROWS);
	default:
		return print_cpu(r);
	}
}

static void say_cut(uint64_t samples)
{
	fprintf(stderr, "\nOf the first %" PRIu64 " %s: there are too many to read them all in a "
		"second.\n", samples, text_plural(samples, "sample", "samples"));
}

/* Returns true if there are samples. */
static bool print_time(const struct record_options *opts, const struct input_options *input,
		       const struct recording_result *res, uint64_t limit)
{
	struct hot_read r = { .opts = opts };
	int err = hot_read(&r, input, limit);
	bool any = !err && r.hot && hot_total(r.hot);

	if (any) {
		bool by_gil = opts->mode == RECORD_GIL && opts->event.kind == EVENT_NONE;
		int waited = by_gil ? record_print_gil(input, limit) : 1;

		if (!by_gil)
			print_number(&r, res);
		if (opts->select.all)
			print_report(input, REPORT_BY_PROCESS, limit,
				     "Busiest processes (of all samples)");
		if (waited)
			err = print_answer(&r, res);
		if (r.cut)
			say_cut(hot_total(r.hot));
	}
	if (err)
		log_error("cannot read the recording: %s", strerror(-err));
	hot_read_free(&r);
	return any;
}

static bool print_memory(const struct record_options *opts, const struct input_options *input,
			 uint64_t limit)
{
	bool exact = opts->capture.allocations;
	struct record_memory memory;

	record_print_types(input, &memory);
	if (!print_report(input, REPORT_BY_FUNCTION, limit, memory_heading(exact)))
		return false;
	if (opts->select.all)
		print_report(input, REPORT_BY_PROCESS, limit,
			     "Processes that hold the most (of all held memory)");
	if (!exact) {
		fprintf(stderr, "\n");
		memory_print_hint(stderr, memory.tgid, !memory.exited, memory.type,
				  text_terminal_width(stderr));
	}
	return true;
}

bool record_show_hot(const struct record_options *opts, const struct recording_paths *paths,
		     const struct recording_result *res, bool sampling)
{
	uint64_t limit = sampling ? HOT_EVENTS_WHILE_SAMPLING : HOT_EVENTS;
	struct input_options input;
	bool any;

	if (record_find_profiles(paths, &input) || !input.path_cnt) {
		free(input.paths);
		return false;
	}
	any = record_modes[opts->mode].memory ? print_memory(opts, &input, limit) :
						print_time(opts, &input, res, limit);
	free(input.paths);
	return any;
}

void record_show_next(const struct record_options *opts, const struct recording_paths *paths)
{
	struct input_options input;

	if (!record_find_profiles(paths, &input) && input.path_cnt)
		record_print_next(opts, &input);
	free(input.paths);
}
