// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tachbpf.bpf.c - all programs as one object.
 *
 * libbpf (1.1) does not link objects if more than one of them calls a function of the kernel, as
 * direct.bpf.h does.
 */
#include "maps.bpf.c"
#include "cgroups.bpf.c"
#include "direct.bpf.c"
#include "heap.bpf.c"
#include "lifecycle.bpf.c"
#include "mode_cpu.bpf.c"
#include "mode_event.bpf.c"
#include "mode_memory.bpf.c"
#include "mode_wait.bpf.c"
#include "offcpu_scan.bpf.c"
