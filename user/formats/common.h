/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.h - what readers share: error messages, stacks that are too deep, and clocks for
 * threads in files without times.
 */
#ifndef TACHBPF_COMMON_H
#define TACHBPF_COMMON_H

#include "base/util.h"
#include "model/event.h"

struct intern;
struct thread_map;

/* For files without an interval: other formats need one. */
#define NOMINAL_INTERVAL_US 1000

/* Larger sums in one file are meaningless, and could overflow. */
#define WEIGHT_SUM_MAX ((uint64_t)INT64_MAX)

/* Where the message goes that says why a file could not be read, and where in it. */
struct reason {
	char *why;
	size_t size;
};

/* Set the message "damaged at byte OFF: ...". Returns -EBADMSG. */
int reason_at(const struct reason *why, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Set the message "out of memory". Returns -ENOMEM. */
int reason_memory(const struct reason *why);

/*
 * Convert any number of frame ids (struct buf of uint32_t), outermost first if root_first,
 * to an event's stack: innermost first, and if it is too deep, only the innermost frames
 * with "<truncated>" as the root; *cut says whether it was. 0 or -ENOMEM.
 */
int stack_fit(struct intern *in, const struct buf *ids, bool root_first,
	      uint32_t out[EVENT_MAX_FRAMES], uint32_t *nframes, bool *cut);

/* Intern a frame of which only this, and so its kind, is known. line < 1: unknown. 0 or -ENOMEM. */
int intern_place(struct intern *in, const struct string_ref *file, const struct string_ref *func,
		 int32_t line, int32_t column, uint32_t *id);

/* For each thread, the time of its next sample. Zero-initialise. */
struct clocks {
	struct thread_map *map;
	struct buf times;	/* uint64_t, µs */
};

/* Set *now to the thread's clock, then advance that by weight × step_us. 0 or -ENOMEM. */
int clocks_tick(struct clocks *c, uint64_t thread_id, uint64_t weight, uint64_t step_us,
		uint64_t *now);
void clocks_free(struct clocks *c);

/*
 * Parse the decimal number at s: len bytes, all of them digits, no sign, no leading zeros.
 * false: it is none, or it does not fit 64 bits.
 */
bool parse_decimal(const char *s, size_t len, uint64_t *v);

#endif
