/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_faults.h - the periods of the perf events that choose page faults.
 *
 * An event with a fixed period always hits a program that touches that many pages in a loop at the
 * same point: one of its functions gets all faults. So the periods change at random during a
 * recording. The BPF side weighs by what the kernel has counted, so weights stay exact.
 */
#ifndef TACHBPF_CAPTURE_FAULTS_H
#define TACHBPF_CAPTURE_FAULTS_H

#include <stdint.h>

/*
 * A period by a random number: within a quarter of its mean, and at least 1 from it. The mean is
 * the pages in every_bytes; if that is one page, the period is always 1. Slightly more faults are
 * chosen than one in every_bytes: 2 %, and 22 % for the shortest mean, which is 2.
 */
uint32_t fault_period(uint64_t every_bytes, uint32_t page_bytes, uint64_t random);

/*
 * The time in ns between two changes, each of one CPU's event. Each CPU has ten a second, but all
 * CPUs together at most 100: a thousandth of a CPU, in virtual machines three.
 */
uint64_t fault_turn_ns(unsigned int cpus);

#endif
