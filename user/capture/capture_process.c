// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_process.c - see capture_process.h. */
#include "capture/capture_process.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "host/privileges.h"

static void raise_file_limit(void)
{
	struct rlimit lim;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static void raise_priority(void)
{
	errno = 0;
	if (!getpriority(PRIO_PROCESS, 0) && !errno)
		setpriority(PRIO_PROCESS, 0, -20);
}

void capture_process_prepare(bool workers)
{
	int err;

	raise_file_limit();
	raise_priority();
	err = workers ? privileges_drop_for_recording() : 0;
	if (workers)
		reader_reads_proc();
	if (err)
		log_warn("privileges are kept: %s", strerror(-err));
}
