/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * when.h - the conditions of --when: their meaning, and when a process meets them. Pure.
 *
 * A condition is judged once for each second. A process meets it when it was true in enough
 * consecutive seconds; it meets it again only after a second in which it was false.
 */
#ifndef TACHBPF_RECORDING_WHEN_H
#define TACHBPF_RECORDING_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum when_metric { WHEN_CPU, WHEN_GIL, WHEN_GC, WHEN_THREADS, WHEN_RSS, WHEN_METRICS };

/* Limits: the number of conditions, and the time of each in s. */
#define WHEN_MAX 8
#define WHEN_SECONDS_MAX 3600

struct when {
	enum when_metric metric;
	double over;		/* in the metric's unit: percent, threads, bytes */
	uint32_t seconds;	/* at least 1 */
	const char *text;	/* as the user wrote it */
};

struct when_list {
	struct when list[WHEN_MAX];
	size_t cnt;
};

/* Values of one process in one second; by enum when_metric, in its unit. */
struct when_facts {
	double values[WHEN_METRICS];
	bool known[WHEN_METRICS];	/* false: treated as if the condition were false */
};

/* State of a process for each condition. Zero-initialise. */
struct when_process {
	struct {
		uint32_t seconds;	/* consecutive seconds in which it was true, until now */
		double sum;		/* of the values in these */
		bool met;		/* it was met, and has not been false since */
	} of[WHEN_MAX];
};

/*
 * Takes a second's values. Returns the bits (1 << i) of the conditions that the process meets now
 * and did not meet before.
 */
uint32_t when_second(const struct when_list *l, struct when_process *p,
		     const struct when_facts *facts);
/* Returns true if one of the conditions is about this metric. */
bool when_needs(const struct when_list *l, enum when_metric metric);
/*
 * Returns text for a condition that is met, with its mean value, in out: "used 97 % of a CPU for
 * 5 s".
 */
#define WHEN_TEXT_BYTES 96
char *when_text(const struct when *w, const struct when_process *p, size_t index,
		char out[WHEN_TEXT_BYTES]);

/* ---- when_parse.c ---- */

/*
 * Parses "METRIC > VALUE [for DURATION]": "cpu>90% for 5s". w->text is text. 0, or -EINVAL: then
 * *at is where in text the error is, and *why what is expected there.
 */
int when_parse(const char *text, struct when *w, size_t *at, const char **why);
/* Returns the name of a metric in conditions. */
const char *when_metric_name(enum when_metric metric);

#endif
