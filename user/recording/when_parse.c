// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * when_parse.c - the grammar of --when. See when.h.
 *
 *   condition = metric ">" value [ "for" duration ]
 *   metric    = "cpu" | "gil" | "gc" | "threads" | "rss"
 *   value     = number [ unit ]       %, or for rss K, M, G, KiB, MiB, GiB
 *   duration  = number [ unit ]       s, m, h
 *
 * Spaces may separate them.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "recording/when.h"

/* A number with its unit. */
#define WORD_BYTES 48

static const struct quantity_unit percent_units[] = { { "%", 1 }, { "", 1 }, { 0 } };
static const struct quantity_unit plain_units[] = { { "", 1 }, { 0 } };
static const struct quantity_unit byte_units[] = {
	{ "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { "KiB", 1 << 10 },
	{ "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { 0 }
};

static const struct metric {
	const char *name;
	const struct quantity_unit *units;
	double below;		/* exclusive limit of values */
	const char *wants;	/* what a value must be */
} metrics[WHEN_METRICS] = {
	[WHEN_CPU] = { "cpu", percent_units, 1e6, "expected percent of one CPU, such as 90%" },
	[WHEN_GIL] = { "gil", percent_units, 100,
		       "expected percent of the time, less than 100, such as 80%" },
	[WHEN_GC] = { "gc", percent_units, 1e6, "expected percent of one CPU, such as 20%" },
	[WHEN_THREADS] = { "threads", plain_units, 1e7, "expected a number of threads" },
	[WHEN_RSS] = { "rss", byte_units, 0x1p53,
		      "expected bytes with a unit, such as 500M or 2G" },
};

struct parser {
	const char *text;
	size_t at;
	const char *why;
};

static int parse_error(struct parser *p, const char *why)
{
	p->why = why;
	return -EINVAL;
}

static void skip_spaces(struct parser *p)
{
	while (p->text[p->at] == ' ')
		p->at++;
}

/* Returns the length of a word of letters. */
static size_t word_length(const struct parser *p)
{
	const char *s = p->text + p->at;
	size_t n = 0;

	while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z'))
		n++;
	return n;
}

static int take_metric(struct parser *p, enum when_metric *metric)
{
	size_t len, i;

	skip_spaces(p);
	len = word_length(p);
	for (i = 0; i < WHEN_METRICS; i++) {
		if (strlen(metrics[i].name) != len ||
		    strncmp(p->text + p->at, metrics[i].name, len))
			continue;
		*metric = i;
		p->at += len;
		return 0;
	}
	return parse_error(p, "expected cpu, gil, gc, threads or rss");
}

static int take_over(struct parser *p)
{
	skip_spaces(p);
	if (p->text[p->at] != '>' || p->text[p->at + 1] == '=')
		return parse_error(p, "expected >");
	p->at++;
	return 0;
}

/* Takes a number and its unit, up to a space. */
static int take_quantity(struct parser *p, const struct quantity_unit *units, double *value,
			 const char *wants)
{
	char word[WORD_BYTES];
	size_t len;

	skip_spaces(p);
	len = strcspn(p->text + p->at, " ");
	if (!len || len >= sizeof(word))
		return parse_error(p, wants);
	memcpy(word, p->text + p->at, len);
	word[len] = '\0';
	if (quantity_parse(word, units, value))
		return parse_error(p, wants);
	p->at += len;
	return 0;
}

static int take_value(struct parser *p, struct when *w)
{
	const struct metric *m = &metrics[w->metric];
	size_t at;
	int err;

	skip_spaces(p);
	at = p->at;
	err = take_quantity(p, m->units, &w->over, m->wants);
	if (!err && w->over < m->below)
		return 0;
	p->at = at;
	return parse_error(p, m->wants);
}

/* Takes "for DURATION", or nothing. */
static int take_duration(struct parser *p, struct when *w)
{
	static const char wants[] = "expected a time from 1s to 1h, such as 5s";
	double ns;
	size_t at;

	w->seconds = 1;
	skip_spaces(p);
	if (!p->text[p->at])
		return 0;
	if (word_length(p) != 3 || strncmp(p->text + p->at, "for", 3))
		return parse_error(p, "expected `for DURATION` or nothing");
	p->at += 3;
	skip_spaces(p);
	at = p->at;
	if (!take_quantity(p, setting_times, &ns, wants) && ns >= NS_OF_S &&
	    ns <= WHEN_SECONDS_MAX * NS_OF_S) {
		w->seconds = (uint32_t)ceil(ns / NS_OF_S);
		return 0;
	}
	p->at = at;
	return parse_error(p, wants);
}

int when_parse(const char *text, struct when *w, size_t *at, const char **why)
{
	struct parser p = { .text = text };
	int err;

	*w = (struct when){ .text = text };
	err = take_metric(&p, &w->metric);
	if (!err)
		err = take_over(&p);
	if (!err)
		err = take_value(&p, w);
	if (!err)
		err = take_duration(&p, w);
	skip_spaces(&p);
	if (!err && p.text[p.at])
		err = parse_error(&p, "unexpected text");
	*at = p.at;
	*why = p.why;
	return err;
}

const char *when_metric_name(enum when_metric metric)
{
	return metrics[metric].name;
}
