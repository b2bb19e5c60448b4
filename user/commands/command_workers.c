// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_workers.c - see command_workers.h. */
#include "commands/command_workers.h"

#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "capture/offcpu_scan.h"
#include "doctor/worker_calls.h"
#include "host/reader.h"
#include "target/inspector.h"
#include "target/parser.h"
#include "worker/worker.h"

const struct worker_kind *const command_workers[COMMAND_WORKERS] = {
	&reader_kind, &inspector_kind, &parser_kind, &offcpu_scan_walker,
};

/*
 * With as many descriptors as workers may have at all: the inspector keeps the files of Pythons
 * open. A command that is started later gets the limit that we have.
 */
static int start_keeper(void)
{
	struct rlimit own, all;
	int err;

	if (getrlimit(RLIMIT_NOFILE, &own))
		return keeper_start(command_workers, COMMAND_WORKERS);
	all = own;
	all.rlim_cur = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &all);
	err = keeper_start(command_workers, COMMAND_WORKERS);
	setrlimit(RLIMIT_NOFILE, &own);
	return err;
}

int command_workers_start(void)
{
	int err = start_keeper(), filter = jail_filter_works();

	if (!err && filter)
		log_warn("seccomp(2) is refused (%s), by the kernel or by a filter that is on "
			 "already: workers have few capabilities, but may make any system call; "
			 "if it is a filter, " WORKER_CALLS_FIX, strerror(-filter));
	if (!err && !jail_can_leave_files())
		log_warn("CAP_SETUID or CAP_SETGID is missing: workers keep root's rights to files");
	if (err)
		log_warn("privileges are kept, because no other process can have them: %s",
			 strerror(-err));
	return err;
}
