// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cmd_replay.c - tachbpf replay: writes profiles to any sink. Does not know any format. */
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>

#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_parts.h"
#include "commands/profile_set.h"
#include "formats/readers.h"
#include "model/sample_filter.h"

struct replay {
	struct profile_set set;
	const struct replay_options *opts;
	struct export_options export;	/* opts->export, with "-" for standard output */
	struct profile_out out;		/* without a sink until the first profile */
	struct sink *like;		/* the first part, without profiles; NULL: no parts */
};

static int open_out(struct replay *re)
{
	return profile_out_open(&re->out, re->export.format, &re->export, &re->opts->input,
				&re->set);
}

/* Passes the profile that r has selected to the sink. */
static int replay_into(struct profile_set *set, const struct profile_file *file, struct reader *r,
		       struct sink *sink)
{
	const struct reader_info *info = reader_info(r);
	struct profile_meta meta = info->meta;
	struct profile_stats stats = info->stats;
	char platform[PROFILE_PLATFORM_BYTES];
	int err;

	profile_file_context(file, &meta, &stats, platform);
	err = sink->ops->begin(sink, &meta, reader_tables(r));
	reader_take(r, sink->ops->kept ? EVENT_KEPT : 0);
	if (!err)
		err = profile_set_run(set, file, r, sink_pass, sink);
	return err ? err : sink->ops->end(sink, &stats);
}

/* A profile of a set, which is all of re->set or some of its files. */
struct whole {
	struct replay *re;
	struct profile_set *set;
};

static int replay_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct whole *w = ctx;
	struct replay *re = w->re;
	int err = open_out(re);

	if (!err && sample_filter_is_empty(&re->opts->input.filter))
		err = profile_out_expect(&re->out, re->export.format, &re->export,
					 reader_info(r)->event_cnt);
	return err ? err : replay_into(w->set, file, r, re->out.sink);
}

/* ---- a part of the files: profile_parts.h ---- */

struct replay_part {
	struct profile_set set;
	struct sink *sink;
	bool some;		/* it has a profile */
};

static int part_begin(void *ctx, const void *whole)
{
	const struct replay *re = whole;
	struct replay_part *part = ctx;

	part->sink = re->export.format->part(re->like);
	return part->sink ? 0 : -ENOMEM;
}

static void part_end(void *ctx)
{
	struct replay_part *part = ctx;

	if (part->sink)
		part->sink->ops->close(part->sink);
}

static int part_add(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct replay_part *part = ctx;

	part->some = true;
	return replay_into(&part->set, file, r, part->sink);
}

static int part_join(void *whole, void *from)
{
	struct replay_part *part = from;
	struct replay *re = whole;
	int err = part->some ? open_out(re) : 0;

	return err || !part->some ? err : re->out.sink->ops->join(re->out.sink, part->sink);
}

static int part_read_again(void *whole, struct profile_set *set)
{
	struct whole w = { whole, set };

	return profile_set_each(set, replay_profile, &w);
}

static const struct profile_parts_ops parts = {
	.bytes = sizeof(struct replay_part), .begin = part_begin, .add = part_add,
	.join = part_join, .read_again = part_read_again, .end = part_end,
};

/* Passes all profiles to the sink; a format that supports parts takes several at a time. */
static int replay_all(struct replay *re)
{
	struct whole w = { re, &re->set };
	int err = 1;

	if (re->export.format->part && re->export.group != GROUP_CONTAINER)
		re->like = re->export.format->part(NULL);
	if (re->like) {
		err = profile_parts_in_turn(&re->set, &parts, re);
		re->like->ops->close(re->like);
	}
	return err == 1 ? profile_set_each(&re->set, replay_profile, &w) : err;
}

static int replay_set(struct replay *re)
{
	int err;

	re->set.filter = &re->opts->input.filter;
	if (re->export.group == GROUP_CONTAINER)
		profile_set_order(&re->set);
	err = replay_all(re);
	if (re->out.sink)
		return profile_out_close(&re->out, err);
	if (err && err != -ECANCELED)
		profile_out_complain(re->export.output, err);
	return err;
}

int replay_run(const struct replay_options *opts)
{
	struct replay re = { .opts = opts, .export = opts->export };
	struct reader_args args = profile_out_reader(&opts->input, opts->export.format);
	int err = profile_set_open(&re.set, opts->input.paths, opts->input.path_cnt, &args);

	if (!re.export.output)
		re.export.output = "-";
	if (!err)
		err = replay_set(&re);
	if (re.set.failed)
		err = -EIO;	/* already reported */
	profile_set_free(&re.set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
