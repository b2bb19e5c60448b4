// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_agent_metrics.c - any bytes as a label's value, a header Accept, a frame's name, and as what
 * a worker that was taken over says.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/metrics_host.h"
#include "agent/metrics_wire.h"
#include "model/python_waits.h"
#include "telemetry/metrics_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD "# HELP x H.\n# TYPE x gauge\n"

/* Whatever the value is, the text has one sample in one line, in UTF-8 that can be shown. */
static void as_label(const char *value)
{
	struct metric_label label = { "a", value };
	char clean[METRIC_LABEL_BYTES], again[METRIC_LABEL_BYTES];
	struct metrics_text t;
	size_t at = strlen(HEAD), n;
	uint32_t cp;

	metrics_clean(value, clean);
	metrics_clean(clean, again);
	if (strlen(clean) >= sizeof(clean) || strcmp(clean, again))
		abort();
	metrics_text_begin(&t, METRICS_PROMETHEUS, 1 << 16);
	metrics_family(&t, "x", METRIC_GAUGE, "H.");
	metrics_count(&t, &label, 1, 1);
	if (metrics_text_end(&t) || t.left_out || t.out.len < at ||
	    memcmp(t.out.data, HEAD "x{a=\"", at + 5) ||
	    memcmp(t.out.data + t.out.len - 5, "\"} 1\n", 5))
		abort();
	for (; at + 1 < t.out.len; at += n) {
		n = utf8_char((char *)t.out.data + at, t.out.len - at, &cp);
		if (!n || !utf8_printable(cp))
			abort();
	}
	metrics_text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct string_ref frame = { (const char *)data, (uint32_t)size };
	struct metrics_ask ask = { 0 };
	char *text = malloc(size + 1);

	memcpy(&ask, data, size < sizeof(ask) ? size : sizeof(ask));
	if (metrics_ask_ok(&ask))
		metrics_content_type(ask.what < METRICS_FORMS ? ask.what : METRICS_PROMETHEUS);
	if (size && python_wait_of(&frame) > PYTHON_WAITS)
		abort();
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	as_label(text);
	if (metrics_form_of(text) >= METRICS_FORMS)
		abort();
	if (metrics_host_ok(text, "") != metrics_host_ok(text, " localhost ") &&
	    strncasecmp(text, "localhost", strlen("localhost")))
		abort();
	free(text);
	return 0;
}
