/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window_data.h - processes with frames of any names, for tests of windows. */
#ifndef WINDOW_DATA_H
#define WINDOW_DATA_H

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "model/intern.h"
#include "telemetry/window.h"

#define BEGIN_NS (1700000000ULL * NS_PER_S)

/* A process: its own tables, and its map. */
struct fake_process {
	struct intern *in;
	struct window_map *map;
};

static inline struct fake_process fake_process(void)
{
	struct intern *in = intern_new();

	return (struct fake_process){ in, window_map_new(intern_tables(in)) };
}

static inline void fake_process_free(struct fake_process *p)
{
	window_map_free(p->map);
	intern_free(p->in);
}

static inline uint32_t frame_bytes(struct fake_process *p, const char *file, size_t file_len,
				   const char *func, size_t func_len, int32_t line)
{
	struct frame f = { .line = line, .end_line = line, .column = 4, .end_column = 9,
			   .opcode = OPCODE_NONE, .kind = FRAME_PYTHON, .first_line = 1 };
	uint32_t id = 0;

	if (intern_string(p->in, file, file_len, &f.file) ||
	    intern_string(p->in, func, func_len, &f.func) || intern_frame(p->in, &f, &id))
		abort();
	return id;
}

static inline uint32_t python_frame(struct fake_process *p, const char *file, const char *func,
				    int32_t line)
{
	return frame_bytes(p, file, strlen(file), func, strlen(func), line);
}

static inline uint32_t other_frame(struct fake_process *p, enum frame_kind kind, const char *name)
{
	uint32_t id = 0;

	if (intern_synthetic(p->in, kind, name, &id))
		abort();
	return id;
}

/* Add a stack, innermost first. */
static inline void add_stack(struct window *w, struct fake_process *p, uint32_t service,
			     enum window_kind kind, const uint32_t *frames, uint32_t n,
			     uint64_t weight, uint64_t mul)
{
	const struct event ev = { .thread_id = 7, .nframes = n, .frames = frames,
				  .weight = weight };
	const struct window_place at = { .service = service, .owner = service, .kind = kind,
					 .mul = mul,
					 .samples = weight };

	window_add(w, p->map, &ev, &at);
}

/* What the samples of a series add up to, with <other>. */
static inline uint64_t sum_of(const struct window *w, uint32_t service, enum window_kind kind,
			      uint64_t *samples)
{
	const struct window_series *s = window_series(w, service, kind);
	uint32_t cnt, i;
	const struct window_sample *all = window_samples(w, &cnt);
	uint64_t sum = s->other_value;

	*samples = s->other_samples;
	for (i = s->first; i != WINDOW_NONE; i = all[i].next) {
		sum += all[i].value;
		*samples += all[i].samples;
	}
	return sum;
}

#endif
