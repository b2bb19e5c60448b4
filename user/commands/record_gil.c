// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_gil.c - who waits for whom, in a few rows: tachbpf gil has all of it. See record_hot.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/gil_show.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "commands/record_hot.h"
#include "formats/readers.h"
#include "formats/tach/tach_profile.h"
#include "model/thread_names.h"

#define SECONDS_COLUMNS 26	/* "  %8.2f s  %6.2f %%  " and a little */

/* The process that waited most so far. */
struct worst {
	struct profile_set set;
	uint64_t left;
	struct gil *gil;
	struct gil_rows *rows;
	struct profile_meta meta;
	const struct profile_file *file;
	uint32_t number;	/* of the process */
	double waited_s;
	int (*pass)(void *ctx, const struct event *ev);
	struct gil *reading;
};

static int on_event(void *ctx, const struct event *ev)
{
	struct worst *w = ctx;

	if (w->left <= ev->more)
		return -EFBIG;
	w->left -= (uint64_t)ev->more + 1;
	return w->pass(w->reading, ev);
}

/* Passes as many events as there may be. 0 or -errno; the part that fits is no error. */
static int run_pass(struct worst *w, const struct profile_file *file, struct reader *reader,
		    int (*pass)(void *ctx, const struct event *ev))
{
	int err;

	w->pass = pass;
	err = profile_set_run(&w->set, file, reader, on_event, w);
	return err == -EFBIG ? 0 : err;
}

static int read_twice(struct worst *w, const struct profile_file *file, struct reader *reader)
{
	uint64_t left = w->left;
	bool quiet = w->set.quiet;
	int err = run_pass(w, file, reader, gil_hold_event);

	if (!err)
		err = gil_holds_done(w->reading);
	w->left = left;
	w->set.quiet = true;		/* the first pass reported damage */
	if (!err)
		err = run_pass(w, file, reader, gil_wait_event);
	w->set.quiet = quiet;
	gil_waits_done(w->reading);
	return err;
}

/* Keeps what was read if one of its processes has waited longer. 0 or -ENOMEM. */
static int keep_worst(struct worst *w, const struct profile_file *file,
		      const struct profile_meta *meta)
{
	uint32_t cnt, i;
	const struct gil_process *p = gil_processes(w->reading, &cnt);
	bool better = false;

	for (i = 0; i < cnt; i++) {
		double waited_s = (double)p[i].waited * (double)meta->interval_us / 1e6;

		if (w->gil && waited_s <= w->waited_s)
			continue;
		w->waited_s = waited_s;
		w->number = i;
		if (!better && w->gil) {
			gil_rows_free(w->rows);
			gil_free(w->gil);
		}
		w->gil = w->reading;
		better = true;
	}
	if (!better)
		return 0;
	w->reading = NULL;
	w->file = file;
	w->meta = *meta;
	w->meta.comm = w->meta.platform = NULL;		/* memory of the reader */
	w->rows = gil_rows_new(w->gil);
	return w->rows ? 0 : -ENOMEM;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *reader)
{
	struct profile_meta meta = reader_info(reader)->meta;
	struct worst *w = ctx;
	int err;

	if (!reader_tach_info(reader) || !meta.interval_us || w->left <= HOT_FILE_EVENTS)
		return 0;
	w->left -= HOT_FILE_EVENTS;
	meta.mode = profile_file_mode(file, meta.mode);
	w->reading = gil_new(&meta, reader_tables(reader), !file->process.tgid);
	if (!w->reading)
		return -ENOMEM;
	err = read_twice(w, file, reader);
	if (!err)
		err = keep_worst(w, file, &meta);
	gil_free(w->reading);
	w->reading = NULL;
	return err;
}

/* ---- output ---- */

static void print_seconds(const struct gil_section *s, uint64_t samples)
{
	fprintf(stderr, "  %8.2f s  %6.2f %%  ", gil_seconds(s, samples),
		percent(samples, s->process->waited));
}

/* Returns a line of the process as text, to be freed; NULL: no memory. */
static char *line_place(const struct gil_section *s, uint32_t line)
{
	const struct profile_tables *t = gil_tables(s->gil);
	const struct frame *f;
	uint32_t cnt;

	if (line == GIL_NO_LINE)
		return strdup("(holder not seen)");
	f = &t->frames[gil_lines(s->gil, &cnt)[line].place];
	return record_place(f->kind, t->strings[f->file], t->strings[f->func], f->line);
}

static int print_pairs(const struct gil_section *s)
{
	struct gil_order order = gil_rows_pairs(s->rows, s->number);
	size_t terminal = text_terminal_width(stderr), half;
	struct text_column column = { .cut = CUT_RIGHT };
	uint32_t i;
	int err = 0;

	half = ((terminal ? terminal : TEXT_COLUMNS) - SECONDS_COLUMNS - 6) / 2;
	column.width = half;
	record_heading("Who waits for whom (waiting line, line that holds the GIL)");
	for (i = 0; !err && i < order.cnt && i < HOT_ROWS; i++) {
		struct gil_pair pair = gil_pair(s->gil, order.ids[i]);
		char *waiter = line_place(s, pair.waiter), *holder = line_place(s, pair.holder);

		err = waiter && holder ? 0 : -ENOMEM;
		if (!err) {
			print_seconds(s, pair.waited);
			text_cell(stderr, &column, waiter, true);
			fprintf(stderr, "for ");
			text_cell(stderr, &column, holder, false);
			fprintf(stderr, "\n");
		}
		free(waiter);
		free(holder);
	}
	return err;
}

static void print_threads(const struct gil_section *s)
{
	struct gil_order order = gil_rows_threads(s->rows, s->number);
	char label[THREAD_LABEL_BYTES];
	uint32_t cnt, i;
	const struct gil_thread *threads = gil_threads(s->gil, &cnt);

	record_heading("Threads, by the time they waited");
	for (i = 0; i < order.cnt && i < HOT_ROWS; i++) {
		const struct gil_thread *t = &threads[order.ids[i]];

		print_seconds(s, t->waited);
		fprintf(stderr, "%s", thread_label(s->file->process.thread_names, t->thread_id,
						   t->is_main ? "main thread " : "thread ",
						   label));
		if (!gil_no_holders(s))
			fprintf(stderr, ", held it %.2f s", gil_seconds(s, t->held));
		fprintf(stderr, "\n");
	}
}

static void print_number(const struct gil_section *s)
{
	struct gil_order order = gil_rows_threads(s->rows, s->number);
	uint32_t cnt, i, waiting = 0, all = gil_rows_thread_cnt(s->rows, s->number);
	const struct gil_thread *threads = gil_threads(s->gil, &cnt);

	for (i = 0; i < order.cnt; i++)
		waiting += threads[order.ids[i]].waited > 0;
	if (gil_reason(s)) {
		fprintf(stderr, "The GIL: %s\n", gil_reason(s));
		return;
	}
	fprintf(stderr, "Waited for the GIL: %.2f s in %.2f s, by %u of %u %s",
		gil_seconds(s, s->process->waited), gil_observed_s(s), waiting, all,
		text_plural(all, "thread", "threads"));
	if (!gil_no_holders(s))
		fprintf(stderr, "; GIL held %.1f %%", gil_utilisation(s, s->process->held));
	fprintf(stderr, "\n");
}

static int print_worst(const struct worst *w)
{
	uint32_t cnt;
	const struct gil_process *p = &gil_processes(w->gil, &cnt)[w->number];
	bool free_threaded = w->file->session &&
			     session_json_free_threaded(w->file->session, w->file->name);
	struct gil_section s = {
		.file = w->file, .meta = &w->meta, .gil = w->gil, .rows = w->rows, .process = p,
		.number = w->number, .known = gil_known(w->gil, p, free_threaded),
	};
	int err;

	print_number(&s);
	if (gil_reason(&s) || !p->waited)
		return 1;
	err = print_pairs(&s);
	if (!err)
		print_threads(&s);
	return err;
}

int record_print_gil(const struct input_options *input, uint64_t limit)
{
	struct worst w = { .left = limit };
	int err = profile_set_open(&w.set, input->paths, input->path_cnt, &input->reader);

	w.set.filter = &input->filter;
	if (!err)
		err = profile_set_each(&w.set, add_profile, &w);
	if (!err)
		err = w.gil ? print_worst(&w) : 1;
	gil_rows_free(w.rows);
	gil_free(w.gil);
	profile_set_free(&w.set);
	return err;
}
