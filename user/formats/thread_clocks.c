// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * thread_clocks.c - see thread_clocks.h.
 */
#include "formats/thread_clocks.h"

#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "model/thread_map.h"

int clocks_tick(struct clocks *c, uint64_t thread_id, uint64_t weight, uint64_t step_us,
		uint64_t *now)
{
	static const uint64_t zero;
	uint64_t *times;
	uint32_t index;
	int err = 0;

	if (!c->map)
		c->map = thread_map_new();
	if (!c->map)
		return -ENOMEM;
	err = thread_map_get(c->map, thread_id, 0, &index);
	if (!err && index == c->times.len / sizeof(zero))
		err = buf_add(&c->times, &zero, sizeof(zero));
	if (err)
		return err;
	times = (uint64_t *)(void *)c->times.data;
	*now = times[index];
	/* At UINT64_MAX the clock stops. */
	times[index] = add_capped(times[index], mul_capped(weight, step_us));
	return 0;
}

void clocks_free(struct clocks *c)
{
	thread_map_free(c->map);
	buf_free(&c->times);
	memset(c, 0, sizeof(*c));
}
