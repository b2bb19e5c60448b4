// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* workers_start.c - see workers_start.h. */
#include "doctor/workers_start.h"

#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "doctor/worker_calls.h"

/*
 * With the maximum number of descriptors that workers may have: the inspector keeps the files of
 * Python processes open. A command that is started later gets our own limit.
 */
static int start_keeper(const struct worker_kind *const kinds[], size_t cnt)
{
	struct rlimit own, all;
	int err;

	if (getrlimit(RLIMIT_NOFILE, &own))
		return keeper_start(kinds, cnt);
	all = own;
	all.rlim_cur = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &all);
	err = keeper_start(kinds, cnt);
	setrlimit(RLIMIT_NOFILE, &own);
	return err;
}

int workers_start(const struct worker_kind *const kinds[], size_t cnt)
{
	int err = start_keeper(kinds, cnt), filter = jail_filter_works();

	if (!err && filter)
		log_warn("seccomp(2) is refused (%s), by the kernel or by a filter that is already "
			 "active: workers have few capabilities, but may make any system call; "
			 "if it is a filter, " WORKER_CALLS_FIX, strerror(-filter));
	if (!err && !jail_can_leave_files())
		log_warn("CAP_SETUID or CAP_SETGID is missing: workers keep root's file "
			 "permissions");
	if (err)
		log_warn("privileges are kept, because no other process can take them over: %s",
			 strerror(-err));
	return err;
}
