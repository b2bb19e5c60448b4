/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_format.h - shared by TACH's writer and reader: the three header layouts, the constants, and
 * the per-thread state of the delta encoding.
 *
 * docs/tach.md describes the format. Decisions (which record to write, what to refuse) are the
 * writer's and the reader's own.
 */
#ifndef TACHBPF_TACH_FORMAT_H
#define TACHBPF_TACH_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "base/util.h"
#include "model/sink.h"

#define TACH_MAGIC 0x54414348u
#define TACH_MAGIC_SWAPPED 0x48434154u
#define TACH_LAYOUT_CNT 3

#define TACH_HEADER_BYTES 64
#define TACH_FOOTER_BYTES 32
/* thread id, interpreter id, record kind */
#define TACH_SAMPLE_HEADER_BYTES 13

enum tach_compression { TACH_PLAIN = 0, TACH_ZSTD = 1 };

enum tach_record {
	TACH_REPEAT = 0,	/* count, then count times: time delta, status    */
	TACH_FULL = 1,		/* delta, status, depth, frames                   */
	TACH_SUFFIX = 2,	/* delta, status, shared, new, new frames         */
	TACH_POP_PUSH = 3,	/* delta, status, pop, push, pushed frames        */
};

/* Header fields. tach_field_get() and tach_field_put() know their offsets. */
enum tach_field {
	TACH_F_MAGIC,
	TACH_F_VERSION,
	TACH_F_PY_MAJOR,
	TACH_F_PY_MINOR,
	TACH_F_PY_MICRO,
	TACH_F_START_US,
	TACH_F_INTERVAL_US,
	TACH_F_SAMPLES,
	TACH_F_THREADS,
	TACH_F_STRING_TABLE,
	TACH_F_FRAME_TABLE,
	TACH_F_COMPRESSION,
	TACH_F_CONFIG,
	TACH_FIELD_CNT,
};

/* The config word (release): mode + 1, then "features known", then features << 4. */
#define TACH_CONFIG_MODE_MASK 7u
#define TACH_CONFIG_FEATURES_KNOWN 8u
#define TACH_CONFIG_FEATURES_SHIFT 4
#define TACH_CONFIG_FEATURES_MASK 31u

/* Footer: u32 strings, u32 frames, u64 file size, 16 bytes of checksum (zeros: none). */
#define TACH_FOOTER_STRINGS 0
#define TACH_FOOTER_FRAMES 4
#define TACH_FOOTER_FILE_SIZE 8
#define TACH_FOOTER_CHECKSUM 16
#define TACH_CHECKSUM_BYTES 16

/* TACHSTAT, right before the footer; the 16-byte trailer ends both forms. */
#define TACH_STAT_MAGIC "TACHSTAT"
#define TACH_STAT_VERSION 1
#define TACH_STAT_BYTES 56
#define TACH_STAT_SHORT_BYTES 32	/* duration and rate only */
#define TACH_STAT_TRAILER_BYTES 16
#define TACH_STAT_HAS_ERROR 1u
#define TACH_STAT_HAS_MISSED 2u

/*
 * The first lines of functions: after the strings that frames name, a string that begins with this.
 * Then each frame has a number, least significant digit first, each digit a character:
 * TACH_FIRST_LINE_ZERO + 5 bits, and TACH_FIRST_LINE_MORE if another digit follows.
 */
#define TACH_FIRST_LINES "="	/* short: there are hundreds of small files */
#define TACH_FIRST_LINES_LONG "tachbpf: first lines of functions: "	/* until 2026-11-25 */
#define TACH_FIRST_LINE_ZERO '0'
#define TACH_FIRST_LINE_MORE 32

/* The version number in the header; draft2 is the oldest in spite of its number. */
uint32_t tach_layout_version(enum profile_layout layout);

/* Reads a field; 0 if the layout does not have it. */
uint64_t tach_field_get(const uint8_t *header, enum profile_layout layout, enum tach_field field,
			bool swapped);
/* Writes a field in this machine's byte order; ignored if the layout does not have it. */
void tach_field_put(uint8_t *header, enum profile_layout layout, enum tach_field field, uint64_t v);
/* The largest value of a field in this layout; 0 if it does not have it. */
uint64_t tach_field_max(enum profile_layout layout, enum tach_field field);

static inline uint32_t tach_load32(const uint8_t *p, bool swapped)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return swapped ? __builtin_bswap32(v) : v;
}

static inline uint64_t tach_load64(const uint8_t *p, bool swapped)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return swapped ? __builtin_bswap64(v) : v;
}

/* varint_put() with the short cases inlined: most ids and deltas are short. */
static inline uint8_t *tach_put_varint(uint8_t *p, uint64_t v)
{
	if (v < 0x80) {
		*p++ = (uint8_t)v;
		return p;
	}
	if (v < 0x4000) {
		*p++ = (uint8_t)v | 0x80;
		*p++ = (uint8_t)(v >> 7);
		return p;
	}
	return varint_put(p, v);
}

/* What a thread's next record is relative to. */
struct tach_thread {
	uint64_t thread_id;
	uint64_t time_us;	/* time of its last sample; at first the session's start */
	uint32_t interp_id;
	uint32_t depth;
	uint32_t *stack;	/* its last stack, innermost first */
	uint32_t stack_cap;
	uint32_t pending_cnt;	/* writer: repeats that are not in the buffer yet, */
	uint32_t pending_len;	/* the length of their bytes, */
	uint32_t pending_cap;	/* and the room for them */
	uint8_t quiet;		/* writer: flushes since its last sample, up to TACH_QUIET; then
				 * its stack is freed, and the next sample has all of it */
	uint8_t *pending;
};

#define TACH_QUIET 2

/* All threads of a file, found by (thread id, interpreter id). Zero-initialise. */
struct tach_threads {
	struct tach_thread *list;
	uint32_t cnt, cap;
	struct hash_index by_key;	/* of list */
	uint64_t seed;		/* so that a file cannot choose ids that collide */
};

static inline uint32_t tach_thread_hash(const struct tach_threads *t, uint64_t thread_id,
					uint32_t interp_id)
{
	return (uint32_t)hash_u64(hash_u64(thread_id ^ t->seed) ^ interp_id);
}

static inline bool tach_thread_equal(const void *list, uint32_t i, const void *key)
{
	const struct tach_thread *a = (const struct tach_thread *)list + i, *b = key;

	return a->thread_id == b->thread_id && a->interp_id == b->interp_id;
}

/* NULL: unknown. The pointer is valid until the next tach_threads_add(). */
static inline struct tach_thread *tach_threads_find(const struct tach_threads *t,
						    uint64_t thread_id, uint32_t interp_id)
{
	const struct tach_thread key = { .thread_id = thread_id, .interp_id = interp_id };
	uint32_t i;

	return hash_index_find(&t->by_key, tach_thread_hash(t, thread_id, interp_id),
			       tach_thread_equal, t->list, &key, &i) ? &t->list[i] : NULL;
}

/* Adds a thread that is not there yet. Returns NULL if memory runs out. */
struct tach_thread *tach_threads_add(struct tach_threads *t, uint64_t thread_id,
				     uint32_t interp_id, uint64_t start_us);
void tach_threads_free(struct tach_threads *t);

/* Makes room for a stack of depth frames; keeps the existing frames. Returns 0 or -ENOMEM. */
int tach_thread_reserve(struct tach_thread *th, uint32_t depth);

#endif
