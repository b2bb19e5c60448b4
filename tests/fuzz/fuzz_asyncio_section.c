// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuzz_asyncio_section.c - any bytes as asyncio's section: what is accepted is within bounds. */

#include "asyncio/section.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct async_tasks_layout l;

	if (asyncio_section_parse(data, size, &l))
		return 0;
	check(l.task_bytes <= ASYNCIO_TASK_BYTES_MAX && l.task_node + 16u <= l.task_bytes);
	check(l.task_name + 8u <= l.task_bytes && l.task_coro + 8u <= l.task_bytes);
	check(l.task_awaited_by + 8u <= l.task_bytes);
	check(l.task_is_task < l.task_bytes && l.task_awaited_by_is_set < l.task_bytes);
	check(l.interp_tasks_head + 16u <= ASYNCIO_INTERP_BYTES_MAX);
	check(l.ts_running_loop + 8u <= ASYNCIO_TSTATE_BYTES_MAX);
	check(l.ts_running_task + 8u <= ASYNCIO_TSTATE_BYTES_MAX);
	check(l.ts_tasks_head + 16u <= ASYNCIO_TSTATE_BYTES_MAX);
	check(!((l.task_name | l.task_coro | l.task_awaited_by | l.task_node) & 7));
	return 0;
}
