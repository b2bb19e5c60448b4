// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_convert.c - tachbpf convert, also called replay: writes profiles, or the samples that pass
 * the filter, in any format. Only TACH is special: it has one profile, and only the names it uses.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_parts.h"
#include "commands/profile_set.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/intern.h"
#include "model/profile_names.h"
#include "model/region.h"
#include "model/remap.h"
#include "model/sample_filter.h"
#include "recording/regions_file.h"
#include "telemetry/command_label.h"

#define PROGRAM_COLUMNS 60	/* of a command in a page */

struct convert {
	struct profile_set set;
	const struct convert_options *opts;
	const struct sink_ops *ops;
	struct profile_out out;		/* without a sink until the first profile */
	struct sink *like;		/* the first part, without profiles; NULL: no parts */
	size_t done;			/* profiles written, without parts */
	struct regions_out regions;	/* beside a TACH file */
};

/* Where the samples of a profile go. */
struct target {
	struct sink *sink;
	struct remap *remap;		/* to keep only what is used; NULL: everything */
	struct regions_out *regions;	/* beside the sink's file; NULL: in it */
};

static int on_event(void *ctx, const struct event *ev)
{
	const struct target *to = ctx;
	struct event ours;

	if (!to->remap)
		return sink_pass(to->sink, ev);
	return remap_event(to->remap, ev, &ours) ? -ENOMEM : sink_pass(to->sink, &ours);
}

static void on_loss(void *ctx, const char *cause, uint64_t cnt)
{
	struct sink *s = ctx;

	s->ops->lost(s, cause, cnt);	/* an error stays until end() */
}

static int on_region(void *ctx, const struct profile_region *region)
{
	const struct target *to = ctx;

	return to->regions ? regions_out_add(to->regions, region) :
			     to->sink->ops->region(to->sink, region);
}

static int pass_regions(struct profile_set *set, const struct profile_file *file,
			struct target *to, const struct profile_meta *meta,
			struct profile_stats *stats)
{
	if (!to->regions && !to->sink->ops->region)
		return 0;
	return profile_file_regions(file, set->filter, meta, on_region, to,
				    to->regions ? &to->regions->lost : &stats->lost_regions);
}

/* Passes the profile that r has selected to the sink, with these tables. */
static int convert_with(struct profile_set *set, const struct profile_file *file, struct reader *r,
			struct target *to, const struct profile_tables *tables)
{
	const struct reader_info *info = reader_info(r);
	const struct sink_ops *ops = to->sink->ops;
	char platform[PROFILE_PLATFORM_BYTES], program[COMMAND_LABEL_BYTES];
	const char *command = file->process.command;
	struct profile_meta meta = info->meta;
	struct profile_stats stats = info->stats;
	int err;

	/* TACH has its own statistics: losses of session.json are left out. */
	profile_file_context(file, &meta, ops == &sink_tach ? NULL : &stats, platform);
	if (command && *command)
		meta.program = command_label(command, strlen(command), PROGRAM_COLUMNS, program);
	meta.timed = info->timed;
	err = ops->begin(to->sink, &meta, tables);
	if (!err)
		err = pass_regions(set, file, to, &meta, &stats);
	reader_take(r, ops->kept ? EVENT_KEPT : 0);
	if (!err)
		err = profile_set_run(set, file, r, on_event, to);
	if (!err && to->remap)
		err = remap_libraries(to->remap);
	if (!err && ops->lost && file->session)
		session_json_losses(file->session, profile_file_losses_of(file), on_loss, to->sink);
	return err ? err : ops->end(to->sink, &stats);
}

static int convert_into(struct profile_set *set, const struct profile_file *file, struct reader *r,
			struct sink *sink, struct regions_out *regions)
{
	struct target to = { .sink = sink, .regions = regions };

	return convert_with(set, file, r, &to, reader_tables(r));
}

/* Writes to TACH with new tables, which have only the names that are used. */
static int convert_used(struct profile_set *set, const struct profile_file *file, struct reader *r,
			struct sink *sink, struct regions_out *regions)
{
	struct target to = { .sink = sink, .regions = regions };
	struct intern *in = intern_new();
	int err = -ENOMEM;

	if (in)
		to.remap = remap_new(reader_tables(r), in);
	if (to.remap)
		err = convert_with(set, file, r, &to, intern_tables(in));
	remap_free(to.remap);
	intern_free(in);
	return err;
}

static int refuse_several(const struct convert *c, size_t cnt, const char *or_more)
{
	log_error("a %s file holds one process, but there are %zu profiles%s: use --process to "
		  "choose one, tachbpf merge to merge those of one process, or tachbpf split --by "
		  "process to write one file each", c->ops->name, cnt, or_more);
	return -ECANCELED;
}

/* Returns 0 if the format can hold this profile, too; -ECANCELED after logging why not. */
static int check_profile(const struct convert *c, const struct profile_file *file,
			 const struct profile_meta *meta)
{
	if (c->ops->one_profile && c->done)
		return refuse_several(c, c->done + 1, " or more");
	if (c->ops != &sink_tach || meta->unit == UNIT_SAMPLES)
		return 0;
	log_error("'%s' counts %s, which TACH cannot hold: use another --format", file->shown,
		  profile_unit_name(meta->unit));
	return -ECANCELED;
}

static int open_out(struct convert *c)
{
	return profile_out_open(&c->out, c->ops, &c->opts->export, &c->opts->input, &c->set);
}

/* A profile of a set, which is all of convert->set or some of its files. */
struct whole {
	struct convert *convert;
	struct profile_set *set;
};

static int convert_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct whole *w = ctx;
	struct convert *c = w->convert;
	bool all = sample_filter_is_empty(&c->opts->input.filter);
	struct regions_out *regions = c->ops == &sink_tach ? &c->regions : NULL;
	int err = check_profile(c, file, &reader_info(r)->meta);

	if (!err)
		err = open_out(c);
	if (!err && all)
		err = profile_out_expect(&c->out, c->ops, &c->opts->export,
					 reader_info(r)->event_cnt);
	if (err)
		return err;
	if (c->ops == &sink_tach && (!all || reader_profile_cnt(r) > 1))
		err = convert_used(w->set, file, r, c->out.sink, regions);
	else
		err = convert_into(w->set, file, r, c->out.sink, regions);
	c->done += !err;
	return err;
}

/* ---- a part of the files: profile_parts.h ---- */

struct convert_part {
	struct profile_set set;
	struct sink *sink;
	bool some;		/* it has a profile */
};

static int part_begin(void *ctx, const void *whole)
{
	const struct convert *c = whole;
	struct convert_part *part = ctx;

	part->sink = c->ops->part(c->like);
	return part->sink ? 0 : -ENOMEM;
}

static void part_end(void *ctx)
{
	struct convert_part *part = ctx;

	if (part->sink)
		part->sink->ops->close(part->sink);
}

static int part_add(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct convert_part *part = ctx;

	part->some = true;
	return convert_into(&part->set, file, r, part->sink, NULL);
}

static int part_join(void *whole, void *from)
{
	struct convert_part *part = from;
	struct convert *c = whole;
	int err = part->some ? open_out(c) : 0;

	return err || !part->some ? err : c->out.sink->ops->join(c->out.sink, part->sink);
}

static int part_read_again(void *whole, struct profile_set *set)
{
	struct whole w = { whole, set };

	return profile_set_each(set, convert_profile, &w);
}

static const struct profile_parts_ops parts = {
	.bytes = sizeof(struct convert_part), .begin = part_begin, .add = part_add,
	.join = part_join, .read_again = part_read_again, .end = part_end,
};

/* Rejects several profiles as far as they are known before a file is open. */
static int check_count(const struct convert *c)
{
	size_t i, cnt = 0;

	for (i = 0; i < c->set.file_cnt; i++) {
		const struct session_process *p = &c->set.files[i].process;

		cnt += sample_filter_wants_process(&c->opts->input.filter, p->tgid, p->comm);
	}
	return cnt > 1 && c->ops->one_profile ? refuse_several(c, cnt, "") : 0;
}

/* Passes all profiles to the sink; a format that supports parts takes several at a time. */
static int convert_all(struct convert *c)
{
	struct whole w = { c, &c->set };
	int err = check_count(c);

	if (err)
		return err;
	err = 1;
	if (c->ops->part && c->opts->export.group != GROUP_CONTAINER)
		c->like = c->ops->part(NULL);
	if (c->like) {
		err = profile_parts_in_turn(&c->set, &parts, c);
		c->like->ops->close(c->like);
	}
	return err == 1 ? profile_set_each(&c->set, convert_profile, &w) : err;
}

static int convert_set(struct convert *c)
{
	const char *output = c->opts->export.output;
	int err;

	c->set.filter = &c->opts->input.filter;
	if (c->opts->export.group == GROUP_CONTAINER)
		profile_set_order(&c->set);
	err = convert_all(c);
	if (!c->out.sink) {
		if (err && err != -ECANCELED)
			profile_out_complain(output, err);
		return err ? err : -ECANCELED;	/* reported for each file */
	}
	err = profile_out_close(&c->out, err);
	if (!err && c->ops == &sink_tach)
		profile_out_renew(output, &c->opts->input, &c->set);
	return c->ops == &sink_tach ? regions_out_end(&c->regions, err) : err;
}

int convert_run(const struct convert_options *opts)
{
	struct reader_args args = profile_out_reader(&opts->input, opts->export.format);
	struct convert c = { .opts = opts, .ops = opts->export.format,
			     .regions.recording = opts->export.output };
	int err;

	/* TACH has samples only: times are converted to numbers of samples. */
	if (c.ops == &sink_tach && args.value == VALUE_DEFAULT)
		args.value = VALUE_SAMPLES;
	err = profile_set_open(&c.set, opts->input.paths, opts->input.path_cnt, &args);
	if (!err)
		err = convert_set(&c);
	if (c.set.failed)
		err = -ECANCELED;	/* reported where it happened */
	profile_set_free(&c.set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
