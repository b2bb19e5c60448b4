// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record.c - see record.h. */
#include "asyncio/record.h"

static bool starts_rise(const struct raw_async *raw)
{
	uint32_t i;

	for (i = 0; i < raw->ntasks; i++)
		if (raw->starts[i] > raw->nframes ||
		    (i && raw->starts[i] < raw->starts[i - 1]))
			return false;
	return true;
}

static bool are_python(const struct raw_async *raw)
{
	uint32_t i;

	for (i = 0; i < raw->nframes; i++)
		if (raw_frame_kind(&raw->frames[i]) != FRAME_PYTHON)
			return false;
	return true;
}

bool async_record_is_whole(const struct raw_async *raw, size_t len)
{
	return raw->nframes <= RAW_ASYNC_FRAMES &&
	       raw->ntasks <= RAW_ASYNC_TASKS && raw->end < ASYNC_END_CNT &&
	       raw->at < ABI_MAX_FRAMES && raw->name_at.len <= RAW_ASYNC_NAME &&
	       (!raw->ntasks || !raw->starts[0]) && (raw->ntasks || !raw->nframes) &&
	       starts_rise(raw) &&
	       len >= offsetof(struct raw_async, frames) +
		      raw->nframes * sizeof(raw->frames[0]) && are_python(raw);
}
