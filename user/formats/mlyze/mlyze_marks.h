/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_marks.h - what tachbpf writes in MARKER events of .mlyze files that it has recorded. Other
 * readers see names of markers, and nothing else.
 *
 * A marker's name is "tachbpf WORD key=value ..."; in values, bytes up to space, '%' and those from
 * 127 on are %XX. Unknown words and keys are ignored. Numbers are decimal.
 *
 *   tachbpf recording mode=sampled|exact every=BYTES min=BYTES interval_us=N version=...   first
 *   tachbpf process pid=N comm=... python=3.11.2 container=... command=...
 *   tachbpf thread n=N tid=N name=...        n: its number in ALLOC events; before the first
 *   tachbpf check rss_anon=N swapped=N held=N unchecked=N      bytes: struct memory_check
 *   tachbpf gc generation=N runs=N uncollectable=N duration_us=N    right before its GC event
 *   tachbpf burst                            ALLOCs up to the next one were seen in one burst
 *   tachbpf sampled bursts=N watched_us=N over_us=N found=N used=N again=N again_error=N
 *           allocator=glibc|musl|unknown     after the last burst: struct memory_sampled
 *   tachbpf lost cause=KEY cnt=N             at the end: what is missing (losses.h)
 *   tachbpf census took_us=N rss_anon=N pools=BYTES limited=0|1 types=N     N types follow
 *   tachbpf type name=... objects=N objects_error=N bytes=N bytes_error=N   without name: the rest
 *   tachbpf fate stack=ID pages=N own=N reused=N unused=N   at the end: struct memory_fate
 *   tachbpf end exited=0|1                   the last event; without it, the recording was cut
 */
#ifndef TACHBPF_MLYZE_MARKS_H
#define TACHBPF_MLYZE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MLYZE_MARK_KEYS 8
#define MLYZE_MARK_VALUE 512

enum mlyze_mark_word {
	MARK_NONE = 0,		/* not one of ours */
	MARK_RECORDING, MARK_PROCESS, MARK_THREAD, MARK_CHECK, MARK_GC, MARK_LOST, MARK_END,
	MARK_CENSUS, MARK_TYPE, MARK_FATE, MARK_BURST, MARK_SAMPLED,
};

struct mlyze_mark {
	enum mlyze_mark_word word;
	uint32_t cnt;
	struct mlyze_mark_pair {
		char key[24];
		char value[MLYZE_MARK_VALUE];	/* unescaped; cut to size */
	} pairs[MLYZE_MARK_KEYS];
};

/* Parses a marker's name, any bytes. word MARK_NONE: it is not ours, or damaged. */
void mlyze_mark_parse(const char *name, size_t len, struct mlyze_mark *out);
/* The value of a key, or NULL. As a number: fallback if there is none. */
const char *mlyze_mark_value(const struct mlyze_mark *m, const char *key);
uint64_t mlyze_mark_number(const struct mlyze_mark *m, const char *key, uint64_t fallback);

/* Writes one: begin, then keys in any order. The text is cut at out's size, after a whole pair. */
struct mlyze_mark_text {
	char text[2048];
	size_t len;
};
void mlyze_mark_begin(struct mlyze_mark_text *t, enum mlyze_mark_word word);
void mlyze_mark_put(struct mlyze_mark_text *t, const char *key, const char *value);
void mlyze_mark_put_number(struct mlyze_mark_text *t, const char *key, uint64_t value);

#endif
