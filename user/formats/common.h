/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.h - what readers share: reasons, stacks that are too deep, the clocks
 * of threads in files that have none.
 */
#ifndef TACHBPF_COMMON_H
#define TACHBPF_COMMON_H

#include "base/util.h"
#include "model/event.h"

struct intern;
struct thread_map;

/* Of files that do not say how far samples are apart: so that others can be written. */
#define NOMINAL_INTERVAL_US 1000

/* More than this in one file means nothing, and its sum would wrap around. */
#define WEIGHT_SUM_MAX ((uint64_t)INT64_MAX)

/* Why a file could not be read, and where. */
struct reason {
	char *why;
	size_t size;
};

/* "damaged at byte OFF: ..." -EBADMSG, for returning. */
int reason_at(const struct reason *why, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "out of memory" -ENOMEM */
int reason_memory(const struct reason *why);

/*
 * Frame ids in any number (struct buf of uint32_t), outermost first if
 * root_first, as an event's: innermost first, and of a deeper one the innermost
 * frames with "<truncated>" as the root. Whether it was cut in *cut. 0 or -ENOMEM.
 */
int stack_fit(struct intern *in, const struct buf *ids, bool root_first,
	      uint32_t out[EVENT_MAX_FRAMES], uint32_t *nframes, bool *cut);

/* A frame of which only these are known, and so is its kind. line < 1: not known. 0 or -ENOMEM. */
int intern_place(struct intern *in, const struct string_ref *file, const struct string_ref *func,
		 int32_t line, int32_t column, uint32_t *id);

/* For each thread, when its next sample is. Zero-initialise. */
struct clocks {
	struct thread_map *map;
	struct buf times;	/* uint64_t, µs */
};

/* Where the thread's clock is in *now; then it goes on by weight × step_us. 0 or -ENOMEM. */
int clocks_tick(struct clocks *c, uint64_t thread_id, uint64_t weight, uint64_t step_us,
		uint64_t *now);
void clocks_free(struct clocks *c);

/*
 * The decimal number at s (len bytes, all of them digits), no sign, no leading
 * zeros. false: is none, or does not fit 64 bits.
 */
bool parse_decimal(const char *s, size_t len, uint64_t *v);

#endif
