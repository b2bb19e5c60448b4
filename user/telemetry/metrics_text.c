// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * metrics_text.c - see metrics_text.h. The formats:
 * https://prometheus.io/docs/instrumenting/exposition_formats/ and
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
#include "telemetry/metrics_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define END "# EOF\n"
#define REPLACEMENT "\xef\xbf\xbd"	/* U+FFFD */
#define NS UINT64_C(1000000000)

const char *metrics_content_type(enum metrics_form form)
{
	return form == METRICS_OPENMETRICS ?
	       "application/openmetrics-text; version=1.0.0; charset=utf-8" :
	       "text/plain; version=0.0.4; charset=utf-8";
}

/* Prometheus asks for OpenMetrics if it can read it; a client that sends both prefers it. */
enum metrics_form metrics_form_of(const char *accept)
{
	return accept && strstr(accept, "application/openmetrics-text") ? METRICS_OPENMETRICS :
									  METRICS_PROMETHEUS;
}

void metrics_text_begin(struct metrics_text *t, enum metrics_form form, size_t max)
{
	*t = (struct metrics_text){ .form = form, .max = max };
}

void metrics_text_free(struct metrics_text *t)
{
	buf_free(&t->out);
}

static void add_bytes(struct metrics_text *t, const void *data, size_t len)
{
	if (buf_add(&t->out, data, len))
		t->err = -ENOMEM;
}

static void add_text(struct metrics_text *t, const char *text)
{
	add_bytes(t, text, strlen(text));
}

void metrics_clean(const char *value, char out[METRIC_LABEL_BYTES])
{
	size_t len = strlen(value), at = 0, n, used = 0;
	uint32_t cp;

	while (at < len) {
		const char *from = value + at;
		size_t bytes;

		n = bytes = utf8_char(from, len - at, &cp);
		if (!n || !utf8_printable(cp)) {
			from = REPLACEMENT;
			bytes = strlen(REPLACEMENT);
		}
		if (used + bytes >= METRIC_LABEL_BYTES)
			break;
		memcpy(out + used, from, bytes);
		used += bytes;
		at += n ? n : 1;
	}
	out[used] = 0;
}

static void add_value_of_label(struct metrics_text *t, const char *value)
{
	char clean[METRIC_LABEL_BYTES];
	const char *p = clean;
	size_t n;

	metrics_clean(value, clean);
	while (*p) {
		n = strcspn(p, "\\\"");
		add_bytes(t, p, n);
		p += n;
		if (!*p)
			break;
		add_bytes(t, "\\", 1);
		add_bytes(t, p++, 1);
	}
}

static void add_labels(struct metrics_text *t, const struct metric_label *labels, size_t cnt)
{
	const char *before = "{";
	size_t i;

	for (i = 0; i < cnt; i++) {
		if (!labels[i].value)
			continue;
		add_text(t, before);
		add_text(t, labels[i].name);
		add_text(t, "=\"");
		add_value_of_label(t, labels[i].value);
		add_text(t, "\"");
		before = ",";
	}
	if (*before == ',')
		add_text(t, "}");
}

static const char *name_suffix(enum metric_type type)
{
	return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

/* "# HELP name help". In OpenMetrics a family's name has no suffix. */
static void add_comment(struct metrics_text *t, const char *keyword, const char *text)
{
	add_text(t, keyword);
	add_text(t, t->name);
	if (t->form == METRICS_PROMETHEUS)
		add_text(t, name_suffix(t->type));
	add_text(t, " ");
	add_text(t, text);
	add_text(t, "\n");
}

static void add_head(struct metrics_text *t)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_INFO] = "info",
	};
	bool plain = t->form == METRICS_PROMETHEUS && t->type == METRIC_INFO;

	add_comment(t, "# HELP ", t->help);
	add_comment(t, "# TYPE ", plain ? "gauge" : types[t->type]);
}

void metrics_family(struct metrics_text *t, const char *name, enum metric_type type,
		    const char *help)
{
	size_t i;

	t->name = NULL;
	for (i = 0; i < t->family_cnt; i++)
		if (!strcmp(t->names[i], name)) {
			t->err = -EEXIST;
			return;
		}
	if (t->family_cnt == METRICS_FAMILIES_MAX) {
		t->err = -E2BIG;
		return;
	}
	t->names[t->family_cnt++] = name;
	t->name = name;
	t->help = help;
	t->type = type;
	t->headed = false;
}

static void add_sample(struct metrics_text *t, const struct metric_label *labels, size_t cnt,
		       const char *value)
{
	size_t before = t->out.len;

	if (!t->name || t->err == -ENOMEM) {
		t->left_out++;
		return;
	}
	if (!t->headed)
		add_head(t);
	add_text(t, t->name);
	add_text(t, name_suffix(t->type));
	add_labels(t, labels, cnt);
	add_text(t, " ");
	add_text(t, value);
	add_text(t, "\n");
	if (t->err != -ENOMEM && t->out.len + strlen(END) <= t->max) {
		t->headed = true;
		return;
	}
	t->out.len = before;
	t->left_out++;
}

void metrics_count(struct metrics_text *t, const struct metric_label *labels, size_t cnt,
		   uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_sample(t, labels, cnt, text);
}

void metrics_ns(struct metrics_text *t, const struct metric_label *labels, size_t cnt, uint64_t ns)
{
	char text[40];
	size_t len = (size_t)snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, ns / NS,
				      ns % NS);

	while (text[len - 1] == '0')
		text[--len] = 0;
	if (text[len - 1] == '.')
		text[--len] = 0;
	add_sample(t, labels, cnt, text);
}

void metrics_real(struct metrics_text *t, const struct metric_label *labels, size_t cnt,
		  double value)
{
	char text[40];

	if (isnan(value))
		snprintf(text, sizeof(text), "NaN");
	else if (isinf(value))
		snprintf(text, sizeof(text), value > 0 ? "+Inf" : "-Inf");
	else
		snprintf(text, sizeof(text), "%.15g", value);
	add_sample(t, labels, cnt, text);
}

int metrics_text_end(struct metrics_text *t)
{
	t->name = NULL;
	if (t->form == METRICS_OPENMETRICS)
		add_text(t, END);
	return t->err;
}
