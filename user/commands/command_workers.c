// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_workers.c - see command_workers.h. */
#include "commands/command_workers.h"

#include "capture/capture_process.h"
#include "doctor/workers_start.h"

const struct worker_kind *const command_workers[COMMAND_WORKERS] = {
	CAPTURE_WORKERS, CAPTURE_NATIVE_WORKERS,
};

int command_workers_start(bool native)
{
	return workers_start(command_workers, native ? COMMAND_WORKERS :
			     COMMAND_WORKERS - CAPTURE_NATIVE_WORKER_CNT);
}
