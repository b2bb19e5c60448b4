/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * metrics_text.h - writes metrics in memory in a format that Prometheus reads: its text format
 * 0.0.4, or OpenMetrics 1.0.0.
 *
 * A family is a name with its type and help, and has samples that differ by labels. A family is
 * written with its first sample, so one without samples does not appear. Names and help are the
 * program's own; values of labels may be hostile. The text has a limit: a sample that does not fit
 * is left out as a whole, and counted.
 *
 * Used from one thread; waits for nothing.
 */
#ifndef TACHBPF_METRICS_TEXT_H
#define TACHBPF_METRICS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

enum metrics_form { METRICS_PROMETHEUS, METRICS_OPENMETRICS, METRICS_FORMS };
/* The value of the header Content-Type. */
const char *metrics_content_type(enum metrics_form form);
/* The format that a request's header Accept asks for (NULL: no header), as Prometheus sends it. */
enum metrics_form metrics_form_of(const char *accept);

/* A counter's samples have the family's name and "_total", an info's "_info" and the value 1. */
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };

struct metric_label {
	const char *name, *value;	/* value: any bytes; NULL: the label is left out */
};

#define METRICS_FAMILIES_MAX 128
/* The value of a label, including the NUL; a longer one is cut. */
#define METRIC_LABEL_BYTES 160

struct metrics_text {
	struct buf out;			/* the text */
	size_t max;			/* its limit in bytes */
	enum metrics_form form;
	const char *names[METRICS_FAMILIES_MAX];	/* of the families so far */
	size_t family_cnt;
	const char *name, *help;	/* of the family; NULL: it is left out */
	enum metric_type type;
	bool headed;			/* the family's header lines are written */
	uint64_t left_out;		/* samples that did not fit */
	/* 0; -ENOMEM; -EEXIST: a repeated family; -E2BIG: too many families */
	int err;
};

/* Begins a text of at most max bytes. Free it by metrics_text_free(). */
void metrics_text_begin(struct metrics_text *t, enum metrics_form form, size_t max);
void metrics_text_free(struct metrics_text *t);

/*
 * Begins a family; its samples follow. name: without the suffix of its type; both must stay valid
 * until metrics_text_end(). A repeated name is an error: nothing is written of it.
 */
void metrics_family(struct metrics_text *t, const char *name, enum metric_type type,
		    const char *help);
/* A sample of the family. No two samples of a family may have the same labels. */
void metrics_count(struct metrics_text *t, const struct metric_label *labels, size_t cnt,
		   uint64_t value);
/* A time in nanoseconds, written in seconds. */
void metrics_ns(struct metrics_text *t, const struct metric_label *labels, size_t cnt, uint64_t ns);
void metrics_real(struct metrics_text *t, const struct metric_label *labels, size_t cnt,
		  double value);

/*
 * Completes the text. Returns 0 or t->err: a text that lacks something is still well-formed, unless
 * memory ran out.
 */
int metrics_text_end(struct metrics_text *t);

/*
 * Copies a label's value to out as it will appear: valid UTF-8, U+FFFD for each unprintable
 * character, cut to fit. Two values with equal copies are one in the text.
 */
void metrics_clean(const char *value, char out[METRIC_LABEL_BYTES]);

#endif
