// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_replay.c - tachbpf replay: writes profiles to any sink. Knows no format.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>

#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "formats/readers.h"
#include "model/sample_filter.h"

struct replay {
	struct profile_set set;
	const struct replay_options *opts;
	struct export_options export;	/* opts->export, with "-" for standard output */
	struct profile_out out;		/* without a sink until the first profile */
};

static int on_event(void *ctx, const struct event *ev)
{
	struct sink *sink = ctx;

	return sink->ops->event(sink, ev);
}

/* Opened late: only the first open file shows whether there are several profiles. */
static int open_out(struct replay *re)
{
	int err;

	if (re->out.sink)
		return 0;
	err = profile_out_open(&re->out, re->export.format, &re->export, &re->opts->input,
			       re->set.many);
	return err ? -ECANCELED : 0;	/* logged */
}

static int replay_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	struct profile_meta meta = info->meta;
	struct profile_stats stats = info->stats;
	struct replay *re = ctx;
	char platform[PROFILE_PLATFORM_BYTES];
	struct sink *sink;
	int err = open_out(re);

	if (err)
		return err;
	if (sample_filter_is_empty(&re->opts->input.filter))
		err = profile_out_expect(&re->out, re->export.format, &re->export, info->event_cnt);
	if (err)
		return err;
	sink = re->out.sink;
	profile_file_context(file, &meta, &stats, platform);
	err = sink->ops->begin(sink, &meta, reader_tables(r));
	if (!err)
		err = profile_set_run(&re->set, file, r, on_event, sink);
	return err ? err : sink->ops->end(sink, &stats);
}

static int replay_set(struct replay *re)
{
	int err;

	re->set.filter = &re->opts->input.filter;
	if (re->export.group == GROUP_CONTAINER)
		profile_set_order(&re->set);
	err = profile_set_each(&re->set, replay_profile, re);
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
		err = -EIO;	/* reported where it happened */
	profile_set_free(&re.set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
