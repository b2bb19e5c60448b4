/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metrics_wire.h - the protocol between the main process and the worker that serves metrics. */
#ifndef TACHBPF_AGENT_METRICS_WIRE_H
#define TACHBPF_AGENT_METRICS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/metrics_text.h"

#define METRICS_ASK 0x6b736121u
/* What can be asked for: the metrics in each form, and whether the agent is ready. */
#define METRICS_READY METRICS_FORMS
#define METRICS_TEXTS (METRICS_FORMS + 1)
/* The names of the server, at the start of the worker's memory. */
#define METRICS_HOSTS_BYTES 4096

/* The worker wants a text. */
struct metrics_ask {
	uint32_t kind;		/* METRICS_ASK */
	uint32_t what;		/* enum metrics_form or METRICS_READY */
};
/* The answer, with a descriptor of the file that contains the text from its start. */
struct metrics_given {
	uint64_t bytes;
	uint32_t what;
	uint32_t unready;	/* the text says why the agent is not ready */
	int32_t err;		/* 0; -errno: there is no text, and no descriptor */
	uint32_t zero;
};

/* Returns true if this message is valid. */
static inline bool metrics_ask_ok(const struct metrics_ask *a)
{
	return a->kind == METRICS_ASK && a->what < METRICS_TEXTS;
}

#endif
