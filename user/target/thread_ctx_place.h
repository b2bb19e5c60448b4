/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_ctx_place.h - where the threads of a process keep the pointer to their thread context
 * (OTEP 4947): for the BPF side, which reads it at each sample.
 *
 * The inspector finds the file that has the variable, and how the dynamic linker stores its place;
 * the reader reads what the linker has stored. It is the same for all threads, including those of a
 * child after fork(), whose memory is a copy.
 */
#ifndef TACHBPF_THREAD_CTX_PLACE_H
#define TACHBPF_THREAD_CTX_PLACE_H

#include "bpf/abi.h"
#include "cpython/code.h"
#include "target/inspect_files.h"

/*
 * Find the place in a process. Call it in the main process; takes some ms when its files are seen
 * for the first time, else 1 ms. 0 and *out. -ENOENT: no file of the process has the variable so
 * far. -EAGAIN: the dynamic linker has not stored its place yet, or stored an impossible one. Else
 * as inspector.h and remote_mem_read(): -EBUSY, -ETIMEDOUT, -EUSERS, -ESRCH. After all except
 * -ENOENT and -ESRCH, another try a second later may succeed.
 */
int thread_ctx_find(pid_t tgid, struct thread_ctx_place *out);

#endif
