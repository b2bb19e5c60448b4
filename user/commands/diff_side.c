// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* diff_side.c - see diff_side.h. Reads a side into a report or into a flame graph. */
#include "commands/diff_side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/in_threads.h"
#include "base/util.h"
#include "commands/profile_parts.h"
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
	reader_take(r, EVENT_KEPT);
	if (!err)
		err = profile_set_run(&s->set, file, r, graph_event, s->graph);
	return err ? err : flamegraph_end(s->graph, &stats);
}

static int add_to_report(struct diff_side *s, const struct profile_file *file, struct reader *r)
{
	int err = report_begin(s->report, reader_tables(r), file->name);

	reader_take(r, EVENT_KEPT | EVENT_RUNS);
	if (!err)
		err = profile_set_run(&s->set, file, r, report_event, s->report);
	return err ? err : report_end(s->report);
}

static void note_mode(struct diff_side *s, enum profile_mode mode)
{
	if (profile_mode_known(mode))
		s->modes |= 1u << mode;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	enum profile_unit unit = reader_info(r)->meta.unit;
	struct diff_side *s = ctx;
	int err;

	if (s->moment && unit != UNIT_BYTES) {
		log_error("'%s' counts %s: two moments of one file can only be compared for "
			  "memory; use two files", file->shown, profile_unit_name(unit));
		return -EIO;
	}
	if (s->profile_cnt && s->unit != unit) {
		log_error("'%s' counts %s, but the files before it count %s: "
			  "leave one out", file->shown,
			  profile_unit_name(unit), profile_unit_name(s->unit));
		return -EIO;
	}
	s->unit = unit;
	note_mode(s, profile_file_mode(file, reader_info(r)->meta.mode));
	if (reader_info(r)->stats.known && reader_info(r)->stats.duration_s > s->longest_s)
		s->longest_s = reader_info(r)->stats.duration_s;
	err = s->graph ? add_to_graph(s, file, r) : add_to_report(s, file, r);
	s->profile_cnt += !err;
	return err;
}

/*
 * For one file: memory held when the selected time begins (A: by default when the file does) or
 * ends (B). All earlier allocations count.
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

/* 0 or -ENOMEM. */
static int begin_side(struct diff_side *s)
{
	if (s->opts->format == DIFF_FLAMEGRAPH)
		s->graph = flamegraph_new();
	else
		s->report = report_new(REPORT_BY_FUNCTION);
	if (s->report && s->opts->native)
		report_show_native(s->report);
	if (s->report && s->opts->detail)
		report_show_detail(s->report);
	return s->report || s->graph ? 0 : -ENOMEM;
}

static void free_all_but_set(void *ctx)
{
	struct diff_side *s = ctx;

	report_free(s->report);
	flamegraph_free(s->graph);
}

/* ---- a part of the files: profile_parts.h ---- */

static int part_begin(void *ctx, const void *whole)
{
	const struct diff_side *s = whole;
	struct diff_side *part = ctx;

	part->opts = s->opts;
	part->moment = s->moment;
	return begin_side(part);
}

static bool part_fits(const void *first, const void *part)
{
	const struct diff_side *a = first, *b = part;

	return a->profile_cnt && b->profile_cnt && a->unit == b->unit;
}

static int part_join(void *whole, void *from)
{
	struct diff_side *s = whole, *part = from;

	s->unit = part->unit;
	s->modes |= part->modes;
	s->longest_s = part->longest_s > s->longest_s ? part->longest_s : s->longest_s;
	s->profile_cnt += part->profile_cnt;
	return report_merge(s->report, part->report);
}

static const struct profile_parts_ops parts = {
	.bytes = sizeof(struct diff_side), .begin = part_begin, .add = add_profile,
	.fits = part_fits, .join = part_join, .end = free_all_but_set,
};

static int read_side(struct diff_side *s, const struct diff_options *opts, size_t i)
{
	char *path;
	int err;

	s->opts = opts;
	set_side(s, opts, i);
	path = (char *)s->path;
	err = profile_set_open(&s->set, &path, 1, &s->reader);
	if (err)
		return -EIO;
	s->set.filter = &s->filter;
	err = begin_side(s);
	if (!err)
		err = s->report ? profile_parts_read(&s->set, &parts, s) : 1;
	if (err > 0)
		err = profile_set_each(&s->set, add_profile, s);
	return err || s->profile_cnt ? err : -EIO;
}

struct both {
	struct diff_side *sides;
	const struct diff_options *opts;
	struct buf logged[2];
	int err[2];
};

static void read_one(void *ctx, size_t i)
{
	struct both *b = ctx;

	log_hold(&b->logged[i]);
	b->err[i] = read_side(&b->sides[i], b->opts, i);
	log_hold(NULL);
}

int diff_sides_read(struct diff_side sides[2], const struct diff_options *opts)
{
	struct both b = { .sides = sides, .opts = opts };

	in_threads(2, read_one, &b);
	log_print_held(&b.logged[0]);
	/* As if B had not been read: for one file at two times it would repeat A's message. */
	if (!b.err[0])
		log_print_held(&b.logged[1]);
	buf_free(&b.logged[1]);
	return b.err[0] ? b.err[0] : b.err[1];
}

void diff_side_free(struct diff_side *s)
{
	free_all_but_set(s);
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
