// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_workers.c - see command_workers.h. */
#include "commands/command_workers.h"

#include "doctor/workers_start.h"

int command_workers_start(unsigned int parts)
{
	static const struct worker_kind *kinds[CAPTURE_WORKERS_MAX];	/* the keeper needs them */

	return workers_start(kinds, capture_workers(parts, kinds));
}
