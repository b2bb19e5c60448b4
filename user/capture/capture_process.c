// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_process.c - see capture_process.h. */
#include "capture/capture_process.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "capture/offcpu_scan.h"
#include "heap/heap_worker.h"
#include "host/privileges.h"
#include "memory/page_check.h"
#include "memory/reader.h"
#include "native/native.h"
#include "probe/prober.h"
#include "target/inspector.h"
#include "target/parser.h"

size_t capture_workers(unsigned int parts, const struct worker_kind *kinds[CAPTURE_WORKERS_MAX])
{
	static const struct {
		unsigned int part;	/* 0: of every capture */
		const struct worker_kind *kind;
	} all[] = {
		{ 0, &reader_kind }, { 0, &inspector_kind }, { 0, &parser_kind },
		{ 0, &offcpu_scan_walker },
		{ CAPTURE_NATIVE, &native_opener_kind }, { CAPTURE_NATIVE, &native_cache_kind },
		{ CAPTURE_MEMORY, &page_check_kind }, { CAPTURE_CENSUS, &heap_worker_kind },
		{ CAPTURE_BLOCKS | CAPTURE_PROBES, &prober_kind },
		{ CAPTURE_DEBUGINFOD, &native_debug_kind },
	};
	size_t cnt = 0, i;

	_Static_assert(ARRAY_SIZE(all) <= CAPTURE_WORKERS_MAX, "there is room for all");
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!all[i].part || parts & all[i].part)
			kinds[cnt++] = all[i].kind;
	return cnt;
}

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
