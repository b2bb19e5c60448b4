// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_convert.c - tachbpf convert: writes profiles, or the samples that pass the filter, in
 * any format.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/intern.h"
#include "model/profile_names.h"
#include "model/remap.h"

struct convert {
	const struct convert_options *opts;
	struct profile_set *set;
	const struct sink_ops *ops;
	struct profile_out out;	/* without a sink until the first profile */
	struct remap *remap;	/* of the profile being read, to keep only what is used; or NULL */
	size_t done;		/* profiles written */
};

static int on_event(void *ctx, const struct event *ev)
{
	struct convert *c = ctx;
	struct event ours;

	if (!c->remap)
		return c->out.sink->ops->event(c->out.sink, ev);
	if (remap_event(c->remap, ev, &ours))
		return -ENOMEM;
	return c->out.sink->ops->event(c->out.sink, &ours);
}

static int convert_with(struct convert *c, const struct profile_file *file, struct reader *r,
			const struct profile_tables *tables)
{
	const struct reader_info *info = reader_info(r);
	char platform[PROFILE_PLATFORM_BYTES];
	struct profile_meta meta = info->meta;
	struct profile_stats stats = info->stats;
	int err;

	/* TACH has its own statistics: losses of session.json are left out. */
	profile_file_context(file, &meta, c->ops == &sink_tach ? NULL : &stats, platform);
	err = c->out.sink->ops->begin(c->out.sink, &meta, tables);
	if (!err)
		err = profile_set_run(c->set, file, r, on_event, c);
	if (!err && c->remap)
		err = remap_libraries(c->remap);
	if (!err)
		err = c->out.sink->ops->end(c->out.sink, &stats);
	if (!err)
		c->done++;
	return err;
}

/* Writes to TACH with new tables, which have only the names that are used. */
static int convert_used(struct convert *c, const struct profile_file *file, struct reader *r)
{
	struct intern *in = intern_new();
	int err = -ENOMEM;

	if (in)
		c->remap = remap_new(reader_tables(r), in);
	if (c->remap)
		err = convert_with(c, file, r, intern_tables(in));
	remap_free(c->remap);
	c->remap = NULL;
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

static int convert_profile(void *ctx, const struct profile_file *file, struct reader *r)
{
	const struct profile_meta *meta = &reader_info(r)->meta;
	struct convert *c = ctx;
	int err;

	if (c->ops->one_profile && c->done)
		return refuse_several(c, c->done + 1, " or more");
	if (c->ops == &sink_tach && meta->unit != UNIT_SAMPLES) {
		log_error("'%s' counts %s, which TACH cannot hold: use another --format",
			  file->shown, profile_unit_name(meta->unit));
		return -ECANCELED;
	}
	err = profile_out_open(&c->out, c->ops, &c->opts->export, &c->opts->input, c->set);
	if (!err && sample_filter_is_empty(&c->opts->input.filter))
		err = profile_out_expect(&c->out, c->ops, &c->opts->export,
					 reader_info(r)->event_cnt);
	if (err)
		return err;
	if (c->ops == &sink_tach &&
	    (!sample_filter_is_empty(&c->opts->input.filter) || reader_profile_cnt(r) > 1))
		return convert_used(c, file, r);
	return convert_with(c, file, r, reader_tables(r));
}

/* Rejects several profiles as far as they are known before a file is open. */
static int check_count(const struct convert *c)
{
	size_t i, cnt = 0;

	for (i = 0; i < c->set->file_cnt; i++) {
		const struct session_process *p = &c->set->files[i].process;

		cnt += sample_filter_wants_process(&c->opts->input.filter, p->tgid, p->comm);
	}
	return cnt > 1 && c->ops->one_profile ? refuse_several(c, cnt, "") : 0;
}

static int convert_set(struct convert *c)
{
	int err = check_count(c);

	if (err)
		return err;
	err = profile_set_each(c->set, convert_profile, c);
	if (!err && !c->done)
		err = -ECANCELED;	/* reported for each file */
	if (c->out.sink) {
		err = profile_out_close(&c->out, err);
		if (!err && c->ops == &sink_tach)
			profile_out_renew(c->opts->export.output, &c->opts->input, c->set);
		return err;
	}
	if (err != -ECANCELED)
		profile_out_complain(c->opts->export.output, err);
	return err;
}

int convert_run(const struct convert_options *opts)
{
	struct reader_args args = profile_out_reader(&opts->input, opts->export.format);
	struct profile_set set;
	struct convert c = { .opts = opts, .set = &set, .ops = opts->export.format };
	int err;

	/* TACH has samples only: times are converted to numbers of samples. */
	if (c.ops == &sink_tach && args.value == VALUE_DEFAULT)
		args.value = VALUE_SAMPLES;
	err = profile_set_open(&set, opts->input.paths, opts->input.path_cnt, &args);
	if (!err) {
		set.filter = &opts->input.filter;
		if (opts->export.group == GROUP_CONTAINER)
			profile_set_order(&set);
		err = convert_set(&c);
	}
	if (set.failed)
		err = -ECANCELED;	/* reported where it happened */
	profile_set_free(&set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
