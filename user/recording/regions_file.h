/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * regions_file.h - the regions that a program marked while it was recorded: FILE.regions.json next
 * to the recording FILE, which may be a directory. The Python package writes it (_region.py):
 *
 *   { "version": 1, "pid": 12, "begin_ns": ..., "end_ns": ..., "lost": 0,
 *     "regions": [ [ "parse", THREAD, BEGIN_NS, END_NS, { "file": "a.csv", "rows": 7 } ], ... ] }
 *
 * "lost": regions beyond the limit. The one that ended first comes first; those that were still
 * open at the end come last, the outer one first.
 */
#ifndef TACHBPF_REGIONS_FILE_H
#define TACHBPF_REGIONS_FILE_H

#include <limits.h>

#include "base/output.h"
#include "base/util.h"
#include "model/region.h"

struct writer;

#define REGIONS_BESIDE_SUFFIX ".regions.json"

/* Limits, which are the package's: of a file, of a region, and of UTF-8 for its characters. */
#define REGIONS_FILE_BYTES ((size_t)64 << 20)
#define REGIONS_MAX 100000
#define REGION_ATTRIBUTES_MAX 16
#define REGION_NAME_BYTES (4 * 1024)
#define REGION_VALUE_BYTES (4 * 256)

/* Zero-initialise; freed by regions_free(). */
struct regions {
	struct buf text;		/* of the file */
	struct region_place *list;	/* cnt of them: where they are in the text */
	size_t cnt, cap;
	uint64_t lost;
	uint64_t begin_ns;		/* when keeping began, during the recording */
	uint64_t pid;			/* of the program; 0: of several, or unknown */
};

/* Returns where the regions of a recording, file or directory, are. False: the path is too long. */
bool regions_path(const char *recording, char out[PATH_MAX]);

/*
 * Reads the file dirfd/name, which may be anything, as a whole or not at all. 0; -ENOENT; or other
 * -errno with the reason in why, then there are no regions.
 */
int regions_read(struct regions *r, int dirfd, const char *name, char *why, size_t why_size);
/*
 * Passes every region on, one inside another after the outer one: by begin, of those that begin
 * together the longest first. region: valid until each() returns, which returns 0 or an error. 0,
 * or that error.
 */
int regions_each(const struct regions *r,
		 int (*each)(void *ctx, const struct profile_region *region), void *ctx);
void regions_free(struct regions *r);

/* ---- regions_write.c: the regions of a recording that is made from others ---- */

/* Zero-initialise but for recording, the path of the new one. */
struct regions_out {
	const char *recording;
	struct output_file file;
	struct writer *w;		/* NULL: there was no region yet */
	size_t cnt;
	uint64_t begin_ns;		/* of the first region */
	uint64_t lost;			/* of the others; beyond REGIONS_MAX it counts, too */
};

/* Writes a region; the file appears at the end. 0 or -errno. */
int regions_out_add(struct regions_out *o, const struct profile_region *region);
/*
 * Ends it. err: 0, and the recording gets the file; without regions, that of an earlier one is
 * removed. Or the error of writing the recording. Returns err, or -errno after logging.
 */
int regions_out_end(struct regions_out *o, int err);
/* Removes the file of an earlier recording of that name, if it is one of ours. */
void regions_remove(const char *recording);

#endif
