// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_decode.c - decodes the samples of a TACH file one after another. See tach_decode.h.
 *
 * Owns the decompression window and the per-thread state. Bytes come from the mapped file directly,
 * or from one zstd frame after another through the window. A record is only decoded when it is
 * complete in the window (in a run of repeats: when one repeat is). None of the bytes are trusted.
 * What was decompressed before damage in a zstd frame is still decoded.
 *
 * A record that must be complete, because even the longest one would be, is decoded without a check
 * before each byte. A thread's stack lies at the end of its memory: a change at the inner end moves
 * no outer frames.
 */
#include "formats/tach/tach_decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/util.h"
#include "formats/read_error.h"
#include "formats/tach/tach_format.h"

/* Size of the window; anything above WHOLE_BYTES works. */
#define WINDOW_BYTES (256 * 1024)

/* Header, delta, status, two counts, 256 frame ids; varints of maximal length. */
#define RECORD_MAX_BYTES                                                                           \
	(TACH_SAMPLE_HEADER_BYTES + VARINT_MAX + 1 + 2 * VARINT_MAX + EVENT_MAX_FRAMES * VARINT_MAX)
#define REPEAT_MAX_BYTES (VARINT_MAX + 1)

/* With this much left, a record must be complete, and reading beyond it is safe. */
#define WHOLE_BYTES (RECORD_MAX_BYTES + 2 * IDS_AT_ONCE)

/* These are part of one function, in which `whole` is a constant. */
#define DECODE_INLINE static inline __attribute__((always_inline))

/* How many frame ids are decoded at a time, by vector instructions. */
#define IDS_AT_ONCE 8
typedef uint16_t eight_u16 __attribute__((vector_size(IDS_AT_ONCE * 2)));
typedef uint32_t eight_u32 __attribute__((vector_size(IDS_AT_ONCE * 4)));

/* Threads that are found without a search: a power of two. */
#define RECENT_THREADS 16

/*
 * 2^27 bytes, zstd's own limit for streams: a hostile frame can make us allocate this much memory
 * (RFC 8878, 3.1.1.1.2).
 */
#define ZSTD_WINDOW_LOG 27

/*
 * A thread needs about a kilobyte, and a few compressed bytes can name thousands of threads. Linux
 * has at most 2^22 thread ids.
 */
#define THREADS_MAX (1u << 20)

struct tach_decoder {
	const struct tach_info *info;
	const uint8_t *p, *end;		/* bytes that are available and not decoded yet */
	uint64_t sample_cnt;		/* number of samples delivered */
	unsigned int takes;		/* what the receiver of events does */
	uint16_t too_large;		/* decode_pairs(): added to an id, sets bit 15 if it is
					 * no frame's */
	struct tach_threads threads;
	uint32_t recent[RECENT_THREADS];	/* numbers of threads, by the end of their ids */
	struct tach_thread *repeating;	/* in a run of repeats: its thread, */
	uint64_t repeats;		/* and how many repeats are left */
	struct reason why;
	/* zstd: */
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer in;
	size_t zstd_left;		/* 0: at the end of a zstd frame */
	uint8_t *window;
	bool drained;			/* the window has all the rest; always true without zstd */
	size_t zstd_error;		/* why zstd cannot go on */
};

/* Fills the window after the bytes that are not decoded yet. */
static void refill_window(struct tach_decoder *d)
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
		/* A full window can mean that zstd has more output without needing input. */
		d->drained = d->in.pos == d->in.size && (!n || out.pos < out.size);
	}
	d->p = d->window;
	d->end = d->window + out.pos;
}

/* Makes at least this many bytes available, or all that are left. */
static inline void ensure_bytes(struct tach_decoder *d, size_t bytes)
{
	if ((size_t)(d->end - d->p) < bytes && !d->drained)
		refill_window(d);
}

/*
 * varint_get() with the short cases inlined. whole: there are at least VARINT_MAX bytes. The usual
 * case is a branch: a predicted one costs less than waiting for the number's length.
 */
DECODE_INLINE const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint64_t *v,
					bool whole)
{
	uint64_t any;

	if (whole && p[0] < 0x80) {
		*v = p[0];
		return p + 1;
	}
	if (whole && p[1] < 0x80) {
		*v = (p[0] & 0x7f) | (uint64_t)p[1] << 7;
		return p + 2;
	}
	if (whole && p[2] < 0x80) {
		*v = (p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7 | (uint64_t)p[2] << 14;
		return p + 3;
	}
	p = varint_get(p, whole ? p + VARINT_MAX : end, &any);
	*v = any;
	return p;
}

static int zstd_damage(struct tach_decoder *d)
{
	return reason_say(&d->why, "damaged: zstd: %s, after %llu samples of %llu",
			  ZSTD_getErrorName(d->zstd_error), (unsigned long long)d->sample_cnt,
			  (unsigned long long)d->info->sample_cnt);
}

static int fail_truncated(struct tach_decoder *d)
{
	if (d->zstd_error)
		return zstd_damage(d);
	return reason_say(&d->why, "damaged: the samples end inside a record, after %llu of %llu",
			  (unsigned long long)d->sample_cnt,
			  (unsigned long long)d->info->sample_cnt);
}

/*
 * The thread has one more sample, later by this time. Returns 0, or -EBADMSG: its time exceeds 64
 * bits, or the header has fewer samples.
 */
static inline int count_sample(struct tach_decoder *d, struct tach_thread *th, uint64_t delta)
{
	if (delta > UINT64_MAX - th->time_us)
		return reason_say(&d->why, "damaged: a timestamp beyond 64 bits");
	if (d->sample_cnt == d->info->sample_cnt && !d->info->counts_unknown)
		return reason_say(&d->why, "damaged: more samples than the header says (%llu)",
				  (unsigned long long)d->info->sample_cnt);
	th->time_us += delta;
	d->sample_cnt++;
	return 0;
}

/*
 * Delivers one sample of th, whose stack is current. keep: the number of outer frames that are as
 * in the thread's last one. Returns 1 or -EBADMSG.
 */
static inline int deliver_sample(struct tach_decoder *d, struct tach_thread *th, uint64_t delta,
				 uint8_t status, uint32_t keep, struct event *ev)
{
	if (count_sample(d, th, delta))
		return -EBADMSG;
	*ev = (struct event){
		.time_us = th->time_us,
		.thread_id = th->thread_id,
		.interp_id = th->interp_id,
		.nframes = th->depth,
		.frames = th->stack + (th->stack_cap - th->depth),
		.weight = 1,
		.status = status,
		.kept_1 = d->takes & EVENT_KEPT ? keep + 1 : 0,
	};
	return 1;
}

/* Adds repeats that differ from the event only in time to it, as far as the bytes are there. */
static inline void add_repeats(struct tach_decoder *d, struct event *ev)
{
	struct tach_thread *th = d->repeating;
	const uint8_t *p = d->p, *next;
	uint64_t delta;

	while (d->repeats && d->end - p >= REPEAT_MAX_BYTES && ev->more < UINT32_MAX) {
		next = get_varint(p, d->end, &delta, true);
		/* Damage is found again, and reported, after this event. */
		if (!next || *next != ev->status || delta > UINT64_MAX - th->time_us ||
		    (d->sample_cnt == d->info->sample_cnt && !d->info->counts_unknown))
			break;
		p = next + 1;
		th->time_us += delta;
		d->sample_cnt++;
		d->repeats--;
		ev->more++;
	}
	d->p = p;
	ev->time_us = th->time_us;
}

static inline int next_repeat(struct tach_decoder *d, struct event *ev)
{
	const uint8_t *p;
	uint64_t delta;
	int n;

	ensure_bytes(d, REPEAT_MAX_BYTES);
	p = get_varint(d->p, d->end, &delta, d->end - d->p >= REPEAT_MAX_BYTES);
	if (!p || p == d->end)
		return fail_truncated(d);
	d->p = p + 1;
	d->repeats--;
	n = deliver_sample(d, d->repeating, delta, *p, d->repeating->depth, ev);
	if (n > 0 && d->takes & EVENT_RUNS)
		add_repeats(d, ev);
	return n;
}

/* The next bytes as numbers of two bytes each, the first being the lower one. */
DECODE_INLINE eight_u16 load_pairs(const uint8_t *p)
{
	eight_u16 v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = v << 8 | v >> 8;
#endif
	return v;
}

/*
 * Most ids have two bytes: decodes the next cnt <= IDS_AT_ONCE ids. Returns false if some have not,
 * or are no frame's. Reads and writes IDS_AT_ONCE, whatever cnt is.
 */
DECODE_INLINE bool decode_pairs(const struct tach_decoder *d, const uint8_t *p, uint32_t cnt,
				uint32_t ids[IDS_AT_ONCE])
{
	/* From number IDS_AT_ONCE - cnt on, there is a mask whose first cnt ids count. */
	static const uint16_t masks[2 * IDS_AT_ONCE] = {
		0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff,
	};
	eight_u16 pairs = load_pairs(p), v = (pairs & 0x7f) | (pairs >> 1 & 0x3f80), wrong, mask;
	eight_u32 wide = __builtin_convertvector(v, eight_u32);
	uint64_t halves[2];

	memcpy(ids, &wide, sizeof(wide));
	memcpy(&mask, masks + IDS_AT_ONCE - cnt, sizeof(mask));
	/* Bit 7: no second byte; 15: a third one, or not below frame_cnt. */
	wrong = (((pairs ^ 0x80) & 0x8080) | ((v + d->too_large) & 0x8000)) & mask;
	memcpy(halves, &wrong, sizeof(halves));
	return !(halves[0] | halves[1]);
}

/* Decodes the new frames; the others are in place already. */
DECODE_INLINE int decode_frames(struct tach_decoder *d, uint32_t *stack, uint32_t cnt, bool whole)
{
	uint32_t frame_cnt = d->info->frame_cnt, next[IDS_AT_ONCE], i = 0, n;
	const uint8_t *p = d->p;
	uint64_t id;

	if (whole)
		memcpy(next, stack + cnt, sizeof(next));
	do {
		n = cnt - i < IDS_AT_ONCE ? cnt - i : IDS_AT_ONCE;
		if (whole && decode_pairs(d, p, n, stack + i)) {
			p += 2 * n;
			i += n;
			continue;
		}
		for (; n--; i++) {
			p = get_varint(p, d->end, &id, whole);
			if (!p)
				return fail_truncated(d);
			if (id >= frame_cnt)
				return reason_say(&d->why, "damaged: frame %llu of %u",
						  (unsigned long long)id, frame_cnt);
			stack[i] = (uint32_t)id;
		}
	} while (i < cnt);
	if (whole)
		memcpy(stack + cnt, next, sizeof(next));
	d->p = p;
	return 0;
}

/*
 * Makes room for a stack of this many frames, which keeps `keep` of the outermost ones, and after
 * it for what decode_frames() writes in excess.
 */
static int reserve_stack(struct tach_decoder *d, struct tach_thread *th, uint32_t depth,
			 uint32_t keep)
{
	uint32_t cap = th->stack_cap ? th->stack_cap : 16;
	uint32_t *stack;

	while (cap < depth)
		cap *= 2;
	stack = calloc(cap + IDS_AT_ONCE, sizeof(*stack));
	if (!stack)
		return reason_memory(&d->why);
	if (keep)
		memcpy(stack + cap - keep, th->stack + th->stack_cap - keep,
		       keep * sizeof(*stack));
	free(th->stack);
	th->stack = stack;
	th->stack_cap = cap;
	return 0;
}

/* Changes the stack to fresh new frames, then the last keep frames of the old one. */
DECODE_INLINE int change_stack(struct tach_decoder *d, struct tach_thread *th, uint64_t keep,
			       uint64_t fresh, bool whole)
{
	uint32_t depth = (uint32_t)(keep + fresh);

	if (keep > th->depth)
		return reason_say(&d->why, "damaged: keeps %llu frames of %u",
				  (unsigned long long)keep, th->depth);
	if (fresh > EVENT_MAX_FRAMES || keep + fresh > EVENT_MAX_FRAMES)
		return reason_say(&d->why, "damaged: a stack of %llu + %llu frames",
				  (unsigned long long)keep, (unsigned long long)fresh);
	if ((depth > th->stack_cap || !th->stack) && reserve_stack(d, th, depth, (uint32_t)keep))
		return -ENOMEM;
	th->depth = depth;
	return decode_frames(d, th->stack + (th->stack_cap - depth), (uint32_t)fresh, whole);
}

/* Reads how many frames are kept and how many follow. 0; -EBADMSG: too many are popped. */
static __attribute__((noinline)) int take_counts(struct tach_decoder *d, struct tach_thread *th,
						 enum tach_record kind, uint64_t counts[2])
{
	const uint8_t *p = d->p;

	counts[0] = 0;
	if (kind != TACH_FULL)
		p = varint_get(p, d->end, &counts[0]);
	if (p)
		p = varint_get(p, d->end, &counts[1]);
	if (!p)
		return fail_truncated(d);
	if (kind == TACH_POP_PUSH) {
		if (counts[0] > th->depth)
			return reason_say(&d->why, "damaged: pops %llu frames of %u",
					  (unsigned long long)counts[0], th->depth);
		counts[0] = th->depth - counts[0];
	}
	d->p = p;
	return 0;
}

DECODE_INLINE int decode_changed(struct tach_decoder *d, struct tach_thread *th,
				 enum tach_record kind, struct event *ev, bool whole)
{
	uint64_t delta, keep = 0, fresh = 0;
	const uint8_t *p = get_varint(d->p, d->end, &delta, whole);
	bool two = kind != TACH_FULL;
	uint8_t status;
	int err;

	if (!p || p == d->end)
		return fail_truncated(d);
	status = *p++;
	d->p = p;
	/* Both counts nearly always have one byte. */
	keep = whole && two ? p[0] : 0;
	if (whole && (p[0] | p[two]) < 0x80 && keep <= th->depth) {
		keep = kind == TACH_POP_PUSH ? th->depth - keep : keep;
		fresh = p[two];
		d->p += 1 + two;
	} else {
		uint64_t counts[2] = { 0 };

		err = take_counts(d, th, kind, counts);
		if (err)
			return err;
		keep = counts[0];
		fresh = counts[1];
	}
	err = change_stack(d, th, keep, fresh, whole);
	return err ? err : deliver_sample(d, th, delta, status, (uint32_t)keep, ev);
}

DECODE_INLINE int decode_repeat(struct tach_decoder *d, struct tach_thread *th, struct event *ev,
				bool whole)
{
	uint64_t count;
	const uint8_t *p = get_varint(d->p, d->end, &count, whole);

	if (!p)
		return fail_truncated(d);
	d->p = p;
	d->repeating = th;
	d->repeats = count;
	return count ? next_repeat(d, ev) : 0;
}

/* Finds or adds a thread. Returns 0, -EBADMSG or -ENOMEM. */
static int find_thread(struct tach_decoder *d, uint64_t thread_id, uint32_t interp_id,
		       struct tach_thread **th)
{
	*th = tach_threads_find(&d->threads, thread_id, interp_id);
	if (!*th) {
		if (d->threads.cnt == d->info->thread_cnt || d->threads.cnt == THREADS_MAX)
			return reason_say(&d->why, "damaged: more than %u threads", d->threads.cnt);
		*th = tach_threads_add(&d->threads, thread_id, interp_id, d->info->meta.start_us);
		if (!*th)
			return reason_memory(&d->why);
	}
	d->recent[thread_id % RECENT_THREADS] = (uint32_t)(*th - d->threads.list);
	return 0;
}

/* Returns 1: a sample; 0: the record has none. whole: the longest record would be complete. */
DECODE_INLINE int decode_record(struct tach_decoder *d, struct event *ev, bool whole)
{
	struct tach_thread *th;
	uint64_t thread_id;
	uint32_t interp_id;
	uint8_t kind;
	int err;

	if (!whole && d->end - d->p < TACH_SAMPLE_HEADER_BYTES)
		return fail_truncated(d);
	thread_id = tach_load64(d->p, d->info->swapped);
	interp_id = tach_load32(d->p + 8, d->info->swapped);
	kind = d->p[12];
	d->p += TACH_SAMPLE_HEADER_BYTES;
	if (kind > TACH_POP_PUSH)
		return reason_say(&d->why, "damaged: record of unknown kind %u", kind);
	th = d->threads.list + d->recent[thread_id % RECENT_THREADS];
	if (!d->threads.cnt || th->thread_id != thread_id || th->interp_id != interp_id) {
		err = find_thread(d, thread_id, interp_id, &th);
		if (err)
			return err;
	}
	return kind == TACH_REPEAT ? decode_repeat(d, th, ev, whole) :
				     decode_changed(d, th, kind, ev, whole);
}

/* A record that may not be complete: one of those at the end. */
static __attribute__((noinline)) int decode_last_record(struct tach_decoder *d, struct event *ev)
{
	return decode_record(d, ev, false);
}

/* Nothing is left to decode: checks that this is a regular end. */
static int at_end(struct tach_decoder *d)
{
	if (d->zstd_error)
		return zstd_damage(d);
	if (d->zstd_left)
		return reason_say(&d->why, "damaged: the last zstd frame is not complete");
	if (d->sample_cnt != d->info->sample_cnt && !d->info->counts_unknown)
		return reason_say(&d->why, "damaged: %llu samples, the header says %llu",
				  (unsigned long long)d->sample_cnt,
				  (unsigned long long)d->info->sample_cnt);
	return 0;
}

DECODE_INLINE int next_sample(struct tach_decoder *d, struct event *ev)
{
	int n = 0;

	if (d->repeats)
		return next_repeat(d, ev);
	while (!n) {
		ensure_bytes(d, WHOLE_BYTES);
		if (d->end - d->p >= WHOLE_BYTES)
			n = decode_record(d, ev, true);
		else if (d->p == d->end)
			return at_end(d);
		else
			n = decode_last_record(d, ev);
	}
	return n;
}

int tach_decoder_next(struct tach_decoder *d, struct event *ev)
{
	return next_sample(d, ev);
}

static int start_zstd(struct tach_decoder *d, const uint8_t *data, size_t len)
{
	d->window = malloc(WINDOW_BYTES);
	d->zstd = ZSTD_createDCtx();
	if (!d->window || !d->zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
		return reason_memory(&d->why);
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
	d->why = (struct reason){ why, why_size };
	if (info->frame_cnt < 0x4000)
		d->too_large = (uint16_t)(0x8000 - info->frame_cnt);
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

int tach_decode(const struct tach_info *info, const uint8_t *data, size_t len, unsigned int takes,
		int (*on_event)(void *ctx, const struct event *ev), void *ctx, char *why,
		size_t why_size)
{
	struct tach_decoder *d = tach_decoder_new(info, data, len, why, why_size);
	struct event ev;
	int err = d ? 0 : -ENOMEM;

	if (d)
		d->takes = takes;
	while (!err) {
		err = next_sample(d, &ev);
		if (err <= 0)
			break;
		err = on_event(ctx, &ev);
	}
	tach_decoder_free(d);
	return err;
}
