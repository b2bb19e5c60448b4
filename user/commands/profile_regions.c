// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_regions.c - the regions beside a file, as far as a filter accepts them. See profile_set.h. */
#include <errno.h>
#include <fcntl.h>

#include "base/arith.h"
#include "commands/profile_set.h"
#include "model/sample_filter.h"
#include "recording/regions_file.h"

struct passing {
	const struct sample_filter_options *filter;
	const struct profile_meta *meta;
	int (*each)(void *ctx, const struct profile_region *region);
	void *ctx;
};

static int pass(void *ctx, const struct profile_region *region)
{
	const struct passing *p = ctx;
	struct profile_region part = *region;

	if (p->filter && !sample_filter_cut_region(p->filter, p->meta, &part))
		return 0;
	return p->each(p->ctx, &part);
}

int profile_file_regions(const struct profile_file *file,
			 const struct sample_filter_options *filter,
			 const struct profile_meta *meta,
			 int (*each)(void *ctx, const struct profile_region *region), void *ctx,
			 uint64_t *lost)
{
	struct passing p = { filter, meta, each, ctx };
	char path[PATH_MAX], why[128];
	struct regions regions;
	int err;

	if (!regions_path(file->path, path))
		return 0;
	err = regions_read(&regions, AT_FDCWD, path, why, sizeof(why));
	if (err && err != -ENOENT)
		log_result("cannot use '%s" REGIONS_BESIDE_SUFFIX "': %s; regions are missing",
			   file->shown, why);
	if (err)
		return 0;
	*lost = add_capped(*lost, regions.lost);
	err = regions_each(&regions, pass, &p);
	regions_free(&regions);
	return err;
}
