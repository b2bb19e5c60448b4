// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_write.c - writes TACH files (docs/tach.md); the sink for live capture.
 *
 * Owns the choice of record for every sample, and the buffer before the file. Knows nothing of
 * processes, of what frames and strings mean, or of offsets in the file: tach_file.c does.
 *
 * A sample that has the same stack as its thread's last one goes to the thread's run of repeats;
 * another one becomes a record. Both go to a buffer of at most flush_bytes, and from there to
 * tach_file.
 */
#include "formats/tach/tach_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "formats/formats.h"
#include "formats/tach/tach_file.h"
#include "formats/tach/tach_format.h"
#include "model/sink.h"
#include "model/stack_frame.h"

/*
 * A thread's run of repeats grows up to CPython's size: about 5,400 samples of 3 bytes. A run costs
 * 15 bytes of header. While all runs together have more than RUNS_BYTES, they are shorter.
 */
#define RUN_FIRST_BYTES 256
#define RUN_SHORT_BYTES 1024
#define RUN_BYTES (16 * 1024)
#define RUNS_BYTES (16u << 20)
#define REPEAT_MAX_BYTES (VARINT_MAX + 1)

/* The largest record, and a run without its repeats. A varint of a u32 has at most 5 bytes. */
#define RUN_HEAD_BYTES (TACH_SAMPLE_HEADER_BYTES + 5)
#define RECORD_MAX_BYTES                                                                           \
	(TACH_SAMPLE_HEADER_BYTES + VARINT_MAX + 1 + 2 * 5 + EVENT_MAX_FRAMES * 5)
#define FLUSH_BYTES (64 * 1024)

/*
 * How many samples the events with larger weights than 1 may add to a file: 3 GiB before
 * compression, seconds of work. Live capture has no such limit.
 */
#define REPEATED_MAX (1ULL << 30)
/*
 * With more threads than this, those without a sample since the last flush but one lose their
 * stacks: most of them have ended. The largest stack takes 1 KiB.
 */
#define STACKS_KEPT 1024
/*
 * Fewer go to the thread's run of repeats: each record costs 15 bytes, and a thread that sleeps
 * again and again has the same stack each time.
 */
#define BULK_MIN 1024

struct tach_sink {
	struct sink sink;
	int refuse;		/* what event() returns: 0; not begun, ended, or the first error */
	int err;		/* the first error */
	bool broken;		/* a write has failed: what is buffered cannot be written any
				 * more */
	bool begun, ended;
	enum profile_layout layout;
	bool live;
	struct tach_file file;
	const struct profile_tables *tables;
	struct profile_meta meta;
	uint64_t sample_cnt;	/* accepted */
	uint64_t buffered_cnt;	/* of these: in the buffer or in the file, not in a thread's run */
	uint64_t repeated_cnt;	/* of these: all except the first sample of each event */
	uint64_t sample_max;	/* the largest number for the header */
	struct tach_threads threads;
	struct buf out;
	size_t flush_bytes;	/* size at which out is written */
	size_t runs_bytes;	/* room of all threads' runs */
};

static struct tach_sink *to_tach(struct sink *s)
{
	return (struct tach_sink *)s;
}

static int fail_sink(struct tach_sink *t, int err)
{
	if (!t->err)
		t->err = err;
	t->refuse = t->err;
	return t->err;
}

/* Writes the buffer to the file. */
static int write_out(struct tach_sink *t)
{
	int err;

	if (!t->out.len)
		return 0;
	err = tach_file_append(&t->file, t->out.data, t->out.len, t->buffered_cnt, t->threads.cnt);
	if (err) {
		t->broken = true;
		return fail_sink(t, err);
	}
	t->out.len = 0;
	return 0;
}

static uint8_t *put_header(uint8_t *p, const struct tach_thread *th, enum tach_record kind)
{
	memcpy(p, &th->thread_id, 8);
	memcpy(p + 8, &th->interp_id, 4);
	p[12] = (uint8_t)kind;
	return p + TACH_SAMPLE_HEADER_BYTES;
}

/* Moves the thread's run of repeats to the buffer, which must have room for it. */
static void put_pending(struct tach_sink *t, struct tach_thread *th)
{
	uint8_t *p = t->out.data + t->out.len;

	if (!th->pending_cnt)
		return;
	p = put_header(p, th, TACH_REPEAT);
	p = tach_put_varint(p, th->pending_cnt);
	memcpy(p, th->pending, th->pending_len);
	p += th->pending_len;
	t->out.len = p - t->out.data;
	t->buffered_cnt += th->pending_cnt;
	th->pending_cnt = th->pending_len = 0;
}

/* Makes room for the thread's run, and then this many bytes; a buffer of flush_bytes is written. */
static int make_room(struct tach_sink *t, const struct tach_thread *th, size_t bytes)
{
	size_t room = RUN_HEAD_BYTES + th->pending_len + bytes;
	int err;

	if (t->out.len + room > t->flush_bytes) {
		err = write_out(t);
		if (err)
			return err;
	}
	err = buf_reserve(&t->out, room);
	return err ? fail_sink(t, err) : 0;
}

/* Chooses the record as CPython's writer does (compare_stacks() in binary_io_writer.c). */
static enum tach_record choose_record(uint32_t depth, uint32_t prev_depth, uint32_t shared)
{
	if (!shared)
		return TACH_FULL;
	if (shared == prev_depth)
		return TACH_SUFFIX;
	return shared < depth / 2 ? TACH_FULL : TACH_POP_PUSH;
}

/* Makes the event's stack the thread's last one, for which there is room. */
static void keep_stack(struct tach_thread *th, const struct event *ev, uint32_t shared)
{
	uint32_t differ = ev->nframes == th->depth ? ev->nframes - shared : ev->nframes;

	if (differ)
		memcpy(th->stack, ev->frames, differ * sizeof(*th->stack));
	th->depth = ev->nframes;
}

static int put_changed(struct tach_sink *t, struct tach_thread *th, const struct event *ev,
		       uint64_t delta)
{
	uint32_t shared = frames_shared(th->stack, th->depth, ev->frames, ev->nframes);
	enum tach_record kind = choose_record(ev->nframes, th->depth, shared);
	uint32_t i, fresh = kind == TACH_FULL ? ev->nframes : ev->nframes - shared;
	uint32_t frame_cnt = t->tables->frame_cnt;
	uint8_t *p;
	int err;

	/* An id that is not in the table would make the whole file unreadable. */
	for (i = 0; i < fresh; i++) {
		if (ev->frames[i] >= frame_cnt)
			return fail_sink(t, -EINVAL);
	}
	err = make_room(t, th, RECORD_MAX_BYTES);
	if (!err && tach_thread_reserve(th, ev->nframes))
		err = fail_sink(t, -ENOMEM);
	if (err)
		return err;
	put_pending(t, th);
	p = put_header(t->out.data + t->out.len, th, kind);
	p = tach_put_varint(p, delta);
	*p++ = ev->status;
	if (kind == TACH_SUFFIX)
		p = tach_put_varint(p, shared);
	if (kind == TACH_POP_PUSH)
		p = tach_put_varint(p, th->depth - shared);
	p = tach_put_varint(p, fresh);
	for (i = 0; i < fresh; i++)
		p = tach_put_varint(p, ev->frames[i]);
	t->out.len = p - t->out.data;
	t->buffered_cnt++;
	keep_stack(th, ev, shared);
	return 0;
}

static void free_run(struct tach_sink *t, struct tach_thread *th)
{
	t->runs_bytes -= th->pending_cap;
	free(th->pending);
	th->pending = NULL;
	th->pending_cap = 0;
}

/* Makes room for a repeat in the thread's run; moves a run of maximal size to the buffer. */
static int make_run_room(struct tach_sink *t, struct tach_thread *th)
{
	uint32_t max = t->runs_bytes > RUNS_BYTES ? RUN_SHORT_BYTES : RUN_BYTES;
	uint32_t cap = th->pending_cap ? 2 * th->pending_cap : RUN_FIRST_BYTES;
	uint8_t *bigger;
	int err;

	if (th->pending_len + REPEAT_MAX_BYTES <= th->pending_cap)
		return 0;
	if (cap > max) {
		err = make_room(t, th, 0);
		if (!err)
			put_pending(t, th);
		return err;
	}
	bigger = realloc(th->pending, cap);
	if (!bigger)
		return fail_sink(t, -ENOMEM);
	t->runs_bytes += cap - th->pending_cap;
	th->pending = bigger;
	th->pending_cap = cap;
	return 0;
}

static int put_repeat(struct tach_sink *t, struct tach_thread *th, uint8_t status, uint64_t delta)
{
	uint8_t *p;
	int err = make_run_room(t, th);

	if (err)
		return err;
	p = tach_put_varint(th->pending + th->pending_len, delta);
	*p++ = status;
	th->pending_len = p - th->pending;
	th->pending_cnt++;
	return 0;
}

/*
 * Adds more samples like the thread's last one, each step_us later; used for a thread that sleeps
 * for hours. They go directly into the buffer, in records of as many as fit.
 */
#define BULK_BYTES (16 * 1024)
static int put_bulk(struct tach_sink *t, const struct event *ev, uint64_t cnt, uint64_t step_us)
{
	struct tach_thread *th = tach_threads_find(&t->threads, ev->thread_id, ev->interp_id);
	uint8_t one[REPEAT_MAX_BYTES], *p;
	uint64_t n, i;
	size_t len;
	int err;

	if (!th || t->sample_cnt + cnt > t->sample_max)
		return fail_sink(t, th ? -EOVERFLOW : -EINVAL);
	p = tach_put_varint(one, step_us);
	*p++ = ev->status;
	len = p - one;
	th->time_us += cnt * step_us;
	t->sample_cnt += cnt;
	while (cnt) {
		n = cnt < BULK_BYTES / len ? cnt : BULK_BYTES / len;
		err = make_room(t, th, RUN_HEAD_BYTES + BULK_BYTES);
		if (err)
			return err;
		put_pending(t, th);
		p = put_header(t->out.data + t->out.len, th, TACH_REPEAT);
		p = tach_put_varint(p, n);
		for (i = 0; i < n; i++, p += len)
			memcpy(p, one, len);
		t->out.len = p - t->out.data;
		t->buffered_cnt += n;
		cnt -= n;
	}
	return 0;
}

static int put_sample(struct tach_sink *t, const struct event *ev)
{
	struct tach_thread *th;
	uint64_t delta;
	int err;

	if (t->sample_cnt == t->sample_max)
		return fail_sink(t, -EOVERFLOW);
	th = tach_threads_find(&t->threads, ev->thread_id, ev->interp_id);
	if (!th) {
		th = tach_threads_add(&t->threads, ev->thread_id, ev->interp_id, t->meta.start_us);
		if (!th)
			return fail_sink(t, -ENOMEM);
	}
	delta = ev->time_us > th->time_us ? ev->time_us - th->time_us : 0;
	if (ev->nframes == th->depth && th->quiet < TACH_QUIET &&
	    (!th->depth || !memcmp(ev->frames, th->stack, th->depth * sizeof(*th->stack))))
		err = put_repeat(t, th, ev->status, delta);
	else
		err = put_changed(t, th, ev, delta);
	if (err)
		return err;
	th->time_us += delta;
	th->quiet = 0;
	t->sample_cnt++;
	return 0;
}

/* TACH has no weights: an event with a larger weight than 1 becomes that many samples. */
static int tach_event(struct sink *s, const struct event *ev)
{
	struct tach_sink *t = to_tach(s);
	struct event next;
	uint64_t i;
	int err;

	if (t->refuse)
		return t->refuse;
	if (ev->nframes > EVENT_MAX_FRAMES || t->meta.unit != UNIT_SAMPLES)
		return fail_sink(t, -EINVAL);
	if (ev->weight == 1)
		return put_sample(t, ev);
	if (ev->weight && !t->live && ev->weight - 1 > REPEATED_MAX - t->repeated_cnt)
		return fail_sink(t, -EOVERFLOW);
	t->repeated_cnt += ev->weight ? ev->weight - 1 : 0;
	next = *ev;
	for (i = 0; i < ev->weight; i++) {
		if (i && ev->weight - i >= BULK_MIN)
			return put_bulk(t, ev, ev->weight - i, t->meta.interval_us);
		err = put_sample(t, &next);
		if (err)
			return err;
		next.time_us += t->meta.interval_us;
	}
	return 0;
}

/* A reader always needs the time of each thread; a stack can be written again. */
static void drop_quiet_stack(struct tach_thread *th)
{
	th->quiet += th->quiet < TACH_QUIET;
	if (th->quiet < TACH_QUIET)
		return;
	free(th->stack);
	th->stack = NULL;
	th->stack_cap = th->depth = 0;
}

/*
 * Writes everything that is buffered, including the threads' runs, to the file. The buffers of the
 * runs are freed, because the sink does not know which threads have ended.
 */
static int flush_all(struct tach_sink *t)
{
	struct tach_thread *th;
	uint32_t i;
	int err;

	for (i = 0; i < t->threads.cnt; i++) {
		th = &t->threads.list[i];
		if (th->pending) {
			err = make_room(t, th, 0);
			if (err)
				return err;
			put_pending(t, th);
			free_run(t, th);
		}
		if (t->threads.cnt > STACKS_KEPT)
			drop_quiet_stack(th);
	}
	return write_out(t);
}

static int tach_flush(struct sink *s)
{
	struct tach_sink *t = to_tach(s);

	return t->refuse ? t->refuse : flush_all(t);
}

static struct sink *tach_open(const struct sink_args *args)
{
	struct tach_sink *t;
	int flags = fcntl(args->fd, F_GETFL), err;

	if (flags < 0)
		return NULL;
	/* O_APPEND would put the header after everything else (pwrite(2), BUGS). */
	if ((unsigned int)args->layout >= TACH_LAYOUT_CNT || flags & O_APPEND) {
		errno = EINVAL;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->sink.ops = &sink_tach;
	t->refuse = -EINVAL;
	t->layout = args->layout;
	t->live = args->live;
	t->flush_bytes = args->frame_bytes > FLUSH_BYTES ? args->frame_bytes : FLUSH_BYTES;
	err = tach_file_init(&t->file, args);
	if (err) {
		free(t);
		errno = -err;
		return NULL;
	}
	return &t->sink;
}

static int tach_begin(struct sink *s, const struct profile_meta *meta,
		      const struct profile_tables *tables)
{
	struct tach_sink *t = to_tach(s);
	int err;

	if (t->begun)
		return t->err ? t->err : -EINVAL;
	t->begun = true;
	t->meta = *meta;
	t->tables = tables;
	t->sample_max = tach_field_max(t->layout, TACH_F_SAMPLES);
	err = tach_file_begin(&t->file, meta, tables);
	if (err) {
		t->broken = true;
		return fail_sink(t, err);
	}
	t->refuse = 0;
	return 0;
}

/* Completes the file, or as much of it as possible. Returns the first error, or 0. */
static int finish_file(struct tach_sink *t, const struct profile_stats *stats)
{
	int err = 0;

	/* After an error other than a write error, the buffers are still valid. */
	if (!t->broken)
		flush_all(t);
	t->sample_cnt = 0;
	if (!t->broken) {
		err = tach_file_finish(&t->file, t->threads.cnt, stats);
		if (!err)
			t->sample_cnt = t->buffered_cnt;
		if (!err || err == -ENOMEM)
			return err;
		fail_sink(t, err);
	}
	return tach_file_salvage(&t->file, t->threads.cnt, stats, &t->sample_cnt);
}

static int tach_end(struct sink *s, const struct profile_stats *stats)
{
	struct tach_sink *t = to_tach(s);
	int err;

	if (!t->begun || t->ended)
		return t->err ? t->err : -EINVAL;
	t->ended = true;
	err = finish_file(t, stats);
	if (err)
		fail_sink(t, err);
	t->refuse = t->err ? t->err : -EINVAL;
	return t->err;
}

static int tach_close(struct sink *s)
{
	struct tach_sink *t = to_tach(s);
	int err = t->err;

	tach_threads_free(&t->threads);
	buf_free(&t->out);
	tach_file_free(&t->file);
	free(t);
	return err;
}

uint64_t tach_sample_cnt(const struct sink *s)
{
	return ((const struct tach_sink *)s)->sample_cnt;
}

uint64_t tach_bytes(const struct sink *s)
{
	return tach_file_bytes(&((const struct tach_sink *)s)->file);
}

void tach_settle(struct sink *s)
{
	tach_join_wait(&to_tach(s)->file);
}

const struct sink_ops sink_tach = {
	.name = "tach",
	.help = "binary profile of CPython 3.15's profiling.sampling (one process a file)",
	.open = tach_open,
	.begin = tach_begin,
	.event = tach_event,
	.flush = tach_flush,
	.end = tach_end,
	.close = tach_close,
	.suffix = ".tach",
	.one_profile = true,
};
