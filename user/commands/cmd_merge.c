// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_merge.c - tachbpf merge: joins TACH files of one process into one.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "formats/formats.h"
#include "formats/tach/merge.h"
#include "formats/tach/tach_reader.h"
#include "model/intern.h"
#include "recording/regions_file.h"

#define WHY_BYTES 256

struct merging {
	const struct merge_options *opts;
	struct profile_set set;
	struct intern *in;
	struct merge *merge;
	struct tach_reader **readers;	/* by index of the set's files; NULL: not used */
	size_t used;			/* number of files */
	const struct profile_file *first;	/* the first whose process is known */
	struct regions_out regions;
};

static void log_merge_error(struct merging *j, const struct profile_file *f, const char *why)
{
	char shown[WHY_BYTES * 2];

	log_error("'%s': %s", f->shown, escape_text(why, strlen(why), shown, sizeof(shown)));
	j->set.failed = true;
}

/*
 * All files of recordings' directories must be of one process, as far as their processes are known.
 * Files that were recorded separately are of a program that ran several times. 0, or -EINVAL.
 */
static int check_process(struct merging *j, const struct profile_file *f)
{
	if (!f->process.tgid || f->beside)
		return 0;
	if (!j->first)
		j->first = f;
	if (j->first->process.tgid == f->process.tgid)
		return 0;
	log_error("'%s' is from process %u and '%s' from %u: merge needs profiles of a single "
		  "process; choose one with --process",
		  j->first->shown, j->first->process.tgid, f->shown,
		  f->process.tgid);
	return -EINVAL;
}

static int add_file(struct merging *j, size_t i)
{
	const struct profile_file *f = &j->set.files[i];
	char why[WHY_BYTES] = "";
	int err;

	if (!sample_filter_wants_process(&j->opts->input.filter, f->process.tgid, f->process.comm))
		return 0;
	err = check_process(j, f);
	if (err)
		return err;
	j->readers[i] = tach_reader_open(f->path, why, sizeof(why));
	if (!j->readers[i]) {
		if (!strcmp(why, "not a TACH file"))
			strcat(why, "; tachbpf convert converts other formats to TACH");
		log_merge_error(j, f, *why ? why : strerror(errno));
		return 0;
	}
	err = merge_add(j->merge, j->readers[i], why, sizeof(why));
	if (*why)
		log_merge_error(j, f, why);
	j->used++;
	return err == -EBADMSG ? 0 : err;
}

static int on_region(void *ctx, const struct profile_region *region)
{
	return regions_out_add(ctx, region);
}

static int write_regions(struct merging *j, const struct profile_meta *meta)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < j->set.file_cnt; i++)
		if (j->readers[i])
			err = profile_file_regions(&j->set.files[i], &j->opts->input.filter, meta,
						   on_region, &j->regions, &j->regions.lost);
	return err;
}

static int write_merged(struct merging *j, struct sink *sink)
{
	struct profile_stats stats;
	struct profile_meta meta;
	const char *warn;
	int err;

	merge_meta(j->merge, &meta, &warn);
	merge_stats(j->merge, &stats);
	if (warn)
		log_warn("merging these profiles: %s", warn);
	if (j->first) {
		meta.tgid = j->first->process.tgid;
		meta.comm = j->first->process.comm;
	}
	err = sink->ops->begin(sink, &meta, intern_tables(j->in));
	if (!err)
		err = merge_samples(j->merge, sink_pass, sink);
	if (!err)
		err = sink->ops->end(sink, &stats);
	if (!err)
		err = write_regions(j, &meta);
	if (err == -E2BIG) {
		log_error("the samples of a thread are too far out of order in these files to be "
			  "merged in memory: merge fewer files at a time, or choose threads with "
			  "--thread");
		err = -ECANCELED;
	}
	return err;
}

static int join_files(struct merging *j)
{
	struct profile_out out;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < j->set.file_cnt; i++)
		err = add_file(j, i);
	if (err == -ENOMEM)
		log_error("out of memory");
	if (!err && !j->used) {
		if (!j->set.failed)
			log_error("no file contains a process that matches --process");
		err = -ECANCELED;
	}
	if (err)
		return err;
	err = profile_out_tach(&out, j->opts->output, &j->opts->tach);
	if (err)
		return err;
	err = profile_out_close(&out, write_merged(j, out.sink));
	if (!err)
		profile_out_renew(j->opts->output, &j->opts->input, &j->set);
	return regions_out_end(&j->regions, err);
}

int merge_run(const struct merge_options *opts)
{
	struct merging j = { .opts = opts, .regions.recording = opts->output };
	int err = profile_set_open(&j.set, opts->input.paths, opts->input.path_cnt, NULL);
	size_t i;

	if (err)
		goto out;
	j.in = intern_new();
	j.merge = j.in ? merge_new(&opts->input.filter, j.in) : NULL;
	j.readers = calloc(j.set.file_cnt, sizeof(struct tach_reader *));
	if (j.merge && j.readers) {
		err = join_files(&j);
	} else {
		log_error("out of memory");
		err = -ENOMEM;
	}
out:
	if (j.set.failed)
		err = -ECANCELED;	/* already reported */
	merge_free(j.merge);
	for (i = 0; j.readers && i < j.set.file_cnt; i++)
		tach_reader_free(j.readers[i]);
	free(j.readers);
	intern_free(j.in);
	profile_set_free(&j.set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
