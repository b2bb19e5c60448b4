// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* held_series.c - see held_series.h. */
#include "model/held_series.h"

#include "base/arith.h"

static uint64_t higher_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void widen_steps(struct held_series *s)
{
	uint32_t i;

	for (i = 0; i < s->cnt; i += 2)
		s->most[i / 2] = higher_of(s->most[i], i + 1 < s->cnt ? s->most[i + 1] : 0);
	s->cnt = (s->cnt + 1) / 2;
	s->width_us *= 2;
}

void held_series_until(struct held_series *s, uint64_t time_us)
{
	uint64_t passed = time_us > s->start_us ? time_us - s->start_us : 0;

	while (passed / s->width_us >= HELD_STEPS_MAX)
		widen_steps(s);
	while (s->cnt <= passed / s->width_us)
		s->most[s->cnt++] = s->now;
}

void held_series_change(struct held_series *s, uint64_t time_us, uint64_t bytes, bool more)
{
	held_series_until(s, time_us);
	s->now = more ? add_capped(s->now, bytes) : s->now > bytes ? s->now - bytes : 0;
	s->most[s->cnt - 1] = higher_of(s->most[s->cnt - 1], s->now);
}
