// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_replay.c - tachbpf replay: profiles into any sink. Knows no format.
 */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "output.h"
#include "profile_set.h"
#include "tach_reader.h"
#include "util.h"

struct replay {
	struct profile_set *set;
	struct sink *sink;
};

static int on_event(void *ctx, const struct event *ev)
{
	struct sink *sink = ctx;

	return sink->ops->event(sink, ev);
}

static int replay_file(void *ctx, const struct profile_file *file, struct tach_reader *r)
{
	const struct tach_info *info = tach_reader_info(r);
	struct profile_meta meta = info->meta;
	struct replay *re = ctx;
	int err;

	meta.tgid = file->process.tgid;
	meta.comm = file->process.comm;
	err = re->sink->ops->begin(re->sink, &meta, tach_reader_tables(r));
	if (!err)
		err = profile_set_run(re->set, file, r, on_event, re->sink);
	if (!err)
		err = re->sink->ops->end(re->sink, &info->stats);
	return err;
}

/* Everything into fd. 0, or -errno of what the sink could not do. */
static int replay_set(struct profile_set *set, const struct file_options *opts, int fd)
{
	struct sink_args args = { .fd = fd, .many = set->many };
	struct replay re = { .set = set, .sink = opts->format->open(&args) };
	int err, close_err;

	if (!re.sink)
		return -errno;
	err = profile_set_each(set, replay_file, &re);
	close_err = re.sink->ops->close(re.sink);
	return err ? err : close_err;
}

/* -EPIPE is the reader's wish to see no more: nothing to tell. */
static void report_error(const char *to, int err)
{
	char shown[512];

	if (err != -EPIPE)
		log_error("cannot write '%s': %s", escape_text(to, strlen(to), shown, sizeof(shown)),
			  strerror(-err));
}

static int replay_to_file(struct profile_set *set, const struct file_options *opts)
{
	struct output_file out;
	int err = output_open(&out, opts->output);

	if (err)
		return err;
	err = replay_set(set, opts, out.fd);
	if (err) {
		report_error(opts->output, err);
		output_abort(&out);
		return err;
	}
	return output_commit(&out);
}

int replay_run(const struct file_options *opts)
{
	struct profile_set set;
	int err = profile_set_open(&set, opts->paths, opts->path_cnt);

	if (err)
		goto out;
	set.filter = &opts->filter;
	if (opts->output && strcmp(opts->output, "-")) {
		err = replay_to_file(&set, opts);
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
