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
/* A call takes longer than to write as much. So room is made for some more at once, if there is. */
#define AHEAD_SHARE 4		/* of the file's size, one part in so many, */
#define AHEAD_BYTES (256 * 1024)	/* but no more than this */

/* An unknown first line takes a byte, unless none is known. */
int tach_room_count(struct tach_file *f)
{
	struct buf b = { 0 };
	int err;

	if (!f->reserve)
		return 0;
	err = tach_tail_strings(&b, f->tables, f->string_cnt);
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

/* Makes room from off to end in the file. Returns 0 or -errno. */
static int make_room(struct tach_file *f, uint64_t off, uint64_t end)
{
	if (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)(end - off)))
		return -errno;
	f->room = end;
	return 0;
}

int tach_room_reserve(struct tach_file *f, uint64_t off, uint64_t len)
{
	uint64_t end = off + len + f->tables_len + TAIL_EXTRA_BYTES;
	uint64_t ahead = off / AHEAD_SHARE < AHEAD_BYTES ? off / AHEAD_SHARE : AHEAD_BYTES;
	int err;

	if (!f->reserve)
		return 0;
	err = end <= f->room ? 0 : make_room(f, off, end + ahead);
	if (err && ahead)
		err = make_room(f, off, end);
	if (!err)
		return f->journal ? tach_journal_reserve(f->journal, f->tables_len) : 0;
	if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
		return err;
	f->reserve = false;	/* this file system cannot do it */
	return 0;
}
