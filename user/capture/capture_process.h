/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_process.h - what the process that runs a capture is to the kernel: its workers, its
 * limits, its rights.
 */
#ifndef TACHBPF_CAPTURE_PROCESS_H
#define TACHBPF_CAPTURE_PROCESS_H

#include <stdbool.h>

#include "capture/offcpu_scan.h"
#include "host/reader.h"
#include "native/native.h"
#include "target/inspector.h"
#include "target/parser.h"

/* The kinds of workers (worker.h) that a capture can have, for the keeper's list. */
#define CAPTURE_WORKERS &reader_kind, &inspector_kind, &parser_kind, &offcpu_scan_walker
/* With --native these, too, behind all others: without it the keeper has not their rights. */
#define CAPTURE_NATIVE_WORKERS &native_opener_kind, &native_cache_kind
#define CAPTURE_NATIVE_WORKER_CNT 2

/*
 * To be called between capture_new() and capture_start(). Raises the limit of open files (two a
 * process are open in a recording) and, if the user has not set it, the priority: on a busy host we
 * must get a CPU soon to empty the ring buffer, or samples and names are lost. workers: there is a
 * keeper, so the rights of this process are given up (privileges_drop_for_recording()).
 */
void capture_process_prepare(bool workers);

#endif
