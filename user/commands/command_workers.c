// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_workers.c - see command_workers.h. */
#include "commands/command_workers.h"

#include "doctor/workers_start.h"
#include "look/look_worker.h"

int command_workers_start(unsigned int parts)
{
	static const struct worker_kind *kinds[CAPTURE_WORKERS_MAX + 1];	/* the keeper needs them */
	size_t cnt = capture_workers(parts, kinds);

	if (parts & COMMAND_LOOK)
		kinds[cnt++] = &look_worker_kind;
	if (parts & COMMAND_LOOK_KERNEL)
		kinds[cnt++] = &look_kernel_worker_kind;
	return workers_start(kinds, cnt);
}
