// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * scan.bpf.c - the program that lists threads as an object of its own, for a look at threads that
 * wait. It has the maps and settings that a recording has, and needs no type of the kernel by its
 * id: to find one, libbpf reads all of them, which takes longer than everything else.
 */
#define NO_ANY_LOAD
#define SCAN_SECTION "scan"

#include "maps.bpf.c"
#include "offcpu_scan.bpf.c"
