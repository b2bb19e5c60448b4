/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_status.h - a thread's /proc/PID/task/TID/status. To be called in the worker. */
#ifndef TACHBPF_LOOK_LOOK_STATUS_H
#define TACHBPF_LOOK_LOOK_STATUS_H

#include <stdint.h>
#include <sys/types.h>

/* Returns its id in the process's own pid namespace; 0: it has ended. */
uint32_t look_own_tid(pid_t tgid, uint32_t tid);

/* Returns how often a sleeping thread has left a CPU; 0: it does not sleep, or unknown. */
uint64_t look_switches(pid_t tgid, uint32_t tid);

#endif
