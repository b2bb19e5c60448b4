/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metrics_wire.h - the protocol between the main process and the worker that serves metrics. */
#ifndef TACHBPF_AGENT_METRICS_WIRE_H
#define TACHBPF_AGENT_METRICS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/metrics_text.h"

#define METRICS_ASK 0x6b736121u

/* The worker wants a text. */
struct metrics_ask {
	uint32_t kind;		/* METRICS_ASK */
	uint32_t form;		/* enum metrics_form */
};
/* The answer, with a descriptor of the file that contains the text from its start. */
struct metrics_given {
	uint64_t bytes;
	uint32_t form;
	int32_t err;		/* 0; -errno: there is no text, and no descriptor */
};

/* Returns true if this message is valid. */
static inline bool metrics_ask_ok(const struct metrics_ask *a)
{
	return a->kind == METRICS_ASK && a->form < METRICS_FORMS;
}

#endif
