// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* live_sums.c - see live_sums.h. */
#include "live/live_sums.h"

#include <stdbool.h>
#include <string.h>

#include "bpf/abi.h"

static bool in_collection(const struct profile_tables *t, const struct event *ev)
{
	static const char gc[] = "<GC>";
	uint32_t i;

	for (i = 0; i < ev->nframes; i++) {
		const struct frame *f = &t->frames[ev->frames[i]];
		const struct string_ref *name = &t->strings[f->func];

		if (f->kind == FRAME_SYNTHETIC && name->len == strlen(gc) &&
		    !memcmp(name->data, gc, name->len))
			return true;
	}
	return false;
}

struct live_sums live_sums_of(const struct profile_tables *t, const struct event *ev, uint64_t ns)
{
	if (!(ev->status & STATUS_ON_CPU))
		return (struct live_sums){
			.wait_ns = ns,
			.gil_wait_ns = ev->status & STATUS_GIL_REQUESTED ? ns : 0,
		};
	return (struct live_sums){
		.samples = ev->weight,
		.cpu_ns = ns,
		.gil_ns = ev->status & STATUS_HAS_GIL ? ns : 0,
		.gc_ns = in_collection(t, ev) ? ns : 0,
	};
}

void live_sums_add(struct live_sums *to, const struct live_sums *more)
{
	to->cpu_ns += more->cpu_ns;
	to->gil_ns += more->gil_ns;
	to->gc_ns += more->gc_ns;
	to->wait_ns += more->wait_ns;
	to->gil_wait_ns += more->gil_wait_ns;
	to->samples += more->samples;
}
