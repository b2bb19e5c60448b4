// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_room.c - see tach_room.h.
 *
 * A file of a live recording has room for its tail after the samples, from the first flush on:
 * fallocate() beyond the end of the file, before the samples are written. tmpfs counts these pages,
 * ext4, XFS and btrfs these blocks as used, so that writing there needs no more room (btrfs does
 * not copy what is written there for the first time). Where the file system cannot do that, the
 * file is cut further back until the tail fits.
 */
#include "formats/tach/tach_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "formats/tach/tach_file.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_journal.h"
#include "formats/tach/tach_tail.h"

/*
 * Room for the tail beyond the tables' own bytes. A frame that got its name later
 * (intern_name_later()) may have become longer than when it was counted.
 */
#define TAIL_EXTRA_BYTES (TACH_STAT_BYTES + TACH_FOOTER_BYTES + 1024)

/*
 * Counts what is new in the tables. An unknown first line takes a byte, unless none is known.
 * Returns 0 or -ENOMEM.
 */
static int count_tables(struct tach_file *f)
{
	struct buf b = { 0 };
	int err = tach_tail_strings(&b, f->tables, f->string_cnt);

	if (!err)
		err = tach_tail_frames(&b, f->layout, f->tables, f->frame_cnt);
	if (!err)
		err = tach_tail_first_lines(&b, f->tables, f->frame_cnt);
	if (!err) {
		f->tables_len += b.len + (f->tables->frame_cnt - f->frame_cnt);
		f->string_cnt = f->tables->string_cnt;
		f->frame_cnt = f->tables->frame_cnt;
	}
	buf_free(&b);
	return err;
}

int tach_room_reserve(struct tach_file *f, uint64_t off, uint64_t len)
{
	int err = f->reserve ? count_tables(f) : 0;

	if (err || !f->reserve)
		return err;
	if (!fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)off,
		       (off_t)(len + f->tables_len + TAIL_EXTRA_BYTES)))
		return f->journal ? tach_journal_reserve(f->journal, f->tables_len) : 0;
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return -errno;
	f->reserve = false;	/* this file system cannot do it */
	return 0;
}
