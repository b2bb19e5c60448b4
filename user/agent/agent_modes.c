// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_modes.c - see agent_modes.h. */
#include "agent/agent_modes.h"

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "bpf/abi.h"

void agent_modes_record(uint32_t modes, struct record_mode_def *out)
{
	bool off_cpu = modes & AGENT_OFFCPU, gil = modes & AGENT_GIL;
	bool exception = modes & AGENT_EXCEPTION;
	uint32_t times = modes & AGENT_TIMES;

	*out = (struct record_mode_def){
		.name = "agent",
		.header = times == AGENT_CPU ? MODE_CPU : MODE_ALL,
		.unit = UNIT_SAMPLES,
		.ticks = modes & (AGENT_CPU | AGENT_GIL | AGENT_EXCEPTION),
		.waits = off_cpu || gil || exception,
		.runnable = off_cpu || gil || exception,
		.wait_frames = off_cpu,
		.runnable_frames = off_cpu,
		.exceptions = exception,
		.memory = modes & AGENT_MEMORY,
	};
	/* Other times cost nothing if nobody wants them. */
	if (times == AGENT_GIL)
		out->need_status = STATUS_HAS_GIL | STATUS_GIL_REQUESTED;
	else if (times == AGENT_EXCEPTION)
		out->need_status = STATUS_HAS_EXCEPTION;
}

void agent_modes_text(uint32_t modes, uint32_t rate_hz, char out[AGENT_MODES_TEXT])
{
	const char *waits = modes & AGENT_OFFCPU ? "recording waits" : "";
	const char *memory = modes & AGENT_MEMORY ? "recording who touches new memory" : "";
	const char *heap = modes & AGENT_HEAP ? "counting objects by type" : "";
	char ticks[64] = "";

	if (modes & AGENT_TIMES & ~(uint32_t)AGENT_OFFCPU)
		snprintf(ticks, sizeof(ticks), "sampling %u times per second on each CPU",
			 rate_hz);
	snprintf(out, AGENT_MODES_TEXT, "%s%s%s%s%s%s%s%s", ticks, *ticks && *waits ? ", " : "",
		 waits, (*ticks || *waits) && *memory ? ", " : "", memory,
		 modes & ~(uint32_t)AGENT_HEAP && *heap ? ", " : "", heap,
		 modes == AGENT_HEAP ? "; nothing is sampled" : "");
}

unsigned int agent_modes_kinds(uint32_t modes, const struct event *ev,
			       enum window_kind kinds[WINDOW_KIND_CNT])
{
	unsigned int cnt = 0;

	if (ev->status & STATUS_ON_CPU) {
		if (modes & AGENT_CPU)
			kinds[cnt++] = WINDOW_CPU;
	} else {
		if (modes & AGENT_OFFCPU)
			kinds[cnt++] = WINDOW_OFF_CPU;
		if (modes & AGENT_GIL && ev->status & STATUS_GIL_REQUESTED)
			kinds[cnt++] = WINDOW_GIL_WAIT;
	}
	if (modes & AGENT_EXCEPTION && ev->status & STATUS_HAS_EXCEPTION)
		kinds[cnt++] = WINDOW_EXCEPTION;
	return cnt;
}
