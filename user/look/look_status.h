/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_status.h - what /proc/PID/task/TID/status says of a thread. To be called in the worker. */
#ifndef TACHBPF_LOOK_LOOK_STATUS_H
#define TACHBPF_LOOK_LOOK_STATUS_H

#include <stdint.h>
#include <sys/types.h>

/* Its id in the process' own pid namespace; 0: it has ended. */
uint32_t look_own_tid(pid_t tgid, uint32_t tid);

/* How often a thread that sleeps has left a CPU; 0: it does not sleep, or it is not known. */
uint64_t look_switches(pid_t tgid, uint32_t tid);

#endif
