// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_join.c - see tach_join.h.
 *
 * Owns the order of writes. The new frame is first written after the old ones, then the journal
 * says where it is and where it belongs, and then it is written there:
 *
 *     | older samples | old frames | new frame |       killed here: the old frames count
 *     | older samples | new fr|ames | new frame |      killed here: recover takes the copy behind
 *     | older samples | new frame | (overwritten by what comes next)
 *
 * The room that becomes free stays allocated, so that the tail has room on a full disk.
 */
#include "formats/tach/tach_join.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "formats/tach/tach_checksum.h"
#include "formats/tach/tach_file.h"
#include "formats/tach/tach_journal.h"
#include "formats/tach/tach_room.h"

static struct tach_mark *first_mark(const struct tach_file *f)
{
	return (struct tach_mark *)(void *)f->marks.data + f->join.mark;
}

/* What is written from now on can be joined later. */
static void begin_anew(struct tach_file *f)
{
	f->join.mark = f->marks.len / sizeof(struct tach_mark) - 1;
	f->join.raw = 0;
	XXH3_copyState(f->join.hash, f->hash);
}

int tach_join_init(struct tach_file *f)
{
	f->join.hash = XXH3_createState();
	if (!f->join.hash)
		return -ENOMEM;
	begin_anew(f);
	return 0;
}

void tach_join_free(struct tach_file *f)
{
	tach_join_wait(f);
	XXH3_freeState(f->join.hash);
	f->join.hash = NULL;
}

/* The checksum's state with these bytes in place of the old frames; NULL if memory runs out. */
static XXH3_state_t *state_with(const struct tach_file *f, const void *data, size_t len)
{
	XXH3_state_t *h = XXH3_createState();

	if (h) {
		XXH3_copyState(h, f->join.hash);
		XXH3_128bits_update(h, data, len);
	}
	return h;
}

/* The old frames as they are in the file. False: unreadable, or not what was written there. */
static bool read_back(const struct tach_file *f, struct buf *old)
{
	uint64_t at = first_mark(f)->off, len = tach_file_mark(f)->off - at;
	XXH3_state_t *h;
	bool same;

	old->len = 0;
	if (buf_reserve(old, len))
		return false;
	while (old->len < len) {
		ssize_t n = pread(f->fd, old->data + old->len, len - old->len,
				  (off_t)(at + old->len));

		if (n <= 0)
			return false;
		old->len += n;
	}
	h = state_with(f, old->data, old->len);
	same = h && XXH128_isEqual(XXH3_128bits_digest(h), XXH3_128bits_digest(f->hash));
	XXH3_freeState(h);
	return same;
}

/* The marks of the old frames become one; h: the checksum's state then. */
static void take_marks(struct tach_file *f, size_t len, const XXH3_state_t *h)
{
	struct tach_mark *first = first_mark(f), joined = *tach_file_mark(f);

	joined.off = first->off + len;
	first[1] = joined;
	f->marks.len = (f->join.mark + 2) * sizeof(joined);
	XXH3_copyState(f->hash, h);
}

/* The old frames are damaged, and the file cannot be written: it ends before them. */
static void drop_marks(struct tach_file *f)
{
	f->marks.len = (f->join.mark + 1) * sizeof(struct tach_mark);
	XXH3_copyState(f->hash, f->join.hash);
}

/* Writes the new frame after the old ones, then to the journal. 0; -errno: nothing has changed. */
static int prepare_join(struct tach_file *f, const void *data, size_t len, const XXH3_state_t *h)
{
	uint64_t from = tach_file_mark(f)->off;
	int err = tach_room_reserve(f, from, len);

	if (!err)
		err = pwrite_all(f->fd, data, len, from);
	if (!err && f->journal)
		err = tach_journal_join(f->journal, first_mark(f)->off, from, len, h);
	return err;
}

/* Writes the new frame over the old ones; old: room to read them. Returns as tach_join_wait(). */
static int replace_frames(struct tach_file *f, const void *data, size_t len, struct buf *old)
{
	XXH3_state_t *h = state_with(f, data, len);
	int err = 0;

	if (h && !prepare_join(f, data, len, h)) {
		err = pwrite_all(f->fd, data, len, first_mark(f)->off);
		if (!err) {
			take_marks(f, len, h);
		} else if (!read_back(f, old)) {
			drop_marks(f);
		} else {
			err = 0;
			if (f->journal)
				tach_journal_take_back(f->journal);
		}
	}
	XXH3_freeState(h);
	return err;
}

/* In the thread of joins. */
static void join(struct job *job)
{
	struct tach_file *f = (void *)((char *)job - offsetof(struct tach_file, join.job));
	struct buf old = { 0 }, data = { 0 };

	if (read_back(f, &old) &&
	    !compressor_join(old.data, old.len, f->join.raw, f->join.thorough, &data) &&
	    data.len < old.len)
		f->join.err = replace_frames(f, data.data, data.len, &old);
	buf_free(&old);
	buf_free(&data);
	begin_anew(f);
}

void tach_join_begin(struct tach_file *f, bool thorough)
{
	struct tach_join *j = &f->join;

	if (!j->raw || tach_room_count(f))
		return;
	j->thorough = thorough && compressor_take_thorough(f->compressor, j->raw);
	j->end = tach_file_mark(f)->off;
	j->busy = true;
	j->job.run = join;
	job_put(f->joins, &j->job);
}

int tach_join_wait(struct tach_file *f)
{
	if (f->join.busy)
		job_wait(f->joins, &f->join.job);
	f->join.busy = false;
	return f->join.err;
}
