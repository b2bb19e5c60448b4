// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_convert.c - tachbpf convert: profiles, or the samples of them that pass
 * the filter, into any format.
 */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "options.h"
#include "output.h"
#include "profile_out.h"
#include "profile_set.h"
#include "remap.h"
#include "tach_reader.h"
#include "util.h"

struct convert {
	const struct file_options *opts;
	struct profile_set *set;
	const struct sink_ops *ops;
	struct sink *sink;
	struct remap *remap;	/* of the profile being read: keep what is used only */
	size_t done;		/* profiles written */
};

static int on_event(void *ctx, const struct event *ev)
{
	struct convert *c = ctx;
	struct event ours;

	if (!c->remap)
		return c->ops->event(c->sink, ev);
	return remap_event(c->remap, ev, &ours) ? -ENOMEM : c->ops->event(c->sink, &ours);
}

static int convert_with(struct convert *c, const struct profile_file *file, struct tach_reader *r,
			const struct profile_tables *tables)
{
	const struct tach_info *info = tach_reader_info(r);
	struct profile_meta meta = info->meta;
	int err;

	meta.tgid = file->process.tgid;
	meta.comm = file->process.comm;
	err = c->ops->begin(c->sink, &meta, tables);
	if (!err)
		err = profile_set_run(c->set, file, r, on_event, c);
	if (!err)
		err = c->ops->end(c->sink, &info->stats);
	if (!err)
		c->done++;
	return err;
}

/* What a filter leaves of a TACH file need not keep all names: the tables are made anew. */
static int convert_used(struct convert *c, const struct profile_file *file, struct tach_reader *r)
{
	struct intern *in = intern_new();
	int err = -ENOMEM;

	if (in)
		c->remap = remap_new(tach_reader_tables(r), in);
	if (c->remap)
		err = convert_with(c, file, r, intern_tables(in));
	remap_free(c->remap);
	c->remap = NULL;
	intern_free(in);
	return err;
}

static int convert_file(void *ctx, const struct profile_file *file, struct tach_reader *r)
{
	struct convert *c = ctx;

	if (c->ops == &sink_tach && !filter_is_empty(&c->opts->filter))
		return convert_used(c, file, r);
	return convert_with(c, file, r, tach_reader_tables(r));
}

static int check_count(const struct convert *c)
{
	size_t i, cnt = 0;

	for (i = 0; i < c->set->file_cnt; i++) {
		const struct session_process *p = &c->set->files[i].process;

		cnt += filter_wants_process(&c->opts->filter, p->tgid, p->comm);
	}
	if (cnt <= 1 || !c->ops->one_profile)
		return 0;
	log_error("a %s file holds one process, and these are %zu profiles: choose with --process, "
		  "join those of one process with tachbpf merge, or write a file for each with "
		  "tachbpf split --by process", c->ops->name, cnt);
	return -EINVAL;
}

static const struct sink_ops *format(const struct file_options *opts)
{
	const struct sink_ops *ops = opts->format;

	if (!ops)
		ops = sink_for_path(opts->output);
	return ops ? ops : &sink_tach;
}

static int convert_set(struct convert *c)
{
	struct profile_out out;
	int err = check_count(c);

	if (err)
		return err;
	err = profile_out_open(&out, c->ops, c->opts->output, c->opts, c->set->many);
	if (err)
		return err;
	c->sink = out.sink;
	err = profile_set_each(c->set, convert_file, c);
	if (!err && !c->done)
		err = -EIO;	/* said of each file */
	return profile_out_close(&out, err);
}

int convert_run(const struct file_options *opts)
{
	struct profile_set set;
	struct convert c = { .opts = opts, .set = &set, .ops = format(opts) };
	int err = profile_set_open(&set, opts->paths, opts->path_cnt);

	if (!err) {
		set.filter = &opts->filter;
		err = convert_set(&c);
	}
	if (set.failed)
		err = -EIO;	/* reported where it happened */
	profile_set_free(&set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
