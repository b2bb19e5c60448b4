// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_replay.c - tachbpf replay: profiles into any sink. Knows no format.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "formats/readers.h"
#include "formats/sinks.h"

struct replay {
	struct profile_set *set;
	const struct sink_ops *format;
	const struct replay_options *opts;
	int fd;
	struct sink *sink;	/* NULL: no profile has come yet */
};

static int on_event(void *ctx, const struct event *ev)
{
	struct sink *sink = ctx;

	return sink->ops->event(sink, ev);
}

/* Whether several profiles come is known when the first file is open. */
static int open_sink(struct replay *re)
{
	struct sink_args args = { .fd = re->fd, .many = re->set->many,
				  .lines = re->opts->export.lines, .group = re->opts->export.group,
				  .no_source = re->opts->export.no_source,
				  .title = profile_out_title(&re->opts->input) };

	if (!re->sink)
		re->sink = sink_new(re->format, &args);
	return re->sink ? 0 : -errno;
}

static int replay_file(void *ctx, const struct profile_file *file, struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	struct profile_meta meta = info->meta;
	struct profile_stats stats = info->stats;
	struct replay *re = ctx;
	char platform[PROFILE_PLATFORM_BYTES];
	int err;

	profile_file_context(file, &meta, &stats, platform);
	err = open_sink(re);
	if (!err)
		err = re->sink->ops->begin(re->sink, &meta, reader_tables(r));
	if (!err)
		err = profile_set_run(re->set, file, r, on_event, re->sink);
	if (!err)
		err = re->sink->ops->end(re->sink, &stats);
	return err;
}

/* Everything into fd. 0, or -errno of what the sink could not do. */
static int replay_set(struct profile_set *set, const struct replay_options *opts, int fd)
{
	struct replay re = { .set = set, .format = opts->export.format, .fd = fd, .opts = opts };
	int err, close_err;

	err = profile_set_each(set, replay_file, &re);
	close_err = re.sink ? re.sink->ops->close(re.sink) : 0;
	return err ? err : close_err;
}

/* -EPIPE is the reader's wish to see no more: nothing to tell. SINK_REPORTED was told. */
static void report_error(const char *to, int err)
{
	char shown[512];

	if (err != -EPIPE && err != SINK_REPORTED)
		log_error("cannot write '%s': %s", escape_text(to, strlen(to), shown, sizeof(shown)),
			  strerror(-err));
}

static int replay_to_file(struct profile_set *set, const struct replay_options *opts)
{
	struct output_file out;
	int err = output_open(&out, opts->export.output);

	if (err)
		return err;
	err = replay_set(set, opts, out.fd);
	if (err) {
		report_error(opts->export.output, err);
		output_abort(&out);
		return err;
	}
	return output_commit(&out);
}

int replay_run(const struct replay_options *opts)
{
	struct profile_set set;
	int err = profile_set_open(&set, opts->input.paths, opts->input.path_cnt,
				   &opts->input.reader);

	if (err)
		goto out;
	set.filter = &opts->input.filter;
	if (opts->export.group == GROUP_CONTAINER)
		profile_set_order(&set);
	if (opts->export.output && strcmp(opts->export.output, "-")) {
		err = replay_to_file(&set, opts);
	} else if (opts->export.format->binary && isatty(STDOUT_FILENO)) {
		log_error("%s is not for terminals: give -o FILE", opts->export.format->name);
		err = -EINVAL;
	} else {
		err = replay_set(&set, opts, STDOUT_FILENO);
		if (err)
			report_error("standard output", err);
	}
out:
	if (set.failed)
		err = -EIO;	/* reported where it happened */
	profile_set_free(&set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
