/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file_opener.h - the opener, a worker (worker_converse()) that opens what processes name, and
 * passes it to the helpers. It parses nothing except /proc.
 */
#ifndef TACHBPF_FILE_OPENER_H
#define TACHBPF_FILE_OPENER_H

#include <stdint.h>

#include "native/native.h"

/*
 * The worker's activity, in its shared memory: the process about which it opens a file now (0:
 * none); step changes with each file. Written without locks, and used only to assign blame.
 */
struct file_opener_at {
	uint32_t about, step;
};

#endif
