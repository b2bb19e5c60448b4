// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_gil.c - tachbpf gil, and report --by gil: the results of analysis/gil.h for each process.
 *
 * Every profile is read twice. Conditions on time and process choose samples; conditions on
 * thread, status and names choose waits, whose holders may be in any sample. gil_json.c and
 * gil_text.c print the results.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/util.h"
#include "commands/gil_show.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "formats/readers.h"
#include "formats/tach/tach_profile.h"

/* The results of one profile. */
struct result {
	const struct profile_file *file;
	struct profile_meta meta;
	struct gil *gil;
	struct gil_rows *rows;
	struct session_gil exact;
	struct u64map exact_threads;
	bool free_threaded, other_format;
};

struct run {
	const struct gil_options *opts;
	struct profile_set *set;
	struct sample_filter_options samples;	/* opts->input.filter's conditions on samples; owns
						 * nothing */
	struct result **results;
	size_t result_cnt, result_cap;
};

/* ---- reading ---- */

static void free_exact_thread(struct gil_exact_thread *thread)
{
	free(thread->name);
	free(thread);
}

static void free_result(struct result *res)
{
	struct gil_exact_thread *thread;
	size_t pos = 0;

	while ((thread = u64map_next(&res->exact_threads, &pos)))
		free_exact_thread(thread);
	u64map_free(&res->exact_threads);
	gil_rows_free(res->rows);
	gil_free(res->gil);
	free(res);
}

static int add_exact_thread(void *ctx, uint64_t thread_id, const char *name,
			    const struct session_gil *gil)
{
	struct result *res = ctx;
	struct gil_exact_thread *thread;
	int err;

	if (u64map_get(&res->exact_threads, thread_id))
		return 0;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->name = name ? strdup(name) : NULL;
	thread->gil = *gil;
	err = name && !thread->name ? -ENOMEM :
				      u64map_put(&res->exact_threads, thread_id, thread);
	if (err)
		free_exact_thread(thread);
	return err;
}

/* Returns true if the filter selects waits: measured times, which cover all waits, do not apply. */
static bool selects_waits(const struct sample_filter_options *f)
{
	return f->thread_cnt || f->status_set || f->status_clear || f->from.given || f->to.given ||
	       f->focus || f->ignore;
}

static int read_session(struct result *res, const struct run *run)
{
	const struct session_json *session = res->file->session;

	if (!session)
		return 0;
	res->free_threaded = session_json_free_threaded(session, res->file->name);
	/* A file of several processes has no measured times. */
	if (selects_waits(&run->opts->input.filter) || !res->file->process.tgid)
		return 0;
	session_json_gil(session, res->file->name, &res->exact);
	return session_json_gil_threads(session, res->file->name, add_exact_thread, res);
}

static int run_twice(struct run *run, struct result *res, struct reader *r)
{
	bool quiet = run->set->quiet;
	int err;

	run->set->filter = &run->samples;
	err = profile_set_run(run->set, res->file, r, gil_hold_event, res->gil);
	if (!err)
		err = gil_holds_done(res->gil);
	run->set->filter = &run->opts->input.filter;
	if (!err) {
		run->set->quiet = true;		/* the first pass reported damage */
		err = profile_set_run(run->set, res->file, r, gil_wait_event, res->gil);
		run->set->quiet = quiet;
	}
	gil_waits_done(res->gil);
	return err;
}

/* Returns false after logging why the profile cannot be used. */
static bool is_usable(struct run *run, const struct profile_file *file, const struct reader *r)
{
	const char *why = NULL;

	if (!reader_tach_info(r))
		why = reader_info(r)->meta.unit == UNIT_BYTES ?
			      "this is a profile of memory, which has no data about the GIL: see "
			      "tachbpf mem" :
			      "its format has no data about the GIL: use TACH files";
	else if (!reader_info(r)->meta.interval_us)
		why = "it does not say how much time a sample represents";
	if (!why)
		return true;
	log_error("'%s': %s", file->shown, why);
	run->set->failed = true;
	return false;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct run *run = ctx;
	struct result *res;
	int err;

	if (!is_usable(run, file, r))
		return 0;
	res = calloc(1, sizeof(*res));
	if (!res)
		return -ENOMEM;
	res->file = file;
	res->meta = reader_info(r)->meta;
	res->meta.mode = profile_file_mode(file, res->meta.mode);
	res->meta.comm = res->meta.platform = NULL;	/* memory of the reader */
	res->gil = gil_new(&res->meta, reader_tables(r), !file->process.tgid);
	err = res->gil ? read_session(res, run) : -ENOMEM;
	if (!err && run->opts->html)
		err = gil_collect_cells(res->gil);
	if (!err)
		err = run_twice(run, res, r);
	if (!err) {
		res->rows = gil_rows_new(res->gil);
		err = res->rows ? array_add(run->results, run->result_cnt, run->result_cap, res) :
				  -ENOMEM;
	}
	if (err)
		free_result(res);
	return err;
}

/* ---- showing ---- */

static struct gil_section section_of(const struct run *run, size_t order, uint32_t number)
{
	const struct result *res = run->results[order];
	uint32_t cnt;
	const struct gil_process *p = &gil_processes(res->gil, &cnt)[number];

	return (struct gil_section){
		.file = res->file, .meta = &res->meta, .gil = res->gil, .rows = res->rows,
		.process = p, .number = number, .order = order,
		.known = gil_known(res->gil, p, res->free_threaded),
		.exact = res->exact, .threads = &res->exact_threads,
	};
}

/* The longest waits first; equal ones in the order of reading. */
static int compare_sections(const void *a, const void *b)
{
	const struct gil_section *x = a, *y = b;
	double wait_x = x->known == GIL_KNOWN ? gil_seconds(x, x->process->waited) : -1;
	double wait_y = y->known == GIL_KNOWN ? gil_seconds(y, y->process->waited) : -1;

	if (wait_x != wait_y)
		return wait_x > wait_y ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Returns false after logging why there is no page. */
static bool write_page(const struct run *run, const struct gil_report *r)
{
	struct output_file f;
	int err;

	if (output_open(&f, run->opts->html))
		return false;
	err = gil_write_page(f.fd, r, profile_out_title(&run->opts->input));
	if (!err)
		return !output_commit(&f);
	profile_out_complain(run->opts->html, err);
	output_abort(&f);
	return false;
}

static int print_report(const struct run *run)
{
	struct gil_report r = { .limit = run->opts->limit, .profile_cnt = run->result_cnt };
	size_t i, all = 0;
	uint32_t cnt, n;
	int err = 0;

	for (i = 0; i < run->result_cnt; i++) {
		gil_processes(run->results[i]->gil, &cnt);
		all += cnt;
	}
	r.sections = calloc(all + 1, sizeof(*r.sections));
	if (!r.sections)
		return -ENOMEM;
	for (i = 0; i < run->result_cnt; i++) {
		gil_processes(run->results[i]->gil, &cnt);
		for (n = 0; n < cnt; n++)
			r.sections[r.section_cnt++] = section_of(run, i, n);
	}
	qsort(r.sections, r.section_cnt, sizeof(*r.sections), compare_sections);
	if (run->opts->html)
		run->set->failed |= !write_page(run, &r);
	else if (run->opts->json)
		gil_print_json(&r, run->set);
	else
		err = gil_print_text(&r, run->set);
	free(r.sections);
	return err;
}

int gil_run(const struct gil_options *opts)
{
	struct profile_set set;
	struct run run = { .opts = opts, .set = &set };
	int err = profile_set_open(&set, opts->input.paths, opts->input.path_cnt,
				   &opts->input.reader);
	size_t i;

	if (err)
		goto out;
	set.filter = &opts->input.filter;
	run.samples = (struct sample_filter_options){
		.processes = opts->input.filter.processes,
		.process_cnt = opts->input.filter.process_cnt,
		.from = opts->input.filter.from, .to = opts->input.filter.to,
	};
	err = profile_set_each(&set, add_profile, &run);
	if (!err && !run.result_cnt)
		goto out;	/* none could be used, each was logged */
	if (!err)
		err = print_report(&run);
	if (err)
		log_error("cannot analyse the GIL: %s", strerror(-err));
	else
		err = output_flush_stdout();
out:
	if (set.failed)
		err = -EIO;	/* already reported */
	for (i = 0; i < run.result_cnt; i++)
		free_result(run.results[i]);
	free(run.results);
	profile_set_free(&set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
