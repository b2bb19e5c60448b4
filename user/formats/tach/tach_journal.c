// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_journal.c - writes the journal. See tach_journal.h.
 *
 * Owns how much of the tables is in the journal. Nothing is synced: after a crash of this process
 * the kernel still has all of it, and after a crash of the machine the checksums show what has
 * reached the disk.
 */
#include "formats/tach/tach_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"
#include "base/util.h"
#include "formats/tach/tach_checksum.h"
#include "formats/tach/tach_tail.h"

/* Only the first entries are large: a larger buffer is freed after use. */
#define KEEP_BYTES 16384
/* A frame that got its name later may be longer than when it was counted. */
#define ENTRY_EXTRA_BYTES 256
/* Room is made for so much more at once, if there is. */
#define AHEAD_BYTES 4096

struct tach_journal {
	int fd;
	enum profile_layout layout;
	const struct profile_tables *tables;
	uint64_t off;			/* offset of the next entry; 0: the head was not written
					 * yet */
	uint64_t room;			/* the journal has room up to this offset */
	bool behind;			/* the last entry could not be written */
	uint64_t join_off;		/* of the last tach_journal_join() */
	struct tach_journal_head head;
	uint32_t string_cnt, frame_cnt;	/* numbers of strings and frames in the entries so far */
	uint64_t tables_len;		/* bytes that these take */
	struct buf buf;
};

struct tach_journal *tach_journal_new(int fd, enum profile_layout layout)
{
	struct tach_journal *j = calloc(1, sizeof(*j));

	if (j) {
		j->fd = fd;
		j->layout = layout;
	}
	return j;
}

void tach_journal_free(struct tach_journal *j)
{
	if (!j)
		return;
	buf_free(&j->buf);
	free(j);
}

void tach_journal_set_fd(struct tach_journal *j, int fd)
{
	j->fd = fd;
}

static bool write_head(struct tach_journal *j)
{
	if (!j->off && !pwrite_all(j->fd, &j->head, sizeof(j->head), 0))
		j->off = sizeof(j->head);
	return j->off;
}

void tach_journal_begin(struct tach_journal *j, const uint8_t header[TACH_HEADER_BYTES],
			const struct profile_tables *tables)
{
	j->tables = tables;
	memcpy(j->head.magic, TACH_JOURNAL_MAGIC, sizeof(j->head.magic));
	j->head.version = TACH_JOURNAL_VERSION;
	j->head.layout = j->layout;
	memcpy(j->head.header, header, TACH_HEADER_BYTES);
	if (getrandom(&j->head.id, sizeof(j->head.id), GRND_NONBLOCK) < 0)
		j->head.id = now_ns();
	j->head.check = XXH3_64bits(&j->head, offsetof(struct tach_journal_head, check));
	write_head(j);
}

static int build_entry(struct tach_journal *j, struct tach_journal_entry *e)
{
	struct buf *b = &j->buf;
	uint64_t check;
	int err;

	b->len = 0;
	err = buf_add(b, e, sizeof(*e));
	if (!err)
		err = tach_tail_strings(b, j->tables, j->string_cnt);
	if (err)
		return err;
	if (b->len - sizeof(*e) > UINT32_MAX)
		return -EOVERFLOW;
	e->strings_len = (uint32_t)(b->len - sizeof(*e));
	err = tach_tail_frames(b, j->layout, j->tables, j->frame_cnt);
	if (!err)
		err = tach_tail_first_lines(b, j->tables, j->frame_cnt);
	if (err)
		return err;
	if (b->len - sizeof(*e) - e->strings_len > UINT32_MAX)
		return -EOVERFLOW;
	e->frames_len = (uint32_t)(b->len - sizeof(*e) - e->strings_len);
	memcpy(b->data, e, sizeof(*e));
	check = XXH3_64bits_withSeed(b->data, b->len, j->head.id);
	return buf_add(b, &check, sizeof(check));
}

/* Makes room from off to end. 0; -ENOSPC, -EDQUOT. A file system that cannot is no error. */
static int make_room(struct tach_journal *j, uint64_t off, uint64_t end)
{
	if (fallocate(j->fd, FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)(end - off)))
		return errno == ENOSPC || errno == EDQUOT ? -errno : 0;
	j->room = end;
	return 0;
}

int tach_journal_reserve(struct tach_journal *j, uint64_t tables_len)
{
	uint64_t off = j->off ? j->off : sizeof(j->head);
	uint64_t len = sizeof(struct tach_journal_entry) + sizeof(uint64_t) + ENTRY_EXTRA_BYTES;

	if (tables_len > j->tables_len)
		len += tables_len - j->tables_len;
	if (off + len <= j->room || !make_room(j, off, off + len + AHEAD_BYTES))
		return 0;
	return make_room(j, off, off + len);
}

void tach_journal_add(struct tach_journal *j, uint64_t end, uint64_t sample_cnt,
		      uint32_t thread_cnt, const XXH3_state_t *samples)
{
	struct tach_journal_entry e = {
		.magic = TACH_JOURNAL_ENTRY_MAGIC,
		.thread_cnt = thread_cnt,
		.end = end,
		.sample_cnt = sample_cnt,
		.string_cnt = j->tables->string_cnt - j->string_cnt,
		.frame_cnt = j->tables->frame_cnt - j->frame_cnt,
	};

	j->behind = true;
	if (!write_head(j))
		return;
	tach_checksum_now(samples, e.checksum);
	if (!build_entry(j, &e) && !pwrite_all(j->fd, j->buf.data, j->buf.len, j->off)) {
		j->off += j->buf.len;
		j->tables_len += j->buf.len - sizeof(e) - sizeof(uint64_t);
		j->string_cnt += e.string_cnt;
		j->frame_cnt += e.frame_cnt;
		j->behind = false;
	}
	if (j->buf.cap > KEEP_BYTES)
		buf_free(&j->buf);
}

int tach_journal_join(struct tach_journal *j, uint64_t at, uint64_t from, uint64_t len,
		      const XXH3_state_t *samples)
{
	struct {
		struct tach_journal_join join;
		uint64_t check;
	} e = { .join = { .magic = TACH_JOURNAL_JOIN_MAGIC, .at = at, .from = from, .len = len } };
	int err;

	_Static_assert(sizeof(e) == sizeof(e.join) + sizeof(e.check), "it is written as it is");
	if (j->behind)		/* it lacks names that these samples have */
		return -EIO;
	tach_checksum_now(samples, e.join.checksum);
	e.check = XXH3_64bits_withSeed(&e.join, sizeof(e.join), j->head.id);
	err = pwrite_all(j->fd, &e, sizeof(e), j->off);
	if (err)
		return err;
	j->join_off = j->off;
	j->off += sizeof(e);
	return 0;
}

void tach_journal_take_back(struct tach_journal *j)
{
	static const uint32_t none;

	if (!pwrite_all(j->fd, &none, sizeof(none), j->join_off))
		j->off = j->join_off;
}
