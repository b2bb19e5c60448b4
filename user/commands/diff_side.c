// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* diff_side.c - see diff_side.h. Reads a side into a report or into a flame graph. */
#include "commands/diff_side.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "formats/readers.h"
#include "model/profile_names.h"

static int graph_event(void *ctx, const struct event *ev)
{
	return flamegraph_event(ctx, ev);
}

static int add_to_graph(struct diff_side *s, const struct profile_file *file, struct reader *r)
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

static int add_to_report(struct diff_side *s, const struct profile_file *file, struct reader *r)
{
	int err = report_begin(s->report, reader_tables(r), file->name);

	if (!err)
		err = profile_set_run(&s->set, file, r, report_event, s->report);
	return err ? err : report_end(s->report);
}

static void note_mode(struct diff_side *s, const struct profile_meta *meta)
{
	if (profile_mode_known(meta->mode))
		s->modes |= 1u << meta->mode;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	enum profile_unit unit = reader_info(r)->meta.unit;
	struct diff_side *s = ctx;
	int err;

	if (s->moment && unit != UNIT_BYTES) {
		log_error("'%s' counts %s: only of memory two moments of one file can be compared; "
			  "give two files", file->shown, profile_unit_name(unit));
		return -EIO;
	}
	if (s->profile_cnt && s->unit != unit) {
		log_error("'%s' counts %s and the files before it %s: leave one out", file->shown,
			  profile_unit_name(unit), profile_unit_name(s->unit));
		return -EIO;
	}
	s->unit = unit;
	note_mode(s, &reader_info(r)->meta);
	if (reader_info(r)->stats.known && reader_info(r)->stats.duration_s > s->longest_s)
		s->longest_s = reader_info(r)->stats.duration_s;
	err = s->graph ? add_to_graph(s, file, r) : add_to_report(s, file, r);
	s->profile_cnt += !err;
	return err;
}

/*
 * Of one file: what is held when the selected time begins (A: by default when the file does) or
 * ends (B). What was allocated before that all counts.
 */
static void set_moment(struct diff_side *s, const struct diff_options *opts, size_t i)
{
	const struct sample_filter_options *range = &opts->input.filter;
	const struct sample_filter_time *when = i ? &range->to : &range->from;

	s->moment = true;
	s->filter.from = s->filter.to = (struct sample_filter_time){ 0 };
	s->reader.until_given = when->given || !i;
	s->reader.until_absolute = when->absolute;
	s->reader.until_us = when->us;
	if (s->reader.until_given)
		snprintf(s->title, sizeof(s->title), "%s at %s%.3f s", s->path,
			 when->absolute ? "@" : "", (double)when->us / 1e6);
	else
		snprintf(s->title, sizeof(s->title), "%s at its end", s->path);
}

static void set_side(struct diff_side *s, const struct diff_options *opts, size_t i)
{
	s->path = opts->input.paths[opts->input.path_cnt == 1 ? 0 : i];
	snprintf(s->title, sizeof(s->title), "%s", s->path);
	s->reader = opts->input.reader;
	s->filter = opts->input.filter;
	if (opts->input.path_cnt == 1)
		set_moment(s, opts, i);
}

static int read_side(struct diff_side *s, const struct diff_options *opts, size_t i)
{
	char *path;
	int err;

	set_side(s, opts, i);
	path = (char *)s->path;
	err = profile_set_open(&s->set, &path, 1, &s->reader);
	if (err)
		return -EIO;
	s->set.filter = &s->filter;
	if (opts->format)
		s->graph = flamegraph_new();
	else
		s->report = report_new(REPORT_BY_FUNCTION);
	if (s->report && opts->native)
		report_show_native(s->report);
	if (s->report && opts->detail)
		report_show_detail(s->report);
	if (!s->report && !s->graph)
		return -ENOMEM;
	err = profile_set_each(&s->set, add_profile, s);
	return err || s->profile_cnt ? err : -EIO;
}

struct side_job {
	struct diff_side *side;
	const struct diff_options *opts;
	int err;
};

static void *read_first(void *ctx)
{
	struct side_job *job = ctx;

	job->err = read_side(job->side, job->opts, 0);
	return NULL;
}

static int read_one_by_one(struct diff_side sides[2], const struct diff_options *opts)
{
	int err = read_side(&sides[0], opts, 0);

	return err ? err : read_side(&sides[1], opts, 1);
}

int diff_sides_read(struct diff_side sides[2], const struct diff_options *opts)
{
	struct side_job first = { &sides[0], opts, 0 };
	pthread_t thread;
	int err;

	/* What is wrong with one file is said once. */
	if (opts->input.path_cnt == 1 || pthread_create(&thread, NULL, read_first, &first))
		return read_one_by_one(sides, opts);
	err = read_side(&sides[1], opts, 1);
	pthread_join(thread, NULL);
	return first.err ? first.err : err;
}

void diff_side_free(struct diff_side *s)
{
	report_free(s->report);
	flamegraph_free(s->graph);
	profile_set_free(&s->set);
}

const char *diff_side_mode(const struct diff_side *s)
{
	enum profile_mode mode;

	if (!s->modes)
		return NULL;
	for (mode = MODE_WALL; !(s->modes & 1u << mode); mode++)
		;
	return s->modes == 1u << mode ? profile_mode_name(mode) : "mixed";
}
