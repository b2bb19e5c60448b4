// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* report_read.c - see report_read.h. */
#include "commands/report_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_parts.h"
#include "formats/readers.h"
#include "model/profile_names.h"

#define EVENTS_PER_PROFILE 1000		/* opening a file takes as long as this many */

static int append_profile(struct report_read *r, const struct profile_file *file)
{
	return array_add(r->profiles, r->profile_cnt, r->profile_cap, file);
}

/* Returns the label of the file's row. By container, "" means that the process is in none. */
static const char *label_of(const struct report_read *r, const struct profile_file *file)
{
	if (r->by == REPORT_BY_CONTAINER)
		return file->process.container ? file->process.container : "";
	return file->process.comm ? file->process.comm : file->name;
}

static bool by_process(const struct report_read *r)
{
	return r->by == REPORT_BY_PROCESS || r->by == REPORT_BY_CONTAINER;
}

/* Makes a row for one of the processes in the file; the first one gets the file's own row. */
static int new_row(struct report_read *r, const struct profile_file *file, uint32_t *row)
{
	const char *label = label_of(r, file);
	int err = 0;

	if (r->spare_row) {
		r->spare_row = false;
		r->profiles[r->profile_cnt - 1] = file;
		report_rename(r->report, label);
	} else {
		r->set.many = true;
		err = append_profile(r, file);
		if (!err)
			err = report_begin(r->report, r->root.tables, label);
	}
	*row = r->profile_cnt;
	return err;
}

/*
 * By process, in a file of several: selects the row of the process in r->root, or of samples
 * without a process frame. 0 or -ENOMEM.
 */
static int select_row(struct report_read *r, bool is_process)
{
	const struct profile_file *file = r->file;
	uint32_t row = r->row_of_rest;
	int err = 0;

	if (is_process && !id_map_get(&r->row_of, r->root.frame, &row))
		row = 0;
	if (!row && is_process) {
		const char *in = *r->root.container ? r->root.container :
							file->process.container;
		struct profile_file *inner = profile_set_inner(&r->set, file, r->root.tgid,
							       r->root.comm, in);

		if (!inner)
			return -ENOMEM;
		inner->process.command = file->process.command;
		file = inner;
	}
	if (!row) {
		err = new_row(r, file, &row);
		if (!is_process)
			r->row_of_rest = row;
		else if (!err)
			err = id_map_set(&r->row_of, r->root.frame, row);
	}
	if (!err)
		report_select(r->report, row - 1);
	return err;
}

/* 0 or -ENOMEM. */
static int add_event(struct report_read *r, const struct event *ev)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->report_cnt; i++)
		err = report_event(r->reports[i], ev);
	return err;
}

/* Takes an event of a file that may be of several processes. */
static int on_shared_event(struct report_read *r, const struct event *ev)
{
	bool is_process = process_root_of(&r->root, ev);
	struct event inner = *ev;
	int err = by_process(r) ? select_row(r, is_process) : 0;

	inner.nframes -= is_process;	/* its frame is not a function */
	inner.kept_1 -= is_process && inner.kept_1 > 1;
	return err ? err : add_event(r, &inner);
}

static int on_event(void *ctx, const struct event *ev)
{
	struct report_read *r = ctx;

	if (r->limited) {
		if (!r->left)
			return -EFBIG;
		r->left--;	/* a run costs as much as a sample */
	}
	if (ev->time_us > r->last_us)
		r->last_us = ev->time_us;
	return r->shared ? on_shared_event(r, ev) : add_event(r, ev);
}

/* Notes the mode of the profile's samples, and whether it is the same in all profiles. */
static void note_mode(struct report_read *r, const struct profile_file *file,
		      enum profile_mode mode)
{
	const char *event = file->session ? session_json_event(file->session) : NULL;

	if (!r->profile_cnt)
		r->event = event;
	else if (r->mode != mode || !r->event != !event || (event && strcmp(event, r->event)))
		r->modes_differ = true;
	r->mode = mode;
}

/*
 * 0; -EMEDIUMTYPE after logging that its unit differs from the others', which is not a failure if
 * the file itself has several; -ENOMEM.
 */
static int begin_profile(struct report_read *r, const struct profile_file *file,
			 const struct reader_info *info)
{
	if (r->profile_cnt && r->unit != info->meta.unit && r->profiles[0]->path == file->path) {
		log_info("'%s' also counts %s, which are not in this report", file->shown,
			 profile_unit_name(info->meta.unit));
		return -EMEDIUMTYPE;
	}
	if (r->profile_cnt && r->unit != info->meta.unit) {
		log_error("'%s' counts %s, but the files before it count %s: report it separately",
			  file->shown, profile_unit_name(info->meta.unit),
			  profile_unit_name(r->unit));
		r->set.failed = true;
		return -EMEDIUMTYPE;
	}
	note_mode(r, file, profile_file_mode(file, info->meta.mode));
	r->unit = info->meta.unit;
	r->timed |= info->timed || info->stats.known;
	r->left -= r->left < EVENTS_PER_PROFILE ? r->left : EVENTS_PER_PROFILE;
	return append_profile(r, file);
}

/* Prepares for a file; if its process is unknown, it may be of several processes. */
static void prepare_processes(struct report_read *r, const struct profile_file *file,
			      const struct profile_tables *tables)
{
	r->file = file;
	r->row_of_rest = 0;
	r->spare_row = true;
	r->shared = !file->process.tgid;
	id_map_clear(&r->row_of);
	r->root = (struct process_root){ .tables = tables };
}

/* Begins or ends the profile in all reports. 0 or -ENOMEM. */
static int begin_reports(struct report_read *r, const struct profile_tables *tables,
			 const char *label)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->report_cnt; i++)
		err = report_begin(r->reports[i], tables, label);
	return err;
}

static int end_reports(struct report_read *r)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->report_cnt; i++)
		err = report_end(r->reports[i]);
	return err;
}

/* Notes how long the profile took, and when it ended. */
static void note_times(struct report_read *r, const struct profile_file *file,
		       const struct reader_info *info)
{
	double seconds = info->stats.known ? info->stats.duration_s :
					     (r->last_us - info->meta.start_us) / 1e6;
	uint64_t utc_ns = info->meta.start_utc_ns;

	if (!utc_ns && file->session)
		utc_ns = session_json_utc_ns(file->session, info->meta.start_us);
	if (utc_ns && seconds > 0 && seconds < 1e9)
		utc_ns += (uint64_t)(seconds * 1e9);
	if (seconds > r->longest_s)
		r->longest_s = seconds;
	if (utc_ns > r->end_utc_ns)
		r->end_utc_ns = utc_ns;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *reader)
{
	const struct reader_info *info = reader_info(reader);
	struct report_read *r = ctx;
	int err;

	err = begin_profile(r, file, info);
	if (err)
		return err == -EMEDIUMTYPE ? 0 : err;
	r->last_us = info->meta.start_us;
	prepare_processes(r, file, reader_tables(reader));
	err = begin_reports(r, reader_tables(reader), label_of(r, file));
	reader_take(reader, EVENT_KEPT | EVENT_RUNS);
	if (!err)
		err = profile_set_run(&r->set, file, reader, on_event, r);
	if (!err || err == -EFBIG)	/* what was read counts */
		err = end_reports(r) ? -ENOMEM : err;
	if (info->timed || info->stats.known)
		note_times(r, file, info);
	return err;
}

/* NULL: no memory. */
static struct report *make_report(const struct report_read *r, enum report_by by)
{
	struct report *report = report_new(by);

	if (report && r->rows == ROWS_OF_FUNCTIONS)
		report_show_native(report);
	if (report && r->rows == ROWS_OF_FRAMES)
		report_show_detail(report);
	if (report && r->rows == ROWS_OF_PROJECT)
		report_show_mine(report);
	return report;
}

/* 0 or -ENOMEM. */
static int make_reports(struct report_read *r)
{
	size_t cnt = r->by == REPORT_BY_SOURCE_LINE ? ANNOTATE_REPORTS : 1;

	for (; r->report_cnt < cnt; r->report_cnt++) {
		struct report *report = make_report(r, cnt > 1 ? annotate_needs[r->report_cnt] :
								 r->by);

		if (!report)
			return -ENOMEM;
		r->reports[r->report_cnt] = report;
	}
	r->report = r->reports[0];
	return 0;
}

static void free_all_but_set(void *ctx)
{
	struct report_read *r = ctx;
	size_t i;

	for (i = 0; i < r->report_cnt; i++)
		report_free(r->reports[i]);
	id_map_free(&r->row_of);
	free(r->profiles);
}

/* ---- a part of the files: profile_parts.h ---- */

static int part_begin(void *ctx, const void *whole)
{
	const struct report_read *r = whole;
	struct report_read *part = ctx;

	part->by = r->by;
	part->rows = r->rows;
	return make_reports(part);
}

/* Profiles that begin_profile() would reject do not fit. */
static bool part_fits(const void *first, const void *part)
{
	const struct report_read *a = first, *b = part;

	return a->profile_cnt && b->profile_cnt && a->unit == b->unit;
}

static bool modes_differ(const struct report_read *r, const struct report_read *part)
{
	return part->modes_differ || r->mode != part->mode || !r->event != !part->event ||
	       (r->event && strcmp(r->event, part->event));
}

static int part_join(void *whole, void *from)
{
	struct report_read *r = whole, *part = from;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->report_cnt; i++)
		err = report_merge(r->reports[i], part->reports[i]);
	if (!r->profile_cnt) {
		r->event = part->event;
		r->modes_differ = part->modes_differ;
	} else if (modes_differ(r, part)) {
		r->modes_differ = true;
	}
	r->mode = part->mode;
	r->unit = part->unit;
	r->timed |= part->timed;
	r->longest_s = part->longest_s > r->longest_s ? part->longest_s : r->longest_s;
	r->end_utc_ns = part->end_utc_ns > r->end_utc_ns ? part->end_utc_ns : r->end_utc_ns;
	for (i = 0; !err && i < part->profile_cnt; i++)
		err = append_profile(r, part->profiles[i]);
	return err;
}

static const struct profile_parts_ops parts = {
	.bytes = sizeof(struct report_read), .begin = part_begin, .add = add_profile,
	.fits = part_fits, .join = part_join, .end = free_all_but_set,
};

int report_read(struct report_read *r, enum report_by by, enum report_rows_of rows,
		const struct input_options *input, uint64_t limit)
{
	int err;

	*r = (struct report_read){ .by = by, .rows = rows, .limited = limit > 0, .left = limit };
	if (profile_set_open(&r->set, input->paths, input->path_cnt, &input->reader))
		return -EIO;
	r->set.filter = &input->filter;
	err = make_reports(r);
	if (!err)
		err = r->limited ? 1 : profile_parts_read(&r->set, &parts, r);
	if (err > 0)
		err = profile_set_each(&r->set, add_profile, r);
	return err || r->profile_cnt ? err : -EIO;	/* each was logged */
}

void report_read_free(struct report_read *r)
{
	free_all_but_set(r);
	profile_set_free(&r->set);
	memset(r, 0, sizeof(*r));
}
