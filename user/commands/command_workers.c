// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_workers.c - see command_workers.h. */
#include "commands/command_workers.h"

#include <string.h>

#include "base/util.h"
#include "capture/offcpu_scan.h"
#include "host/reader.h"
#include "target/inspector.h"
#include "target/parser.h"
#include "worker/worker.h"

const struct worker_kind *const command_workers[COMMAND_WORKERS] = {
	&reader_kind, &inspector_kind, &parser_kind, &offcpu_scan_walker,
};

int command_workers_start(void)
{
	int err = keeper_start(command_workers, COMMAND_WORKERS);

	if (!err && jail_filter_works())
		log_warn("no filter of system calls: the kernel, or a filter that is on already, "
			 "refuses it; workers have few capabilities, but may make any call");
	if (err)
		log_warn("privileges are kept, because no other process can have them: %s",
			 strerror(-err));
	return err;
}
