// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * coroutine_layout.c - see coroutine_layout.h.
 *
 * States: Include/internal/pycore_frame.h at v3.14.0 (enum _framestate), and at v3.15.0 where they
 * have other numbers. While a coroutine is suspended in SEND, what it awaits is on the stack of its
 * frame: on top in 3.14, and in 3.15 below one more entry (Python/bytecodes.c, GET_AWAITABLE pushes
 * it together with an index). References have tags (pycore_stackref.h).
 */
#include "cpython/coroutine_layout.h"

static const struct {
	int8_t yield_from, yield_from_locked, executing;
	uint8_t awaited_below;
} versions[] = {
	[14] = { .yield_from = -1, .yield_from_locked = -1, .executing = 0, .awaited_below = 8 },
	[15] = { .yield_from = 2, .yield_from_locked = 3, .executing = 4, .awaited_below = 16 },
};

#define STACKREF_TAG_MASK 3

void coroutine_layout(const struct debug_offsets *d, unsigned int minor,
		      struct async_coroutine_layout *out)
{
	*out = (struct async_coroutine_layout){ 0 };
	if (minor < 14 || minor >= sizeof(versions) / sizeof(*versions))
		return;
	*out = (struct async_coroutine_layout){
		.ob_type = (uint16_t)d->ob_type,
		.gen_frame = (uint16_t)d->gen_frame, .gen_state = (uint16_t)d->gen_state,
		.fr_stack = (uint16_t)d->fr_stack,
		.awaited_below = versions[minor].awaited_below,
		.set_used = (uint16_t)d->set_used, .set_mask = (uint16_t)d->set_mask,
		.set_table = (uint16_t)d->set_table,
		.int_tag = (uint16_t)d->int_tag, .int_digits = (uint16_t)d->int_digits,
		.state_yield_from = versions[minor].yield_from,
		.state_yield_from_locked = versions[minor].yield_from_locked,
		.state_executing = versions[minor].executing,
		.stack_tag_mask = STACKREF_TAG_MASK,
	};
}
