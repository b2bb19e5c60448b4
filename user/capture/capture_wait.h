/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_wait.h - the part of a capture that only modes with waits need (record_mode_def.waits).
 * In other modes these functions do nothing.
 */
#ifndef TACHBPF_CAPTURE_WAIT_H
#define TACHBPF_CAPTURE_WAIT_H

#include <stdbool.h>

#include "capture/capture.h"

/* Select the programs that the mode needs, and set its constants, before they are loaded. */
void capture_wait_configure(struct capture *s);

/* Attach the scheduler programs, which see switch-outs and switch-ins. 0 or -errno; logs why. */
int capture_wait_start(struct capture *s);
/* Detach them. */
void capture_wait_stop(struct capture *s);

/*
 * Walk the threads that are off-CPU now, in processes that were found since the last call. No
 * switch-out of these threads was seen.
 */
void capture_wait_scan(struct capture *s);
/* The same in chosen processes, whenever they were found. */
void capture_wait_scan_again(struct capture *s, capture_chosen_fn chosen, void *ctx);

/* Emit the time that threads of all processes have waited so far, as samples. */
void capture_wait_emit_open(struct capture *s);

/*
 * Send no switch-outs from now on, or send them again; then a scan finds the threads that fell
 * asleep in between. Emits the open waits.
 */
void capture_wait_pause(struct capture *s, bool pause);

#endif
