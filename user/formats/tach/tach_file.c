// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_file.c - the parts of a TACH file that is being written. See tach_file.h.
 *
 * Owns the order in which parts are written, the checksum, and the list of offsets where the file
 * can be cut. After a write error the file is cut back to a flush that succeeded and finished
 * there, so that a full disk only costs the newest samples.
 */
#include "formats/tach/tach_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compress.h"
#include "formats/tach/tach_checksum.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_journal.h"
#include "formats/tach/tach_room.h"
#include "formats/tach/tach_tail.h"

int tach_file_init(struct tach_file *f, const struct sink_args *args)
{
	*f = (struct tach_file){
		.fd = args->fd,
		.layout = args->layout,
		.compressor = args->compressor,
		.joins = args->joins,
		.live = args->live,
		.reserve = args->live,
		.ready = args->ready,
		.ready_ctx = args->ready_ctx,
		.hash = XXH3_createState(),
	};
	if (f->hash && args->journal_fd > 0)
		f->journal = tach_journal_new(args->journal_fd, args->layout);
	if (!f->hash || (args->journal_fd > 0 && !f->journal)) {
		tach_file_free(f);
		return -ENOMEM;
	}
	return 0;
}

void tach_file_free(struct tach_file *f)
{
	tach_join_free(f);
	XXH3_freeState(f->hash);
	tach_journal_free(f->journal);
	buf_free(&f->marks);
	f->hash = NULL;
	f->journal = NULL;
}

static uint32_t config_word(const struct profile_meta *m)
{
	enum profile_mode mode = m->mode == MODE_OFFCPU ? MODE_WALL : m->mode;
	uint32_t config = (uint32_t)(mode + 1) & TACH_CONFIG_MODE_MASK;

	if (m->features_known)
		config |= TACH_CONFIG_FEATURES_KNOWN |
			  (m->features & TACH_CONFIG_FEATURES_MASK) << TACH_CONFIG_FEATURES_SHIFT;
	return config;
}

static void build_header(const struct tach_file *f, const struct tach_mark *mark,
			 uint32_t thread_cnt, size_t frames_at, uint8_t *header)
{
	/* CPython takes an empty compressed region for a damaged one. */
	bool zstd = f->compressor && mark->off > TACH_HEADER_BYTES;
	const uint64_t values[TACH_FIELD_CNT] = {
		[TACH_F_MAGIC] = TACH_MAGIC,
		[TACH_F_VERSION] = tach_layout_version(f->layout),
		[TACH_F_PY_MAJOR] = f->meta.python_major,
		[TACH_F_PY_MINOR] = f->meta.python_minor,
		[TACH_F_PY_MICRO] = f->meta.python_micro,
		[TACH_F_START_US] = f->meta.start_us,
		[TACH_F_INTERVAL_US] = f->meta.interval_us,
		[TACH_F_SAMPLES] = mark->sample_cnt,
		[TACH_F_THREADS] = thread_cnt,
		[TACH_F_STRING_TABLE] = mark->off,
		[TACH_F_FRAME_TABLE] = mark->off + frames_at,
		[TACH_F_COMPRESSION] = zstd ? TACH_ZSTD : TACH_PLAIN,
		[TACH_F_CONFIG] = config_word(&f->meta),
	};
	int i;

	memset(header, 0, TACH_HEADER_BYTES);
	for (i = 0; i < TACH_FIELD_CNT; i++)
		tach_field_put(header, f->layout, i, values[i]);
}

/* The journal gets the future header: it is not known yet whether there will be samples. */
static void begin_journal(struct tach_file *f)
{
	const struct tach_mark any = { .off = TACH_HEADER_BYTES + 1 };
	uint8_t header[TACH_HEADER_BYTES];

	build_header(f, &any, 0, 0, header);
	tach_journal_begin(f->journal, header, f->tables);
}

int tach_file_begin(struct tach_file *f, const struct profile_meta *meta,
		    const struct profile_tables *tables)
{
	static const uint8_t zeros[TACH_HEADER_BYTES];
	const struct tach_mark first = { .off = TACH_HEADER_BYTES };
	int err;

	f->meta = *meta;
	f->tables = tables;
	tach_checksum_start(f->hash);
	err = buf_add(&f->marks, &first, sizeof(first));
	if (!err && f->live && f->compressor)
		err = tach_join_init(f);
	/* The magic number is missing until the file is complete. */
	if (!err)
		err = pwrite_all(f->fd, zeros, sizeof(zeros), 0);
	if (!err && f->journal)
		begin_journal(f);
	return err;
}

/* The file is finished and ends at `end`: releases what was reserved or was there after it. */
static void release_reserved(const struct tach_file *f, uint64_t end)
{
	if (f->live && ftruncate(f->fd, (off_t)end))
		log_debug("room behind a profile stays reserved: %s", strerror(errno));
}

/* Call it before the file is written. Returns 0 or -errno. */
static int make_ready(struct tach_file *f)
{
	int journal_fd = -1, err;

	if (!f->ready)
		return 0;
	err = f->ready(f->ready_ctx, &f->fd, &journal_fd);
	if (f->journal)
		tach_journal_set_fd(f->journal, journal_fd);
	return err;
}

/* tach_file_append() without joining. */
static int append_samples(struct tach_file *f, const void *data, size_t len, uint64_t sample_cnt,
			  uint32_t thread_cnt)
{
	struct tach_mark mark = *tach_file_mark(f);
	int err;

	err = make_ready(f);
	/* Reserved first, so that everything that was written has a mark. */
	if (!err)
		err = tach_room_count(f);
	if (!err)
		err = buf_reserve(&f->marks, sizeof(mark));
	if (!err && f->join.hash)	/* compressed when they are joined */
		err = compressor_store(f->compressor, data, len, &data, &len);
	else if (!err && f->compressor)
		err = compressor_run(f->compressor, data, len, &data, &len);
	if (!err)
		err = tach_room_reserve(f, mark.off, len);
	if (!err)
		err = pwrite_all(f->fd, data, len, mark.off);
	if (err)
		return err;
	XXH3_128bits_update(f->hash, data, len);
	mark.off += len;
	mark.sample_cnt = sample_cnt;
	mark.string_cnt = f->tables->string_cnt;
	mark.frame_cnt = f->tables->frame_cnt;
	if (f->journal)
		tach_journal_add(f->journal, mark.off, sample_cnt, thread_cnt, f->hash);
	return buf_add(&f->marks, &mark, sizeof(mark));
}

int tach_file_append(struct tach_file *f, const void *data, size_t len, uint64_t sample_cnt,
		     uint32_t thread_cnt)
{
	int err = tach_join_wait(f);

	if (!err)
		err = append_samples(f, data, len, sample_cnt, thread_cnt);
	if (err || !f->join.hash)
		return err;
	f->join.raw += len;
	if (f->join.raw >= TACH_JOIN_BYTES)
		tach_join_begin(f, false);
	return 0;
}

uint64_t tach_file_bytes(const struct tach_file *f)
{
	uint64_t samples = f->join.busy ? f->join.end :
			   f->marks.len ? tach_file_mark(f)->off : 0;

	return samples + f->tables_len * (f->journal ? 2 : 1);
}

/*
 * Writes the tail. What goes beyond the end of the file comes first: if there is no room for it,
 * the samples that the rest would overwrite are still there.
 */
static int put_tail(const struct tach_file *f, const struct buf *tail, uint64_t off)
{
	size_t inside = 0;
	struct stat st;
	int err;

	if (!fstat(f->fd, &st) && (uint64_t)st.st_size > off)
		inside = (uint64_t)st.st_size - off;
	if (inside > tail->len)
		inside = tail->len;
	err = pwrite_all(f->fd, tail->data + inside, tail->len - inside, off + inside);
	return err ? err : pwrite_all(f->fd, tail->data, inside, off);
}

/*
 * Finishes the file at the last mark. samples: the checksum's state there, or NULL: writes no
 * checksum. The header comes last: it makes the file valid.
 */
static int write_tail(struct tach_file *f, struct buf *tail, size_t frames_at,
		      uint32_t thread_cnt, const XXH3_state_t *samples)
{
	uint8_t *footer = tail->data + tail->len - TACH_FOOTER_BYTES;
	struct tach_mark *mark = tach_file_mark(f);
	uint8_t header[TACH_HEADER_BYTES];
	uint64_t file_size = mark->off + tail->len;
	int err;

	memcpy(footer + TACH_FOOTER_FILE_SIZE, &file_size, 8);
	memset(footer + TACH_FOOTER_CHECKSUM, 0, TACH_CHECKSUM_BYTES);
	build_header(f, mark, thread_cnt, frames_at, header);
	if (samples) {
		err = tach_checksum_end(samples, tail->data, tail->len - TACH_CHECKSUM_BYTES,
					header, footer + TACH_FOOTER_CHECKSUM);
		if (err)
			return err;
	}
	err = put_tail(f, tail, mark->off);
	if (!err)
		err = pwrite_all(f->fd, header, sizeof(header), 0);
	return err;
}

int tach_file_finish(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats)
{
	struct buf tail = { 0 };
	size_t frames_at = 0;
	int err = tach_join_wait(f);

	if (!err)
		err = make_ready(f);
	if (!err && f->join.hash) {
		tach_join_begin(f, true);
		err = tach_join_wait(f);
	}
	if (!err)
		err = tach_tail_build(&tail, f->layout, f->tables, stats, &frames_at);
	if (!err)
		err = write_tail(f, &tail, frames_at, thread_cnt, f->hash);
	if (!err)
		release_reserved(f, tach_file_mark(f)->off + tail.len);
	buf_free(&tail);
	return err;
}

/*
 * Computes the checksum of the samples up to the last mark again. Returns false if they cannot be
 * read back.
 */
static bool hash_again(struct tach_file *f)
{
	uint64_t off = TACH_HEADER_BYTES, end = tach_file_mark(f)->off;
	uint8_t chunk[16384];
	ssize_t n;

	tach_checksum_start(f->hash);
	for (; off < end; off += n) {
		n = pread(f->fd, chunk, end - off < sizeof(chunk) ? end - off : sizeof(chunk),
			  (off_t)off);
		if (n <= 0)
			return false;
		XXH3_128bits_update(f->hash, chunk, n);
	}
	return true;
}

/*
 * The tables that the samples before a mark need, as of then. A frame that got its name later may
 * need a newer string; then all strings up to that one are included.
 */
static struct profile_tables tables_at(const struct tach_file *f, const struct tach_mark *mark)
{
	struct profile_tables t = *f->tables;
	const struct frame *frame;
	uint32_t i;

	t.string_cnt = mark->string_cnt;
	t.frame_cnt = mark->frame_cnt;
	for (i = 0; i < t.frame_cnt; i++) {
		frame = &t.frames[i];
		if (frame->file >= t.string_cnt)
			t.string_cnt = frame->file + 1;
		if (frame->func >= t.string_cnt)
			t.string_cnt = frame->func + 1;
	}
	return t;
}

/* Finishes the file at the last mark, and cuts off what follows. *len: the tail's size in bytes. */
static int finish_at_mark(struct tach_file *f, uint32_t thread_cnt,
			  const struct profile_stats *stats, bool hashed, size_t *len)
{
	struct profile_tables tables = tables_at(f, tach_file_mark(f));
	struct buf tail = { 0 };
	size_t frames_at = 0;
	int err = tach_tail_build(&tail, f->layout, &tables, stats, &frames_at);

	*len = tail.len;
	if (!err)
		err = write_tail(f, &tail, frames_at, thread_cnt, hashed ? f->hash : NULL);
	if (!err && ftruncate(f->fd, (off_t)(tach_file_mark(f)->off + tail.len)))
		err = -errno;
	buf_free(&tail);
	return err;
}

/*
 * Cuts the file at the last flush that succeeded; if the tables do not fit then, at earlier ones
 * until there is room for them.
 */
static int cut_file(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats)
{
	uint64_t end = tach_file_mark(f)->off;
	bool hashed = true;
	size_t tail_len;
	int err;

	for (;;) {
		err = finish_at_mark(f, thread_cnt, stats, hashed, &tail_len);
		if (!err || err == -ENOMEM || f->marks.len == sizeof(struct tach_mark))
			return err;
		while (f->marks.len > sizeof(struct tach_mark) &&
		       end - tach_file_mark(f)->off < tail_len)
			f->marks.len -= sizeof(struct tach_mark);
		end = tach_file_mark(f)->off;
		hashed = hash_again(f);
	}
}

int tach_file_salvage(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats,
		      uint64_t *sample_cnt)
{
	int err;

	tach_join_wait(f);
	if (!f->marks.len)
		return -EIO;	/* the file was not even begun */
	err = make_ready(f);
	if (!err)
		err = cut_file(f, thread_cnt, stats);
	if (!err)
		*sample_cnt = tach_file_mark(f)->sample_cnt;
	return err;
}
