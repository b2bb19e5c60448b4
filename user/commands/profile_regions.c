// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_regions.c - the regions beside a file that a filter accepts. See profile_set.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/time.h"
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

/* Reads those of this recording. False: there are none, or they are damaged. */
static bool read_beside(const char *recording, struct regions *regions)
{
	char path[PATH_MAX], why[128], shown[2 * PATH_MAX];
	int err = -ENOENT;

	if (regions_path(recording, path))
		err = regions_read(regions, AT_FDCWD, path, why, sizeof(why));
	if (err && err != -ENOENT)
		log_result("cannot use '%s': %s; regions are missing",
			   escape_text(path, strlen(path), shown, sizeof(shown)), why);
	return !err;
}

/* Reads the file's own, or what its directory has of its process. */
static bool read_regions(const struct profile_file *file, struct regions *regions)
{
	char dir[PATH_MAX];
	size_t len = (size_t)(file->name - file->path);

	if (read_beside(file->path, regions))
		return true;
	while (len > 1 && file->path[len - 1] == '/')
		len--;
	if (snprintf(dir, sizeof(dir), "%.*s", (int)len, file->path) >= PATH_MAX || !len ||
	    !read_beside(dir, regions))
		return false;
	if (regions->pid == file->process.tgid)
		return true;
	regions_free(regions);
	return false;
}

int profile_file_regions(const struct profile_file *file,
			 const struct sample_filter_options *filter,
			 const struct profile_meta *meta,
			 int (*each)(void *ctx, const struct profile_region *region), void *ctx,
			 uint64_t *lost)
{
	struct passing p = { filter, meta, each, ctx };
	struct regions regions;
	int err = 0;

	if (!read_regions(file, &regions))
		return 0;
	/* Else they are of an earlier recording of that name. */
	if (regions.begin_ns / NS_PER_US >= meta->start_us) {
		*lost = add_capped(*lost, regions.lost);
		err = regions_each(&regions, pass, &p);
	}
	regions_free(&regions);
	return err;
}
