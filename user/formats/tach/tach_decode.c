// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_decode.c - decodes the samples of a TACH file one after another. See tach_decode.h.
 *
 * Owns the decompression window and the per-thread state. Bytes come from the mapped file
 * directly, or from one zstd frame after another through the window. A record is only decoded when
 * it is complete in the window (in a run of repeats: when one repeat is). None of the bytes are
 * trusted. What was decompressed before damage in a zstd frame is still decoded.
 */
#include "formats/tach/tach_decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/util.h"
#include "formats/tach/tach_format.h"

/* Size of the window; anything above RECORD_MAX_BYTES works. */
#define WINDOW_BYTES (256 * 1024)

/* Header, delta, status, two counts, 256 frame ids; varints as long as they may be. */
#define RECORD_MAX_BYTES                                                                           \
	(TACH_SAMPLE_HEADER_BYTES + VARINT_MAX + 1 + 2 * VARINT_MAX + EVENT_MAX_FRAMES * VARINT_MAX)
#define REPEAT_MAX_BYTES (VARINT_MAX + 1)

/*
 * 2^27 bytes, zstd's own limit for streams: this much memory a hostile frame can make us
 * allocate (RFC 8878, 3.1.1.1.2).
 */
#define ZSTD_WINDOW_LOG 27

/*
 * A thread needs about a kilobyte, and a few compressed bytes can name thousands of
 * threads. Linux has at most 2^22 thread ids.
 */
#define THREADS_MAX (1u << 20)

struct tach_decoder {
	const struct tach_info *info;
	const uint8_t *p, *end;		/* bytes that are available and not decoded yet */
	uint64_t sample_cnt;		/* number of samples delivered */
	struct tach_threads threads;
	uint32_t last;			/* number of the thread of the last record */
	struct tach_thread *repeating;	/* in a run of repeats: its thread, */
	uint64_t repeats;		/* and how many repeats are left */
	char *why;
	size_t why_size;
	/* zstd: */
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer in;
	size_t zstd_left;		/* 0: at the end of a zstd frame */
	uint8_t *window;
	bool drained;			/* the window has all the rest; always true without zstd */
	size_t zstd_error;		/* why zstd cannot go on */
};

__attribute__((format(printf, 2, 3)))
static int bad(struct tach_decoder *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->why, d->why_size, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

static int no_memory(struct tach_decoder *d)
{
	snprintf(d->why, d->why_size, "out of memory");
	return -ENOMEM;
}

/* Fill the window after the bytes that are not decoded yet. */
static void refill(struct tach_decoder *d)
{
	ZSTD_outBuffer out = { d->window, WINDOW_BYTES, d->end - d->p };
	size_t n;

	memmove(d->window, d->p, out.pos);
	while (out.pos < out.size && !d->drained) {
		n = ZSTD_decompressStream(d->zstd, &out, &d->in);
		if (ZSTD_isError(n)) {
			d->zstd_error = n;
			d->drained = true;
			break;
		}
		d->zstd_left = n;
		/* A full window can mean that zstd holds more without needing input. */
		d->drained = d->in.pos == d->in.size && (!n || out.pos < out.size);
	}
	d->p = d->window;
	d->end = d->window + out.pos;
}

/* Make at least this many bytes available, or all that are left. */
static inline void ensure(struct tach_decoder *d, size_t bytes)
{
	if ((size_t)(d->end - d->p) < bytes && !d->drained)
		refill(d);
}

/* varint_get() with the short cases inlined. */
static inline const uint8_t *get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	if (end - p >= 2) {
		if (p[0] < 0x80) {
			*v = p[0];
			return p + 1;
		}
		if (p[1] < 0x80) {
			*v = (p[0] & 0x7f) | (uint64_t)p[1] << 7;
			return p + 2;
		}
	}
	return varint_get(p, end, v);
}

static int zstd_damage(struct tach_decoder *d)
{
	return bad(d, "damaged: zstd: %s, after %llu samples of %llu",
		   ZSTD_getErrorName(d->zstd_error), (unsigned long long)d->sample_cnt,
		   (unsigned long long)d->info->sample_cnt);
}

static int truncated(struct tach_decoder *d)
{
	if (d->zstd_error)
		return zstd_damage(d);
	return bad(d, "damaged: the samples end inside a record, after %llu of %llu",
		   (unsigned long long)d->sample_cnt, (unsigned long long)d->info->sample_cnt);
}

/* Deliver one sample of th, whose stack is current. 1, or -EBADMSG: a time exceeds 64 bits. */
static inline int sample(struct tach_decoder *d, struct tach_thread *th, uint64_t delta,
			 uint8_t status, struct event *ev)
{
	if (delta > UINT64_MAX - th->time_us)
		return bad(d, "damaged: a timestamp beyond 64 bits");
	if (d->sample_cnt == d->info->sample_cnt && !d->info->counts_unknown)
		return bad(d, "damaged: more samples than the header says (%llu)",
			   (unsigned long long)d->info->sample_cnt);
	th->time_us += delta;
	d->sample_cnt++;
	*ev = (struct event){
		.time_us = th->time_us,
		.thread_id = th->thread_id,
		.interp_id = th->interp_id,
		.nframes = th->depth,
		.frames = th->stack,
		.weight = 1,
		.status = status,
	};
	return 1;
}

static inline int next_repeat(struct tach_decoder *d, struct event *ev)
{
	const uint8_t *p;
	uint64_t delta;

	ensure(d, REPEAT_MAX_BYTES);
	p = get(d->p, d->end, &delta);
	if (!p || p == d->end)
		return truncated(d);
	d->p = p + 1;
	d->repeats--;
	return sample(d, d->repeating, delta, *p, ev);
}

/* Decode the new frames; the others are in place already. */
static int decode_frames(struct tach_decoder *d, struct tach_thread *th, uint32_t cnt)
{
	const uint8_t *p = d->p;
	uint64_t id;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		p = get(p, d->end, &id);
		if (!p)
			return truncated(d);
		if (id >= d->info->frame_cnt)
			return bad(d, "damaged: frame %llu of %u", (unsigned long long)id,
				   d->info->frame_cnt);
		th->stack[i] = (uint32_t)id;
	}
	d->p = p;
	return 0;
}

/* Change the stack to fresh new frames, then the last keep frames of the old one. */
static int change_stack(struct tach_decoder *d, struct tach_thread *th, uint64_t keep,
			uint64_t fresh)
{
	if (keep > th->depth)
		return bad(d, "damaged: keeps %llu frames of %u", (unsigned long long)keep,
			   th->depth);
	if (fresh > EVENT_MAX_FRAMES || keep + fresh > EVENT_MAX_FRAMES)
		return bad(d, "damaged: a stack of %llu + %llu frames", (unsigned long long)keep,
			   (unsigned long long)fresh);
	if (tach_thread_reserve(th, (uint32_t)(keep + fresh)))
		return no_memory(d);
	if (keep)
		memmove(th->stack + fresh, th->stack + th->depth - keep,
			keep * sizeof(*th->stack));
	th->depth = (uint32_t)(keep + fresh);
	return decode_frames(d, th, (uint32_t)fresh);
}

static int decode_changed(struct tach_decoder *d, struct tach_thread *th, enum tach_record kind,
			  struct event *ev)
{
	uint64_t delta, keep = 0, fresh;
	const uint8_t *p = get(d->p, d->end, &delta);
	uint8_t status;
	int err;

	if (!p || p == d->end)
		return truncated(d);
	status = *p++;
	if (kind != TACH_FULL)
		p = get(p, d->end, &keep);
	if (p)
		p = get(p, d->end, &fresh);
	if (!p)
		return truncated(d);
	if (kind == TACH_POP_PUSH) {
		if (keep > th->depth)
			return bad(d, "damaged: pops %llu frames of %u", (unsigned long long)keep,
				   th->depth);
		keep = th->depth - keep;
	}
	d->p = p;
	err = change_stack(d, th, keep, fresh);
	return err ? err : sample(d, th, delta, status, ev);
}

static int decode_repeat(struct tach_decoder *d, struct tach_thread *th, struct event *ev)
{
	uint64_t count;
	const uint8_t *p = get(d->p, d->end, &count);

	if (!p)
		return truncated(d);
	d->p = p;
	d->repeating = th;
	d->repeats = count;
	return count ? next_repeat(d, ev) : 0;
}

/* Mostly it is that of the last record. NULL: not there. */
static inline struct tach_thread *find_thread(const struct tach_decoder *d, uint64_t thread_id,
					      uint32_t interp_id)
{
	struct tach_thread *th = d->threads.list + d->last;

	if (d->threads.cnt && th->thread_id == thread_id && th->interp_id == interp_id)
		return th;
	return tach_threads_find(&d->threads, thread_id, interp_id);
}

/* 1: a sample; 0: the record has none. */
static int decode_record(struct tach_decoder *d, struct event *ev)
{
	uint64_t thread_id;
	uint32_t interp_id;
	struct tach_thread *th;
	uint8_t kind;

	if (d->end - d->p < TACH_SAMPLE_HEADER_BYTES)
		return truncated(d);
	thread_id = tach_load64(d->p, d->info->swapped);
	interp_id = tach_load32(d->p + 8, d->info->swapped);
	kind = d->p[12];
	d->p += TACH_SAMPLE_HEADER_BYTES;
	if (kind > TACH_POP_PUSH)
		return bad(d, "damaged: record of unknown kind %u", kind);
	th = find_thread(d, thread_id, interp_id);
	if (!th) {
		if (d->threads.cnt == d->info->thread_cnt || d->threads.cnt == THREADS_MAX)
			return bad(d, "damaged: more than %u threads", d->threads.cnt);
		th = tach_threads_add(&d->threads, thread_id, interp_id, d->info->meta.start_us);
		if (!th)
			return no_memory(d);
	}
	d->last = (uint32_t)(th - d->threads.list);
	return kind == TACH_REPEAT ? decode_repeat(d, th, ev) : decode_changed(d, th, kind, ev);
}

/* Nothing is left to decode: is this a regular end? */
static int at_end(struct tach_decoder *d)
{
	if (d->zstd_error)
		return zstd_damage(d);
	if (d->zstd_left)
		return bad(d, "damaged: the last zstd frame is not complete");
	if (d->sample_cnt != d->info->sample_cnt && !d->info->counts_unknown)
		return bad(d, "damaged: %llu samples, the header says %llu",
			   (unsigned long long)d->sample_cnt,
			   (unsigned long long)d->info->sample_cnt);
	return 0;
}

static inline int next(struct tach_decoder *d, struct event *ev)
{
	int n = 0;

	if (d->repeats)
		return next_repeat(d, ev);
	while (!n) {
		ensure(d, RECORD_MAX_BYTES);
		if (d->p == d->end)
			return at_end(d);
		n = decode_record(d, ev);
	}
	return n;
}

int tach_decoder_next(struct tach_decoder *d, struct event *ev)
{
	return next(d, ev);
}

static int start_zstd(struct tach_decoder *d, const uint8_t *data, size_t len)
{
	d->window = malloc(WINDOW_BYTES);
	d->zstd = ZSTD_createDCtx();
	if (!d->window || !d->zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
		return no_memory(d);
	d->in = (ZSTD_inBuffer){ data, len, 0 };
	d->p = d->end = d->window;
	return 0;
}

struct tach_decoder *tach_decoder_new(const struct tach_info *info, const uint8_t *data,
				      size_t len, char *why, size_t why_size)
{
	struct tach_decoder *d = calloc(1, sizeof(*d));

	if (!d) {
		snprintf(why, why_size, "out of memory");
		return NULL;
	}
	d->info = info;
	d->p = data;
	d->end = len ? data + len : data;	/* data may be NULL if len is 0 */
	d->why = why;
	d->why_size = why_size;
	d->drained = info->compression != TACH_ZSTD || !len;
	if (!d->drained && start_zstd(d, data, len)) {
		tach_decoder_free(d);
		errno = ENOMEM;
		return NULL;
	}
	return d;
}

void tach_decoder_free(struct tach_decoder *d)
{
	if (!d)
		return;
	tach_threads_free(&d->threads);
	ZSTD_freeDCtx(d->zstd);
	free(d->window);
	free(d);
}

uint32_t tach_decoder_threads(const struct tach_decoder *d)
{
	return d->threads.cnt;
}

int tach_decode(const struct tach_info *info, const uint8_t *data, size_t len,
		int (*on_event)(void *ctx, const struct event *ev), void *ctx, char *why,
		size_t why_size)
{
	struct tach_decoder *d = tach_decoder_new(info, data, len, why, why_size);
	struct event ev;
	int err = d ? 0 : -ENOMEM;

	while (!err) {
		err = next(d, &ev);
		if (err <= 0)
			break;
		err = on_event(ctx, &ev);
	}
	tach_decoder_free(d);
	return err;
}
