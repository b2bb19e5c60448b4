/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_modes.h - which BPF programs the configuration's modes need, and which sample types an
 * event belongs to. Pure.
 */
#ifndef TACHBPF_AGENT_MODES_H
#define TACHBPF_AGENT_MODES_H

#include <stdint.h>

#include "model/event.h"
#include "resolve/record_mode.h"
#include "telemetry/window.h"

/* Fills in the record mode for these modes (bits of enum agent_mode, at least one). */
void agent_modes_record(uint32_t modes, struct record_mode_def *out);

/* What the agent does in these modes, for its log: "sampling 19 times per second on each CPU". */
#define AGENT_MODES_TEXT 192
void agent_modes_text(uint32_t modes, uint32_t rate_hz, char out[AGENT_MODES_TEXT]);

/*
 * The sample types of an event in these modes. Returns how many, at most WINDOW_KIND_CNT; 0: none.
 */
unsigned int agent_modes_kinds(uint32_t modes, const struct event *ev,
			       enum window_kind kinds[WINDOW_KIND_CNT]);

#endif
